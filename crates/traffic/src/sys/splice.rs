//! Pages of this process put into a pipe, and from there into a socket, without copying them (vmsplice(2), splice(2)).

use rustix::pipe::{self, IoSliceRaw, PipeFlags, SpliceFlags};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// A pipe through which pages go to sockets.
#[derive(Debug)]
pub(crate) struct PagePipe {
    reader: OwnedFd,
    writer: OwnedFd,
    /// Bytes that it can hold where every page is full.
    capacity: usize,
    /// Bytes in it.
    filled: usize,
}

impl PagePipe {
    /// A pipe with room for so many bytes; less where this account may have no more (`fs.pipe-max-size`).
    pub(crate) fn new(size: usize) -> io::Result<Self> {
        let (reader, writer) = pipe::pipe_with(PipeFlags::CLOEXEC)?;
        // What is refused shows in the size that there is.
        let _ = pipe::fcntl_setpipe_size(&writer, size);
        let capacity = pipe::fcntl_getpipe_size(&writer)?;
        Ok(Self { reader, writer, capacity, filled: 0 })
    }

    /// Bytes that it can hold where every page is full.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Puts the pages under these bytes into the pipe, unless there are some in it yet.
    ///
    /// Whoever receives them gets the bytes as they are then: they must not be changed while they are in flight.
    pub(crate) fn fill(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.filled > 0 {
            return Ok(());
        }
        let slices = [IoSliceRaw::from_slice(bytes)];
        // SAFETY: this is the writing end of a pipe, at which the kernel only reads from the slice, which is alive
        // through the call. After it the kernel holds references to the pages themselves, so that none of them is
        // anybody else's while it is in flight, even if its memory is given back meanwhile.
        self.filled = unsafe { pipe::vmsplice(&self.writer, &slices, SpliceFlags::NONBLOCK)? };
        Ok(())
    }

    /// Moves what is in the pipe to a socket, as far as it has room, and says how many bytes that were.
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
        // Full already: the second filling changes nothing.
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
