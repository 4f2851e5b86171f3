//! Kernel statistics of a TCP connection: `TCP_INFO` (tcp(7)).

use std::mem::size_of;
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::{io, ptr};

/// Kernel statistics of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TcpInfo {
    /// Current maximum segment size of the sender, bytes.
    pub(crate) segment: u32,
    /// Smoothed round-trip time, µs.
    pub(crate) rtt: u32,
    /// Congestion window, segments.
    pub(crate) window: u32,
    /// Segments retransmitted since the connection was opened; the counter may wrap.
    pub(crate) retransmits: u32,
    /// Latest estimate of the delivery rate, bytes/s.
    pub(crate) delivery_rate: u64,
}

/// Beginning of `struct tcp_info` of include/uapi/linux/tcp.h, up to the last member that is used here. Members are
/// only ever added at its end; older kernels fill less of it, and the rest stays 0.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RawTcpInfo {
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

/// Reads a connection's current statistics.
pub(crate) fn read_tcp_info(stream: &TcpStream) -> io::Result<TcpInfo> {
    let mut raw = RawTcpInfo::default();
    let mut length = size_of::<RawTcpInfo>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `raw` and the number of them to `length`; both live through
    // the call, and any bytes are a valid `RawTcpInfo`, which has no padding and only whole numbers.
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
        assert_eq!(offset_of!(RawTcpInfo, send_mss), 16);
        assert_eq!(offset_of!(RawTcpInfo, rtt), 68);
        assert_eq!(offset_of!(RawTcpInfo, window), 80);
        assert_eq!(offset_of!(RawTcpInfo, total_retransmits), 100);
        assert_eq!(offset_of!(RawTcpInfo, delivery_rate), 160);
        assert_eq!(size_of::<RawTcpInfo>(), 168);
    }

    #[test]
    fn a_connection_that_carried_something_has_a_window_and_a_round_trip() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut server = listener.accept().unwrap().0;
        client.write_all(&[1; 4096]).unwrap();
        server.read_exact(&mut [0; 4096]).unwrap();
        let info = read_tcp_info(&client).unwrap();
        assert!(info.rtt > 0 && info.window > 0 && (536..=65_536).contains(&info.segment));
    }
}
