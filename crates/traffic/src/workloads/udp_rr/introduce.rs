//! How a server learns where the datagrams of its flows come from.
//!
//! Every flow has a TCP connection to the same port number, which greets as any flow over TCP does and tells the
//! flow's number. Then the client sends datagrams with that number and the trial's token until the server has seen
//! one, which it says over TCP. To an address that has not come this far nothing is ever sent by UDP, and none comes this
//! far but the connection's own: a datagram's source can be forged. An address that is translated on the way is known as
//! the server sees it. The TCP connection stays; its end is the flow's.

use super::datagrams::Datagrams;
use crate::drive::Patience;
use crate::tcp::Accepted;
use crate::wait::Wait;
use crate::{Error, Task};
use socket2::{Domain, Protocol, Socket, Type};
use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

/// How long an introduction may take.
const INTRODUCTION: Duration = Duration::from_secs(5);
/// After how long without an answer a client introduces itself again.
const AGAIN: Duration = Duration::from_millis(50);
/// How often it looks for the answer, and how long the server waits for a datagram at once.
const LOOK: Duration = Duration::from_millis(1);
/// The server's answer: ASCII ACK.
const ANSWER: u8 = 6;

/// The datagram that introduces a flow: `tare`, the trial's token, the flow's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hello([u8; Hello::LENGTH]);

impl Hello {
    const LENGTH: usize = 20;

    fn new(token: u64, number: u64) -> Self {
        let mut bytes = [0; Self::LENGTH];
        bytes[..4].copy_from_slice(b"tare");
        bytes[4..12].copy_from_slice(&token.to_be_bytes());
        bytes[12..].copy_from_slice(&number.to_be_bytes());
        Self(bytes)
    }

    /// Whether a datagram is this one.
    pub(super) fn is_in(self, datagram: &[u8]) -> bool {
        datagram == self.0
    }
}

fn refused(error: io::Error) -> Error {
    Error::io("introduce a UDP flow", error)
}

/// The client's part: a socket for every connection, known to the server when this returns.
pub(super) fn announce(
    controls: Vec<TcpStream>,
    task: &Task,
    wait: Wait,
) -> Result<Vec<Datagrams>, Error> {
    let mut flows = Vec::with_capacity(controls.len());
    for (number, control) in (u64::from(task.index) << 32..).zip(controls) {
        let peer = control.peer_addr().map_err(refused)?;
        let socket = open(peer).map_err(refused)?;
        wait.prepare(&socket, &control)?;
        (&control).write_all(&number.to_be_bytes()).map_err(refused)?;
        control.set_nonblocking(true).map_err(refused)?;
        flows.push((socket, control, Hello::new(task.token, number)));
    }
    let deadline = Instant::now() + INTRODUCTION;
    let mut pending: Vec<usize> = (0..flows.len()).collect();
    while let Some(&first) = pending.first() {
        if Instant::now() >= deadline {
            let peer = flows[first].1.peer_addr().map_err(refused)?;
            let why = "its TCP port answers, its UDP port does not; is UDP let through?";
            return Err(Error::Job(format!("no answer by UDP from {peer} within 5 s: {why}")));
        }
        for (socket, _, hello) in pending.iter().map(|&flow| &flows[flow]) {
            // One that does not get through is sent again.
            let _ = socket.send(&hello.0);
        }
        await_answers(&flows, &mut pending)?;
    }
    Ok(flows
        .into_iter()
        .map(|(socket, control, hello)| Datagrams::new(socket, control, hello))
        .collect())
}

/// A socket towards a server.
fn open(peer: SocketAddr) -> io::Result<UdpSocket> {
    let any: SocketAddr = match peer {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any)?;
    socket.connect(peer)?;
    Ok(socket)
}

