//! Greeting at the beginning of every TCP flow: the client identifies itself, the server acknowledges.
//!
//! The greeting proves that a flow passes from end to end, also through a proxy that accepts on its own, and keeps
//! strangers and stragglers of an earlier trial from being mistaken for a flow. It is not payload and is not counted.

use crate::TrialTask;
use std::io::{self, Read, Write};
use std::net::TcpStream;

/// Length of the client's greeting: `tare`, the version, the trial's token, the client's number, that of its process, the
/// direction.
const LENGTH: usize = 28;
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

fn greeting_bytes(token: u64, origin: FlowOrigin, way: u32) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    bytes[..4].copy_from_slice(&MAGIC);
    bytes[4..8].copy_from_slice(&VERSION.to_be_bytes());
    bytes[8..16].copy_from_slice(&token.to_be_bytes());
    bytes[16..20].copy_from_slice(&origin.client.to_be_bytes());
    bytes[20..24].copy_from_slice(&origin.process.to_be_bytes());
    bytes[24..].copy_from_slice(&way.to_be_bytes());
    bytes
}

/// Sends the client's greeting and waits for the answer, up to the socket's timeouts.
pub(crate) fn send_greeting(
    mut stream: &TcpStream,
    token: u64,
    origin: FlowOrigin,
    way: FlowDirection,
) -> io::Result<()> {
    stream.write_all(&greeting_bytes(token, origin, way as u32))?;
    let mut answer = [0; ANSWER.len()];
    stream.read_exact(&mut answer)?;
    if answer == ANSWER {
        Ok(())
    } else {
        Err(io::Error::other("the program at this address is not tare"))
    }
}

/// Reads the client's greeting and answers it. Returns `None` if the connection does not greet with this trial's token.
pub(crate) fn receive_greeting(stream: TcpStream, token: u64) -> Option<AcceptedFlow> {
    let mut bytes = [0; LENGTH];
    (&stream).read_exact(&mut bytes).ok()?;
    let number = |from: usize| bytes[from..from + 4].try_into().ok().map(u32::from_be_bytes);
    let origin = FlowOrigin { client: number(16)?, process: number(20)? };
    let way = number(24)?;
    if bytes != greeting_bytes(token, origin, way) {
        return None;
    }
    let way = FlowDirection::from_number(way)?;
    (&stream).write_all(&ANSWER).ok()?;
    Some(AcceptedFlow { stream, origin, direction: way })
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
        (&client).write_all(&greeting_bytes(77, ORIGIN, 2)).unwrap();
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
}
