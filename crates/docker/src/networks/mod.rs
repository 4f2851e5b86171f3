//! Docker's networks, one file each.
//!
//! A network of Docker's is a [`Recipe`]: words, needs, and how it is laid out on an engine. [`OnEngine`] makes a
//! [`Network`] of it: it makes what the recipe asks for, proves that packets pass and where, and hands out containers.

pub(crate) mod address;
mod apart;
mod bridge;
mod by_hand;
mod container;
mod existing;
mod host;
pub(crate) mod laid;
mod link;
mod macvlan;
pub(crate) mod node;
mod none;
mod overlay_kv;
pub(crate) mod prove;
pub(crate) mod published;
pub(crate) mod ranges;
pub(crate) mod script;
pub(crate) mod user_bridge;
mod wires;

use crate::container::{DockerContainer, Role};
use crate::engine::{Engine, Sides};
use crate::place::Place;
use crate::swarm::Tasks;
use crate::want::Want;
use crate::watch::{Wanted, Watcher};
use crate::work::{Running, Work};
use laid::{Endpoint, Laid};
use std::ops::RangeInclusive;
use std::sync::Arc;
use tare_network::{
    About, Container, Error, Guard, Hop, Missing, Need, Network, NetworkOption, NodeKind, Shape,
    Site, Topology,
};

/// What a network of Docker's has of its own.
trait Recipe: Send + Sync + 'static {
    /// What it is.
    fn about(&self) -> About;
    /// What it wants beside an engine.
    fn wants(&self, site: &Site) -> Vec<Want>;
    /// Makes its containers and networks.
    fn lay(&self, work: &Work, shape: &Shape, site: &Site) -> Result<Laid, Error>;
    /// The commands by which a reader could build the same.
    fn commands(&self, shape: &Shape, site: &Site) -> Vec<String>;
    /// Whether its servers and clients may be on two engines.
    fn can_be_apart(&self) -> bool {
        false
    }
    /// Makes its containers and networks with servers on one engine and clients on another.
    fn lay_apart(&self, _: &Work, _: &Work, _: &Shape, _: &Site) -> Result<Laid, Error> {
        let Missing { reason, remedy } = apart::cannot(self.about().name);
        Err(Error::new("lay out a network between two engines", reason).with_remedy(remedy))
    }
    /// What its name begins with, where the user says the rest.
    fn scheme(&self) -> Option<&'static str> {
        None
    }
}

/// The options of every network of Docker's.
const OPTIONS: &[NetworkOption] = &[NetworkOption::Unconfined];

/// All networks of Docker's.
#[must_use]
pub fn networks(place: &Arc<Place>) -> Vec<Box<dyn Network>> {
    let on_engine = |recipe: Box<dyn Recipe>| -> Box<dyn Network> {
        Box::new(OnEngine { recipe, place: Arc::clone(place) })
    };
    let recipes: Vec<Box<dyn Recipe>> = vec![
        Box::new(host::Host),
        Box::new(container::Shared),
        Box::new(bridge::Bridge),
        Box::new(user_bridge::UserBridge),
        Box::new(link::Link),
        Box::new(published::Published),
        Box::new(macvlan::Sub::Macvlan),
        Box::new(macvlan::Sub::IpvlanL2),
        Box::new(macvlan::Sub::IpvlanL3),
        Box::new(none::ByHand::Veth),
        Box::new(none::ByHand::Pipework),
        Box::new(none::ByHand::Ovs),
        Box::new(by_hand::MacvlanNat),
        Box::new(overlay_kv::OverlayKv),
        Box::new(existing::Existing),
    ];
    recipes.into_iter().map(on_engine).collect()
}

/// An engine's machine, by a container in its own network namespace.
pub(crate) struct Machine {
    place: &'static str,
    engine: Arc<Engine>,
    container: Running,
}

impl Machine {
    /// That of the engine on which this work is done.
    fn of(work: &Work, place: &'static str) -> Result<Self, Error> {
        Ok(Self { place, engine: Arc::clone(work.engine()), container: work.node()? })
    }
}

/// Who looks at a network: first where a packet from client 0 passes.
fn watcher(sides: &Sides, laid: &Laid, hops: &[Hop], machines: &[Machine]) -> Watcher {
    fn end<'a>(engine: &'a Arc<Engine>, Endpoint { container, .. }: &'a Endpoint) -> Wanted<'a> {
        Wanted { place: &container.name, engine, container, devices: None }
    }
    let mut clients = laid.clients.iter().map(|client| end(&sides.clients, client));
    let mut wanted: Vec<Wanted<'_>> = clients.next().into_iter().collect();
    wanted.extend(laid.servers.iter().map(|server| end(&sides.servers, server)));
    wanted.extend(machines.iter().map(|Machine { place, engine, container }| {
        let here = hops.iter().filter(|hop| hop.place == *place);
        let devices = Some(here.map(|hop| hop.name.clone()).collect());
        Wanted { place, engine, container, devices }
    }));
    wanted.extend(clients);
    Watcher::watch(wanted)
}

