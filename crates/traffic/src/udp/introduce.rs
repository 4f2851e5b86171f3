//! How the two sides get to know each other before any traffic.
//!
//! A client greets over TCP and says how many flows shall come; on each of them it sends announcements by UDP until the
//! server has said that one came. So the server learns from where a flow really comes, whatever translates addresses on
//! the way, and nobody who has not answered over TCP is ever sent a datagram. The server sends none at all.

use super::control::{Link, Message, out_of_turn};
use super::header::Mark;
use super::options::{Options, granted, hearing, incoming, outgoing};
use crate::drive::{Patience, TICK};
use crate::placement::Role;
use crate::tcp::{self, Granted};
use crate::{Error, Task};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::BTreeSet;
use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a client goes on announcing its flows.
const ANNOUNCING: Duration = Duration::from_secs(5);

/// How long a client that has greeted may take to say how many flows shall come.
const FLOWS: Duration = Duration::from_secs(1);

/// A flow that both sides know.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    /// Its socket.
    pub(crate) socket: Arc<UdpSocket>,
    /// Its number in its server.
    pub(crate) number: u32,
    /// Which client it is from.
    pub(crate) client: u32,
    /// Over which of the links it was announced.
    pub(crate) link: usize,
}

/// What was granted to the sockets of flows; nothing where there are none.
pub(crate) fn granted_of(flows: &[Flow], options: &Options, role: Role) -> Result<Granted, Error> {
    flows
        .first()
        .map_or_else(|| Ok(Granted::default()), |flow| granted(&flow.socket, options, role))
}

/// What one side has after the introduction.
#[derive(Debug)]
pub(crate) struct Introduced {
    /// The conversations.
    pub(crate) links: Vec<Link>,
    /// All flows.
    pub(crate) flows: Vec<Flow>,
}

/// The client's part: greets every address, and announces its flows, dealt over the addresses in turn.
pub(crate) fn announce(task: &Task, options: &Options) -> Result<Introduced, Error> {
    let mut introduced = Introduced { links: Vec::new(), flows: Vec::new() };
    let addresses = &task.addresses[..task.addresses.len().min(task.flows as usize)];
    for (link, address) in addresses.iter().enumerate() {
        let share = (link..task.flows as usize).step_by(addresses.len()).count();
        let refused = |error| Error::io(format!("announce flows to {address}"), error);
        let greeting = Task { addresses: vec![*address], flows: 1, ..task.clone() };
        let (streams, _) = tcp::connect(&greeting, &tcp::Options::default())?;
        for stream in streams {
            let mut conversation = Link::new(stream).map_err(refused)?;
            conversation.tell(Message::Flows(share as u32)).map_err(refused)?;
            let answer = conversation.hear(ANNOUNCING).map_err(refused)?;
            let Some(Message::First(first)) = answer else { return Err(refused(out_of_turn())) };
            for number in (first..).take(share) {
                let socket = Arc::new(outgoing(*address, options)?);
                introduced.flows.push(Flow { socket, number, client: task.client, link });
            }
            announce_to(&mut conversation, task.token, &introduced.flows, link).map_err(refused)?;
            introduced.links.push(conversation);
        }
    }
    Ok(introduced)
}

/// Announces the flows of a link until all are known to the server.
fn announce_to(link: &mut Link, token: u64, flows: &[Flow], index: usize) -> io::Result<()> {
    let own = || flows.iter().filter(|flow| flow.link == index);
    let mut unknown: BTreeSet<u32> = own().map(|flow| flow.number).collect();
    let until = Instant::now() + ANNOUNCING;
    while !unknown.is_empty() {
        if Instant::now() >= until {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "no datagram came there, though TCP did: let UDP pass on the same port",
            ));
        }
        for flow in own().filter(|flow| unknown.contains(&flow.number)) {
            // What is refused now may pass the next time.
            let _ = flow.socket.send(&Mark::new(token, 0, flow.number).announcement());
        }
        let mut wait = 2 * TICK;
        while let Some(message) = link.hear(wait)? {
            match message {
                Message::Known(flow) => drop(unknown.remove(&flow)),
                _ => return Err(out_of_turn()),
            }
            if unknown.is_empty() {
                break;
            }
            wait = TICK;
        }
    }
    Ok(())
}

/// An address on which a server listens, by TCP and by UDP.
#[derive(Debug)]
struct Door {
    listener: TcpListener,
    announcements: UdpSocket,
}

/// All addresses on which a server listens.
#[derive(Debug)]
pub(crate) struct Doors(Vec<Door>);

