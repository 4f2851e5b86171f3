//! What a raised network consists of.

use crate::{Container, Daemons, Finding, Hop, PlaceCounts, Ran};
use std::any::Any;
use std::fmt;
use std::net::SocketAddr;

/// Whatever must be dropped for a topology's remains to go.
pub type Guard = Box<dyn Any + Send>;

/// How one client reaches one server: what the server listens on, and what the client dials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Which client, an index into [`Topology::clients`].
    pub client: usize,
    /// Which server, an index into [`Topology::servers`].
    pub server: usize,
    /// Where the server listens: its own address and a port of the site's.
    pub listen: SocketAddr,
    /// Where the client connects to; not the same where a port is published.
    pub dial: SocketAddr,
}

/// Looks at a raised network while a trial runs over it.
pub trait Watch: Send {
    /// What the counters of every namespace have gained since it was last asked.
    fn count(&mut self) -> Vec<PlaceCounts>;
    /// What the kernel has run for it so far, whenever it drops a packet; nothing where it runs nothing, or does not say.
    fn ran(&self) -> Option<Ran> {
        None
    }
}

/// A raised network. Dropping it removes all of it.
pub struct Topology {
    /// The servers' containers.
    pub servers: Vec<Box<dyn Container>>,
    /// The clients' containers.
    pub clients: Vec<Box<dyn Container>>,
    /// The nodes' own namespaces, where programs can be started in them: to look at what packets pass there.
    pub nodes: Vec<Box<dyn Container>>,
    /// One route for each client and each of the site's ports, ordered by client, then by port; client i goes to server i mod n.
    pub routes: Vec<Route>,
    /// What a packet from client 0 to its server passes, in order.
    pub hops: Vec<Hop>,
    /// What was noticed when it was raised.
    pub findings: Vec<Finding>,
    /// Who looks at its counters, where it has any.
    pub watch: Option<Box<dyn Watch>>,
    /// What keeps it up. Declared last: containers go first.
    pub guard: Guard,
}

impl Topology {
    /// What the network runs beside its containers; nothing where the kernel does it all.
    #[must_use]
    pub fn daemons(&self) -> Option<&dyn Daemons> {
        self.servers.iter().chain(&self.clients).find_map(|container| container.daemons())
    }

    /// The routes of one client, one a port.
    pub fn routes_of(&self, client: usize) -> impl Iterator<Item = &Route> {
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
