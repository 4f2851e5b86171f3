//! Batches of datagrams in one system call (sendmmsg(2), recvmmsg(2)), from and into memory that is prepared once.
//!
//! The system calls are made directly: musl's own functions copy every header or loop over single calls.

use super::pinned_buffer::PinnedBuffer;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

/// Headers of a batch, one for each piece of a memory of equal pieces.
#[derive(Debug)]
struct MessageBatch {
    memory: PinnedBuffer<u8>,
    /// Size of a piece, bytes.
    room: usize,
    /// Pieces that the headers point to; accessed only through the headers.
    _pieces: PinnedBuffer<libc::iovec>,
    headers: PinnedBuffer<libc::mmsghdr>,
    /// Ancillary data of the messages, `ancillary_words` each; the alignment is that of `cmsghdr`.
    _ancillary: PinnedBuffer<u64>,
    ancillary_words: usize,
}

// SAFETY: the pointers inside are only to memory that the value itself owns and that does not move with it; nothing is
// bound to the thread that made it.
unsafe impl Send for MessageBatch {}

impl MessageBatch {
    fn new(messages: usize, room: usize, ancillary_words: usize) -> Self {
        let memory = PinnedBuffer::new(vec![1; messages * room]);
        let ancillary = PinnedBuffer::new(vec![0; messages * ancillary_words]);
        let piece = |message: usize| libc::iovec {
            iov_base: memory.pointer_at(message * room).cast(),
            iov_len: room,
        };
        let pieces = PinnedBuffer::new((0..messages).map(piece).collect());
        let header = |message: usize| {
            // SAFETY: all zeros are a valid header: no name, no pieces, no ancillary data.
            let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
            header.msg_hdr.msg_iov = pieces.pointer_at(message);
            header.msg_hdr.msg_iovlen = 1;
            if ancillary_words > 0 {
                header.msg_hdr.msg_control = ancillary.pointer_at(message * ancillary_words).cast();
            }
            header
        };
        let headers = PinnedBuffer::new((0..messages).map(header).collect());
        Self { memory, room, _pieces: pieces, headers, _ancillary: ancillary, ancillary_words }
    }

    fn messages(&self) -> usize {
        self.headers.len()
    }

    fn range(&self, message: usize) -> std::ops::Range<usize> {
        message * self.room..(message + 1) * self.room
    }
}

/// Converts the result of a system call to a number or an error.
fn check_result(result: libc::c_long) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// Batch of datagrams to send.
#[derive(Debug)]
pub(crate) struct SendBatch(MessageBatch);

impl SendBatch {
    /// Creates a batch of this many datagrams, each a copy of this payload.
    pub(crate) fn new(messages: usize, payload: &[u8]) -> Self {
        let mut batch = MessageBatch::new(messages, payload.len(), 0);
        for message in 0..messages {
            let range = batch.range(message);
            batch.memory.as_mut_slice()[range].copy_from_slice(payload);
        }
        Self(batch)
    }

    /// Returns the capacity in datagrams.
    pub(crate) fn messages(&self) -> usize {
        self.0.messages()
    }

    /// Returns the bytes of a datagram, mutable.
    pub(crate) fn message(&mut self, message: usize) -> &mut [u8] {
        let range = self.0.range(message);
        &mut self.0.memory.as_mut_slice()[range]
    }

    /// Sends the first `count` datagrams over a connected socket. Returns the number that the kernel took: at least
    /// one.
    pub(crate) fn send(&mut self, socket: BorrowedFd<'_>, count: usize) -> io::Result<usize> {
        let count = count.min(self.0.messages());
        // SAFETY: the headers and all that they point at are owned by this value, which is borrowed mutably; there are
        // at least `count` of them, and the kernel keeps no pointer beyond the call.
        check_result(unsafe {
            libc::syscall(
                libc::SYS_sendmmsg,
                socket.as_raw_fd(),
                self.0.headers.pointer_at(0),
                count as libc::c_uint,
                0,
            )
        })
    }
}

/// Ancillary data that the kernel is to deliver with a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ancillary {
    /// No ancillary data.
    None,
    /// Arrival time and, for datagrams merged by the kernel, the size of each.
    TimestampAndSegment,
}

