//! Options of UDP sockets that the libraries in use do not offer (udp(7), socket(7)).

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Sets an option whose value is an `int`.
fn set(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    // SAFETY: the pointer is to an `int` that lives through the call, and the length is its size.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Makes the kernel split each send into datagrams of this size (UDP_SEGMENT).
pub(crate) fn set_gso_size(socket: BorrowedFd<'_>, size: usize) -> io::Result<()> {
    let size = libc::c_int::try_from(size).map_err(io::Error::other)?;
    set(socket, libc::SOL_UDP, libc::UDP_SEGMENT, size)
}

/// Makes the kernel deliver several datagrams of one size as one (UDP_GRO).
pub(crate) fn enable_gro(socket: BorrowedFd<'_>) -> io::Result<()> {
    set(socket, libc::SOL_UDP, libc::UDP_GRO, 1)
}

/// Makes the kernel timestamp every datagram on arrival (SO_TIMESTAMPNS).
pub(crate) fn enable_arrival_timestamps(socket: BorrowedFd<'_>) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)
}

/// Returns the number of packets dropped because the socket's buffer was full, since the socket was opened
/// (SO_MEMINFO). It wraps after 2³².
pub(crate) fn socket_drops(socket: BorrowedFd<'_>) -> io::Result<u32> {
    const DROPS: usize = libc::SK_MEMINFO_DROPS as usize;
    let mut values = [0u32; DROPS + 1];
    let mut length = size_of_val(&values) as libc::socklen_t;
    // SAFETY: the pointers are to an array and to its size, both of which live through the call.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            values.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if result == 0 { Ok(values[DROPS]) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, UdpSocket};
    use std::os::fd::AsFd;

    #[test]
    fn what_finds_the_buffer_full_is_counted() {
        let receiver = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        rustix::net::sockopt::set_socket_recv_buffer_size(&receiver, 2048).unwrap();
        let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        assert_eq!(socket_drops(receiver.as_fd()).unwrap(), 0);
        for _ in 0..100 {
            sender.send_to(&[0; 100], receiver.local_addr().unwrap()).unwrap();
        }
        receiver.set_nonblocking(true).unwrap();
        let mut came = 0;
        // A busy kernel may deliver after the call that sent.
        let lost = tare_dev::eventually("all have come or are lost", || {
            came += (0..100).take_while(|_| receiver.recv(&mut [0; 100]).is_ok()).count();
            let lost = socket_drops(receiver.as_fd()).unwrap() as usize;
            (came + lost == 100).then_some(lost)
        });
        assert!(lost > 0);
    }
}
