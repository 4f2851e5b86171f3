//! Messages between a run and the agent of a pod: programs that start, their streams, and their ends.

use serde::{Deserialize, Serialize};

/// Program to start in a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProgramRequest {
    /// The program and its arguments; an empty program is tare itself.
    pub(crate) command: Vec<String>,
    /// Variables added to its environment.
    #[serde(default)]
    pub(crate) environment: Vec<(String, String)>,
}

/// Content of a message. All messages belong to a program, which is known by its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PodMessage {
    /// The run starts a program.
    Start(ProgramRequest),
    /// Bytes for its standard input.
    Input(Vec<u8>),
    /// Its standard input ends.
    EndOfInput,
    /// The run ends the program.
    Kill,
    /// Bytes from its standard output.
    Output(Vec<u8>),
    /// Bytes from its standard error.
    ErrorOutput(Vec<u8>),
    /// The program exited with this code, after all of its output.
    Exited(i32),
    /// This signal ended the program, after all of its output.
    Killed(i32),
    /// The program could not be started, for this reason.
    Refused(String),
}

impl PodMessage {
    /// Returns the bytes of the message of a program.
    pub(crate) fn to_bytes(&self, program: u32) -> Vec<u8> {
        let (kind, content) = match self {
            // Strings and pairs of strings are always valid JSON.
            Self::Start(request) => (0, serde_json::to_vec(request).unwrap_or_default()),
            Self::Input(bytes) => (1, bytes.clone()),
            Self::EndOfInput => (2, Vec::new()),
            Self::Kill => (3, Vec::new()),
            Self::Output(bytes) => (4, bytes.clone()),
            Self::ErrorOutput(bytes) => (5, bytes.clone()),
            Self::Exited(code) => (6, code.to_be_bytes().to_vec()),
            Self::Killed(signal) => (7, signal.to_be_bytes().to_vec()),
            Self::Refused(why) => (8, why.clone().into_bytes()),
        };
        [&[kind][..], &program.to_be_bytes(), &content].concat()
    }

    /// Parses a message. Returns it with the number of its program, or `None` if it is no message.
    pub(crate) fn parse(bytes: &[u8]) -> Option<(u32, Self)> {
        let (&kind, rest) = bytes.split_first()?;
        let (program, content) = rest.split_first_chunk::<4>()?;
        let number = || content.try_into().ok().map(i32::from_be_bytes);
        let message = match kind {
            0 => Self::Start(serde_json::from_slice(content).ok()?),
            1 => Self::Input(content.to_vec()),
            2 => Self::EndOfInput,
            3 => Self::Kill,
            4 => Self::Output(content.to_vec()),
            5 => Self::ErrorOutput(content.to_vec()),
            6 => Self::Exited(number()?),
            7 => Self::Killed(number()?),
            8 => Self::Refused(String::from_utf8_lossy(content).into_owned()),
            _ => return None,
        };
        Some((u32::from_be_bytes(*program), message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message() -> impl Strategy<Value = PodMessage> {
        let bytes = || proptest::collection::vec(any::<u8>(), 0..50);
        let words = proptest::collection::vec(".*", 0..4);
        let pairs = proptest::collection::vec((".*", ".*"), 0..3);
        prop_oneof![
            (words, pairs).prop_map(|(command, environment)| {
                PodMessage::Start(ProgramRequest { command, environment })
            }),
            bytes().prop_map(PodMessage::Input),
            Just(PodMessage::EndOfInput),
            Just(PodMessage::Kill),
            bytes().prop_map(PodMessage::Output),
            bytes().prop_map(PodMessage::ErrorOutput),
            any::<i32>().prop_map(PodMessage::Exited),
            any::<i32>().prop_map(PodMessage::Killed),
            ".*".prop_map(PodMessage::Refused),
        ]
    }

    proptest! {
        #[test]
        fn a_message_is_read_as_it_was_written(message in message(), program in any::<u32>()) {
            prop_assert_eq!(PodMessage::parse(&message.to_bytes(program)), Some((program, message)));
        }

        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = PodMessage::parse(&bytes);
        }
    }
}