/// Blocking behaviour of a receive call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BatchWait {
    /// Waits for the first datagram, up to the socket's timeout.
    FirstDatagram,
    /// Does not wait.
    Never,
}

/// Batch of buffers for received datagrams.
#[derive(Debug)]
pub(crate) struct ReceiveBatch {
    batch: MessageBatch,
}

/// Received datagram.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceivedDatagram<'a> {
    /// Bytes of the datagram, up to the size of the buffer.
    pub(crate) kept: &'a [u8],
    /// Full length of the datagram, bytes.
    pub(crate) length: usize,
    /// Size of each merged datagram but the last, bytes. `None` if the kernel merged none.
    pub(crate) segment: Option<usize>,
    /// Arrival time by the kernel's real-time clock, ns.
    pub(crate) at: Option<u64>,
}

impl ReceiveBatch {
    /// Words for a timestamp (`timespec`) and a segment's size (`int`), each with its header.
    const ANCILLARY_WORDS: usize = 10;

    /// Creates a batch of this many buffers of `room` bytes; the rest of a longer datagram is not copied.
    pub(crate) fn new(messages: usize, room: usize, ancillary: Ancillary) -> Self {
        let words =
            if ancillary == Ancillary::TimestampAndSegment { Self::ANCILLARY_WORDS } else { 0 };
        Self { batch: MessageBatch::new(messages, room, words) }
    }

    /// Returns the capacity in datagrams.
    pub(crate) fn messages(&self) -> usize {
        self.batch.messages()
    }

    /// Receives the available datagrams. Returns their number: at least one.
    pub(crate) fn receive(
        &mut self,
        socket: BorrowedFd<'_>,
        waiting: BatchWait,
    ) -> io::Result<usize> {
        let count = self.batch.messages();
        if self.batch.ancillary_words > 0 {
            // The kernel has overwritten the lengths of the last call.
            let bytes = self.batch.ancillary_words * size_of::<u64>();
            for header in self.batch.headers.as_mut_slice() {
                header.msg_hdr.msg_controllen = bytes as _;
            }
        }
        let flags = libc::MSG_TRUNC
            | match waiting {
                BatchWait::FirstDatagram => libc::MSG_WAITFORONE,
                BatchWait::Never => libc::MSG_DONTWAIT,
            };
        // SAFETY: the headers and all that they point at are owned by this value, which is borrowed mutably; their
        // lengths are those of the memory, there are `count` of them, and the kernel keeps no pointer beyond the call.
        check_result(unsafe {
            libc::syscall(
                libc::SYS_recvmmsg,
                socket.as_raw_fd(),
                self.batch.headers.pointer_at(0),
                count as libc::c_uint,
                flags,
                ptr::null_mut::<libc::timespec>(),
            )
        })
    }

    /// Returns a datagram of the last call.
    #[inline]
    pub(crate) fn message(&self, message: usize) -> ReceivedDatagram<'_> {
        let header = &self.batch.headers.as_slice()[message];
        let length = header.msg_len as usize;
        let from = message * self.batch.room;
        let kept = &self.batch.memory.as_slice()[from..from + length.min(self.batch.room)];
        let (segment, at) = match self.batch.ancillary_words {
            0 => (None, None),
            _ => parse_ancillary(&header.msg_hdr),
        };
        ReceivedDatagram { kept, length, segment, at }
    }
}

