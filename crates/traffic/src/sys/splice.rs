//! Pages of this process, moved into a pipe and from there into a socket without a copy (vmsplice(2), splice(2)).

use rustix::pipe::{self, IoSliceRaw, PipeFlags, SpliceFlags};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Pipe through which pages go to sockets.
#[derive(Debug)]
pub(crate) struct PagePipe {
    reader: OwnedFd,
    writer: OwnedFd,
    /// Bytes that the pipe holds if every page is full.
    capacity: usize,
    /// Bytes in the pipe.
    filled: usize,
}

impl PagePipe {
    /// Creates a pipe of this size, or less if the account's limit is lower (`fs.pipe-max-size`).
    pub(crate) fn new(size: usize) -> io::Result<Self> {
        let (reader, writer) = pipe::pipe_with(PipeFlags::CLOEXEC)?;
        // A refusal shows in the capacity read below.
        let _ = pipe::fcntl_setpipe_size(&writer, size);
        let capacity = pipe::fcntl_getpipe_size(&writer)?;
        Ok(Self { reader, writer, capacity, filled: 0 })
    }

    /// Returns the bytes that the pipe holds if every page is full.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Puts the pages under these bytes into the pipe, unless it still holds some.
    ///
    /// The receiver gets the bytes as they are on delivery: they must not be changed while they are in flight.
    pub(crate) fn fill(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.filled > 0 {
            return Ok(());
        }
        let slices = [IoSliceRaw::from_slice(bytes)];
        // SAFETY: this is the writing end of a pipe, at which the kernel only reads from the slice, which is alive
        // through the call. Afterwards the kernel holds references to the pages themselves, so that no page is reused
        // while it is in flight, even if its memory is freed in the meantime.
        self.filled = unsafe { pipe::vmsplice(&self.writer, &slices, SpliceFlags::NONBLOCK)? };
        Ok(())
    }

    /// Moves the pipe's contents to a socket, as far as the socket has room. Returns the number of bytes moved.
    pub(crate) fn drain(&mut self, socket: impl AsFd) -> io::Result<usize> {
        let moved = pipe::splice(&self.reader, None, socket, None, self.filled, SpliceFlags::MOVE)?;
        self.filled -= moved;
        Ok(moved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    #[test]
    fn what_goes_in_comes_out_of_the_socket() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut server = listener.accept().unwrap().0;
        let bytes: Vec<u8> = (0..10_000u32).map(|n| n as u8).collect();
        let mut pages = PagePipe::new(bytes.len()).unwrap();
        assert!(pages.capacity() >= bytes.len());
        pages.fill(&bytes).unwrap();
        // The pipe is full: the second filling changes nothing.
        pages.fill(&bytes).unwrap();
        let mut moved = 0;
        while moved < bytes.len() {
            moved += pages.drain(&client).unwrap();
        }
        drop(client);
        let mut received = Vec::new();
        server.read_to_end(&mut received).unwrap();
        assert_eq!(received, bytes);
    }
}
