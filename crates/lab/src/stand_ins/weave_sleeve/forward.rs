//! Forwarder with a thread for each direction: frames of the device into UDP packets, and frames of UDP packets to the
//! device.

use super::arguments::{Arguments, peer_name};
use super::frames::{EthernetAddress, FrameBatch, PeerName, addresses, frames, is_multicast};
use super::seal::{PacketSealer, read_key};
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_recv_buffer_size;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::collections::HashMap;
use std::io;
use std::net::{SocketAddrV4, UdpSocket};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, PoisonError, RwLock};
use tare_sandbox::sys::packet;

/// Longest frame, bytes: no device has a larger MTU.
const MAX_FRAME: usize = 65_536 + 14;

/// Most addresses that the table holds. Frames for unknown addresses go to all nodes.
const MAX_ADDRESSES: usize = 16_384;

/// Receive buffer of each socket, bytes; the machine may allow less.
const RECEIVE_BUFFER: usize = 4 << 20;

/// Location of a link-layer address.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AddressLocation {
    /// Behind the device of this node.
    Local,
    /// Behind the peer with this index in the list of peers.
    Peer(usize),
}

/// Table of learnt addresses, which both directions read and update.
#[derive(Default)]
struct MacTable(RwLock<HashMap<EthernetAddress, AddressLocation>>);

impl MacTable {
    fn get(&self, address: &EthernetAddress) -> Option<AddressLocation> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(address).copied()
    }

    fn learn(&self, address: EthernetAddress, place: AddressLocation) {
        if self.get(&address) == Some(place) {
            return;
        }
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() < MAX_ADDRESSES || known.contains_key(&address) {
            known.insert(address, place);
        }
    }
}

/// State that both directions share.
struct ForwarderState {
    device: OwnedFd,
    socket: UdpSocket,
    table: MacTable,
    own_name: PeerName,
    peers: Vec<(PeerName, SocketAddrV4)>,
    room: usize,
    key: Option<[u8; 32]>,
}

/// Forwards frames in both directions, and calls `ready` when it receives.
///
/// Returns only if a socket cannot be opened or one direction fails, with that error.
pub(super) fn forward(
    arguments: &Arguments,
    ready: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    let device = packet::open(&arguments.device)?;
    let socket = UdpSocket::bind(arguments.listen)?;
    for waits in [
        set_socket_recv_buffer_size(&device, RECEIVE_BUFFER),
        set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER),
    ] {
        waits?;
    }
    let key = arguments.key.as_deref().map(|file| read_key(Path::new(file))).transpose()?;
    let shared = Arc::new(ForwarderState {
        device,
        socket,
        table: MacTable::default(),
        own_name: peer_name(arguments.node),
        peers: arguments.peers.iter().map(|&(number, at)| (peer_name(number), at)).collect(),
        room: arguments.room,
        key,
    });
    ready()?;
    let (failed, failure) = channel();
    let run = |direction: fn(&ForwarderState) -> io::Error, failed: Sender<io::Error>| {
        let shared = Arc::clone(&shared);
        std::thread::Builder::new().spawn(move || {
            // A second failure is not received: the process ends with the first.
            let _ = failed.send(direction(&shared));
        })
    };
    run(device_to_peers, failed.clone())?;
    run(peers_to_device, failed)?;
    Err(failure.recv().unwrap_or_else(|_| io::Error::other("the threads of both directions ended")))
}

/// Sender of frames, with the packet that is being filled for each peer.
struct FrameSender<'a> {
    shared: &'a ForwarderState,
    seal: PacketSealer,
    batches: Vec<FrameBatch>,
}

/// Sends the device's frames in UDP packets. A packet is sent when it is full, or when no other frame is waiting.
fn device_to_peers(shared: &ForwarderState) -> io::Error {
    let seal = PacketSealer::new(shared.own_name, shared.key);
    let batches =
        shared.peers.iter().map(|_| FrameBatch::new(seal.header_length(), shared.room)).collect();
    let mut outgoing = FrameSender { shared, seal, batches };
    let mut frame = vec![0; MAX_FRAME];
    let mut waits = RecvFlags::empty();
    loop {
        match recv(&shared.device, &mut frame[..], waits) {
            Ok((length, _)) => {
                outgoing.enqueue(&frame[..length]);
                waits = RecvFlags::DONTWAIT;
            }
            Err(Errno::AGAIN) => {
                (0..shared.peers.len()).for_each(|peer| outgoing.send(peer));
                waits = RecvFlags::empty();
            }
            Err(Errno::INTR) => {}
            Err(errno) => return errno.into(),
        }
    }
}

impl FrameSender<'_> {
    fn enqueue(&mut self, frame: &[u8]) {
        let Some((to, from)) = addresses(frame) else { return };
        self.shared.table.learn(from, AddressLocation::Local);
        let known = if is_multicast(&to) { None } else { self.shared.table.get(&to) };
        match known {
            Some(AddressLocation::Local) => {}
            Some(AddressLocation::Peer(peer)) => self.push(peer, frame),
            None => (0..self.batches.len()).for_each(|peer| self.push(peer, frame)),
        }
    }

    fn push(&mut self, peer: usize, frame: &[u8]) {
        if !self.batches[peer].fits(frame) {
            self.send(peer);
        }
        let (name, _) = self.shared.peers[peer];
        self.batches[peer].push(name, self.shared.own_name, frame);
    }

    /// Sends the pending packet of a peer. A packet that the kernel does not accept is lost, as on any network.
    fn send(&mut self, peer: usize) {
        let batch = &mut self.batches[peer];
        if batch.is_empty() {
            return;
        }
        if self.seal.seal(batch.bytes()).is_some() {
            let (_, at) = self.shared.peers[peer];
            let _ = self.shared.socket.send_to(batch.bytes(), at);
        }
        batch.clear();
    }
}

/// Delivers the frames of UDP packets to the device.
fn peers_to_device(shared: &ForwarderState) -> io::Error {
    let seal = PacketSealer::new(shared.own_name, shared.key);
    let mut bytes = vec![0; MAX_FRAME];
    loop {
        let length = match shared.socket.recv(&mut bytes) {
            Ok(length) => length,
            // An ICMP error for an earlier packet is no reason to stop: the other node may not be up yet.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => continue,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return error,
        };
        let Some((name, body)) = seal.open(&mut bytes[..length]) else { continue };
        let Some(peer) = shared.peers.iter().position(|(one, _)| *one == name) else { continue };
        for frame in frames(body) {
            let Some((_, from)) = addresses(frame) else { continue };
            shared.table.learn(from, AddressLocation::Peer(peer));
            // If the device is full or down, the frame is lost.
            let _ = send(&shared.device, frame, SendFlags::empty());
        }
    }
}
