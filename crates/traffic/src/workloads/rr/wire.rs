//! How messages pass between two ends: what a stream and datagrams have in common.

use super::stamp;
use std::fmt::Debug;
use std::io;
use std::os::fd::BorrowedFd;

/// What came of an attempt to take a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::workloads) enum Taken {
    /// Some of it.
    Part,
    /// The last of it.
    Whole,
    /// The other end sends no more.
    End,
}

/// One end of a flow.
pub(in crate::workloads) trait Wire: Debug + Send {
    /// How long a request may go without a response before it counts as lost, ns. Nothing: the kernel sees to it.
    const LOST_AFTER: Option<u64>;

    /// Its socket.
    fn socket(&self) -> BorrowedFd<'_>;

    /// Hands over some of a message, from where it was left; true when it has all gone.
    fn give(&mut self, message: &[u8]) -> io::Result<bool>;

    /// Takes some of a message of this size, by way of a buffer.
    fn take(&mut self, buffer: &mut [u8], size: usize) -> io::Result<Taken>;

    /// The first bytes of the message taken last.
    fn head(&self) -> [u8; stamp::LENGTH];

    /// Tells the other end that no more comes.
    fn hang_up(&mut self) -> io::Result<()>;

    /// Whether the other end has hung up; asked of a flow on which nothing moves.
    fn is_left(&self) -> io::Result<bool>;
}

/// Memory for messages of this size; a longer one is read piece by piece.
pub(in crate::workloads) fn buffer(size: usize) -> Box<[u8]> {
    const MOST: usize = 256 << 10;
    vec![1; size.clamp(stamp::LENGTH, MOST)].into_boxed_slice()
}
