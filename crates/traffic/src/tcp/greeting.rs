//! Greeting at the beginning of every TCP flow: the client identifies itself, the server acknowledges.
//!
//! The greeting proves that a flow passes from end to end, also through a proxy that accepts on its own, and keeps
//! strangers and stragglers of an earlier trial from being mistaken for a flow. It is not payload and is not counted.

use super::patient_reader::PatientReader;
use crate::TrialTask;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Length of the client's greeting, bytes: `tare`, the version, the trial's token, the client's number, that of its
/// process, the direction.
pub(crate) const GREETING_LENGTH: usize = 28;
/// Time within which a connection must greet, and within which a flow that has greeted must say what its workload asks
/// for next. Of two thousand clients that begin together on two cores, some wait for seconds between connecting and
/// greeting.
pub(crate) const GREETING_TIMEOUT: Duration = Duration::from_secs(5);
const MAGIC: [u8; 4] = *b"tare";
const VERSION: u32 = 3;
/// Answer of the server: ASCII ACK.
const ANSWER: [u8; 1] = [6];

/// Direction of a flow's payload. The client connects in either case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlowDirection {
    /// From client to server, or both ways in turn.
    Up = 0,
    /// From server to client.
    Down = 1,
}

impl FlowDirection {
    fn from_number(number: u32) -> Option<Self> {
        [Self::Up, Self::Down].into_iter().find(|&way| way as u32 == number)
    }
}

/// Sender of a flow's greeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlowOrigin {
    /// Number of the client; its processes share it.
    pub(crate) client: u32,
    /// Index of the process among those of all clients.
    pub(crate) process: u32,
}

impl FlowOrigin {
    /// Returns the origin of the flows that a client opens for its task.
    pub(crate) fn from_task(task: &TrialTask) -> Self {
        Self { client: task.client, process: task.index }
    }
}

/// Flow that a server has accepted.
#[derive(Debug)]
pub(crate) struct AcceptedFlow {
    /// Socket of the flow.
    pub(crate) stream: TcpStream,
    /// Client that the flow is from, and its process.
    pub(crate) origin: FlowOrigin,
    /// Direction of the flow's payload.
    pub(crate) direction: FlowDirection,
}

/// Greeting of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Greeting {
    token: u64,
    origin: FlowOrigin,
    direction: FlowDirection,
}

impl Greeting {
    /// Creates the greeting of the flows that a client opens for its task, up.
    pub(crate) fn from_task(task: &TrialTask) -> Self {
        let origin = FlowOrigin::from_task(task);
        Self { token: task.token, origin, direction: FlowDirection::Up }
    }

    /// Returns the greeting as it is sent.
    pub(crate) fn to_bytes(self) -> [u8; GREETING_LENGTH] {
        let mut bytes = [0; GREETING_LENGTH];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..8].copy_from_slice(&VERSION.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.token.to_be_bytes());
        bytes[16..20].copy_from_slice(&self.origin.client.to_be_bytes());
        bytes[20..24].copy_from_slice(&self.origin.process.to_be_bytes());
        bytes[24..].copy_from_slice(&(self.direction as u32).to_be_bytes());
        bytes
    }

    /// Reads a greeting. Returns `None` if the bytes are not one of this version.
    pub(crate) fn parse(bytes: &[u8; GREETING_LENGTH]) -> Option<Self> {
        let number = |from: usize| bytes[from..from + 4].try_into().ok().map(u32::from_be_bytes);
        let greeting = Self {
            token: bytes[8..16].try_into().ok().map(u64::from_be_bytes)?,
            origin: FlowOrigin { client: number(16)?, process: number(20)? },
            direction: FlowDirection::from_number(number(24)?)?,
        };
        (greeting.to_bytes() == *bytes).then_some(greeting)
    }

    /// Returns true if a flow with this greeting belongs to the trial of a server's task.
    ///
    /// A server keeps records by client: numbers beyond those of the trial would let a client make it keep more.
    pub(crate) fn is_of_trial(&self, task: &TrialTask) -> bool {
        self.token == task.token
            && self.origin.client < task.client_processes
            && self.origin.process < task.client_processes
    }

    /// Answers the greeting that a connection began with.
    pub(crate) fn acknowledge(self, stream: TcpStream) -> io::Result<AcceptedFlow> {
        (&stream).write_all(&ANSWER)?;
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(GREETING_TIMEOUT))?;
        Ok(AcceptedFlow { stream, origin: self.origin, direction: self.direction })
    }
}