/// Waits a while for answers to pending introductions.
fn await_answers(
    flows: &[(UdpSocket, TcpStream, Hello)],
    pending: &mut Vec<usize>,
) -> Result<(), Error> {
    let again = Instant::now() + AGAIN;
    while !pending.is_empty() && Instant::now() < again {
        let mut broken = None;
        pending.retain(|&flow| match (&flows[flow].1).read(&mut [0]) {
            Ok(1) => false,
            Ok(_) => {
                broken = Some(io::Error::other("the server closed it"));
                true
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => true,
            Err(error) => {
                broken = Some(error);
                true
            }
        });
        if let Some(error) = broken {
            return Err(refused(error));
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

/// Opens a server's ports for introductions.
pub(super) fn listen(addresses: &[SocketAddr]) -> Result<Vec<UdpSocket>, Error> {
    let open = |address: &SocketAddr| {
        bind(*address).and_then(|socket| {
            socket.set_read_timeout(Some(LOOK))?;
            Ok(socket)
        })
    };
    let distinct: BTreeSet<_> = addresses.iter().collect();
    distinct
        .into_iter()
        .map(|address| {
            open(address).map_err(|error| Error::io(format!("listen on {address} (UDP)"), error))
        })
        .collect()
}

/// A socket on an address that others of this process have too.
fn bind(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    Ok(socket.into())
}

/// The server's part: a socket for every flow, each with its client, once all have been introduced.
pub(super) fn admit(
    doors: &[UdpSocket],
    flows: Vec<Accepted>,
    task: &Task,
    patience: &Patience,
) -> Result<Vec<(Datagrams, u32)>, Error> {
    let wait = Wait::of(&task.parameters);
    let mut pending = Vec::with_capacity(flows.len());
    for Accepted { stream, client, .. } in flows {
        let mut number = [0; 8];
        (&stream).read_exact(&mut number).map_err(refused)?;
        pending.push((stream, client, Hello::new(task.token, u64::from_be_bytes(number))));
    }
    let mut admitted = Vec::with_capacity(pending.len());
    let deadline = Instant::now() + INTRODUCTION;
    while !pending.is_empty() && !patience.is_over() && Instant::now() < deadline {
        for door in doors {
            let Some((hello, peer)) = knock(door).map_err(refused)? else {
                continue;
            };
            // A source that is not the connection's own may be a forged one: whoever is there did not ask for answers.
            let is_theirs = |control: &TcpStream| {
                control.peer_addr().is_ok_and(|control| control.ip() == peer.ip())
            };
            let Some(at) = pending
                .iter()
                .position(|(control, _, known)| hello == *known && is_theirs(control))
            else {
                continue;
            };
            let (control, client, hello) = pending.swap_remove(at);
            let socket = meet(door, peer).map_err(refused)?;
            wait.prepare(&socket, &control)?;
            (&control).write_all(&[ANSWER]).map_err(refused)?;
            admitted.push((Datagrams::new(socket, control, hello), client));
        }
    }
    Ok(admitted)
}

/// An introduction, if one has come.
fn knock(door: &UdpSocket) -> io::Result<Option<(Hello, SocketAddr)>> {
    let mut bytes = [0; Hello::LENGTH];
    match door.recv_from(&mut bytes) {
        Ok((Hello::LENGTH, peer)) => Ok(Some((Hello(bytes), peer))),
        Ok(_) => Ok(None),
        Err(error) => match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
            _ => Err(error),
        },
    }
}

/// A socket for one peer alone.
fn meet(door: &UdpSocket, peer: SocketAddr) -> io::Result<UdpSocket> {
    let socket = bind(door.local_addr()?)?;
    socket.connect(peer)?;
    // Until it was connected it may have got what was others'; they will send it again.
    socket.set_nonblocking(true)?;
    while socket.recv(&mut [0]).is_ok() {}
    socket.set_nonblocking(false)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Way;
    use std::net::TcpListener;

    #[test]
    fn a_flow_comes_from_where_its_connection_comes_from() {
        // The UDP port of the listener's number may be taken: then another one is tried.
        let (listener, address, doors) = tare_dev::eventually("a port is free", || {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            let address = listener.local_addr()?;
            let doors = listen(&[address]).map_err(io::Error::other)?;
            io::Result::Ok((listener, address, doors))
        });
        let task = crate::Task::made_up("udp-rr", vec![address]);
        let [forged, own] = [7u64, 8].map(|number| {
            let mut control = TcpStream::connect(address).unwrap();
            control.write_all(&number.to_be_bytes()).unwrap();
            (control, listener.accept().unwrap().0)
        });
        // The port takes one after the other: when the second is admitted, the first has been refused.
        for (source, number) in [([127, 0, 0, 2], 7), ([127, 0, 0, 1], 8)] {
            let announcer = UdpSocket::bind((Ipv4Addr::from(source), 0)).unwrap();
            announcer.send_to(&Hello::new(task.token, number).0, address).unwrap();
        }
        let patience = Patience::default();
        let accepted = |stream, client| Accepted { stream, client, way: Way::Up };
        let flows = vec![accepted(forged.1, 1), accepted(own.1, 2)];
        let admitted = thread::scope(|scope| {
            let admitting = scope.spawn(|| admit(&doors, flows, &task, &patience).unwrap());
            (&own.0).read_exact(&mut [0]).unwrap();
            patience.limit(Instant::now());
            admitting.join().unwrap()
        });
        assert_eq!(admitted.iter().map(|(_, client)| *client).collect::<Vec<_>>(), [2]);
    }
}
