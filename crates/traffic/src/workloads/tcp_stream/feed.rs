//! How payload gets into the kernel.

use crate::in_page::{HALF, InPage};
use crate::payload::payload;
use crate::sys::PagePipe;
use crate::{Error, parameters};
use rustix::fs::{MemfdFlags, memfd_create, sendfile};
use std::io::{self, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use tare_record::Parameters;

/// One thread's source of payload. It never changes, so that pages of it may be in flight several times over.
#[derive(Debug)]
pub(super) enum Feed {
    /// Copied by the kernel from memory (write(2)), from half a page on: it goes to the beginning of one at first.
    Copy(InPage),
    /// Its pages are handed over through a pipe (vmsplice(2), splice(2)).
    Pages(Pages),
    /// Pages of a file in memory are handed over (sendfile(2)).
    File {
        /// The file.
        file: OwnedFd,
        /// Its length, bytes.
        size: usize,
    },
}

/// A payload that begins on a page, so that it fills no more of them than it must, and the pipe for it.
#[derive(Debug)]
pub(super) struct Pages {
    payload: InPage,
    pipe: PagePipe,
}

impl Pages {
    fn new(size: usize) -> Result<Self, Error> {
        let refused = |error| {
            Error::io(
                "send by vmsplice (where it is not allowed, use --send copy or sendfile)",
                error,
            )
        };
        let pipe = PagePipe::new(size).map_err(refused)?;
        if pipe.capacity() < size {
            return Err(Error::Job(format!(
                "send by vmsplice: a pipe here holds {} bytes, not the {size} of a write: use a smaller --size, or raise fs.pipe-max-size",
                pipe.capacity()
            )));
        }
        let mut pages = Self { payload: InPage::holding(&payload(size), 0), pipe };
        pages.fill().map_err(refused)?;
        Ok(pages)
    }

    fn fill(&mut self) -> io::Result<()> {
        self.pipe.fill(self.payload.at(0))
    }
}

impl Feed {
    /// As the resolved parameters say. Everything that sending will use is there, and known to work.
    pub(super) fn of(parameters: &Parameters) -> Result<Self, Error> {
        let size = parameters::size(parameters, "size")?;
        match parameters::word(parameters, "send") {
            Some("vmsplice") => Pages::new(size).map(Self::Pages),
            Some("sendfile") => file(size)
                .map(|file| Self::File { file, size })
                .map_err(|error| Error::io("make a file in memory to send from", error)),
            _ => Ok(Self::Copy(InPage::holding(&payload(size), HALF))),
        }
    }

    /// Hands one write's payload to a socket, as far as it has room, and says how many bytes it took.
    pub(super) fn give(&mut self, mut stream: &TcpStream) -> io::Result<usize> {
        match self {
            Self::Copy(payload) => stream.write(payload.at(HALF)),
            Self::Pages(pages) => {
                // What one flow had no room for goes to the next one: it is all the same payload.
                pages.fill()?;
                pages.pipe.drain(stream)
            }
            Self::File { file, size } => Ok(sendfile(stream, file, Some(&mut 0), *size)?),
        }
    }
}

/// A file in memory with so many bytes of payload.
fn file(size: usize) -> io::Result<OwnedFd> {
    let file = memfd_create(c"payload", MemfdFlags::CLOEXEC)?;
    let mut file = std::fs::File::from(file);
    file.write_all(&payload(size))?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::{Ipv4Addr, TcpListener};

    fn of(send: &str, size: u64) -> Result<Feed, Error> {
        let parameters = [("send".to_owned(), send.into()), ("size".to_owned(), size.into())];
        Feed::of(&parameters.into())
    }

    #[test]
    fn every_way_of_sending_sends_the_same_bytes_again_and_again() {
        const SIZE: usize = 70_001;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        for send in ["copy", "vmsplice", "sendfile"] {
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let mut server = listener.accept().unwrap().0;
            let sender = std::thread::spawn(move || {
                let mut feed = of(send, SIZE as u64).unwrap();
                let mut sent = 0;
                while sent < 3 * SIZE {
                    sent += feed.give(&client).unwrap();
                }
                sent
            });
            let mut received = Vec::new();
            server.read_to_end(&mut received).unwrap();
            assert_eq!(received.len(), sender.join().unwrap(), "{send}");
            let payload = payload(SIZE);
            // A blocking socket takes every write whole.
            for write in received.chunks(SIZE) {
                assert!(*write == payload[..write.len()], "{send}");
            }
        }
    }

    #[test]
    fn a_write_that_no_pipe_can_hold_is_refused_with_what_to_do() {
        // Nobody may have a pipe of more than 2 GiB.
        let error = of("vmsplice", 3 << 30).unwrap_err().to_string();
        assert!(error.starts_with("send by vmsplice: a pipe here holds "), "{error}");
    }
}
