//! What the kernel says of a TCP connection: `TCP_INFO` (tcp(7)).

use std::mem::size_of;
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::{io, ptr};

/// What the kernel says of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TcpInfo {
    /// The largest segment that is sent now, bytes.
    pub(crate) segment: u32,
    /// Smoothed round-trip time, µs.
    pub(crate) rtt: u32,
    /// Congestion window, segments.
    pub(crate) window: u32,
    /// Segments sent again since the connection was opened; it may wrap.
    pub(crate) retransmits: u32,
    /// The latest estimate of the rate at which data is delivered, bytes/s.
    pub(crate) delivery_rate: u64,
}

/// The beginning of `struct tcp_info` of include/uapi/linux/tcp.h, up to the last member that is used here. Members are
/// only ever added at its end; older kernels fill less of it, and the rest is left at nought.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Raw {
    _up_to_timeouts: [u32; 4],
    send_mss: u32,
    _up_to_threshold: [u32; 12],
    rtt: u32,
    _up_to_send_threshold: [u32; 2],
    window: u32,
    _up_to_receiver: [u32; 4],
    total_retransmits: u32,
    _up_to_segments: [u64; 7],
    delivery_rate: u64,
}

/// What the kernel says of a connection now.
pub(crate) fn tcp_info(stream: &TcpStream) -> io::Result<TcpInfo> {
    let mut raw = Raw::default();
    let mut length = size_of::<Raw>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `raw` and the number of them to `length`; both live through
    // the call, and any bytes are a valid `Raw`, which has no padding and only whole numbers.
    let result = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            ptr::from_mut(&mut raw).cast(),
            &raw mut length,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(TcpInfo {
        segment: raw.send_mss,
        rtt: raw.rtt,
        window: raw.window,
        retransmits: raw.total_retransmits,
        delivery_rate: raw.delivery_rate,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::mem::offset_of;
    use std::net::{Ipv4Addr, TcpListener};

    #[test]
    fn members_lie_where_the_kernel_puts_them() {
        // Offsets by hand from include/uapi/linux/tcp.h.
        assert_eq!(offset_of!(Raw, send_mss), 16);
        assert_eq!(offset_of!(Raw, rtt), 68);
        assert_eq!(offset_of!(Raw, window), 80);
        assert_eq!(offset_of!(Raw, total_retransmits), 100);
        assert_eq!(offset_of!(Raw, delivery_rate), 160);
        assert_eq!(size_of::<Raw>(), 168);
    }

    #[test]
    fn a_connection_that_carried_something_has_a_window_and_a_round_trip() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut server = listener.accept().unwrap().0;
        client.write_all(&[1; 4096]).unwrap();
        server.read_exact(&mut [0; 4096]).unwrap();
        let info = tcp_info(&client).unwrap();
        assert!(info.rtt > 0 && info.window > 0 && (536..=65_536).contains(&info.segment));
    }
}