/// Parses the ancillary data of a datagram: the size of a segment, and the arrival time.
fn parse_ancillary(header: &libc::msghdr) -> (Option<usize>, Option<u64>) {
    let (mut segment, mut at) = (None, None);
    // SAFETY: the header's control pointer and length describe memory that this module allocated, aligned for
    // `cmsghdr`, and that the kernel has filled with well-formed messages; the data are read unaligned and only of the
    // types that the kernel writes for these two (udp(7), socket(7)), whose lengths are checked first.
    unsafe {
        let mut message = libc::CMSG_FIRSTHDR(header);
        while let Some(one) = message.as_ref() {
            // The type of `cmsg_len` is the C library's: `size_t` or `socklen_t`.
            #[allow(clippy::unnecessary_cast)]
            let length = one.cmsg_len as usize;
            let has = |size: usize| length >= libc::CMSG_LEN(size as u32) as usize;
            match (one.cmsg_level, one.cmsg_type) {
                (libc::SOL_UDP, libc::UDP_GRO) if has(size_of::<libc::c_int>()) => {
                    let size = libc::CMSG_DATA(message).cast::<libc::c_int>().read_unaligned();
                    segment = usize::try_from(size).ok().filter(|size| *size > 0);
                }
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) if has(size_of::<libc::timespec>()) => {
                    let time = libc::CMSG_DATA(message).cast::<libc::timespec>().read_unaligned();
                    at = Some(
                        time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs(),
                    );
                }
                _ => {}
            }
            message = libc::CMSG_NXTHDR(header, message);
        }
    }
    (segment, at)
}

#[cfg(test)]
mod tests {
    use super::super::{enable_arrival_timestamps, enable_gro, set_gso_size};
    use super::*;
    use std::net::{Ipv4Addr, UdpSocket};
    use std::os::fd::AsFd;

    fn pair() -> (UdpSocket, UdpSocket) {
        let [one, two] = [0, 0].map(|_| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
        one.connect(two.local_addr().unwrap()).unwrap();
        two.connect(one.local_addr().unwrap()).unwrap();
        (one, two)
    }

    /// Receives datagrams until this many have arrived.
    fn all(inbox: &mut ReceiveBatch, socket: &UdpSocket, count: usize) -> Vec<(Vec<u8>, usize)> {
        let mut all = Vec::new();
        while all.len() < count {
            let came = inbox.receive(socket.as_fd(), BatchWait::FirstDatagram).unwrap();
            for message in (0..came).map(|message| inbox.message(message)) {
                all.push((message.kept.to_vec(), message.length));
            }
        }
        all
    }

    #[test]
    fn what_is_sent_comes_whole_and_in_order() {
        let (one, two) = pair();
        let mut outbox = SendBatch::new(5, &[7; 100]);
        for message in 0..5 {
            outbox.message(message)[0] = message as u8;
        }
        assert_eq!(outbox.send(one.as_fd(), 5).unwrap(), 5);
        let came = all(&mut ReceiveBatch::new(3, 100, Ancillary::None), &two, 5);
        for (message, (bytes, length)) in came.iter().enumerate() {
            assert_eq!((bytes.len(), *length, bytes[0], bytes[99]), (100, 100, message as u8, 7));
        }
    }

    #[test]
    fn what_has_no_room_is_left_out_and_its_length_is_known() {
        let (one, two) = pair();
        SendBatch::new(1, &[7; 100]).send(one.as_fd(), 1).unwrap();
        let came = all(&mut ReceiveBatch::new(1, 24, Ancillary::None), &two, 1);
        assert_eq!(came, [(vec![7; 24], 100)]);
    }

    #[test]
    fn nothing_there_is_said_at_once_to_who_does_not_wait() {
        let (_one, two) = pair();
        let mut inbox = ReceiveBatch::new(1, 24, Ancillary::None);
        let error = inbox.receive(two.as_fd(), BatchWait::Never).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn segments_are_split_and_gathered_and_arrivals_stamped() {
        let (one, two) = pair();
        set_gso_size(one.as_fd(), 100).unwrap();
        enable_gro(two.as_fd()).unwrap();
        enable_arrival_timestamps(two.as_fd()).unwrap();
        let mut inbox = ReceiveBatch::new(4, 65_536, Ancillary::TimestampAndSegment);
        SendBatch::new(1, &[7; 350]).send(one.as_fd(), 1).unwrap();
        let (mut bytes, mut datagrams) = (0, 0);
        while bytes < 350 {
            let came = inbox.receive(two.as_fd(), BatchWait::FirstDatagram).unwrap();
            for message in (0..came).map(|message| inbox.message(message)) {
                assert!(message.at.is_some_and(|at| at > 1_600_000_000_000_000_000));
                bytes += message.length;
                datagrams += message.length.div_ceil(message.segment.unwrap_or(message.length));
            }
        }
        assert_eq!((bytes, datagrams), (350, 4));
    }
}
