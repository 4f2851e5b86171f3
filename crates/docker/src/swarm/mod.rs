//! Docker Swarm as a place: server and client are tasks of services, on nodes of a Swarm, on networks that it makes.
//!
//! tare speaks to a manager. A network of a Swarm's is a [`Recipe`]; [`InSwarm`] makes a [`Network`] of it: it makes what
//! the recipe asks for, waits until all tasks have come home (see [`crate::home`]), proves that packets pass, and hands
//! out containers. What a run shares (its home, the image on engines that were named) is a [`Swarm`], made once.

mod account;
mod crew;
mod encrypted;
mod existing;
mod gwbridge;
mod host;
mod macvlan;
mod members;
mod muster;
pub(crate) mod overlay;
mod published;
mod relay;
mod roll;
mod script;
mod tasks;
mod vip;
mod wanted;

pub(crate) use relay::Swarm;
pub(crate) use tasks::{TaskProcess, Tasks};

use crate::engine::Sides;
use crate::leftovers;
use crate::networks::laid::Laid;
use crate::networks::{prove, topology};
use crate::place::Place;
use crate::want::Want;
use crew::Crew;
use members::Member;
use std::ops::RangeInclusive;
use std::sync::Arc;
use tare_network::{
    About, Error, Hop, Need, Network, NetworkOption, NodeKind, Shape, Site, Topology,
};

/// The most nodes that a shape is laid out on.
const MOST_NODES: u32 = 32;

/// The options of every network of a Swarm's: of its services none takes away a security profile.
const OPTIONS: &[NetworkOption] = &[];

/// What a network of a Swarm's has of its own.
trait Recipe: Send + Sync + 'static {
    /// What it is.
    fn about(&self) -> About;
    /// What it wants beside a manager.
    fn wants(&self, _: &Site) -> Vec<Want> {
        Vec::new()
    }
    /// What its name begins with, where the user says the rest.
    fn scheme(&self) -> Option<&'static str> {
        None
    }
    /// Why it has no room for a shape, where it has none.
    fn has_room(&self, _: &Shape) -> Result<(), Error> {
        Ok(())
    }
    /// Makes its networks and services.
    fn lay(
        &self,
        crew: &Crew,
        nodes: &Spread<'_>,
        shape: &Shape,
        site: &Site,
    ) -> Result<Laid, Error>;
    /// Proves that packets pass, and where: the hops.
    fn prove(
        &self,
        crew: &Crew,
        _: &Spread<'_>,
        laid: &Laid,
        shape: &Shape,
    ) -> Result<Vec<Hop>, Error> {
        prove::prove(&Sides::one(&crew.swarm.engine), laid, shape)
    }
    /// The commands by which a reader could build the same.
    fn commands(&self, shape: &Shape, site: &Site) -> Vec<String>;
}

/// All networks of a Swarm's.
#[must_use]
pub fn networks(place: &Arc<Place>) -> Vec<Box<dyn Network>> {
    let recipes: Vec<Box<dyn Recipe>> = vec![
        Box::new(host::Host),
        Box::new(macvlan::Macvlan),
        Box::new(overlay::Overlay),
        Box::new(encrypted::Encrypted),
        Box::new(vip::Vip),
        Box::new(published::Published::Host),
        Box::new(published::Published::Ingress),
        Box::new(gwbridge::Gateway),
        Box::new(existing::Existing),
    ];
    let in_swarm = |recipe: Box<dyn Recipe>| -> Box<dyn Network> {
        Box::new(InSwarm { recipe, place: Arc::clone(place) })
    };
    recipes.into_iter().map(in_swarm).collect()
}

/// Which node a container is on: servers are on the last half of the nodes, clients on the others, each in turn.
struct Spread<'a> {
    nodes: &'a [Member],
}

