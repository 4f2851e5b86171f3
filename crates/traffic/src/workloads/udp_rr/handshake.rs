//! Handshake of UDP flows: the server learns the source address of each flow's datagrams.
//!
//! Every flow has a TCP connection to the same port number, which greets as any flow over TCP does and sends the flow's
//! number. Then the client sends datagrams with that number and the trial's token until the server has seen one, which
//! the server confirms over TCP. The server never sends UDP to an address that has not completed this handshake, and
//! only the connection's own address can complete it: a datagram's source can be forged. If the address is translated
//! on the way, the server uses the address that it sees. The TCP connection stays open; its end is the flow's end.

use super::handshake_datagram::RrHandshake;
use super::transport::UdpTransport;
use crate::event_loop::SharedDeadline;
use crate::tcp::{AcceptedFlow, GREETING_TIMEOUT, PatientReader};
use crate::udp::{bind_each, open_for_peer};
use crate::wait_mode::WaitMode;
use crate::{Error, TrialTask};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

/// Time limit of a handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// Time without an answer after which a client sends its datagram again.
const RESEND_INTERVAL: Duration = Duration::from_millis(50);
/// Interval at which the client checks for the answer, and longest wait of the server for one datagram.
const POLL_INTERVAL: Duration = Duration::from_millis(1);
/// Answer of the server: ASCII ACK.
const ANSWER: u8 = 6;

fn refused(error: io::Error) -> Error {
    Error::io("announce a UDP flow", error)
}

/// Performs the client's part: opens a socket for every connection. The server knows all of them when this returns.
pub(super) fn announce(
    controls: Vec<TcpStream>,
    task: &TrialTask,
    wait: WaitMode,
) -> Result<Vec<UdpTransport>, Error> {
    let mut flows = Vec::with_capacity(controls.len());
    for (number, control) in (u64::from(task.index) << 32..).zip(controls) {
        let peer = control.peer_addr().map_err(refused)?;
        let socket = open(peer).map_err(refused)?;
        wait.prepare_socket(&socket, &control)?;
        (&control).write_all(&number.to_be_bytes()).map_err(refused)?;
        control.set_nonblocking(true).map_err(refused)?;
        flows.push((socket, control, RrHandshake::new(task.token, number)));
    }
    let deadline = Instant::now() + HANDSHAKE_TIMEOUT;
    let mut pending: Vec<usize> = (0..flows.len()).collect();
    while let Some(&first) = pending.first() {
        if Instant::now() >= deadline {
            let peer = flows[first].1.peer_addr().map_err(refused)?;
            let why = "its TCP port answers, its UDP port does not: allow UDP on the same port";
            return Err(Error::Job(format!("no answer by UDP from {peer} within 5 s: {why}")));
        }
        for (socket, _, hello) in pending.iter().map(|&flow| &flows[flow]) {
            // A datagram that does not get through is sent again.
            let _ = socket.send(&hello.0);
        }
        await_answers(&flows, &mut pending)?;
    }
    Ok(flows
        .into_iter()
        .map(|(socket, control, hello)| UdpTransport::new(socket, control, hello))
        .collect())
}

/// Opens a socket connected to a server.
fn open(peer: SocketAddr) -> io::Result<UdpSocket> {
    let socket = open_for_peer(peer)?;
    socket.connect(peer)?;
    Ok(socket)
}