impl Doors {
    /// Listens.
    pub(crate) fn open(task: &Task) -> Result<Self, Error> {
        // Clients that are routed to the same address share its door.
        let addresses: BTreeSet<SocketAddr> = task.addresses.iter().copied().collect();
        let door = |address: SocketAddr| {
            let (listener, _) = tcp::listen(address, task.flows, &tcp::Options::default())?;
            Ok(Door { listener, announcements: hearing(address)? })
        };
        Ok(Self(addresses.into_iter().map(door).collect::<Result<_, Error>>()?))
    }

    /// The server's part: accepts until all flows that the task expects are known, or patience is over.
    pub(crate) fn welcome(
        &self,
        task: &Task,
        options: &Options,
        patience: &Patience,
    ) -> Result<Introduced, Error> {
        let mut register = Register { task, options, clients: Vec::new(), flows: Vec::new() };
        while register.flows.len() < task.flows as usize && !patience.is_over() {
            self.wait()?;
            for door in &self.0 {
                while register.accept(&door.listener)? {}
                while register.learn(&door.announcements)? {}
            }
        }
        let Register { clients, mut flows, .. } = register;
        flows.sort_by_key(|flow| flow.number);
        Ok(Introduced { links: clients.into_iter().map(|client| client.link).collect(), flows })
    }

    /// Waits until there is somebody at a door, or for a tick.
    fn wait(&self) -> Result<(), Error> {
        let tick = Timespec { tv_sec: 0, tv_nsec: TICK.subsec_nanos().into() };
        let mut waits: Vec<_> = self
            .0
            .iter()
            .flat_map(|door| {
                [
                    PollFd::new(&door.listener, PollFlags::IN),
                    PollFd::new(&door.announcements, PollFlags::IN),
                ]
            })
            .collect();
        match poll(&mut waits, Some(&tick)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(Error::io("wait for flows", error)),
        }
    }
}

/// A client process that has greeted.
struct Guest {
    link: Link,
    client: u32,
    /// The numbers of its flows.
    flows: std::ops::Range<u32>,
}

/// Who has come so far.
struct Register<'t> {
    task: &'t Task,
    options: &'t Options,
    clients: Vec<Guest>,
    flows: Vec<Flow>,
}

impl Register<'_> {
    /// Accepts one who is there. Whoever says nothing of use is forgotten.
    fn accept(&mut self, listener: &TcpListener) -> Result<bool, Error> {
        let Some(accepted) = tcp::accept(listener, self.task.token)
            .map_err(|error| Error::io("accept a client", error))?
        else {
            return Ok(false);
        };
        if let Some(tcp::Accepted { stream, client, .. }) = accepted
            && let Ok(guest) = self.enter(stream, client)
        {
            self.clients.push(guest);
        }
        Ok(true)
    }

    /// Hears how many flows a client has, and says how they are numbered.
    fn enter(&self, stream: std::net::TcpStream, client: u32) -> io::Result<Guest> {
        let mut link = Link::new(stream)?;
        let Some(Message::Flows(count)) = link.hear(FLOWS)? else { return Err(out_of_turn()) };
        let first = self.clients.last().map_or(0, |guest| guest.flows.end);
        let end = first.checked_add(count).filter(|end| *end <= self.task.flows);
        let end = end.ok_or_else(out_of_turn)?;
        link.tell(Message::First(first))?;
        Ok(Guest { link, client, flows: first..end })
    }

    /// Learns a flow from an announcement that is there; a stranger's, or a second one, changes nothing.
    fn learn(&mut self, announcements: &UdpSocket) -> Result<bool, Error> {
        let mut bytes = [0; super::header::LENGTH];
        let (length, peer) = match announcements.recv_from(&mut bytes) {
            Ok(came) => came,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            Err(error) => return Err(Error::io("hear of a flow", error)),
        };
        let Some(number) = Mark::announced(self.task.token, &bytes[..length]) else {
            return Ok(true);
        };
        let guest = self.clients.iter().position(|guest| guest.flows.contains(&number));
        let Some(link) = guest.filter(|_| self.flows.iter().all(|flow| flow.number != number))
        else {
            return Ok(true);
        };
        let guest = &self.clients[link];
        let refused = |error| Error::io("talk to a client", error);
        // The address that the client was led to: this side may have several.
        let own = guest.link.stream().local_addr().map_err(refused)?;
        let socket = Arc::new(incoming(own, peer, self.options)?);
        guest.link.tell(Message::Known(number)).map_err(refused)?;
        self.flows.push(Flow { socket, number, client: guest.client, link });
        Ok(true)
    }
}
