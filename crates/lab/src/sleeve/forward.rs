//! The two directions: frames of a device into UDP packets, and frames of UDP packets to the device, by a thread each.

use super::arguments::{Arguments, name};
use super::frames::{Address, Batch, Name, addresses, frames, is_for_many};
use super::seal::{Seal, read_key};
use crate::sys::packet;
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

/// The longest frame: no device's MTU is larger.
const FRAME: usize = 65_536 + 14;

/// How many addresses are remembered: frames for others go to all nodes.
const MOST: usize = 16_384;

/// How much may wait to be taken, bytes; the machine may allow less.
const WAITING: usize = 4 << 20;

/// Where an address is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Behind this node's own device.
    Here,
    /// Behind the peer of this place in the list.
    Behind(usize),
}

/// Where addresses are, as both directions learn it.
#[derive(Default)]
struct Table(RwLock<HashMap<Address, Place>>);

impl Table {
    fn get(&self, address: &Address) -> Option<Place> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(address).copied()
    }

    fn learn(&self, address: Address, place: Place) {
        if self.get(&address) == Some(place) {
            return;
        }
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() < MOST || known.contains_key(&address) {
            known.insert(address, place);
        }
    }
}

/// What both directions use.
struct Shared {
    device: OwnedFd,
    socket: UdpSocket,
    table: Table,
    mine: Name,
    peers: Vec<(Name, SocketAddrV4)>,
    room: usize,
    key: Option<[u8; 32]>,
}

/// Forwards frames until one direction cannot any more.
pub(super) fn forward(
    arguments: &Arguments,
    ready: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    let device = packet::open(&arguments.device)?;
    let socket = UdpSocket::bind(arguments.listen)?;
    for waits in [
        set_socket_recv_buffer_size(&device, WAITING),
        set_socket_recv_buffer_size(&socket, WAITING),
    ] {
        waits?;
    }
    let key = arguments.key.as_deref().map(|file| read_key(Path::new(file))).transpose()?;
    let shared = Arc::new(Shared {
        device,
        socket,
        table: Table::default(),
        mine: name(arguments.number),
        peers: arguments.peers.iter().map(|&(number, at)| (name(number), at)).collect(),
        room: arguments.room,
        key,
    });
    ready()?;
    let (failed, failure) = channel();
    let run = |direction: fn(&Shared) -> io::Error, failed: Sender<io::Error>| {
        let shared = Arc::clone(&shared);
        std::thread::Builder::new().spawn(move || {
            // Nobody hears of a second failure: the process ends with the first.
            let _ = failed.send(direction(&shared));
        })
    };
    run(outwards, failed.clone())?;
    run(inwards, failed)?;
    Err(failure.recv().unwrap_or_else(|_| io::Error::other("both directions ended")))
}

/// Packets for each peer.
struct Outgoing<'a> {
    shared: &'a Shared,
    seal: Seal,
    batches: Vec<Batch>,
}

/// Frames of the device into UDP packets: a packet goes when it is full, or when no other frame waits.
fn outwards(shared: &Shared) -> io::Error {
    let seal = Seal::new(shared.mine, shared.key);
    let batches = shared.peers.iter().map(|_| Batch::new(seal.head(), shared.room)).collect();
    let mut outgoing = Outgoing { shared, seal, batches };
    let mut frame = vec![0; FRAME];
    let mut waits = RecvFlags::empty();
    loop {
        match recv(&shared.device, &mut frame[..], waits) {
            Ok((length, _)) => {
                outgoing.take(&frame[..length]);
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

impl Outgoing<'_> {
    fn take(&mut self, frame: &[u8]) {
        let Some((to, from)) = addresses(frame) else { return };
        self.shared.table.learn(from, Place::Here);
        let known = if is_for_many(&to) { None } else { self.shared.table.get(&to) };
        match known {
            Some(Place::Here) => {}
            Some(Place::Behind(peer)) => self.add(peer, frame),
            None => (0..self.batches.len()).for_each(|peer| self.add(peer, frame)),
        }
    }

    fn add(&mut self, peer: usize, frame: &[u8]) {
        if !self.batches[peer].fits(frame) {
            self.send(peer);
        }
        let (name, _) = self.shared.peers[peer];
        self.batches[peer].push(name, self.shared.mine, frame);
    }

    /// Sends what there is for a peer. What the kernel does not take is lost, as on any network.
    fn send(&mut self, peer: usize) {
        let batch = &mut self.batches[peer];
        if batch.is_empty() {
            return;
        }
        if self.seal.close(batch.bytes()).is_some() {
            let (_, at) = self.shared.peers[peer];
            let _ = self.shared.socket.send_to(batch.bytes(), at);
        }
        batch.clear();
    }
}

/// Frames of UDP packets to the device.
fn inwards(shared: &Shared) -> io::Error {
    let seal = Seal::new(shared.mine, shared.key);
    let mut bytes = vec![0; FRAME];
    loop {
        let length = match shared.socket.recv(&mut bytes) {
            Ok(length) => length,
            // What an earlier packet met is no end: the other node may not be up yet.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => continue,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return error,
        };
        let Some((name, body)) = seal.open(&mut bytes[..length]) else { continue };
        let Some(peer) = shared.peers.iter().position(|(one, _)| *one == name) else { continue };
        for frame in frames(body) {
            let Some((_, from)) = addresses(frame) else { continue };
            shared.table.learn(from, Place::Behind(peer));
            // A device that is full, or down for now, loses it.
            let _ = send(&shared.device, frame, SendFlags::empty());
        }
    }
}
