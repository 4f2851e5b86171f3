//! Many datagrams in one system call (sendmmsg(2), recvmmsg(2)), from and into memory that is prepared once.
//!
//! The system calls are made directly: musl's own functions copy every header or loop over single calls.

use super::kept::Kept;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

/// The headers of a batch, each for one piece of a memory of equal pieces.
#[derive(Debug)]
struct Batch {
    memory: Kept<u8>,
    /// Bytes of a piece.
    room: usize,
    /// What the headers point at; never touched but through them.
    _pieces: Kept<libc::iovec>,
    headers: Kept<libc::mmsghdr>,
    /// What comes with a message, so many words each; the alignment is that of `cmsghdr`.
    _ancillary: Kept<u64>,
    ancillary_words: usize,
}

// SAFETY: the pointers inside are only to memory that the value itself owns and that does not move with it; nothing is
// bound to the thread that made it.
unsafe impl Send for Batch {}

impl Batch {
    fn new(messages: usize, room: usize, ancillary_words: usize) -> Self {
        let memory = Kept::new(vec![1; messages * room]);
        let ancillary = Kept::new(vec![0; messages * ancillary_words]);
        let piece = |message: usize| libc::iovec {
            iov_base: memory.at(message * room).cast(),
            iov_len: room,
        };
        let pieces = Kept::new((0..messages).map(piece).collect());
        let header = |message: usize| {
            // SAFETY: all zeros are a valid header: no name, no pieces, nothing that comes with it.
            let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
            header.msg_hdr.msg_iov = pieces.at(message);
            header.msg_hdr.msg_iovlen = 1;
            if ancillary_words > 0 {
                header.msg_hdr.msg_control = ancillary.at(message * ancillary_words).cast();
            }
            header
        };
        let headers = Kept::new((0..messages).map(header).collect());
        Self { memory, room, _pieces: pieces, headers, _ancillary: ancillary, ancillary_words }
    }

    fn messages(&self) -> usize {
        self.headers.len()
    }

    fn range(&self, message: usize) -> std::ops::Range<usize> {
        message * self.room..(message + 1) * self.room
    }
}

/// The number that a system call returned, or why it failed.
fn answer(result: libc::c_long) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// Datagrams to be sent.
#[derive(Debug)]
pub(crate) struct Outbox(Batch);

impl Outbox {
    /// Room for so many datagrams, each a copy of this payload.
    pub(crate) fn new(messages: usize, payload: &[u8]) -> Self {
        let mut batch = Batch::new(messages, payload.len(), 0);
        for message in 0..messages {
            let range = batch.range(message);
            batch.memory.all_mut()[range].copy_from_slice(payload);
        }
        Self(batch)
    }

    /// How many datagrams it has room for.
    pub(crate) fn messages(&self) -> usize {
        self.0.messages()
    }

    /// The bytes of a datagram, to be changed.
    pub(crate) fn message(&mut self, message: usize) -> &mut [u8] {
        let range = self.0.range(message);
        &mut self.0.memory.all_mut()[range]
    }

    /// Sends the first so many over a connected socket. Says how many the kernel took: at least one.
    pub(crate) fn send(&mut self, socket: BorrowedFd<'_>, count: usize) -> io::Result<usize> {
        let count = count.min(self.0.messages());
        // SAFETY: the headers and all that they point at are owned by this value, which is borrowed mutably; there are
        // at least `count` of them, and the kernel keeps no pointer beyond the call.
        answer(unsafe {
            libc::syscall(
                libc::SYS_sendmmsg,
                socket.as_raw_fd(),
                self.0.headers.at(0),
                count as libc::c_uint,
                0,
            )
        })
    }
}

/// What the kernel is asked to say beside a datagram's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ancillary {
    /// Nothing.
    None,
    /// When it came, and of how many bytes each of the datagrams was that were gathered in it.
    Wanted,
}

/// Whether a call waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// For the first datagram, as long as the socket's timeout allows.
    ForOne,
    /// Not at all.
    Never,
}

/// Room for datagrams that come.
#[derive(Debug)]
pub(crate) struct Inbox {
    batch: Batch,
}

/// A datagram that came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message<'a> {
    /// Its bytes, as far as there was room.
    pub(crate) kept: &'a [u8],
    /// How long it really was, bytes.
    pub(crate) length: usize,
    /// Where several datagrams were gathered in it, how long each of them but the last was.
    pub(crate) segment: Option<usize>,
    /// When it came by the kernel's clock of the day, ns.
    pub(crate) at: Option<u64>,
}

impl Inbox {
    /// Words for a timestamp (`timespec`) and a segment's size (`int`), each with its header.
    const ANCILLARY_WORDS: usize = 10;

    /// Room for so many datagrams of which so many bytes are kept each; the rest of a longer one is not copied.
    pub(crate) fn new(messages: usize, room: usize, ancillary: Ancillary) -> Self {
        let words = if ancillary == Ancillary::Wanted { Self::ANCILLARY_WORDS } else { 0 };
        Self { batch: Batch::new(messages, room, words) }
    }

    /// How many it has room for.
    pub(crate) fn messages(&self) -> usize {
        self.batch.messages()
    }

