//! Docker's networks, one file each.
//!
//! A network of Docker's is a [`Recipe`]: words, needs, and how it is laid out on an engine. [`OnEngine`] makes a
//! [`Network`] of it: it makes what the recipe asks for, proves that packets pass and where, and hands out containers.

pub(crate) mod address;
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
pub(crate) mod prove;
pub(crate) mod published;
pub(crate) mod script;
pub(crate) mod user_bridge;
mod wires;

use crate::container::{DockerContainer, Role};
use crate::engine::Engine;
use crate::place::Place;
use crate::swarm::Tasks;
use crate::want::Want;
use crate::work::Work;
use laid::{Endpoint, Laid};
use std::sync::Arc;
use tare_network::{
    About, Container, Error, Guard, Hop, Need, Network, NetworkOption, Shape, Site, Topology,
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
        Box::new(existing::Existing),
    ];
    recipes.into_iter().map(on_engine).collect()
}

/// A network that was laid out and proved, as the rest of tare sees it.
pub(crate) fn topology(
    engine: &Arc<Engine>,
    laid: Laid,
    hops: Vec<Hop>,
    tasks: Option<&Arc<Tasks>>,
    guard: Guard,
) -> Topology {
    let containers = |role, endpoints: Vec<Endpoint>| -> Vec<Box<dyn Container>> {
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
        servers: containers(Role::Server, laid.servers),
        clients: containers(Role::Client, laid.clients),
        nodes: Vec::new(),
        routes: laid.routes,
        hops,
        findings: Vec::new(),
        watch: None,
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
        match self.place.is_there() {
            Err(missing) => vec![Need::Lacking(missing)],
            Ok(()) => {
                let wants = self.recipe.wants(site).into_iter();
                wants.filter_map(|want| self.place.need(want)).collect()
            }
        }
    }

    fn raise(&self, shape: &Shape, site: &Site) -> Result<Topology, Error> {
        laid::check(self.about().name, shape)?;
        let live = self.place.live()?;
        let work = Work::new(live, self.place.run(), self.place.settings(), site.options);
        work.node()?;
        let laid = self.recipe.lay(&work, shape, site)?;
        let hops = prove::prove(work.engine(), &laid, shape)?;
        let engine = Arc::clone(work.engine());
        Ok(topology(&engine, laid, hops, None, Box::new(work)))
    }

    fn commands(&self, shape: &Shape, site: &Site) -> Vec<String> {
        match laid::check(self.about().name, shape) {
            Ok(()) => self.recipe.commands(shape, site),
            Err(error) => vec![format!("# {error}")],
        }
    }
}