/// Sends the client's greeting and waits for the answer, up to the socket's timeouts.
pub(crate) fn send_greeting(
    mut stream: &TcpStream,
    token: u64,
    origin: FlowOrigin,
    way: FlowDirection,
) -> io::Result<()> {
    stream.write_all(&Greeting { token, origin, direction: way }.to_bytes())?;
    let mut answer = [0; ANSWER.len()];
    let limit = stream.read_timeout()?.unwrap_or(GREETING_TIMEOUT);
    PatientReader::new(stream, limit).read_exact(&mut answer)?;
    if answer == ANSWER {
        Ok(())
    } else {
        Err(io::Error::other("the program at this address is not tare"))
    }
}

/// Reads the client's greeting and answers it. Returns `None` if the connection does not greet with this trial's token.
#[cfg(test)]
pub(crate) fn receive_greeting(stream: TcpStream, token: u64) -> Option<AcceptedFlow> {
    let mut bytes = [0; GREETING_LENGTH];
    (&stream).read_exact(&mut bytes).ok()?;
    let greeting = Greeting::parse(&bytes).filter(|greeting| greeting.token == token)?;
    greeting.acknowledge(stream).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener};
    use std::thread;

    const ORIGIN: FlowOrigin = FlowOrigin { client: 5, process: 11 };

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (client, listener.accept().unwrap().0)
    }

    #[test]
    fn a_client_is_known_by_its_number_and_the_way_it_wants() {
        for way in [FlowDirection::Up, FlowDirection::Down] {
            let (client, server) = pair();
            let greeter = thread::spawn(move || send_greeting(&client, 77, ORIGIN, way));
            let accepted = receive_greeting(server, 77).unwrap();
            assert_eq!((accepted.origin, accepted.direction), (ORIGIN, way));
            greeter.join().unwrap().unwrap();
        }
    }

    #[test]
    fn a_way_that_there_is_not_is_refused() {
        let (client, server) = pair();
        let greeting = Greeting { token: 77, origin: ORIGIN, direction: FlowDirection::Up };
        let mut bytes = greeting.to_bytes();
        bytes[GREETING_LENGTH - 1] = 2;
        (&client).write_all(&bytes).unwrap();
        assert!(receive_greeting(server, 77).is_none());
    }

    #[test]
    fn a_straggler_of_another_trial_is_refused() {
        let (client, server) = pair();
        let greeter = thread::spawn(move || send_greeting(&client, 76, ORIGIN, FlowDirection::Up));
        assert!(receive_greeting(server, 77).is_none());
        assert!(greeter.join().unwrap().is_err());
    }

    #[test]
    fn a_stranger_is_refused() {
        let (client, server) = pair();
        (&client).write_all(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n").unwrap();
        assert!(receive_greeting(server, 77).is_none());
    }

    #[test]
    fn a_flow_of_a_client_that_the_trial_does_not_have_is_none_of_its() {
        let task = TrialTask::for_test("tcp-rr", vec![([127, 0, 0, 1], 7).into()]);
        let own = Greeting::from_task(&task);
        assert!(own.is_of_trial(&task));
        for origin in [FlowOrigin { client: 1, process: 0 }, FlowOrigin { client: 0, process: 1 }] {
            assert!(!Greeting { origin, ..own }.is_of_trial(&task));
            assert!(
                Greeting { origin, ..own }
                    .is_of_trial(&TrialTask { client_processes: 2, ..task.clone() })
            );
        }
        assert!(!Greeting { token: task.token + 1, ..own }.is_of_trial(&task));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_break_the_reader(bytes: [u8; GREETING_LENGTH]) {
            if let Some(greeting) = Greeting::parse(&bytes) {
                proptest::prop_assert_eq!(greeting.to_bytes(), bytes);
            }
        }
    }
}
