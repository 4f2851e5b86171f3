//! Handshake of a UDP workload, before any traffic.
//!
//! A client greets over TCP and states its number of flows. On each of them it sends announcements over UDP until the
//! server has confirmed one. So the server learns the address from which a flow really comes, whatever translates
//! addresses on the path, and no address that has not answered over TCP is ever sent a datagram. The server itself
//! sends none.

use super::control::{UdpControlLink, UdpControlMessage, unexpected_message};
use super::header::FlowTag;
use super::options::{
    Options, granted_to_socket, open_announcement_socket, open_client_socket, open_flow_socket,
};
use crate::event_loop::{SharedDeadline, TICK};
use crate::placement::TrafficRole;
use crate::tcp::{self, GrantedOptions, GreetingQueue};
use crate::wait_mode::sleep_until_readable;
use crate::{Error, TrialTask};
use std::collections::BTreeSet;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time for which a client announces its flows.
const ANNOUNCE_TIMEOUT: Duration = Duration::from_secs(5);

/// Timeout for a client that has greeted to state its number of flows.
const FLOW_COUNT_TIMEOUT: Duration = Duration::from_secs(1);

/// Flow that both sides know.
#[derive(Clone, Debug)]
pub(crate) struct UdpFlow {
    /// Socket of the flow.
    pub(crate) socket: Arc<UdpSocket>,
    /// Number of the flow in its server.
    pub(crate) number: u32,
    /// Number of the client.
    pub(crate) client: u32,
    /// Index of the link over which the flow was announced.
    pub(crate) link: usize,
}

/// Returns the options that the kernel granted to the sockets of flows. Returns the default if there are no flows.
pub(crate) fn granted_to_flows(
    flows: &[UdpFlow],
    options: &Options,
    role: TrafficRole,
) -> Result<GrantedOptions, Error> {
    flows.first().map_or_else(
        || Ok(GrantedOptions::default()),
        |flow| granted_to_socket(&flow.socket, options, role),
    )
}

/// Links and flows of one side after the handshake.
#[derive(Debug)]
pub(crate) struct EstablishedFlows {
    /// Control connections.
    pub(crate) links: Vec<UdpControlLink>,
    /// Flows of all links.
    pub(crate) flows: Vec<UdpFlow>,
}

/// Runs the client's part: greets every address and announces its flows, which are distributed over the addresses in
/// turn.
pub(crate) fn announce_flows(
    task: &TrialTask,
    options: &Options,
) -> Result<EstablishedFlows, Error> {
    let mut introduced = EstablishedFlows { links: Vec::new(), flows: Vec::new() };
    let addresses = &task.addresses[..task.addresses.len().min(task.flows as usize)];
    for (link, address) in addresses.iter().enumerate() {
        let share = (link..task.flows as usize).step_by(addresses.len()).count();
        let refused = |error| Error::io(format!("announce flows to {address}"), error);
        let greeting = TrialTask { addresses: vec![*address], flows: 1, ..task.clone() };
        let (streams, _) = tcp::connect(&greeting, &tcp::TcpOptions::default())?;
        for stream in streams {
            let mut conversation = UdpControlLink::new(stream).map_err(refused)?;
            conversation.send(UdpControlMessage::Flows(share as u32)).map_err(refused)?;
            let answer = conversation.receive(ANNOUNCE_TIMEOUT).map_err(refused)?;
            let Some(UdpControlMessage::First(first)) = answer else {
                return Err(refused(unexpected_message()));
            };
            for number in (first..).take(share) {
                let socket = Arc::new(open_client_socket(*address, options)?);
                introduced.flows.push(UdpFlow { socket, number, client: task.client, link });
            }
            announce_on_link(&mut conversation, task.token, &introduced.flows, link)
                .map_err(refused)?;
            introduced.links.push(conversation);
        }
    }
    Ok(introduced)
}

/// Announces the flows of a link until the server knows all of them. Fails if that takes longer than
/// [`ANNOUNCE_TIMEOUT`].
fn announce_on_link(
    link: &mut UdpControlLink,
    token: u64,
    flows: &[UdpFlow],
    index: usize,
) -> io::Result<()> {
    let own = || flows.iter().filter(|flow| flow.link == index);
    let mut unknown: BTreeSet<u32> = own().map(|flow| flow.number).collect();
    let until = Instant::now() + ANNOUNCE_TIMEOUT;
    while !unknown.is_empty() {
        if Instant::now() >= until {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the server received no datagram, although TCP works: allow UDP on the same port",
            ));
        }
        for flow in own().filter(|flow| unknown.contains(&flow.number)) {
            // A datagram that is refused now may pass the next time.
            let _ = flow.socket.send(&FlowTag::new(token, 0, flow.number).announcement());
        }
        let mut wait = 2 * TICK;
        while let Some(message) = link.receive(wait)? {
            match message {
                UdpControlMessage::Known(flow) => drop(unknown.remove(&flow)),
                _ => return Err(unexpected_message()),
            }
            if unknown.is_empty() {
                break;
            }
            wait = TICK;
        }
    }
    Ok(())
}

