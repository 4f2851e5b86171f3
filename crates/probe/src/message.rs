//! Messages of the control protocol between probe and listener: JSON, one value per line.
//!
//! | client | listener |
//! |---|---|
//! | `{"hello":HELLO}` | `{"hello":GREETING}` |
//! | `{"prove":PROOF}` | `{"welcome":WELCOME}` |
//! | `{"serve":REQUEST}` | `{"ready":READY}`: the server listens on these ports |
//! | `"finish"` | `{"done":REPORT}`, once all that was sent has come |
//!
//! The last two repeat. The listener answers `{"refused":"one line"}` when it does not want to serve a request, and
//! `{"failed":"one line"}` when it could not. After a refused or failed request another may follow.

use crate::caps::Caps;
use crate::token::Bits256;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tare_record::{Nanos, Parameters, Placement};
use tare_traffic::SideReport;

/// Longest line that a listener reads before the client has proved the token, bytes.
pub const MAX_HANDSHAKE_LINE: usize = 1 << 10;

/// Longest line that a listener reads from a client that has proved the token, bytes.
pub const MAX_CLIENT_LINE: usize = 16 << 10;

/// Longest line that a client reads, bytes, but for a report, whose limit is that of its trial.
pub const MAX_LISTENER_LINE: usize = 64 << 10;

/// Message of a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ClientMessage {
    /// First line: version and nonce of the client.
    Hello(ClientHello),
    /// Second line: proof that the client knows the token.
    Prove(ClientProof),
    /// Request to serve one trial.
    Serve(TrialRequest),
    /// Notice that the client has sent everything. Asks for the listener's report.
    Finish,
}

/// Answer of a listener.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ListenerMessage {
    /// Version and nonce of the listener.
    Hello(ListenerHello),
    /// Acceptance of the client, with the proof that the listener knows the token too.
    Welcome(ListenerWelcome),
    /// Notice that the workload's server listens.
    Ready(TrialReady),
    /// Report of the listener's counts.
    Done(Box<SideReport>),
    /// Refusal with its reason, in one line.
    Refused(String),
    /// Failure with its reason, in one line.
    Failed(String),
}

impl ListenerMessage {
    /// Returns the reason of a refusal or failure. Returns an empty text for any other answer.
    pub(crate) fn failure_reason(&self) -> &str {
        match self {
            Self::Refused(why) | Self::Failed(why) => why,
            _ => "",
        }
    }
}

/// First line of a client. Unknown members, of a later version, are ignored, so that the client can be told the
/// listener's version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClientHello {
    /// Version of the protocol that the client speaks.
    pub protocol: u32,
    /// Version of the client's tare, for people.
    pub tare: String,
    /// 256 random bits, new in every connection.
    pub nonce: Bits256,
}

/// First line of a listener. Unknown members, of a later version, are ignored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListenerHello {
    /// Version of the protocol that the listener speaks.
    pub protocol: u32,
    /// Version of the listener's tare, for people.
    pub tare: String,
    /// 256 random bits, new in every connection.
    pub nonce: Bits256,
    /// True if the listener requires proof of a token.
    pub token: bool,
}

/// Proof that a client knows the token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClientProof {
    /// HMAC-SHA256 (RFC 2104) with the token as the key, over the client's label and both nonces; null without a token.
    pub proof: Option<Bits256>,
    /// Name of the client's monotonic clock, by which a listener on the same machine recognizes it. Empty if it is not
    /// known.
    pub clock: String,
}

/// Acceptance of a client by a listener.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListenerWelcome {
    /// The same proof as the client's, over the listener's label; null without a token.
    pub proof: Option<Bits256>,
    /// True if both sides read the same monotonic clock: they are on one machine.
    pub one_clock: bool,
    /// Limits of the listener.
    pub caps: Caps,
}

/// Request to serve a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrialRequest {
    /// Name of the workload.
    pub workload: String,
    /// Parameters of the workload. Missing ones have their defaults.
    pub parameters: Parameters,
    /// Number of flows that the client opens.
    pub flows: u32,
    /// Placement of the two sides on cores.
    #[schemars(with = "String")]
    pub cpus: Placement,
    /// Time for which the client generates traffic, ns.
    pub duration: Nanos,
    /// Length of an interval record, ns.
    pub interval: Nanos,
}

/// Notice that a trial is served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrialReady {
    /// Ports of the listener's address that the client dials.
    pub ports: Vec<u16>,
    /// Number of the trial. Every flow of the trial begins with it, so that no other flow is mistaken for one of them.
    pub trial: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::VERSION;
    use proptest::prelude::*;

    fn line(message: &impl Serialize) -> String {
        serde_json::to_string(message).unwrap()
    }

    #[test]
    fn messages_are_spelled_as_documented() {
        let nonce = Bits256([0xab; 32]);
        let hex = "ab".repeat(32);
        let hello = ClientMessage::Hello(ClientHello {
            protocol: VERSION,
            tare: "0.1.0".to_owned(),
            nonce,
        });
        let expected = format!(r#"{{"hello":{{"protocol":3,"tare":"0.1.0","nonce":"{hex}"}}}}"#);
        assert_eq!(line(&hello), expected);
        assert_eq!(line(&ClientMessage::Finish), r#""finish""#);
        let prove = ClientMessage::Prove(ClientProof { proof: None, clock: String::new() });
        assert_eq!(line(&prove), r#"{"prove":{"proof":null,"clock":""}}"#);
        let ready = ListenerMessage::Ready(TrialReady { ports: vec![7], trial: u64::MAX });
        assert_eq!(line(&ready), r#"{"ready":{"ports":[7],"trial":18446744073709551615}}"#);
        assert_eq!(line(&ListenerMessage::Refused("no".to_owned())), r#"{"refused":"no"}"#);
    }

    #[test]
    fn a_hello_of_a_later_version_is_understood_and_a_strange_request_is_not() {
        let nonce = "00".repeat(32);
        let later =
            format!(r#"{{"hello":{{"protocol":9,"tare":"9","nonce":"{nonce}","colour":"blue"}}}}"#);
        assert!(matches!(
            serde_json::from_str(&later),
            Ok(ClientMessage::Hello(ClientHello { protocol: 9, .. }))
        ));
        let strange = r#"{"prove":{"proof":null,"clock":"","colour":"blue"}}"#;
        assert!(serde_json::from_str::<ClientMessage>(strange).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_break_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = serde_json::from_slice::<ClientMessage>(&bytes);
            let _ = serde_json::from_slice::<ListenerMessage>(&bytes);
        }

        #[test]
        fn a_message_cut_or_changed_is_read_as_itself_or_not_at_all(
            at in 0usize..400,
            byte in any::<u8>(),
            cut in any::<bool>(),
        ) {
            let request = ClientMessage::Serve(TrialRequest {
                workload: "tcp-rr".to_owned(),
                parameters: [("request".to_owned(), 64.into())].into(),
                flows: 3,
                cpus: Placement::Free,
                duration: Nanos(1_000_000_000),
                interval: Nanos(10_000_000),
            });
            let mut bytes = line(&request).into_bytes();
            let at = at % bytes.len();
            if cut { bytes.truncate(at) } else { bytes[at] = byte }
            if let Ok(read) = serde_json::from_slice::<ClientMessage>(&bytes) {
                let again: ClientMessage = serde_json::from_str(&line(&read)).unwrap();
                prop_assert_eq!(again, read);
            }
        }
    }
}
