//! Pacing of a TCP socket by the kernel (socket(7), `SO_MAX_PACING_RATE`).

use std::io;
use std::mem::size_of_val;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Divisor of the bytes per second that gives the unsent bytes a paced socket may hold.
const HELD: u64 = 50;

/// Limits a TCP socket to this many bytes per second, and to few unsent bytes: otherwise the end of a slow trial would
/// wait for megabytes.
///
/// TCP then spaces its segments itself, by their payload (net/ipv4/tcp_output.c, `tcp_update_skb_after_send`), unless
/// the device's qdisc is fq, which counts headers too.
pub(crate) fn set_pacing_rate(socket: BorrowedFd<'_>, bytes_per_second: u64) -> io::Result<()> {
    // Kernels before 4.20 read the first four bytes: on a little-endian machine the rate below 4 GiB/s.
    set(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &bytes_per_second)?;
    let held = (bytes_per_second / HELD).clamp(4 << 10, 1 << 20) as u32;
    set(socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, &held)
}

/// Sets an option to a whole number.
fn set<N: Copy>(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    value: &N,
) -> io::Result<()> {
    // SAFETY: the pointer is to a value that lives through the call, and the length is its size; the kernel only reads
    // it.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            std::ptr::from_ref(value).cast(),
            size_of_val(value) as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
