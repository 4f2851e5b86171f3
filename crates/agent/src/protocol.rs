//! Line protocol of the agent: JSON, one value a line, orders on its standard input, replies on its standard output.
//!
//! | order | to | reply |
//! |---|---|---|
//! | (none: the agent has started) | | `{"hello":{"protocol":7,"clock":"…"}}` |
//! | `{"serve":TASK}` | server | `"ready"`: it listens |
//! | `{"connect":TASK}` | client | `"ready"`: all flows are connected and their server knows them |
//! | `{"go":{"at":NS}}` | client | after the task's duration `{"done":REPORT}` |
//! | `{"slice":{"at":NS}}` | client of a trial in slices | after the slice `{"sliced":{"sent":BYTES}}` |
//! | `{"settle":{"sent":BYTES}}` | server of a trial in slices | once they have arrived `{"settled":{"sent":{"7":BYTES}}}` |
//! | `{"settle":{"sent":BYTES}}` | client to which its server has sent | once they have arrived `{"settled":{"sent":{}}}` |
//! | `"finish"` | server; client of a trial in slices | once everything sent has arrived `{"done":REPORT}` |
//!
//! A server of a trial in slices says what it has sent itself, by the index of the client process.
//!
//! TASK is [`TrialTask`], REPORT is [`SideReport`]; NS is the time to begin by the agent's monotonic clock, `null` for
//! at once. Every failure is answered with `{"error":"one line"}`, a line that cannot be read included. Orders are
//! executed one after another; every order has exactly one reply. The end of standard input ends the agent at once,
//! whatever it is doing.
//!
//! An agent that serves many containers (`tare internal agent --namespaces FILE,…`) executes the orders of each on a
//! separate thread. Every line then names its container, by its place in the list: `{"to":7,"order":ORDER}` and
//! `{"from":7,"reply":REPLY}`.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Write};
use tare_record::Nanos;
use tare_traffic::{SentBytes, SideReport, TrialTask};

/// Version of the protocol: both ends must have the same.
pub const VERSION: u32 = 7;

/// Largest order that is read, bytes. Replies carry histograms and have no such limit.
const LONGEST_ORDER: usize = 1 << 20;

/// Order to an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentOrder {
    /// Start the server: listen on the task's addresses.
    Serve(TrialTask),
    /// Connect all flows of the client.
    Connect(TrialTask),
    /// Start the client's traffic.
    Go {
        /// Time to begin by the agent's monotonic clock, ns, so that all clients of a trial begin at once. `None`: on
        /// receipt.
        at: Option<Nanos>,
    },
    /// Generate one slice of the client's traffic.
    Slice {
        /// Time to begin, as for [`AgentOrder::Go`].
        at: Option<Nanos>,
    },
    /// End a slice, once everything has arrived.
    Settle {
        /// Payload bytes that the other side has sent so far, in all slices.
        sent: u64,
    },
    /// Wait for data on the way, then report the counts.
    Finish,
}

impl AgentOrder {
    /// Returns the order's name on the wire.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Serve(_) => "serve",
            Self::Connect(_) => "connect",
            Self::Go { .. } => "go",
            Self::Slice { .. } => "slice",
            Self::Settle { .. } => "settle",
            Self::Finish => "finish",
        }
    }
}

/// Reply of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentReply {
    /// The agent has started.
    Hello {
        /// Version of the protocol that the agent speaks.
        protocol: u32,
        /// Name of the agent's monotonic clock: agents with the same name read the same clock. Empty if it cannot be
        /// determined.
        clock: String,
    },
    /// The order has been prepared.
    Ready,
    /// A slice of the client's traffic is over.
    Sliced {
        /// Payload bytes that the client has sent so far, in all slices.
        sent: u64,
    },
    /// A slice is over at this side.
    Settled {
        /// Payload that the side has sent.
        sent: SentBytes,
    },
    /// Report of a finished side.
    Done(Box<SideReport>),
    /// Error in one line.
    Error(String),
}

