//! Forwarding of UDP datagrams, from one socket on the host to one connected socket per client, and back by a thread
//! per client.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Idle time after which a client is removed: that of a UDP stream in conntrack, and of Docker's proxy.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(90);
/// Largest payload of a datagram over IPv4, bytes.
const LARGEST: usize = 65_507;

/// Sockets to the container, by client.
type ClientSockets = Arc<Mutex<HashMap<SocketAddr, Arc<UdpSocket>>>>;

/// Forwards datagrams until the socket fails.
pub(super) fn forward(
    host: SocketAddr,
    container: SocketAddr,
    ready: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    let front = Arc::new(UdpSocket::bind(host)?);
    let clients = ClientSockets::default();
    ready()?;
    let mut bytes = vec![0; LARGEST];
    loop {
        let (length, client) = match front.recv_from(&mut bytes) {
            // The error of an earlier datagram concerns only its client.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => continue,
            received => received?,
        };
        let known = lock(&clients).get(&client).map(Arc::clone);
        let socket = match known {
            Some(socket) => socket,
            None => add_client(client, container, &front, &clients)?,
        };
        // A datagram that the container does not accept is lost, as on any network.
        let _ = socket.send(&bytes[..length]);
    }
}

/// Opens a socket to the container for a client, and starts a thread that forwards its replies.
fn add_client(
    client: SocketAddr,
    container: SocketAddr,
    front: &Arc<UdpSocket>,
    clients: &ClientSockets,
) -> io::Result<Arc<UdpSocket>> {
    let any: SocketAddr = match container {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any)?;
    socket.connect(container)?;
    socket.set_read_timeout(Some(CLIENT_TIMEOUT))?;
    let socket = Arc::new(socket);
    lock(clients).insert(client, Arc::clone(&socket));
    let (front, clients, back) = (Arc::clone(front), Arc::clone(clients), Arc::clone(&socket));
    std::thread::Builder::new().spawn(move || {
        forward_replies(&back, &front, client);
        lock(&clients).remove(&client);
    })?;
    Ok(socket)
}

/// Forwards replies of the container until the idle time has passed.
fn forward_replies(back: &UdpSocket, front: &UdpSocket, client: SocketAddr) {
    let mut bytes = vec![0; LARGEST];
    loop {
        match back.recv(&mut bytes) {
            Ok(length) => {
                let _ = front.send_to(&bytes[..length], client);
            }
            // There was no listener when an earlier datagram arrived; there may be one now.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(_) => return,
        }
    }
}

fn lock(clients: &ClientSockets) -> std::sync::MutexGuard<'_, HashMap<SocketAddr, Arc<UdpSocket>>> {
    clients.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stand_ins::userland_proxy::tests::forwarding;

    #[test]
    fn every_client_gets_its_own_answers() {
        let backend = UdpSocket::bind("127.0.0.1:0").unwrap();
        let container = backend.local_addr().unwrap();
        let free = || UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let host = forwarding(free, move |host, ready| forward(host, container, ready));
        std::thread::spawn(move || {
            let mut bytes = [0; 100];
            while let Ok((length, from)) = backend.recv_from(&mut bytes) {
                let _ = backend.send_to(&bytes[..length], from);
            }
        });
        let clients = [0_u8, 1].map(|name| (name, UdpSocket::bind("127.0.0.1:0").unwrap()));
        for (name, client) in &clients {
            client.send_to(&[*name; 50], host).unwrap();
        }
        for (name, client) in &clients {
            let mut bytes = [0; 100];
            let (length, from) = client.recv_from(&mut bytes).unwrap();
            assert_eq!((&bytes[..length], from), (&[*name; 50][..], host));
        }
    }
}
