//! Transport of messages between the two ends of a flow: the interface that streams and datagrams share.

use super::stamp;
use rustix::io::Errno;
use std::fmt::Debug;
use std::io;
use std::os::fd::BorrowedFd;

/// Time after which a request by datagram counts as lost, ns: the minimum time that TCP in Linux waits before it
/// retransmits (tcp(7), TCP_RTO_MIN).
pub(in crate::workloads) const DATAGRAM_LOST_AFTER: Option<u64> = Some(200_000_000);

/// Returns true for an error by which the network, or a filter, refuses a datagram now: it counts as lost, as it would
/// if it were lost farther on.
pub(in crate::workloads) fn is_lost(error: Errno) -> bool {
    matches!(
        error,
        Errno::NETUNREACH
            | Errno::HOSTUNREACH
            | Errno::NETDOWN
            | Errno::NOBUFS
            | Errno::PERM
            | Errno::CONNREFUSED
    )
}

/// Result of an attempt to receive a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::workloads) enum ReceiveProgress {
    /// A part of the message has arrived.
    Part,
    /// The last part of the message has arrived.
    Whole,
    /// The other end sends no more.
    End,
}

/// One end of a flow.
pub(in crate::workloads) trait MessageTransport:
    Debug + Send + 'static
{
    /// Time after which a request without a response counts as lost, ns. `None`: the kernel retransmits.
    const LOST_AFTER: Option<u64>;

    /// Returns the socket of the flow.
    fn socket(&self) -> BorrowedFd<'_>;

    /// Returns the payload bytes by which a message of this size travels.
    fn payload_size(&self, message: usize) -> usize {
        message
    }

    /// Sends a part of a message, from where the last call ended. Returns true when all of it has been sent.
    fn send_some(&mut self, message: &[u8]) -> io::Result<bool>;

    /// Receives a part of a message of this size, through a buffer.
    fn receive_some(&mut self, buffer: &mut [u8], size: usize) -> io::Result<ReceiveProgress>;

    /// Returns the first bytes of the message received last.
    fn head(&self) -> [u8; stamp::LENGTH];

    /// Tells the other end that no more comes.
    fn close_sending(&mut self) -> io::Result<()>;

    /// Returns true if the other end has closed the flow; called for a flow on which nothing moves.
    fn is_closed_by_peer(&self) -> io::Result<bool>;
}

/// Allocates a buffer for messages of this size; longer ones are read in several pieces.
pub(in crate::workloads) fn message_buffer(size: usize) -> Box<[u8]> {
    const MOST: usize = 256 << 10;
    vec![1; size.clamp(stamp::LENGTH, MOST)].into_boxed_slice()
}
