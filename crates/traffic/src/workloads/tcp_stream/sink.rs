//! What becomes of received payload.

use crate::parameters;
use rustix::net::{RecvFlags, recv};
use std::io::{self, Read};
use std::net::TcpStream;
use tare_record::Parameters;

/// What the receiver asks of the kernel in one call, bytes. On two cores of a virtual machine, over loopback, twice as
/// much was slower by 4 % (13 % with writes of 256 KiB), half as much by up to 5 %; over a veth pair, with writes of
/// 256 KiB, half as much took 7 % more CPU time a byte and twice as much was slower by 8 %.
const READ: usize = 128 << 10;

/// Where one thread's received payload goes.
#[derive(Debug)]
pub(super) enum Sink {
    /// It is copied here.
    Copy(Box<[u8]>),
    /// It is taken off the socket and dropped by the kernel (`MSG_TRUNC`, tcp(7)); nothing is written here.
    Drop(Box<[u8]>),
}

impl Sink {
    /// As the resolved parameters say.
    pub(super) fn of(parameters: &Parameters) -> Self {
        let buffer = vec![1; READ].into_boxed_slice();
        match parameters::word(parameters, "receive") {
            Some("drop") => Self::Drop(buffer),
            _ => Self::Copy(buffer),
        }
    }

    /// Takes what a socket has, and says how many bytes that were; none at its end.
    pub(super) fn take(&mut self, mut stream: &TcpStream) -> io::Result<usize> {
        match self {
            Self::Copy(buffer) => stream.read(buffer),
            Self::Drop(buffer) => Ok(recv(stream, &mut **buffer, RecvFlags::TRUNC)?.1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{Ipv4Addr, TcpListener};

    #[test]
    fn what_is_dropped_is_counted_and_not_copied() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        for receive in ["copy", "drop"] {
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let server = listener.accept().unwrap().0;
            client.write_all(&[7; 1000]).unwrap();
            drop(client);
            let mut sink = Sink::of(&[("receive".to_owned(), receive.into())].into());
            let mut taken = 0;
            loop {
                match sink.take(&server).unwrap() {
                    0 => break,
                    bytes => taken += bytes,
                }
            }
            assert_eq!(taken, 1000);
            let (Sink::Copy(buffer) | Sink::Drop(buffer)) = sink;
            assert_eq!(buffer[0], if receive == "copy" { 7 } else { 1 });
        }
    }
}