/// A network that was laid out and proved, as the rest of tare sees it.
pub(crate) fn topology(
    sides: &Sides,
    laid: Laid,
    hops: Vec<Hop>,
    machines: &[Machine],
    tasks: Option<&Arc<Tasks>>,
    guard: Guard,
) -> Topology {
    let watch = watcher(sides, &laid, &hops, machines);
    let containers = |role,
                      engine: &Arc<Engine>,
                      endpoints: Vec<Endpoint>|
     -> Vec<Box<dyn Container>> {
        let container = |Endpoint { container, address }| DockerContainer {
            engine: Arc::clone(engine),
            container,
            role,
            address,
            tasks: tasks.cloned(),
        };
        endpoints.into_iter().map(|one| Box::new(container(one)) as Box<dyn Container>).collect()
    };
    Topology {
        servers: containers(Role::Server, &sides.servers, laid.servers),
        clients: containers(Role::Client, &sides.clients, laid.clients),
        nodes: Vec::new(),
        routes: laid.routes,
        hops,
        findings: Vec::new(),
        watch: Some(Box::new(watch)),
        guard,
    }
}

/// A recipe, and the engine to carry it out on.
struct OnEngine {
    recipe: Box<dyn Recipe>,
    place: Arc<Place>,
}

impl Network for OnEngine {
    fn about(&self) -> About {
        self.recipe.about()
    }

    fn scheme(&self) -> Option<&'static str> {
        self.recipe.scheme()
    }

    fn needs(&self, site: &Site) -> Vec<Need> {
        let far = self.place.far();
        if far.is_some() && !self.recipe.can_be_apart() {
            return vec![Need::Lacking(apart::cannot(self.about().name))];
        }
        let there = self.place.is_there().and_then(|()| far.map_or(Ok(()), Place::is_there));
        match there {
            Err(missing) => vec![Need::Lacking(missing)],
            Ok(()) => {
                let wants = self.recipe.wants(site).into_iter();
                wants.filter_map(|want| self.place.need(want)).collect()
            }
        }
    }

    fn raise(&self, shape: &Shape, site: &Site) -> Result<Topology, Error> {
        let work = |place: &Place| -> Result<Work, Error> {
            let work = Work::new(place.live()?, place.run(), place.settings(), site.options);
            work.node()?;
            Ok(work)
        };
        let Some(far) = self.place.far() else {
            laid::check(self.about().name, shape)?;
            let work = work(&self.place)?;
            let sides = Sides::one(work.engine());
            let laid = self.recipe.lay(&work, shape, site)?;
            let hops = prove::prove(&sides, &laid, shape)?;
            let machines = [Machine::of(&work, laid::NODE)?];
            return Ok(topology(&sides, laid, hops, &machines, None, Box::new(work)));
        };
        let (servers, clients) = (work(&self.place)?, work(far)?);
        let engines = [&servers, &clients].map(|work| Arc::clone(work.engine()));
        let [on_servers, on_clients] = engines;
        let sides = Sides { servers: on_servers, clients: on_clients };
        let laid = self.recipe.lay_apart(&servers, &clients, shape, site)?;
        let hops = prove::prove(&sides, &laid, shape)?;
        let machines =
            [Machine::of(&clients, apart::CLIENTS)?, Machine::of(&servers, apart::SERVERS)?];
        Ok(topology(&sides, laid, hops, &machines, None, Box::new((servers, clients))))
    }

    fn nodes(&self) -> RangeInclusive<u32> {
        if self.place.far().is_some() { 2..=2 } else { 1..=1 }
    }

    fn node_kind(&self) -> NodeKind {
        if self.place.far().is_some() { NodeKind::Machine } else { NodeKind::Namespace }
    }

    fn commands(&self, shape: &Shape, site: &Site) -> Vec<String> {
        let checked = match self.place.far() {
            Some(_) => Ok(()),
            None => laid::check(self.about().name, shape),
        };
        match checked {
            Ok(()) => self.recipe.commands(shape, site),
            Err(error) => vec![format!("# {error}")],
        }
    }
}