    /// Receives what is there. Says how many came: at least one.
    pub(crate) fn receive(
        &mut self,
        socket: BorrowedFd<'_>,
        waiting: Waiting,
    ) -> io::Result<usize> {
        let count = self.batch.messages();
        if self.batch.ancillary_words > 0 {
            // The kernel has put its own lengths in their place.
            let bytes = self.batch.ancillary_words * size_of::<u64>();
            for header in self.batch.headers.all_mut() {
                header.msg_hdr.msg_controllen = bytes as _;
            }
        }
        let flags = libc::MSG_TRUNC
            | match waiting {
                Waiting::ForOne => libc::MSG_WAITFORONE,
                Waiting::Never => libc::MSG_DONTWAIT,
            };
        // SAFETY: the headers and all that they point at are owned by this value, which is borrowed mutably; their
        // lengths are those of the memory, there are `count` of them, and the kernel keeps no pointer beyond the call.
        answer(unsafe {
            libc::syscall(
                libc::SYS_recvmmsg,
                socket.as_raw_fd(),
                self.batch.headers.at(0),
                count as libc::c_uint,
                flags,
                ptr::null_mut::<libc::timespec>(),
            )
        })
    }

    /// A datagram of those that the last call received.
    #[inline]
    pub(crate) fn message(&self, message: usize) -> Message<'_> {
        let header = &self.batch.headers.all()[message];
        let length = header.msg_len as usize;
        let from = message * self.batch.room;
        let kept = &self.batch.memory.all()[from..from + length.min(self.batch.room)];
        let (segment, at) = match self.batch.ancillary_words {
            0 => (None, None),
            _ => ancillary(&header.msg_hdr),
        };
        Message { kept, length, segment, at }
    }
}

/// What the kernel said beside a datagram's bytes: a segment's size, and when it came.
fn ancillary(header: &libc::msghdr) -> (Option<usize>, Option<u64>) {
    let (mut segment, mut at) = (None, None);
    // SAFETY: the header's control pointer and length describe memory that this module allocated, aligned for
    // `cmsghdr`, and that the kernel has filled with well-formed messages; the data are read unaligned and only of the
    // types that the kernel writes for these two (udp(7), socket(7)), whose lengths are checked first.
    unsafe {
        let mut message = libc::CMSG_FIRSTHDR(header);
        while let Some(one) = message.as_ref() {
            // Its type is the C library's: `size_t` or `socklen_t`.
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
    use super::super::{gather_segments, split_into_segments, stamp_arrivals};
    use super::*;
    use std::net::{Ipv4Addr, UdpSocket};
    use std::os::fd::AsFd;

    fn pair() -> (UdpSocket, UdpSocket) {
        let [one, two] = [0, 0].map(|_| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
        one.connect(two.local_addr().unwrap()).unwrap();
        two.connect(one.local_addr().unwrap()).unwrap();
        (one, two)
    }

    /// Everything that comes until so many datagrams have.
    fn all(inbox: &mut Inbox, socket: &UdpSocket, count: usize) -> Vec<(Vec<u8>, usize)> {
        let mut all = Vec::new();
        while all.len() < count {
            let came = inbox.receive(socket.as_fd(), Waiting::ForOne).unwrap();
            for message in (0..came).map(|message| inbox.message(message)) {
                all.push((message.kept.to_vec(), message.length));
            }
        }
        all
    }

    #[test]
    fn what_is_sent_comes_whole_and_in_order() {
        let (one, two) = pair();
        let mut outbox = Outbox::new(5, &[7; 100]);
        for message in 0..5 {
            outbox.message(message)[0] = message as u8;
        }
        assert_eq!(outbox.send(one.as_fd(), 5).unwrap(), 5);
        let came = all(&mut Inbox::new(3, 100, Ancillary::None), &two, 5);
        for (message, (bytes, length)) in came.iter().enumerate() {
            assert_eq!((bytes.len(), *length, bytes[0], bytes[99]), (100, 100, message as u8, 7));
        }
    }

    #[test]
    fn what_has_no_room_is_left_out_and_its_length_is_known() {
        let (one, two) = pair();
        Outbox::new(1, &[7; 100]).send(one.as_fd(), 1).unwrap();
        let came = all(&mut Inbox::new(1, 24, Ancillary::None), &two, 1);
        assert_eq!(came, [(vec![7; 24], 100)]);
    }

    #[test]
    fn nothing_there_is_said_at_once_to_who_does_not_wait() {
        let (_one, two) = pair();
        let mut inbox = Inbox::new(1, 24, Ancillary::None);
        let error = inbox.receive(two.as_fd(), Waiting::Never).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn segments_are_split_and_gathered_and_arrivals_stamped() {
        let (one, two) = pair();
        split_into_segments(one.as_fd(), 100).unwrap();
        gather_segments(two.as_fd()).unwrap();
        stamp_arrivals(two.as_fd()).unwrap();
        let mut inbox = Inbox::new(4, 65_536, Ancillary::Wanted);
        Outbox::new(1, &[7; 350]).send(one.as_fd(), 1).unwrap();
        let (mut bytes, mut datagrams) = (0, 0);
        while bytes < 350 {
            let came = inbox.receive(two.as_fd(), Waiting::ForOne).unwrap();
            for message in (0..came).map(|message| inbox.message(message)) {
                assert!(message.at.is_some_and(|at| at > 1_600_000_000_000_000_000));
                bytes += message.length;
                datagrams += message.length.div_ceil(message.segment.unwrap_or(message.length));
            }
        }
        assert_eq!((bytes, datagrams), (350, 4));
    }
}
