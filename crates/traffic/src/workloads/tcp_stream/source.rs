//! Payload source: passes payload to the kernel.

use crate::page_buffer::{HALF_PAGE, PageBuffer};
use crate::payload::incompressible_payload;
use crate::sys::PagePipe;
use crate::{Error, parameters};
use rustix::fs::{MemfdFlags, memfd_create, sendfile};
use std::io::{self, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use tare_record::Parameters;

/// Source of one thread's payload. The payload never changes, so that its pages may be in flight several times over.
#[derive(Debug)]
pub(super) enum PayloadSource {
    /// Copied by the kernel from memory (write(2)), from half a page on, because it is first copied to the beginning of
    /// a page.
    Copy(PageBuffer),
    /// Pages moved through a pipe (vmsplice(2), splice(2)).
    Pages(SplicedPages),
    /// Pages of a file in memory (sendfile(2)).
    File {
        /// File with the payload.
        file: OwnedFd,
        /// Length of the file, bytes.
        size: usize,
    },
}

/// Payload that begins on a page boundary, so that it fills as few pages as possible, and its pipe.
#[derive(Debug)]
pub(super) struct SplicedPages {
    payload: PageBuffer,
    pipe: PagePipe,
}

impl SplicedPages {
    fn new(size: usize) -> Result<Self, Error> {
        let refused = |error| {
            Error::io(
                "send by vmsplice (if vmsplice is not allowed here, use --send copy or sendfile)",
                error,
            )
        };
        let pipe = PagePipe::new(size).map_err(refused)?;
        if pipe.capacity() < size {
            return Err(Error::Job(format!(
                "cannot send by vmsplice: a pipe here holds {} bytes, not the {size} of a write: use a smaller --size, or raise fs.pipe-max-size",
                pipe.capacity()
            )));
        }
        let mut pages =
            Self { payload: PageBuffer::from_bytes(&incompressible_payload(size), 0), pipe };
        pages.fill().map_err(refused)?;
        Ok(pages)
    }

    fn fill(&mut self) -> io::Result<()> {
        self.pipe.fill(self.payload.at_offset(0))
    }
}

impl PayloadSource {
    /// Creates the source that the resolved parameters choose. Everything that sending uses has been prepared and
    /// tested.
    pub(super) fn from_parameters(parameters: &Parameters) -> Result<Self, Error> {
        let size = parameters::size(parameters, "size")?;
        match parameters::word(parameters, "send") {
            Some("vmsplice") => SplicedPages::new(size).map(Self::Pages),
            Some("sendfile") => payload_file(size)
                .map(|file| Self::File { file, size })
                .map_err(|error| Error::io("create a file in memory for --send sendfile", error)),
            _ => Ok(Self::Copy(PageBuffer::from_bytes(&incompressible_payload(size), HALF_PAGE))),
        }
    }

    /// Sends the payload of one write to a socket, as far as it has room. Returns the number of bytes sent.
    pub(super) fn send(&mut self, mut stream: &TcpStream) -> io::Result<usize> {
        match self {
            Self::Copy(payload) => stream.write(payload.at_offset(HALF_PAGE)),
            Self::Pages(pages) => {
                // The rest that one flow had no room for goes to the next one: all of it is the same payload.
                pages.fill()?;
                pages.pipe.drain(stream)
            }
            Self::File { file, size } => Ok(sendfile(stream, file, Some(&mut 0), *size)?),
        }
    }
}

/// Creates a file in memory with this much payload.
fn payload_file(size: usize) -> io::Result<OwnedFd> {
    let file = memfd_create(c"payload", MemfdFlags::CLOEXEC)?;
    let mut file = std::fs::File::from(file);
    file.write_all(&incompressible_payload(size))?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::{Ipv4Addr, TcpListener};

    fn source_for(send: &str, size: u64) -> Result<PayloadSource, Error> {
        let parameters = [("send".to_owned(), send.into()), ("size".to_owned(), size.into())];
        PayloadSource::from_parameters(&parameters.into())
    }

    #[test]
    fn every_way_of_sending_sends_the_same_bytes_again_and_again() {
        const SIZE: usize = 70_001;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        for send in ["copy", "vmsplice", "sendfile"] {
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let mut server = listener.accept().unwrap().0;
            let sender = std::thread::spawn(move || {
                let mut feed = source_for(send, SIZE as u64).unwrap();
                let mut sent = 0;
                while sent < 3 * SIZE {
                    sent += feed.send(&client).unwrap();
                }
                sent
            });
            let mut received = Vec::new();
            server.read_to_end(&mut received).unwrap();
            assert_eq!(received.len(), sender.join().unwrap(), "{send}");
            let payload = incompressible_payload(SIZE);
            // A blocking socket takes every write whole.
            for write in received.chunks(SIZE) {
                assert!(*write == payload[..write.len()], "{send}");
            }
        }
    }

    #[test]
    fn a_write_that_no_pipe_can_hold_is_refused_with_what_to_do() {
        // No pipe may be larger than 2 GiB.
        let error = source_for("vmsplice", 3 << 30).unwrap_err().to_string();
        assert!(error.starts_with("cannot send by vmsplice: a pipe here holds "), "{error}");
    }
}
