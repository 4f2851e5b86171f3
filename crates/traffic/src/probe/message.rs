//! What probe and listener say to each other: JSON, one value a line.
//!
//! | client | listener |
//! |---|---|
//! | `{"hello":HELLO}` | `{"hello":GREETING}` |
//! | `{"prove":PROOF}` | `{"welcome":WELCOME}` |
//! | `{"serve":REQUEST}` | `{"ready":READY}`: it listens on these ports |
//! | `"finish"` | once all that was sent has come `{"done":REPORT}` |
//!
//! The last two repeat. What the listener does not want to do is answered with `{"refused":"one line"}`, what it could
//! not do with `{"failed":"one line"}`; after a refused or failed request another may follow.

use super::caps::Caps;
use super::secret::Bits256;
use crate::Report;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tare_record::{Nanos, Parameters, Placement};

/// The protocol's version: both ends must have the same. A change of anything below is a new version.
pub const VERSION: u32 = 1;

/// The longest line that a listener reads from whoever has not proved the token, bytes.
pub const LONGEST_AT_THE_DOOR: usize = 1 << 10;

/// The longest line that a listener reads from a client, bytes.
pub const LONGEST_ASKED: usize = 16 << 10;

/// The longest line that a client reads, bytes: a report of a long trial with its histograms is some megabytes.
pub const LONGEST_ANSWER: usize = 256 << 20;

/// What a client says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Ask {
    /// Who it is. The first line.
    Hello(Hello),
    /// That it knows the token. The second line.
    Prove(Prove),
    /// To serve one trial.
    Serve(Request),
    /// That it has generated everything, and to say what came.
    Finish,
}

/// What a listener answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// Who it is.
    Hello(Greeting),
    /// That it takes this client, and knows the token too.
    Welcome(Welcome),
    /// That it listens.
    Ready(Ready),
    /// What it counted.
    Done(Box<Report>),
    /// What it will not do and why, in one line.
    Refused(String),
    /// What it could not do and why, in one line.
    Failed(String),
}

impl Answer {
    /// Why something was not done; nothing where it was.
    pub(super) fn why(&self) -> &str {
        match self {
            Self::Refused(why) | Self::Failed(why) => why,
            _ => "",
        }
    }
}

/// Who a client is. Members that a later version adds are passed over, so that it can be told its version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hello {
    /// The version that it speaks.
    pub protocol: u32,
    /// Its tare's version, for people.
    pub tare: String,
    /// 256 random bits, new in every connection.
    pub nonce: Bits256,
}

/// Who a listener is. Members that a later version adds are passed over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Greeting {
    /// The version that it speaks.
    pub protocol: u32,
    /// Its tare's version, for people.
    pub tare: String,
    /// 256 random bits, new in every connection.
    pub nonce: Bits256,
    /// Whether it wants a token proved.
    pub token: bool,
}

/// That a client knows the token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prove {
    /// HMAC-SHA256 (RFC 2104) with the token as the key, over the client's label and both nonces; null without a token.
    pub proof: Option<Bits256>,
    /// Names its monotonic clock, so that a listener on the same machine knows it. Empty where that cannot be told.
    pub clock: String,
}

/// That a listener takes a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Welcome {
    /// The same as the client's, over the listener's label; null without a token.
    pub proof: Option<Bits256>,
    /// Whether both read the same monotonic clock: they are on one machine.
    pub one_clock: bool,
    /// What it allows.
    pub caps: Caps,
}

/// A trial to serve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The workload's name.
    pub workload: String,
    /// Its parameters; what is missing has its default.
    pub parameters: Parameters,
    /// How many flows the client will open.
    pub flows: u32,
    /// Which cores the two sides run on.
    #[schemars(with = "String")]
    pub cpus: Placement,
    /// How long it will generate, ns.
    pub duration: Nanos,
    /// How long an interval record is, ns.
    pub interval: Nanos,
}

/// That a trial is served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ready {
    /// The ports of the listener's address that the client shall dial.
    pub ports: Vec<u16>,
    /// Names the trial: every flow of it begins with this number, so that nobody else's is mistaken for one.
    pub trial: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(message: &impl Serialize) -> String {
        serde_json::to_string(message).unwrap()
    }

    #[test]
    fn messages_are_spelled_as_documented() {
        let nonce = Bits256([0xab; 32]);
        let hex = "ab".repeat(32);
        let hello = Ask::Hello(Hello { protocol: VERSION, tare: "0.1.0".to_owned(), nonce });
        let expected = format!(r#"{{"hello":{{"protocol":1,"tare":"0.1.0","nonce":"{hex}"}}}}"#);
        assert_eq!(line(&hello), expected);
        assert_eq!(line(&Ask::Finish), r#""finish""#);
        let prove = Ask::Prove(Prove { proof: None, clock: String::new() });
        assert_eq!(line(&prove), r#"{"prove":{"proof":null,"clock":""}}"#);
        let ready = Answer::Ready(Ready { ports: vec![7], trial: u64::MAX });
        assert_eq!(line(&ready), r#"{"ready":{"ports":[7],"trial":18446744073709551615}}"#);
        assert_eq!(line(&Answer::Refused("no".to_owned())), r#"{"refused":"no"}"#);
    }

    #[test]
    fn a_hello_of_a_later_version_is_understood_and_a_strange_request_is_not() {
        let nonce = "00".repeat(32);
        let later =
            format!(r#"{{"hello":{{"protocol":9,"tare":"9","nonce":"{nonce}","colour":"blue"}}}}"#);
        assert!(matches!(serde_json::from_str(&later), Ok(Ask::Hello(Hello { protocol: 9, .. }))));
        let strange = r#"{"prove":{"proof":null,"clock":"","colour":"blue"}}"#;
        assert!(serde_json::from_str::<Ask>(strange).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_break_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = serde_json::from_slice::<Ask>(&bytes);
            let _ = serde_json::from_slice::<Answer>(&bytes);
        }

        #[test]
        fn a_message_cut_or_changed_is_read_as_itself_or_not_at_all(
            at in 0usize..400,
            byte in any::<u8>(),
            cut in any::<bool>(),
        ) {
            let request = Ask::Serve(Request {
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
            if let Ok(read) = serde_json::from_slice::<Ask>(&bytes) {
                let again: Ask = serde_json::from_str(&line(&read)).unwrap();
                prop_assert_eq!(again, read);
            }
        }
    }
}