impl Spread<'_> {
    fn with_servers(&self) -> usize {
        (self.nodes.len() / 2).max(1)
    }

    /// The number of a server's node.
    fn server(&self, index: usize) -> usize {
        self.nodes.len() - self.with_servers() + index % self.with_servers()
    }

    /// The number of a client's node.
    fn client(&self, index: usize) -> usize {
        match self.nodes.len() - self.with_servers() {
            0 => 0,
            with_clients => index % with_clients,
        }
    }

    fn of_server(&self, index: usize) -> &Member {
        &self.nodes[self.server(index)]
    }

    fn of_client(&self, index: usize) -> &Member {
        &self.nodes[self.client(index)]
    }

    /// Whether all are on one node.
    fn is_one(&self) -> bool {
        self.nodes.len() == 1
    }
}

/// What a hop calls the place of a node.
fn place_of(node: usize) -> String {
    format!("node-{node}")
}

/// A recipe, and the Swarm to carry it out in.
struct InSwarm {
    recipe: Box<dyn Recipe>,
    place: Arc<Place>,
}

impl Network for InSwarm {
    fn about(&self) -> About {
        self.recipe.about()
    }

    fn scheme(&self) -> Option<&'static str> {
        self.recipe.scheme()
    }

    fn needs(&self, site: &Site) -> Vec<Need> {
        match self.place.is_there() {
            Err(missing) => vec![Need::Lacking(missing)],
            Ok(()) => {
                let wants = [Want::Manager].into_iter().chain(self.recipe.wants(site));
                wants.filter_map(|want| self.place.need(want)).collect()
            }
        }
    }

    fn nodes(&self) -> RangeInclusive<u32> {
        if self.place.settings().same_node { 1..=1 } else { 2..=MOST_NODES }
    }

    fn node_kind(&self) -> NodeKind {
        NodeKind::Machine
    }

    fn has_room(&self, shape: &Shape, _: &Site) -> Result<(), Error> {
        self.recipe.has_room(shape)
    }

    fn raise(&self, shape: &Shape, site: &Site) -> Result<Topology, Error> {
        if shape.servers == 0 || shape.clients == 0 {
            let what = format!("lay out {}", self.about().name);
            return Err(Error::new(what, "there must be a server and a client")
                .with_remedy("use --servers 1 --clients 1 or more"));
        }
        self.recipe.has_room(shape)?;
        let swarm = self.place.swarm()?;
        let nodes = swarm.members.for_shape(shape)?.to_vec();
        let engine = Arc::clone(&swarm.engine);
        let crew = Crew::new(swarm);
        let spread = Spread { nodes: &nodes };
        let laid = self.recipe.lay(&crew, &spread, shape, site)?;
        let hops = self.recipe.prove(&crew, &spread, &laid, shape)?;
        let tasks = crew.all();
        Ok(topology(&Sides::one(&engine), laid, hops, &[], Some(&tasks), Box::new(crew)))
    }

    fn commands(&self, shape: &Shape, site: &Site) -> Vec<String> {
        self.recipe.commands(shape, site)
    }
}

impl Swarm {
    /// Removes whatever of this run is on the engines that were named, beside the manager's.
    pub(crate) fn finish(&self) -> Result<(), Error> {
        for engine in self.members.engines.values() {
            if Arc::ptr_eq(engine, &self.engine) {
                continue;
            }
            let left = leftovers::of_run(engine, &self.run)?;
            leftovers::remove(engine, &left)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;

    #[test]
    fn servers_and_clients_share_no_node_unless_there_is_one() {
        let member = |id: u8| Member {
            id: id.to_string(),
            name: format!("n{id}"),
            address: IpAddr::from([192, 0, 2, id]),
        };
        let all: Vec<Member> = (0..5).map(member).collect();
        for nodes in 2..=5 {
            let spread = Spread { nodes: &all[..nodes] };
            for index in 0..20 {
                assert!(spread.client(index) < spread.server(index), "{nodes}");
            }
        }
        let one = Spread { nodes: &all[..1] };
        assert_eq!((one.client(3), one.server(3), one.is_one()), (0, 0, true));
    }
}