/// Sockets of one address on which a server listens, by TCP and by UDP.
#[derive(Debug)]
struct UdpListener {
    listener: TcpListener,
    announcements: UdpSocket,
}

/// Sockets of all addresses on which a server listens.
#[derive(Debug)]
pub(crate) struct UdpListeners(Vec<UdpListener>);

impl UdpListeners {
    /// Listens on all addresses of the task.
    pub(crate) fn open(task: &TrialTask) -> Result<Self, Error> {
        // Clients that are routed to the same address share its sockets.
        let addresses: BTreeSet<SocketAddr> = task.addresses.iter().copied().collect();
        let door = |address: SocketAddr| {
            let (listener, _) = tcp::listen(address, task.flows, &tcp::TcpOptions::default())?;
            Ok(UdpListener { listener, announcements: open_announcement_socket(address)? })
        };
        Ok(Self(addresses.into_iter().map(door).collect::<Result<_, Error>>()?))
    }

    /// Runs the server's part: accepts clients until all flows that the task expects are known, or patience is over.
    pub(crate) fn accept_flows(
        &self,
        task: &TrialTask,
        options: &Options,
        patience: &SharedDeadline,
    ) -> Result<EstablishedFlows, Error> {
        let mut register = FlowRegistry { task, options, clients: Vec::new(), flows: Vec::new() };
        let mut queue = GreetingQueue::new(task);
        while register.flows.len() < task.flows as usize && !patience.is_past() {
            self.await_clients(&queue)?;
            for door in &self.0 {
                queue
                    .accept_pending(&door.listener)
                    .map_err(|error| Error::io("accept a client", error))?;
                queue.take_greeted().into_iter().for_each(|client| register.add_client(client));
                while register.read_announcement(&door.announcements)? {}
            }
        }
        let FlowRegistry { clients, mut flows, .. } = register;
        flows.sort_by_key(|flow| flow.number);
        Ok(EstablishedFlows {
            links: clients.into_iter().map(|client| client.link).collect(),
            flows,
        })
    }

    /// Waits for a connection, a greeting or an announcement, at most for one tick.
    fn await_clients(&self, queue: &GreetingQueue<'_>) -> Result<(), Error> {
        let sockets =
            self.0.iter().flat_map(|door| [door.listener.as_fd(), door.announcements.as_fd()]);
        sleep_until_readable(sockets.chain(queue.sockets()), TICK)
            .map_err(|error| Error::io("wait for flows", error))
    }
}

/// Client process that has greeted.
struct GreetedClient {
    link: UdpControlLink,
    client: u32,
    /// Numbers of its flows.
    flows: std::ops::Range<u32>,
}

/// Clients and flows that have arrived so far.
struct FlowRegistry<'t> {
    task: &'t TrialTask,
    options: &'t Options,
    clients: Vec<GreetedClient>,
    flows: Vec<UdpFlow>,
}

impl FlowRegistry<'_> {
    /// Adds a client that has greeted. Drops it if it then sends nothing valid.
    fn add_client(&mut self, client: tcp::AcceptedFlow) {
        if let Ok(guest) = self.register_client(client.stream, client.origin.client) {
            self.clients.push(guest);
        }
    }

    /// Receives a client's number of flows, and answers with the number of the first.
    fn register_client(&self, stream: TcpStream, client: u32) -> io::Result<GreetedClient> {
        let mut link = UdpControlLink::new(stream)?;
        let Some(UdpControlMessage::Flows(count)) = link.receive(FLOW_COUNT_TIMEOUT)? else {
            return Err(unexpected_message());
        };
        let first = self.clients.last().map_or(0, |guest| guest.flows.end);
        let end = first.checked_add(count).filter(|end| *end <= self.task.flows);
        let end = end.ok_or_else(unexpected_message)?;
        link.send(UdpControlMessage::First(first))?;
        Ok(GreetedClient { link, client, flows: first..end })
    }

    /// Reads a waiting announcement and registers its flow. Ignores announcements of strangers and repeated ones.
    /// Returns false if none waits.
    fn read_announcement(&mut self, announcements: &UdpSocket) -> Result<bool, Error> {
        let mut bytes = [0; super::header::LENGTH];
        let (length, peer) = match announcements.recv_from(&mut bytes) {
            Ok(came) => came,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            Err(error) => return Err(Error::io("receive the announcement of a flow", error)),
        };
        let Some(number) = FlowTag::announced_flow(self.task.token, &bytes[..length]) else {
            return Ok(true);
        };
        let guest = self.clients.iter().position(|guest| guest.flows.contains(&number));
        let Some(link) = guest.filter(|_| self.flows.iter().all(|flow| flow.number != number))
        else {
            return Ok(true);
        };
        let guest = &self.clients[link];
        let refused = |error| Error::io("answer a client", error);
        // The address that the client dialled: this side may have several.
        let own = guest.link.stream().local_addr().map_err(refused)?;
        let socket = Arc::new(open_flow_socket(own, peer, self.options)?);
        guest.link.send(UdpControlMessage::Known(number)).map_err(refused)?;
        self.flows.push(UdpFlow { socket, number, client: guest.client, link });
        Ok(true)
    }
}