/// Order to one of the containers that an agent serves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ControllerMessage {
    /// Place of the container in the agent's list.
    pub to: usize,
    /// The order itself.
    pub order: AgentOrder,
}

/// Reply of one of the containers that an agent serves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentMessage {
    /// Place of the container in the agent's list.
    pub from: usize,
    /// The reply itself.
    pub reply: AgentReply,
}

/// Reads one order, plain ([`AgentOrder`]) or addressed ([`ControllerMessage`]). Returns `None` at the end of input,
/// and an inner `Err`, in words, for a line that is not an order.
///
/// # Errors
/// Returns an error if the input itself cannot be read.
pub fn read_order<O: DeserializeOwned>(
    input: &mut impl BufRead,
) -> io::Result<Option<Result<O, String>>> {
    let mut line = Vec::new();
    if !read_line(input, &mut line)? {
        return Ok(None);
    }
    if line.len() > LONGEST_ORDER {
        return Ok(Some(Err(format!("the order is longer than {LONGEST_ORDER} bytes"))));
    }
    Ok(Some(serde_json::from_slice(&line).map_err(|error| format!("invalid order: {error}"))))
}

/// Reads up to the end of a line, of which it keeps little more than the longest order. Returns false at the end of
/// input.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    let mut begun = false;
    loop {
        let chunk = match input.fill_buf() {
            Ok(chunk) => chunk,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if chunk.is_empty() {
            return Ok(begun);
        }
        begun = true;
        let end = chunk.iter().position(|&byte| byte == b'\n');
        let used = end.map_or(chunk.len(), |end| end + 1);
        if line.len() <= LONGEST_ORDER {
            line.extend_from_slice(&chunk[..used]);
        }
        input.consume(used);
        if end.is_some() {
            return Ok(true);
        }
    }
}

/// Writes one order or reply as a line, and flushes it.
///
/// # Errors
/// Returns an error if the other side has gone.
pub fn write_line(output: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn orders_are_spelled_as_documented() {
        let mut line = Vec::new();
        write_line(&mut line, &AgentOrder::Go { at: None }).unwrap();
        write_line(&mut line, &ControllerMessage { to: 7, order: AgentOrder::Finish }).unwrap();
        write_line(&mut line, &AgentReply::Hello { protocol: VERSION, clock: "c".to_owned() })
            .unwrap();
        write_line(&mut line, &AgentReply::Ready).unwrap();
        write_line(&mut line, &AgentReply::Error("no".to_owned())).unwrap();
        let expected = "{\"go\":{\"at\":null}}\n{\"to\":7,\"order\":\"finish\"}\n{\"hello\":{\"protocol\":7,\"clock\":\"c\"}}\n\"ready\"\n{\"error\":\"no\"}\n";
        assert_eq!(String::from_utf8(line).unwrap(), expected);
    }

    #[test]
    fn an_endless_line_is_refused_and_the_next_one_read() {
        let mut text = vec![b'x'; 3 * LONGEST_ORDER];
        text.extend_from_slice(b"\n\"finish\"\n");
        let mut input = text.as_slice();
        assert!(read_order::<AgentOrder>(&mut input).unwrap().unwrap().is_err());
        assert_eq!(read_order(&mut input).unwrap().unwrap(), Ok(AgentOrder::Finish));
        assert!(read_order::<AgentOrder>(&mut input).unwrap().is_none());
    }

    proptest! {
        #[test]
        fn every_line_is_an_order_or_an_error(lines in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..10)) {
            let text = lines.concat();
            let mut input = text.as_slice();
            let mut read = 0;
            while read_order::<AgentOrder>(&mut input).unwrap().is_some() {
                read += 1;
            }
            let newlines = text.iter().filter(|&&byte| byte == b'\n').count();
            let unfinished = usize::from(text.last().is_some_and(|&byte| byte != b'\n'));
            prop_assert_eq!(read, newlines + unfinished);
        }
    }
}
