//! Networks set up by external programs: the namespaces they start from, and the topology made of their result.
//!
//! The programs find a node with its uplink, and a namespace for each container with `lo` only. They run on the node,
//! in a mount namespace of their own. Afterwards the network is treated as any other: the path from clients to servers
//! is proven, and the hops are read from the kernel.

use crate::build::{BuiltWiring, build};
use crate::counters::NetworkCounters;
use crate::inspector::LabInspector;
use crate::networks::built_network::BuiltNetwork;
use crate::networks::hops;
use crate::offload;
use crate::plan::layout::{Layout, check_one_node};
use crate::plan::nodes::{LabNode, add_nodes};
use crate::plan::wiring::{NamespaceId, Wiring};
use crate::programs::RunningPrograms;
use crate::verify::path_proof::prove_path;
use std::any::Any;
use std::sync::Arc;
use tare_network::{Error, NetworkParameters, Offloads, Requirement, Shape, Topology};
use tare_sandbox::programs::{ExecContext, MountNamespace};
use tare_sandbox::{Namespace, Sandbox, Sysctl};

/// Sysctls of a node that forwards for its containers, as Kubernetes requires them.
const FORWARDING_NODE: [Sysctl; 5] = [
    Sysctl::required("net.ipv4.ip_forward", "1"),
    Sysctl::if_there("net.ipv6.conf.default.forwarding", "1"),
    Sysctl::if_there("net.ipv6.conf.all.forwarding", "1"),
    Sysctl::if_there("net.bridge.bridge-nf-call-iptables", "1"),
    Sysctl::if_there("net.bridge.bridge-nf-call-ip6tables", "1"),
];

/// Namespaces of a node and its containers, not yet connected by a network.
pub(crate) struct UnconnectedNamespaces {
    /// Wiring of all the namespaces.
    pub(crate) wiring: Wiring,
    /// Node that the containers are on.
    pub(crate) node: LabNode,
    /// Namespaces of the servers.
    pub(crate) servers: Vec<NamespaceId>,
    /// Namespaces of the clients.
    pub(crate) clients: Vec<NamespaceId>,
}

impl UnconnectedNamespaces {
    /// Creates the namespaces of a node and of the shape's containers. Fails if the shape has several nodes.
    pub(crate) fn for_shape(
        name: &str,
        shape: &Shape,
        site: &NetworkParameters,
    ) -> Result<Self, Error> {
        check_one_node(name, shape)?;
        let mut wiring = Wiring::new(shape.family, shape.mtu);
        let node = add_nodes(&mut wiring, 1, &FORWARDING_NODE)[0];
        let mut spaces = |role: &str, count: u32| -> Vec<NamespaceId> {
            (0..count).map(|index| wiring.add_namespace(format!("{role}-{index}"), &[])).collect()
        };
        let servers = spaces("server", shape.servers);
        let clients = spaces("client", shape.clients);
        for space in &mut wiring.spaces {
            // The program decides which address families its devices have.
            space.sysctls.push(Sysctl::if_there("net.ipv6.conf.default.disable_ipv6", "0"));
        }
        wiring.set_default_congestion(site.congestion.as_deref());
        Ok(Self { wiring, node, servers, clients })
    }
}

/// Built namespaces of a node and its containers.
pub(crate) struct BuiltNamespaces {
    sandbox: Arc<Sandbox>,
    built: BuiltWiring,
    /// Execution context of programs on the node.
    pub(crate) context: ExecContext,
    programs: RunningPrograms,
}

impl BuiltNamespaces {
    /// Builds the namespaces. Fails if a requirement is not met. The `private` directories are empty for programs on
    /// the node.
    pub(crate) fn new(
        sandbox: &Arc<Sandbox>,
        ground: &UnconnectedNamespaces,
        needs: &[Requirement],
        private: &[&str],
    ) -> Result<Self, Error> {
        sandbox.kernel().ensure(needs)?;
        let built = build(sandbox, &ground.wiring)?;
        let (node, spaces) = (ground.node.space, &built.spaces);
        let mounts = MountNamespace::make(&spaces[node.0], spaces, private)?;
        let station = ExecContext::new(sandbox, &spaces[node.0], mounts);
        let running = RunningPrograms::with_context(node, station.clone());
        Ok(Self { sandbox: Arc::clone(sandbox), built, context: station, programs: running })
    }

    /// Returns the namespaces, in the wiring's order.
    pub(crate) fn spaces(&self) -> &[Arc<Namespace>] {
        &self.built.spaces
    }

    /// Switches the offloads off, proves the path from clients to servers, and returns the topology. Dropping `guard`
    /// removes what the programs have set up.
    pub(crate) fn into_topology(
        self,
        layout: Layout,
        offloads: Offloads,
        guard: impl Any + Send,
    ) -> Result<Topology, Error> {
        let Self { sandbox, built, programs: running, .. } = self;
        let programs = Arc::new(running);
        // On an error, `guard` is dropped before the execution context in which it may run programs again.
        let guard = guard;
        let spaces = &built.spaces;
        let switched = offload::switch_off(&layout, spaces, offloads)?;
        prove_path(&sandbox, &layout, &built, &programs)?;
        let hops = hops(&layout, spaces, &switched)?;
        let up = BuiltNetwork { sandbox: &sandbox, layout: &layout, spaces, programs: &programs };
        Ok(Topology {
            servers: up.containers("server", &layout.servers),
            clients: up.containers("client", &layout.clients),
            nodes: up.nodes(),
            hops,
            findings: switched.finding(&layout.wiring).into_iter().collect(),
            watch: Some(Box::new(NetworkCounters::start(&sandbox, &layout, &built, &programs))),
            inspector: Some(Box::new(LabInspector::new(&layout, spaces))),
            routes: layout.routes,
            guard: Box::new((guard, programs, built)),
        })
    }
}

/// Returns the lab. Fails if the process has entered none.
pub(crate) fn require_sandbox<'a>(
    name: &str,
    sandbox: &'a Option<Arc<Sandbox>>,
) -> Result<&'a Arc<Sandbox>, Error> {
    sandbox
        .as_ref()
        .ok_or_else(|| Error::new(format!("set up {name}"), "this process has not entered a lab"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_namespace_has_the_default_congestion_control_of_the_run() {
        let site = NetworkParameters {
            congestion: Some("reno".to_owned()),
            ..NetworkParameters::default()
        };
        let with = |site: &NetworkParameters| -> Vec<bool> {
            let made = UnconnectedNamespaces::for_shape("exec:PATH", &Shape::default(), site);
            let spaces = made.unwrap().wiring.spaces;
            let sets = |one: &Sysctl| {
                (&*one.key, &*one.value) == ("net.ipv4.tcp_congestion_control", "reno")
            };
            spaces.iter().map(|space| space.sysctls.iter().any(sets)).collect()
        };
        // The underlay between nodes has a namespace, too.
        assert_eq!(with(&site), [true; 4]);
        assert_eq!(with(&NetworkParameters::default()), [false; 4]);
    }
}
