//! The greeting at the beginning of every TCP flow: the client says who it is, the server that it has it.
//!
//! Only after it has every flow been seen to pass from end to end, also through a proxy that accepts on its own; a
//! stranger, or a straggler of an earlier trial, is not mistaken for a flow. It is not payload and is counted nowhere.

use std::io::{self, Read, Write};
use std::net::TcpStream;

/// The client's greeting: `tare`, the version, the trial's token, which client.
const LENGTH: usize = 20;
const MAGIC: [u8; 4] = *b"tare";
const VERSION: u32 = 1;
/// The server's answer: ASCII ACK.
const ANSWER: [u8; 1] = [6];

/// A flow that a server has.
#[derive(Debug)]
pub(crate) struct Accepted {
    /// Its socket.
    pub(crate) stream: TcpStream,
    /// Which client it is from.
    pub(crate) client: u32,
}

fn greeting(token: u64, client: u32) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    bytes[..4].copy_from_slice(&MAGIC);
    bytes[4..8].copy_from_slice(&VERSION.to_be_bytes());
    bytes[8..16].copy_from_slice(&token.to_be_bytes());
    bytes[16..].copy_from_slice(&client.to_be_bytes());
    bytes
}

/// The client's part: sends the greeting and waits for the answer, as long as the socket's timeouts allow.
pub(crate) fn greet(mut stream: &TcpStream, token: u64, client: u32) -> io::Result<()> {
    stream.write_all(&greeting(token, client))?;
    let mut answer = [0; ANSWER.len()];
    stream.read_exact(&mut answer)?;
    if answer == ANSWER { Ok(()) } else { Err(io::Error::other("what answers there is not tare")) }
}

/// The server's part; nothing for whoever does not greet with this trial's token.
pub(crate) fn welcome(stream: TcpStream, token: u64) -> Option<Accepted> {
    let mut bytes = [0; LENGTH];
    (&stream).read_exact(&mut bytes).ok()?;
    let (known, client) = bytes.split_at(LENGTH - 4);
    let client = u32::from_be_bytes(client.try_into().ok()?);
    if known != &greeting(token, client)[..LENGTH - 4] {
        return None;
    }
    (&stream).write_all(&ANSWER).ok()?;
    Some(Accepted { stream, client })
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
    fn a_client_is_known_by_its_number() {
        let (client, server) = pair();
        let greeter = thread::spawn(move || greet(&client, 77, 5));
        assert_eq!(welcome(server, 77).unwrap().client, 5);
        greeter.join().unwrap().unwrap();
    }

    #[test]
    fn a_straggler_of_another_trial_is_refused() {
        let (client, server) = pair();
        let greeter = thread::spawn(move || greet(&client, 76, 5));
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