/// Waits up to [`RESEND_INTERVAL`] for answers to pending handshakes.
fn await_answers(
    flows: &[(UdpSocket, TcpStream, RrHandshake)],
    pending: &mut Vec<usize>,
) -> Result<(), Error> {
    let again = Instant::now() + RESEND_INTERVAL;
    while !pending.is_empty() && Instant::now() < again {
        let mut broken = None;
        pending.retain(|&flow| match (&flows[flow].1).read(&mut [0]) {
            Ok(1) => false,
            Ok(_) => {
                broken = Some(io::Error::other("the server closed the connection"));
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
        thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

/// Opens a server's ports for handshakes.
pub(super) fn listen(addresses: &[SocketAddr]) -> Result<Vec<UdpSocket>, Error> {
    bind_each(addresses, |address| {
        let socket = bind(address)?;
        socket.set_read_timeout(Some(POLL_INTERVAL))?;
        Ok(socket)
    })
}

/// Opens a socket on an address that other sockets of this process may have too.
fn bind(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    Ok(socket.into())
}

/// Performs the server's part: opens a socket for every flow. Returns each with the number of its client, once all
/// handshakes are complete.
pub(super) fn admit(
    doors: &[UdpSocket],
    flows: Vec<AcceptedFlow>,
    task: &TrialTask,
    patience: &SharedDeadline,
) -> Result<Vec<(UdpTransport, u32)>, Error> {
    let wait = WaitMode::from_parameters(&task.parameters);
    let mut pending = Vec::with_capacity(flows.len());
    for AcceptedFlow { stream, origin, .. } in flows {
        let mut number = [0; 8];
        let mut reader = PatientReader::new(&stream, GREETING_TIMEOUT);
        reader.read_exact(&mut number).map_err(refused)?;
        pending.push((
            stream,
            origin.client,
            RrHandshake::new(task.token, u64::from_be_bytes(number)),
        ));
    }
    let mut admitted = Vec::with_capacity(pending.len());
    let deadline = Instant::now() + HANDSHAKE_TIMEOUT;
    while !pending.is_empty() && !patience.is_past() && Instant::now() < deadline {
        for door in doors {
            let Some((hello, peer)) = receive_handshake(door).map_err(refused)? else {
                continue;
            };
            // A source other than the connection's own may be forged: the owner of that address did not ask for
            // answers.
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
            let socket = connect_to_peer(door, peer).map_err(refused)?;
            wait.prepare_socket(&socket, &control)?;
            (&control).write_all(&[ANSWER]).map_err(refused)?;
            admitted.push((UdpTransport::new(socket, control, hello), client));
        }
    }
    Ok(admitted)
}

/// Receives a handshake datagram. Returns `None` if none has arrived.
fn receive_handshake(door: &UdpSocket) -> io::Result<Option<(RrHandshake, SocketAddr)>> {
    let mut bytes = [0; RrHandshake::LENGTH];
    match door.recv_from(&mut bytes) {
        Ok((RrHandshake::LENGTH, peer)) => Ok(Some((RrHandshake(bytes), peer))),
        Ok(_) => Ok(None),
        Err(error) => match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
            _ => Err(error),
        },
    }
}

/// Opens a socket for one peer only.
fn connect_to_peer(door: &UdpSocket, peer: SocketAddr) -> io::Result<UdpSocket> {
    let socket = bind(door.local_addr()?)?;
    socket.connect(peer)?;
    // Before it was connected the socket may have received datagrams of other flows; those are sent again.
    socket.set_nonblocking(true)?;
    while socket.recv(&mut [0]).is_ok() {}
    socket.set_nonblocking(false)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::{FlowDirection, FlowOrigin};
    use std::net::{Ipv4Addr, TcpListener};

    #[test]
    fn a_flow_comes_from_where_its_connection_comes_from() {
        // The UDP port with the listener's number may be taken: then another one is tried.
        let (listener, address, doors) = tare_dev::eventually("a port is free", || {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            let address = listener.local_addr()?;
            let doors = listen(&[address]).map_err(io::Error::other)?;
            io::Result::Ok((listener, address, doors))
        });
        let task = crate::TrialTask::for_test("udp-rr", vec![address]);
        let [forged, own] = [7u64, 8].map(|number| {
            let mut control = TcpStream::connect(address).unwrap();
            control.write_all(&number.to_be_bytes()).unwrap();
            (control, listener.accept().unwrap().0)
        });
        // The port handles one after the other: when the second is admitted, the first has been refused.
        for (source, number) in [([127, 0, 0, 2], 7), ([127, 0, 0, 1], 8)] {
            let announcer = UdpSocket::bind((Ipv4Addr::from(source), 0)).unwrap();
            announcer.send_to(&RrHandshake::new(task.token, number).0, address).unwrap();
        }
        let patience = SharedDeadline::default();
        let accepted = |stream, client| {
            let origin = FlowOrigin { client, process: client };
            AcceptedFlow { stream, origin, direction: FlowDirection::Up }
        };
        let flows = vec![accepted(forged.1, 1), accepted(own.1, 2)];
        let admitted = thread::scope(|scope| {
            let admitting = scope.spawn(|| admit(&doors, flows, &task, &patience).unwrap());
            (&own.0).read_exact(&mut [0]).unwrap();
            patience.set(Instant::now());
            admitting.join().unwrap()
        });
        assert_eq!(admitted.iter().map(|(_, client)| *client).collect::<Vec<_>>(), [2]);
    }
}
