//! Networks of a Docker Engine, one file each.
//!
//! A network of Docker is a `DockerNetworkDefinition`: its description, its requirements, and its layout on an
//! engine. `DockerNetwork` makes a [`Network`] of it: it makes the requested objects, verifies that packets pass and
//! by which path, and returns containers.

pub mod address;
mod bridge;
mod container;
mod existing;
mod host;
pub mod layout;
mod link;
pub mod machine;
mod macvlan;
mod macvlan_nat;
mod manual_wiring;
pub mod overlay;
mod overlay_kv;
mod path_programs;
pub(crate) mod podman;
mod port_source;
pub mod published;
pub mod ranges;
mod sandbox_kernel;
pub mod script;
mod shell_wiring;
mod two_engines;
pub(crate) mod user_bridge;
pub mod verify;

use crate::container::{ContainerRole, DockerContainer, ProgramSupervisor};
use crate::container_handle::ContainerHandle;
use crate::container_watch::{ContainerWatch, WatchTarget};
use crate::engine::{Engine, EnginePair};
use crate::engine_resources::EngineResources;
use crate::place::EnginePlace;
use crate::requirement::EngineRequirement;
use layout::{NetworkEndpoint, NetworkLayout};
use path_programs::PathPrograms;
use sandbox_kernel::with_sandbox_kernels;
use std::ops::RangeInclusive;
use std::sync::Arc;
use tare_network::{
    AgentNamespaces, Container, Error, Guard, Hop, Network, NetworkDaemons, NetworkInfo,
    NetworkOption, NetworkParameters, NodeKind, Requirement, Shape, Topology, UnmetRequirement,
};

/// Definition of a network of Docker.
trait DockerNetworkDefinition: Send + Sync + 'static {
    /// Returns the description of the network.
    fn info(&self) -> NetworkInfo;
    /// Returns its requirements in addition to an engine.
    fn requirements(&self, _: &NetworkParameters) -> Vec<EngineRequirement> {
        Vec::new()
    }
    /// Makes its containers and networks.
    fn lay_out(
        &self,
        work: &EngineResources,
        shape: &Shape,
        site: &NetworkParameters,
    ) -> Result<NetworkLayout, Error>;
    /// Returns the commands by which a reader can build the same network.
    fn commands(&self, shape: &Shape, site: &NetworkParameters) -> Vec<String>;
    /// Returns true if a program copies its traffic from socket to socket at this place: slices of it say too little.
    fn copies_in_user_space(&self, _: &EnginePlace) -> bool {
        false
    }
    /// Returns whether its servers and clients may be on two engines.
    fn supports_two_engines(&self) -> bool {
        false
    }
    /// Makes its containers and networks, with servers on one engine and clients on another.
    fn lay_out_apart(
        &self,
        _: &EngineResources,
        _: &EngineResources,
        _: &Shape,
        _: &NetworkParameters,
    ) -> Result<NetworkLayout, Error> {
        let UnmetRequirement { reason, remedy } =
            two_engines::two_engines_unsupported(self.info().name);
        Err(Error::new("lay out a network between two engines", reason).with_remedy(remedy))
    }
    /// Returns the prefix of its name. Returns `None` unless the user gives the rest of the name.
    fn scheme(&self) -> Option<&'static str> {
        None
    }
}

/// Options of every network of Docker.
const OPTIONS: &[NetworkOption] = &[NetworkOption::Unconfined, NetworkOption::Runtime];

/// Options of a network of Docker whose servers publish ports.
const PUBLISHED_OPTIONS: &[NetworkOption] =
    &[NetworkOption::Unconfined, NetworkOption::Runtime, NetworkOption::Ports];

/// Options of every network of Podman, whose API by Docker's words takes no runtime.
const PODMAN_OPTIONS: &[NetworkOption] = &[NetworkOption::Unconfined];

/// Options of a network of Podman whose servers publish ports.
const PODMAN_PUBLISHED_OPTIONS: &[NetworkOption] =
    &[NetworkOption::Unconfined, NetworkOption::Ports];

