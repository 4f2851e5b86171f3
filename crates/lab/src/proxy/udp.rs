//! UDP datagrams, forwarded from one socket on the host to a connected one for each client, and back by a thread for it.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a client may be silent before it is forgotten: as long as conntrack remembers a UDP stream, and as Docker's
/// proxy does.
const PATIENCE: Duration = Duration::from_secs(90);
/// The largest payload of a datagram over IPv4, bytes.
const LARGEST: usize = 65_507;

/// The sockets towards the container, by client.
type Clients = Arc<Mutex<HashMap<SocketAddr, Arc<UdpSocket>>>>;

/// Forwards datagrams until it cannot receive any more.
pub(super) fn forward(
    host: SocketAddr,
    container: SocketAddr,
    ready: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    let front = Arc::new(UdpSocket::bind(host)?);
    let clients = Clients::default();
    ready()?;
    let mut bytes = vec![0; LARGEST];
    loop {
        let (length, client) = match front.recv_from(&mut bytes) {
            // What an earlier datagram met is that client's business.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => continue,
            received => received?,
        };
        let known = lock(&clients).get(&client).map(Arc::clone);
        let socket = match known {
            Some(socket) => socket,
            None => admit(client, container, &front, &clients)?,
        };
        // A container that does not take it has lost it, as on any network.
        let _ = socket.send(&bytes[..length]);
    }
}

/// A socket towards the container for a client, and a thread that sends back what comes by it.
fn admit(
    client: SocketAddr,
    container: SocketAddr,
    front: &Arc<UdpSocket>,
    clients: &Clients,
) -> io::Result<Arc<UdpSocket>> {
    let any: SocketAddr = match container {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any)?;
    socket.connect(container)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let socket = Arc::new(socket);
    lock(clients).insert(client, Arc::clone(&socket));
    let (front, clients, back) = (Arc::clone(front), Arc::clone(clients), Arc::clone(&socket));
    std::thread::Builder::new().spawn(move || {
        answer(&back, &front, client);
        lock(&clients).remove(&client);
    })?;
    Ok(socket)
}

/// Sends back what the container answers, until it has long been silent.
fn answer(back: &UdpSocket, front: &UdpSocket, client: SocketAddr) {
    let mut bytes = vec![0; LARGEST];
    loop {
        match back.recv(&mut bytes) {
            Ok(length) => {
                let _ = front.send_to(&bytes[..length], client);
            }
            // Nobody listened when an earlier one came; somebody may now.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(_) => return,
        }
    }
}

fn lock(clients: &Clients) -> std::sync::MutexGuard<'_, HashMap<SocketAddr, Arc<UdpSocket>>> {
    clients.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proxy::tests::forwarding;

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
