//! Packet sockets (packet(7)): frames as they pass, in both directions.

use rustix::io;
use rustix::net::{AddressFamily, SocketFlags, SocketType, eth, netdevice, socket_with};
use std::mem;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Opens a socket that receives all frames that arrive by a device of the calling thread's namespace, whatever their
/// destination, and that sends frames by the device. It does not receive the frames that it sends.
///
/// # Errors
/// EPERM without CAP_NET_RAW; ENODEV if the namespace has no device of this name.
pub fn open(device: &str) -> io::Result<OwnedFd> {
    // Without a protocol the socket receives nothing before it is bound.
    let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let index = netdevice::name_to_index(&socket, device)?;
    // SAFETY: `sockaddr_ll` is plain data, for which all zeroes are a valid value.
    let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
    address.sll_family = libc::AF_PACKET as libc::c_ushort;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index.cast_signed();
    let length = mem::size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the descriptor is open as long as `socket` lives, and the address is a `struct sockaddr_ll` of that
    // length, as a packet socket takes it; the call reads it and keeps no reference.
    let bound = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) };
    if bound == 0 { Ok(socket) } else { Err(last_error()) }
}

/// Returns the error of the last libc call.
pub(super) fn last_error() -> io::Errno {
    let error = std::io::Error::last_os_error();
    io::Errno::from_io_error(&error).unwrap_or(io::Errno::IO)
}

/// Socket that copies every frame of a namespace at the moment at which it passes.
///
/// A socket without a ring only keeps a reference to a frame: a receiver that later decrypts a frame does so in the
/// same memory, so that the bytes read are not those that passed (documented in packet_mmap.rst: a ring's frames are
/// copied).
pub struct PacketRing {
    memory: NonNull<u8>,
    // Open as long as the memory is mapped.
    _socket: OwnedFd,
}

// SAFETY: the mapping belongs to the process, not to a thread, and only the ring refers to it.
unsafe impl Send for PacketRing {}

impl PacketRing {
    /// Bytes of a frame, with the headers that the kernel writes before it.
    const FRAME: usize = 2048;
    /// Number of frames for which there is room. Later frames are not kept.
    const FRAMES: usize = 1024;
    /// Blocks are whole pages, also where pages are of 64 KiB.
    const BLOCK: usize = 1 << 16;
    const BYTES: usize = Self::FRAME * Self::FRAMES;

    /// Opens a ring in the calling thread's namespace.
    ///
    /// # Errors
    /// EPERM without CAP_NET_RAW; ENOMEM without memory for the ring.
    pub fn open() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, Some(eth::ALL))?;
        let request = libc::tpacket_req {
            tp_block_size: Self::BLOCK as libc::c_uint,
            tp_block_nr: (Self::BYTES / Self::BLOCK) as libc::c_uint,
            tp_frame_size: Self::FRAME as libc::c_uint,
            tp_frame_nr: Self::FRAMES as libc::c_uint,
        };
        // SAFETY: the descriptor is open, and PACKET_RX_RING takes a `struct tpacket_req` of that length, which the
        // call reads and keeps no reference to.
        let set = unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_RX_RING,
                (&raw const request).cast(),
                mem::size_of_val(&request) as libc::socklen_t,
            )
        };
        if set != 0 {
            return Err(last_error());
        }
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping of the whole ring, at an address of the kernel's choice: no memory of ours is touched.
        let memory = unsafe {
            libc::mmap(ptr::null_mut(), Self::BYTES, protection, flags, socket.as_raw_fd(), 0)
        };
        if memory == libc::MAP_FAILED {
            return Err(last_error());
        }
        let memory = NonNull::new(memory.cast()).ok_or(io::Errno::NOMEM)?;
        Ok(Self { memory, _socket: socket })
    }

    /// Iterates over the frames that have passed so far, the earliest first. Long frames are truncated.
    pub fn frames(&self) -> impl Iterator<Item = &[u8]> {
        (0..Self::FRAMES).map_while(|number| self.frame(number * Self::FRAME))
    }

    /// Returns the frame at this offset, if the kernel has written one.
    fn frame(&self, at: usize) -> Option<&[u8]> {
        // SAFETY: `at` is the beginning of a frame's room, within the mapping, which is page-aligned; so is the header
        // of that room (`struct tpacket_hdr`), whose first field, an unsigned long, is the kernel's and ours in turn.
        let status = unsafe { AtomicUsize::from_ptr(self.memory.as_ptr().add(at).cast()) };
        if status.load(Ordering::Acquire) & libc::TP_STATUS_USER as usize == 0 {
            return None;
        }
        // SAFETY: the kernel has written the header, and leaves this room alone until its status is 0 again: never.
        let header = unsafe { &*self.memory.as_ptr().add(at).cast::<libc::tpacket_hdr>() };
        let (from, length) = (usize::from(header.tp_mac), header.tp_snaplen as usize);
        let length = length.min(Self::FRAME.checked_sub(from)?);
        // SAFETY: the bytes are within this frame's room, and, as above, nothing writes them as long as `self` lives.
        Some(unsafe { std::slice::from_raw_parts(self.memory.as_ptr().add(at + from), length) })
    }
}

impl Drop for PacketRing {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, of that length, and no reference into it outlives `self`.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), Self::BYTES) };
    }
}
