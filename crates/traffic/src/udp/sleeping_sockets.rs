//! Sockets in whose receiving calls a server's threads sleep between slices. UDP has no end of a flow that would wake
//! them, and a short sleep would take time from the slices of other networks.

use rustix::net::{Shutdown, shutdown};
use std::net::UdpSocket;
use std::sync::{Arc, Mutex, PoisonError};

/// Sockets of a server.
#[derive(Clone, Debug, Default)]
pub(crate) struct SleepingSockets(Arc<Mutex<Vec<Arc<UdpSocket>>>>);

impl SleepingSockets {
    /// Adds sockets that are waited for.
    pub(crate) fn add(&self, sockets: impl IntoIterator<Item = Arc<UdpSocket>>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(sockets);
    }

    /// Wakes the threads that sleep in them, after all has been received.
    pub(crate) fn wake(&self) {
        for socket in self.0.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            stop_receiving(&socket);
        }
    }
}

/// Wakes the threads that wait for a socket's datagrams: its receiving calls no longer sleep, and return nothing.
pub(crate) fn stop_receiving(socket: &UdpSocket) {
    // A socket without a peer is woken, too, in spite of the error ENOTCONN (net/ipv4/af_inet.c, inet_shutdown).
    let _ = shutdown(socket, Shutdown::Read);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use std::thread;

    #[test]
    fn a_thread_that_waits_for_datagrams_is_woken() {
        for has_peer in [true, false] {
            let socket = Arc::new(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
            if has_peer {
                socket.connect((Ipv4Addr::LOCALHOST, 9)).unwrap();
            }
            let asleep = SleepingSockets::default();
            asleep.add([Arc::clone(&socket)]);
            thread::scope(|scope| {
                let waiting = scope.spawn(|| socket.recv(&mut [0; 8]));
                asleep.wake();
                assert_eq!(waiting.join().unwrap().unwrap(), 0, "has a peer: {has_peer}");
            });
        }
    }
}