/// Returns all networks of Docker.
#[must_use]
pub fn docker_networks(place: &Arc<EnginePlace>) -> Vec<Box<dyn Network>> {
    let on_engine = |recipe: Box<dyn DockerNetworkDefinition>| -> Box<dyn Network> {
        Box::new(DockerNetwork { definition: recipe, place: Arc::clone(place) })
    };
    let recipes: Vec<Box<dyn DockerNetworkDefinition>> = vec![
        Box::new(host::DockerHostNetwork),
        Box::new(container::ContainerModeNetwork),
        Box::new(bridge::DefaultBridgeNetwork),
        Box::new(user_bridge::UserBridgeNetwork),
        Box::new(link::DockerLinkNetwork),
        Box::new(published::DockerPublishedNetwork),
        Box::new(macvlan::ParentDeviceNetwork::Macvlan),
        Box::new(macvlan::ParentDeviceNetwork::IpvlanL2),
        Box::new(macvlan::ParentDeviceNetwork::IpvlanL3),
        Box::new(manual_wiring::ManualWiring::Veth),
        Box::new(manual_wiring::ManualWiring::Pipework),
        Box::new(manual_wiring::ManualWiring::Ovs),
        Box::new(macvlan_nat::DockerMacvlanNat),
        Box::new(overlay_kv::OverlayKvNetwork),
        Box::new(existing::ExistingDockerNetwork),
    ];
    recipes.into_iter().map(on_engine).collect()
}

/// Machine of an engine, reached by a container in its own network namespace.
pub struct EngineMachine {
    place: &'static str,
    engine: Arc<Engine>,
    container: ContainerHandle,
}

impl EngineMachine {
    /// Returns the machine of the engine on which these resources are.
    fn new(work: &EngineResources, place: &'static str) -> Result<Self, Error> {
        Ok(Self { place, engine: Arc::clone(work.engine()), container: work.run_container()? })
    }
}

/// Starts the watch over a network's counters: first the namespaces that a packet from client 0 passes.
fn start_watch(
    sides: &EnginePair,
    laid: &NetworkLayout,
    hops: &[Hop],
    machines: &[EngineMachine],
) -> ContainerWatch {
    fn end<'a>(
        engine: &'a Arc<Engine>,
        NetworkEndpoint { container, .. }: &'a NetworkEndpoint,
    ) -> WatchTarget<'a> {
        WatchTarget { place: &container.name, engine, container, devices: None }
    }
    let mut clients = laid.clients.iter().map(|client| end(&sides.clients, client));
    let mut wanted: Vec<WatchTarget<'_>> = clients.next().into_iter().collect();
    wanted.extend(laid.servers.iter().map(|server| end(&sides.servers, server)));
    wanted.extend(machines.iter().map(|EngineMachine { place, engine, container }| {
        let here = hops.iter().filter(|hop| hop.place == *place);
        let devices = Some(here.map(|hop| hop.name.clone()).collect());
        WatchTarget { place, engine, container, devices }
    }));
    wanted.extend(clients);
    ContainerWatch::start(wanted)
}

/// Builds the topology of a network that was laid out and verified.
pub fn build_topology(
    sides: &EnginePair,
    laid: NetworkLayout,
    hops: Vec<Hop>,
    machines: &[EngineMachine],
    supervisor: Option<Arc<dyn ProgramSupervisor>>,
    guard: Guard,
) -> Topology {
    let watch = start_watch(sides, &laid, &hops, machines);
    let programs = PathPrograms::find(&hops, &laid).map(Arc::new);
    let containers = |role,
                      engine: &Arc<Engine>,
                      endpoints: Vec<NetworkEndpoint>|
     -> Vec<Box<dyn Container>> {
        let container = |NetworkEndpoint { container, address }| DockerContainer {
            engine: Arc::clone(engine),
            container,
            role,
            address,
            supervisor: supervisor.clone(),
            programs: programs.clone().map(|programs| programs as Arc<dyn NetworkDaemons>),
        };
        endpoints.into_iter().map(|one| Box::new(container(one)) as Box<dyn Container>).collect()
    };
    Topology {
        servers: containers(ContainerRole::Server, &sides.servers, laid.servers),
        clients: containers(ContainerRole::Client, &sides.clients, laid.clients),
        nodes: Vec::new(),
        routes: laid.routes,
        hops,
        findings: Vec::new(),
        watch: Some(Box::new(watch)),
        inspector: None,
        guard,
    }
}

/// Definition of a network, and the place in which it is raised.
struct DockerNetwork {
    definition: Box<dyn DockerNetworkDefinition>,
    place: Arc<EnginePlace>,
}

