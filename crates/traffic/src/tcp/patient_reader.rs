//! Reader whose reads wait until a deadline.

use std::io::{self, ErrorKind, Read};
use std::time::{Duration, Instant};

/// Reader of a connection whose socket has a receive timeout. It fails for want of data only after its own time limit:
/// where sockets are in a sockmap, the kernel also ends reads that were woken without data, at any time (Linux 6.18,
/// `tcp_bpf_recvmsg`).
pub(crate) struct PatientReader<R> {
    reader: R,
    deadline: Instant,
}

impl<R: Read> PatientReader<R> {
    /// Returns a reader with a time limit that begins now.
    pub(crate) fn new(reader: R, limit: Duration) -> Self {
        Self { reader, deadline: Instant::now() + limit }
    }
}

impl<R: Read> Read for PatientReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.reader.read(buffer) {
                Err(early)
                    if early.kind() == ErrorKind::WouldBlock && Instant::now() < self.deadline => {}
                done => return done,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reader that ends this many reads early before it has a byte.
    struct EarlyReader(u32);

    impl Read for EarlyReader {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.checked_sub(1) {
                Some(left) => {
                    self.0 = left;
                    Err(ErrorKind::WouldBlock.into())
                }
                None => {
                    buffer[0] = 7;
                    Ok(1)
                }
            }
        }
    }

    #[test]
    fn a_read_that_ended_early_is_made_again_until_the_deadline() {
        let mut byte = [0];
        let hour = Duration::from_secs(3600);
        PatientReader::new(EarlyReader(3), hour).read_exact(&mut byte).unwrap();
        assert_eq!(byte, [7]);
        let late = PatientReader::new(EarlyReader(3), Duration::ZERO).read_exact(&mut byte);
        assert_eq!(late.unwrap_err().kind(), ErrorKind::WouldBlock);
    }
}
