//! Networks that other people's programs raise: what they find, and what is made of what they leave.
//!
//! They find nodes with their uplinks, and a namespace for each container with nothing but `lo` in it. Their programs
//! run on a node, with a view of files of their own. Afterwards it is the same as with any network: clients are connected with
//! their servers, and the hops are read off the kernel.

use super::hops;
use super::up::Up;
use crate::build::build;
use crate::lab::Lab;
use crate::layout::{Layout, one_node};
use crate::namespace::Namespace;
use crate::nodes::{Node, add_nodes};
use crate::offload;
use crate::programs::{Mounts, Running, Station};
use crate::prove::prove;
use crate::watch::Watcher;
use crate::wiring::{SpaceId, Sysctl, Wiring};
use std::any::Any;
use std::sync::Arc;
use tare_network::{Error, Need, Offloads, Shape, Topology};

/// What a node that forwards for its containers has set, and what Kubernetes asks of one.
const NODE: [Sysctl; 5] = [
    Sysctl::required("net.ipv4.ip_forward", "1"),
    Sysctl::if_there("net.ipv6.conf.default.forwarding", "1"),
    Sysctl::if_there("net.ipv6.conf.all.forwarding", "1"),
    Sysctl::if_there("net.bridge.bridge-nf-call-iptables", "1"),
    Sysctl::if_there("net.bridge.bridge-nf-call-ip6tables", "1"),
];

/// Namespaces that wait for somebody to connect them.
pub(super) struct Ground {
    /// All of them.
    pub(super) wiring: Wiring,
    /// The node.
    pub(super) node: Node,
    /// The servers' namespaces.
    pub(super) servers: Vec<SpaceId>,
    /// The clients'.
    pub(super) clients: Vec<SpaceId>,
}

impl Ground {
    /// A node, and so many containers.
    pub(super) fn of(name: &str, shape: &Shape) -> Result<Self, Error> {
        one_node(name, shape)?;
        let mut wiring = Wiring::new(shape.family, shape.mtu);
        let node = add_nodes(&mut wiring, 1, &NODE)[0];
        let mut spaces = |role: &str, count: u32| -> Vec<SpaceId> {
            (0..count).map(|index| wiring.space(format!("{role}-{index}"), &[])).collect()
        };
        let servers = spaces("server", shape.servers);
        let clients = spaces("client", shape.clients);
        for space in &mut wiring.spaces {
            // Which families a program gives its devices is the program's to say.
            space.sysctls.push(Sysctl::if_there("net.ipv6.conf.default.disable_ipv6", "0"));
        }
        Ok(Self { wiring, node, servers, clients })
    }
}

/// The same, built.
pub(super) struct Built {
    lab: Arc<Lab>,
    pub(super) spaces: Vec<Arc<Namespace>>,
    /// Where programs run on the node.
    pub(super) station: Station,
    running: Running,
}

impl Built {
    /// Builds it, where these needs are met; programs on the node find these directories empty.
    pub(super) fn new(
        lab: &Arc<Lab>,
        ground: &Ground,
        needs: &[Need],
        private: &[&str],
    ) -> Result<Self, Error> {
        lab.kernel().ensure(needs)?;
        let spaces = build(lab, &ground.wiring)?;
        let node = ground.node.space;
        let mounts = Mounts::make(&spaces[node.0], &spaces, private)?;
        let station = Station::new(lab, &spaces[node.0], mounts);
        let running = Running::at(node, station.clone());
        Ok(Self { lab: Arc::clone(lab), spaces, station, running })
    }

    /// The topology, once clients reach their servers without these offloads; `guard` takes down what the programs have
    /// raised.
    pub(super) fn finish(
        self,
        layout: Layout,
        offloads: Offloads,
        guard: impl Any + Send,
    ) -> Result<Topology, Error> {
        let Self { lab, spaces, running, .. } = self;
        let programs = Arc::new(running);
        // On an error it goes before the station in which it may start programs once more.
        let guard = guard;
        let switched = offload::switch_off(&layout, &spaces, offloads)?;
        prove(&lab, &layout, &spaces, &programs)?;
        let hops = hops(&layout, &spaces, &switched)?;
        let up = Up { lab: &lab, layout: &layout, spaces: &spaces, programs: &programs };
        Ok(Topology {
            servers: up.containers("server", &layout.servers),
            clients: up.containers("client", &layout.clients),
            nodes: up.nodes(),
            hops,
            findings: switched.finding(&layout.wiring).into_iter().collect(),
            watch: Some(Box::new(Watcher::watch(&lab, &layout, &spaces))),
            routes: layout.routes,
            guard: Box::new((guard, programs, spaces)),
        })
    }
}

/// What a network says that is to be raised by a process which has entered no lab.
pub(super) fn entered<'a>(name: &str, lab: &'a Option<Arc<Lab>>) -> Result<&'a Arc<Lab>, Error> {
    lab.as_ref()
        .ok_or_else(|| Error::new(format!("raise {name}"), "this process has not entered a lab"))
}