impl DockerNetwork {
    /// Returns the default TCP congestion control of the containers' network namespaces. Returns `None` if it cannot be set:
    /// the kernel is not this one, or a runtime may have a network stack of its own.
    fn default_congestion(&self, site: &NetworkParameters) -> Option<String> {
        let is_here = self.agent_namespaces() == AgentNamespaces::Container;
        site.congestion.clone().filter(|_| is_here && site.options.runtime.is_none())
    }
}

impl Network for DockerNetwork {
    fn info(&self) -> NetworkInfo {
        self.definition.info()
    }

    fn scheme(&self) -> Option<&'static str> {
        self.definition.scheme()
    }

    fn requirements(&self, site: &NetworkParameters) -> Vec<Requirement> {
        let far = self.place.clients_engine();
        if far.is_some() && !self.definition.supports_two_engines() {
            return vec![Requirement::Unmet(two_engines::two_engines_unsupported(
                self.info().name,
            ))];
        }
        let there = self
            .place
            .check_available()
            .and_then(|()| far.map_or(Ok(()), EnginePlace::check_available));
        match there {
            Err(missing) => vec![Requirement::Unmet(missing)],
            Ok(()) => {
                let runtime = site.options.runtime.map(EngineRequirement::Runtime);
                let wants = self.definition.requirements(site).into_iter().chain(runtime);
                wants.filter_map(|want| self.place.requirement(want)).collect()
            }
        }
    }

    fn set_up(&self, shape: &Shape, site: &NetworkParameters) -> Result<Topology, Error> {
        let work = |place: &EnginePlace| -> Result<EngineResources, Error> {
            let work = EngineResources::new(
                place.session()?,
                place.run_id(),
                place.options(),
                site.options,
            )
            .with_congestion(self.default_congestion(site));
            work.run_container()?;
            Ok(work)
        };
        let Some(far) = self.place.clients_engine() else {
            layout::check_shape(self.info().name, shape)?;
            let work = work(&self.place)?;
            let sides = EnginePair::single(work.engine());
            let laid = self.definition.lay_out(&work, shape, site)?;
            let mut hops = verify::verify_paths(&sides, &laid, shape)?;
            if site.options.runtime.is_some() {
                let kernel = self.place.info().ok().and_then(|own| own.info.kernel_version.clone());
                hops = with_sandbox_kernels(&work, &laid, hops, kernel.as_deref())?;
            }
            let machines = [EngineMachine::new(&work, layout::NODE)?];
            return Ok(build_topology(&sides, laid, hops, &machines, None, Box::new(work)));
        };
        let (servers, clients) = (work(&self.place)?, work(far)?);
        let engines = [&servers, &clients].map(|work| Arc::clone(work.engine()));
        let [on_servers, on_clients] = engines;
        let sides = EnginePair { servers: on_servers, clients: on_clients };
        let laid = self.definition.lay_out_apart(&servers, &clients, shape, site)?;
        let hops = verify::verify_paths(&sides, &laid, shape)?;
        let machines = [
            EngineMachine::new(&clients, two_engines::CLIENTS_NODE)?,
            EngineMachine::new(&servers, two_engines::SERVERS_NODE)?,
        ];
        // The fields of a tuple are dropped in order. A network that the servers' engine has made can be removed only
        // after the clients' containers have left it.
        let guard = Box::new((clients, servers));
        Ok(build_topology(&sides, laid, hops, &machines, None, guard))
    }

    fn nodes(&self) -> RangeInclusive<u32> {
        if self.place.clients_engine().is_some() { 2..=2 } else { 1..=1 }
    }

    fn node_kind(&self) -> NodeKind {
        if self.place.clients_engine().is_some() { NodeKind::Machine } else { NodeKind::Namespace }
    }

    fn agent_namespaces(&self) -> AgentNamespaces {
        if self.place.clients_engine().is_none() && self.place.shares_kernel() {
            AgentNamespaces::Container
        } else {
            AgentNamespaces::OtherMachine
        }
    }

    fn can_be_woven(&self) -> bool {
        !self.definition.copies_in_user_space(&self.place)
    }

    fn commands(&self, shape: &Shape, site: &NetworkParameters) -> Vec<String> {
        let checked = match self.place.clients_engine() {
            Some(_) => Ok(()),
            None => layout::check_shape(self.info().name, shape),
        };
        match checked {
            Ok(()) => self.definition.commands(shape, site),
            Err(error) => vec![format!("# {error}")],
        }
    }
}
