//! Parts of a network that is set up.

use crate::{Container, Error, Finding, Hop, KernelProgramRuns, NamespaceCounts, NetworkDaemons};
use std::any::Any;
use std::fmt;
use std::net::SocketAddr;

/// Value whose drop removes the remains of a topology.
pub type Guard = Box<dyn Any + Send>;

/// Route from one client to one server: the address that the server listens on, and the address that the client dials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientRoute {
    /// Index of the client in [`Topology::clients`].
    pub client: usize,
    /// Index of the server in [`Topology::servers`].
    pub server: usize,
    /// Address that the server listens on: its own address, and one of the ports in the
    /// [`NetworkParameters`](crate::NetworkParameters).
    pub listen: SocketAddr,
    /// Address that the client connects to. It differs from `listen` if a port is published.
    pub dial: SocketAddr,
}

/// Reader of a network's counters while a trial runs over it.
pub trait CounterWatch: Send {
    /// Returns the increase of the counters of every namespace since the last call.
    fn read_gains(&mut self) -> Vec<NamespaceCounts>;
    /// Returns the cost so far of the program that the kernel runs for the network whenever it drops a packet. Returns
    /// `None` if the kernel runs no such program, or does not time it.
    fn drop_program_cost(&self) -> Option<KernelProgramRuns> {
        None
    }
}

/// Inspector of a network that is set up: it asks the kernel for figures of the network itself.
pub trait NetworkInspector: Send {
    /// Returns the number of clients that have a route to an address outside of the network. No packet is sent.
    ///
    /// # Errors
    /// The kernel does not answer.
    fn count_routes_out(&mut self) -> Result<u32, Error>;
    /// Adds ports to the bridge of the containers until the kernel refuses one, and deletes them again. Returns the number
    /// of ports that the bridge had then, or `None` if the containers are on no bridge.
    ///
    /// # Errors
    /// The kernel refuses a port for another reason than their number.
    fn fill_bridge(&mut self) -> Result<Option<u32>, Error>;
}

/// A network that is set up. Dropping it removes all of it.
pub struct Topology {
    /// Containers of the servers.
    pub servers: Vec<Box<dyn Container>>,
    /// Containers of the clients.
    pub clients: Vec<Box<dyn Container>>,
    /// Namespaces of the nodes, if programs can be started in them to capture the packets that pass there.
    pub nodes: Vec<Box<dyn Container>>,
    /// Routes: one for each client and each port of the site, ordered by client, then by port. Client i goes to server
    /// i mod n.
    pub routes: Vec<ClientRoute>,
    /// Hops that a packet from client 0 to its server passes, in order.
    pub hops: Vec<Hop>,
    /// Findings made while the network was set up.
    pub findings: Vec<Finding>,
    /// Reader of the network's counters, if the network has counters.
    pub watch: Option<Box<dyn CounterWatch>>,
    /// Inspector of the network, if its place has one.
    pub inspector: Option<Box<dyn NetworkInspector>>,
    /// Guard that keeps the network up. It is declared last, so that the containers are dropped first.
    pub guard: Guard,
}

impl Topology {
    /// Returns the daemons of the network. Returns `None` if the kernel alone carries the packets.
    #[must_use]
    pub fn daemons(&self) -> Option<&dyn NetworkDaemons> {
        self.servers.iter().chain(&self.clients).find_map(|container| container.daemons())
    }

    /// Returns the routes of one client, one for each port.
    pub fn client_routes(&self, client: usize) -> impl Iterator<Item = &ClientRoute> {
        self.routes.iter().filter(move |route| route.client == client)
    }
}

impl fmt::Debug for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |containers: &[Box<dyn Container>]| {
            containers.iter().map(|one| one.name().to_owned()).collect::<Vec<_>>()
        };
        f.debug_struct("Topology")
            .field("servers", &names(&self.servers))
            .field("clients", &names(&self.clients))
            .field("nodes", &names(&self.nodes))
            .field("routes", &self.routes)
            .field("hops", &self.hops)
            .finish_non_exhaustive()
    }
}
