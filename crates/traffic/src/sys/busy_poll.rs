//! Busy polling: a socket's calls poll the network card's queue (NAPI) instead of waiting for its interrupt (socket(7),
//! SO_BUSY_POLL; the kernel's Documentation/networking/napi.rst).

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Time that one call polls before it sleeps, µs: twice the value that napi.rst calls sensible for many sockets.
const MICROSECONDS: libc::c_int = 100;

/// `EPIOCSPARAMS`, which libc does not define for every target (linux/eventpoll.h).
const EPIOCSPARAMS: u32 = 0x4008_8a01;

/// `struct epoll_params` (linux/eventpoll.h).
#[repr(C)]
struct EpollParams {
    microseconds: u32,
    budget: u16,
    prefer: u8,
    unused: u8,
}

/// Returns the ID of the NAPI queue from which a socket's last packet came; 0 if it came from none.
pub(crate) fn incoming_napi_id(socket: impl AsFd) -> io::Result<u32> {
    let mut id: libc::c_uint = 0;
    let mut length = size_of::<libc::c_uint>() as libc::socklen_t;
    // SAFETY: both pointers are to variables of the sizes that the option has, and they live through the call.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_INCOMING_NAPI_ID,
            (&raw mut id).cast(),
            &raw mut length,
        )
    };
    if result == 0 { Ok(id) } else { Err(io::Error::last_os_error()) }
}

/// Makes a socket's calls poll its queue.
pub(crate) fn enable_busy_poll(socket: impl AsFd) -> io::Result<()> {
    let socket = socket.as_fd();
    set(socket.as_raw_fd(), libc::SO_BUSY_POLL, MICROSECONDS)?;
    // Keeps interrupts off while a call polls; kernels before 5.11 do not have it, and poll all the same.
    let _ = set(socket.as_raw_fd(), libc::SO_PREFER_BUSY_POLL, 1);
    Ok(())
}

/// Makes waits on an epoll queue poll the queue of its sockets (Linux 6.9).
pub(crate) fn enable_epoll_busy_poll(queue: impl AsFd) -> io::Result<()> {
    let parameters =
        EpollParams { microseconds: MICROSECONDS.unsigned_abs(), budget: 8, prefer: 1, unused: 0 };
    // SAFETY: the request reads one `struct epoll_params`, which lives through the call.
    let result = unsafe {
        libc::ioctl(queue.as_fd().as_raw_fd(), EPIOCSPARAMS as libc::Ioctl, &raw const parameters)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn set(socket: libc::c_int, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
    // SAFETY: the pointer is to an int, which is what these options take, and it lives through the call.
    let result = unsafe {
        libc::setsockopt(
            socket,
            libc::SOL_SOCKET,
            option,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    #[test]
    fn loopback_has_no_queue() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert_eq!(incoming_napi_id(&stream).unwrap(), 0);
    }
}
