//! The greeting at the beginning of every TCP flow: the client says who it is, the server that it has it.
//!
//! Only after it has every flow been seen to pass from end to end, also through a proxy that accepts on its own; a
//! stranger, or a straggler of an earlier trial, is not mistaken for a flow. It is not payload and is counted nowhere.

use std::io::{self, Read, Write};
use std::net::TcpStream;

/// The client's greeting: `tare`, the version, the trial's token, which client, which way.
const LENGTH: usize = 24;
const MAGIC: [u8; 4] = *b"tare";
const VERSION: u32 = 2;
/// The server's answer: ASCII ACK.
const ANSWER: [u8; 1] = [6];

/// Which way the payload of a flow goes. The client connects either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// From client to server, or to and fro.
    Up = 0,
    /// From server to client.
    Down = 1,
}

impl Way {
    fn of(number: u32) -> Option<Self> {
        [Self::Up, Self::Down].into_iter().find(|&way| way as u32 == number)
    }
}

/// A flow that a server has.
#[derive(Debug)]
pub(crate) struct Accepted {
    /// Its socket.
    pub(crate) stream: TcpStream,
    /// Which client it is from.
    pub(crate) client: u32,
    /// Which way its payload goes.
    pub(crate) way: Way,
}

fn greeting(token: u64, client: u32, way: u32) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    bytes[..4].copy_from_slice(&MAGIC);
    bytes[4..8].copy_from_slice(&VERSION.to_be_bytes());
    bytes[8..16].copy_from_slice(&token.to_be_bytes());
    bytes[16..20].copy_from_slice(&client.to_be_bytes());
    bytes[20..].copy_from_slice(&way.to_be_bytes());
    bytes
}

/// The client's part: sends the greeting and waits for the answer, as long as the socket's timeouts allow.
pub(crate) fn greet(mut stream: &TcpStream, token: u64, client: u32, way: Way) -> io::Result<()> {
    stream.write_all(&greeting(token, client, way as u32))?;
    let mut answer = [0; ANSWER.len()];
    stream.read_exact(&mut answer)?;
    if answer == ANSWER { Ok(()) } else { Err(io::Error::other("what answers there is not tare")) }
}

/// The server's part; nothing for whoever does not greet with this trial's token.
pub(crate) fn welcome(stream: TcpStream, token: u64) -> Option<Accepted> {
    let mut bytes = [0; LENGTH];
    (&stream).read_exact(&mut bytes).ok()?;
    let number = |from: usize| bytes[from..from + 4].try_into().ok().map(u32::from_be_bytes);
    let (client, way) = (number(16)?, number(20)?);
    if bytes != greeting(token, client, way) {
        return None;
    }
    let way = Way::of(way)?;
    (&stream).write_all(&ANSWER).ok()?;
    Some(Accepted { stream, client, way })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener};
    use std::thread;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (client, listener.accept().unwrap().0)
    }

    #[test]
    fn a_client_is_known_by_its_number_and_the_way_it_wants() {
        for way in [Way::Up, Way::Down] {
            let (client, server) = pair();
            let greeter = thread::spawn(move || greet(&client, 77, 5, way));
            let accepted = welcome(server, 77).unwrap();
            assert_eq!((accepted.client, accepted.way), (5, way));
            greeter.join().unwrap().unwrap();
        }
    }

    #[test]
    fn a_way_that_there_is_not_is_refused() {
        let (client, server) = pair();
        (&client).write_all(&greeting(77, 5, 2)).unwrap();
        assert!(welcome(server, 77).is_none());
    }

    #[test]
    fn a_straggler_of_another_trial_is_refused() {
        let (client, server) = pair();
        let greeter = thread::spawn(move || greet(&client, 76, 5, Way::Up));
        assert!(welcome(server, 77).is_none());
        assert!(greeter.join().unwrap().is_err());
    }

    #[test]
    fn a_stranger_is_refused() {
        let (client, server) = pair();
        (&client).write_all(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n").unwrap();
        assert!(welcome(server, 77).is_none());
    }
}
