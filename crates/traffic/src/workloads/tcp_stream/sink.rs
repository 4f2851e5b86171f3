//! Payload sink: takes received payload from the kernel.

use crate::page_buffer::{HALF_PAGE, PageBuffer};
use crate::{Error, Parameter, ParameterKind, parameters};
use rustix::net::{RecvFlags, recv};
use std::io::{self, Read};
use std::net::TcpStream;
use tare_record::Parameters;

/// Parameter for the size of one read.
///
/// The default is from measurements on two cores of an idle virtual machine with 2 MiB of second-level cache each, over
/// a veth pair, with writes of 256 KiB, interleaved, medians of a second each: under bbr 64 KiB gave 13.5 Gbit/s, 128
/// KiB 19.2, 256 KiB 21.2, 512 KiB 21.3; under cubic 128 KiB 63, 256 KiB 65, 512 KiB 70, 1 MiB 73. On one core for both
/// ends 128, 256 and 512 KiB were alike (81 to 83 Gbit/s).
pub(super) const READ: Parameter = Parameter {
    name: "read",
    summary: "bytes that the receiver asks the kernel for in one read",
    kind: ParameterKind::Bytes { least: 1, most: 16 << 20 },
    default: Some("262144"),
};

/// Destination of one thread's received payload.
#[derive(Debug)]
pub(super) enum PayloadSink {
    /// Payload is copied to memory.
    Copy {
        /// Buffer that each read overwrites.
        memory: PageBuffer,
        /// Received bytes. Payload lies in the sender's pages from the beginning of a page on, so its offset within a
        /// page advances from read to read; the destination advances with it, half a page behind.
        taken: usize,
    },
    /// Payload is taken off the socket and dropped by the kernel (`MSG_TRUNC`, tcp(7)); the buffer stays unwritten.
    Drop(Box<[u8]>),
}

impl PayloadSink {
    /// Creates the sink that the resolved parameters choose.
    pub(super) fn from_parameters(parameters: &Parameters) -> Result<Self, Error> {
        let read = parameters::size(parameters, READ.name)?;
        Ok(match parameters::word(parameters, "receive") {
            Some("drop") => Self::Drop(vec![1; read].into_boxed_slice()),
            _ => Self::Copy { memory: PageBuffer::new(read), taken: 0 },
        })
    }

    /// Receives the available payload from a socket. Returns the number of bytes, 0 at the end of the stream.
    pub(super) fn receive(&mut self, mut stream: &TcpStream) -> io::Result<usize> {
        match self {
            Self::Copy { memory, taken } => {
                let bytes = stream.read(memory.at_offset_mut(taken.wrapping_add(HALF_PAGE)))?;
                *taken = taken.wrapping_add(bytes);
                Ok(bytes)
            }
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
            let parameters =
                [("receive".to_owned(), receive.into()), ("read".to_owned(), 300.into())];
            let mut sink = PayloadSink::from_parameters(&parameters.into()).unwrap();
            let mut taken = 0;
            loop {
                match sink.receive(&server).unwrap() {
                    0 => break,
                    bytes => {
                        assert!(bytes <= 300, "no more than was asked for: {bytes}");
                        taken += bytes;
                    }
                }
            }
            assert_eq!(taken, 1000);
            let first = match &sink {
                PayloadSink::Copy { memory, .. } => memory.at_offset(HALF_PAGE)[0],
                PayloadSink::Drop(buffer) => buffer[0],
            };
            assert_eq!(first, if receive == "copy" { 7 } else { 1 });
        }
    }

    #[test]
    fn payload_is_copied_half_a_page_from_where_it_was_in_its_own() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let server = listener.accept().unwrap().0;
        let mut sink =
            PayloadSink::from_parameters(&[("read".to_owned(), 3000.into())].into()).unwrap();
        let mut place = HALF_PAGE;
        for (byte, length) in [(7, 100), (8, 3000), (9, 1)] {
            client.write_all(&vec![byte; length]).unwrap();
            let mut came = 0;
            while came < length {
                let bytes = sink.receive(&server).unwrap();
                let PayloadSink::Copy { memory, .. } = &sink else { panic!("{sink:?}") };
                assert!(
                    memory.at_offset(place)[..bytes].iter().all(|&at| at == byte),
                    "at {place}"
                );
                came += bytes;
                place += bytes;
            }
        }
    }
}
