//! Networks of a Docker Swarm, one file each.
//!
//! A network of a Swarm is a [`SwarmNetworkDefinition`], and [`SwarmNetwork`] makes a [`Network`] of it: it makes the
//! requested objects, waits until all tasks have connected (see [`crate::tunnel`]), verifies that packets pass, and
//! returns containers.

mod encrypted;
mod existing;
mod gwbridge;
mod host;
mod macvlan;
mod overlay;
mod published;
mod script;
mod vip;

use crate::deployment::SwarmDeployment;
use crate::nodes::SwarmNode;
use crate::place::SwarmPlace;
use std::ops::RangeInclusive;
use std::sync::Arc;
use tare_docker::engine::EnginePair;
use tare_docker::networks::layout::NetworkLayout;
use tare_docker::networks::{build_topology, verify};
use tare_docker::requirement::EngineRequirement;
use tare_network::{
    AgentNamespaces, Error, Hop, Network, NetworkInfo, NetworkOption, NetworkParameters, NodeKind,
    Requirement, Shape, Topology,
};

/// Maximum number of nodes of a shape.
const MAX_NODES: u32 = 32;

/// Options of every network of a Swarm. None: no security profile can be removed from a service.
const OPTIONS: &[NetworkOption] = &[];

/// Definition of a network of a Swarm.
trait SwarmNetworkDefinition: Send + Sync + 'static {
    /// Returns the description of the network.
    fn info(&self) -> NetworkInfo;
    /// Returns its requirements in addition to a manager.
    fn requirements(&self, _: &NetworkParameters) -> Vec<EngineRequirement> {
        Vec::new()
    }
    /// Returns the prefix of its name. Returns `None` unless the user gives the rest of the name.
    fn scheme(&self) -> Option<&'static str> {
        None
    }
    /// Checks that the network supports a shape. The error says why it does not.
    fn check_capacity(&self, _: &Shape) -> Result<(), Error> {
        Ok(())
    }
    /// Makes the networks and services.
    fn lay_out(
        &self,
        crew: &SwarmDeployment,
        nodes: &TaskPlacement<'_>,
        shape: &Shape,
        site: &NetworkParameters,
    ) -> Result<NetworkLayout, Error>;
    /// Verifies that packets pass, and returns the hops of their path.
    fn verify(
        &self,
        crew: &SwarmDeployment,
        _: &TaskPlacement<'_>,
        laid: &NetworkLayout,
        shape: &Shape,
    ) -> Result<Vec<Hop>, Error> {
        verify::verify_paths(&EnginePair::single(&crew.swarm.engine), laid, shape)
    }
    /// Returns the commands by which a reader can build the same network.
    fn commands(&self, shape: &Shape, site: &NetworkParameters) -> Vec<String>;
}

/// Returns all networks of a Swarm.
#[must_use]
pub fn swarm_networks(place: &Arc<SwarmPlace>) -> Vec<Box<dyn Network>> {
    let recipes: Vec<Box<dyn SwarmNetworkDefinition>> = vec![
        Box::new(host::SwarmHostNetwork),
        Box::new(macvlan::SwarmMacvlanNetwork),
        Box::new(overlay::SwarmOverlayNetwork),
        Box::new(encrypted::EncryptedOverlayNetwork),
        Box::new(vip::SwarmVipNetwork),
        Box::new(published::SwarmPublishedNetwork::Host),
        Box::new(published::SwarmPublishedNetwork::Ingress),
        Box::new(gwbridge::GwbridgeNetwork),
        Box::new(existing::ExistingSwarmNetwork),
    ];
    let in_swarm = |recipe: Box<dyn SwarmNetworkDefinition>| -> Box<dyn Network> {
        Box::new(SwarmNetwork { definition: recipe, place: Arc::clone(place) })
    };
    recipes.into_iter().map(in_swarm).collect()
}

/// Placement of containers: servers are on the last half of the nodes, clients on the others, each in turn.
struct TaskPlacement<'a> {
    nodes: &'a [SwarmNode],
}

impl TaskPlacement<'_> {
    fn server_node_count(&self) -> usize {
        (self.nodes.len() / 2).max(1)
    }

    /// Returns the index of a server's node.
    fn server_index(&self, index: usize) -> usize {
        self.nodes.len() - self.server_node_count() + index % self.server_node_count()
    }

    /// Returns the index of a client's node.
    fn client_index(&self, index: usize) -> usize {
        match self.nodes.len() - self.server_node_count() {
            0 => 0,
            with_clients => index % with_clients,
        }
    }

    fn server_node(&self, index: usize) -> &SwarmNode {
        &self.nodes[self.server_index(index)]
    }

    fn client_node(&self, index: usize) -> &SwarmNode {
        &self.nodes[self.client_index(index)]
    }

    /// Returns whether all containers are on one node.
    fn is_single_node(&self) -> bool {
        self.nodes.len() == 1
    }
}

/// Returns the name of a node's place in hops.
fn node_name(node: usize) -> String {
    format!("node-{node}")
}

/// Definition of a network, and the place in which it is raised.
struct SwarmNetwork {
    definition: Box<dyn SwarmNetworkDefinition>,
    place: Arc<SwarmPlace>,
}

impl Network for SwarmNetwork {
    fn info(&self) -> NetworkInfo {
        self.definition.info()
    }

    fn scheme(&self) -> Option<&'static str> {
        self.definition.scheme()
    }

    fn requirements(&self, site: &NetworkParameters) -> Vec<Requirement> {
        match self.place.manager().check_available() {
            Err(missing) => vec![Requirement::Unmet(missing)],
            Ok(()) => {
                let wants = [EngineRequirement::SwarmManager]
                    .into_iter()
                    .chain(self.definition.requirements(site));
                wants.filter_map(|want| self.place.manager().requirement(want)).collect()
            }
        }
    }

    fn nodes(&self) -> RangeInclusive<u32> {
        if self.place.manager().options().same_node { 1..=1 } else { 2..=MAX_NODES }
    }

    /// A Swarm that has lost a node places its tasks nowhere else, and waits for minutes.
    fn can_be_raised_anew(&self) -> bool {
        false
    }

    fn node_kind(&self) -> NodeKind {
        NodeKind::Machine
    }

    fn agent_namespaces(&self) -> AgentNamespaces {
        AgentNamespaces::OtherMachine
    }

    fn check_capacity(&self, shape: &Shape, _: &NetworkParameters) -> Result<(), Error> {
        self.definition.check_capacity(shape)
    }

    fn set_up(&self, shape: &Shape, site: &NetworkParameters) -> Result<Topology, Error> {
        if shape.servers == 0 || shape.clients == 0 {
            let what = format!("lay out {}", self.info().name);
            return Err(Error::new(what, "the network needs at least one server and one client")
                .with_remedy("use --servers 1 --clients 1, or more"));
        }
        self.definition.check_capacity(shape)?;
        let swarm = self.place.session()?;
        let nodes = swarm.nodes.for_shape(shape)?.to_vec();
        let engine = Arc::clone(&swarm.engine);
        let crew = SwarmDeployment::new(swarm);
        let spread = TaskPlacement { nodes: &nodes };
        let laid = self.definition.lay_out(&crew, &spread, shape, site)?;
        let hops = self.definition.verify(&crew, &spread, &laid, shape)?;
        let tasks = crew.task_monitor();
        Ok(build_topology(
            &EnginePair::single(&engine),
            laid,
            hops,
            &[],
            Some(tasks),
            Box::new(crew),
        ))
    }

    fn commands(&self, shape: &Shape, site: &NetworkParameters) -> Vec<String> {
        self.definition.commands(shape, site)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;

    #[test]
    fn servers_and_clients_share_no_node_unless_there_is_one() {
        let member = |id: u8| SwarmNode {
            id: id.to_string(),
            name: format!("n{id}"),
            address: IpAddr::from([192, 0, 2, id]),
        };
        let all: Vec<SwarmNode> = (0..5).map(member).collect();
        for nodes in 2..=5 {
            let spread = TaskPlacement { nodes: &all[..nodes] };
            for index in 0..20 {
                assert!(spread.client_index(index) < spread.server_index(index), "{nodes}");
            }
        }
        let one = TaskPlacement { nodes: &all[..1] };
        assert_eq!((one.client_index(3), one.server_index(3), one.is_single_node()), (0, 0, true));
    }
}
