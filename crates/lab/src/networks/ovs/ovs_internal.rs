//! `ovs-internal`: containers whose device is an internal port of an Open vSwitch bridge, moved into the container. No
//! veth pair is on the path.

use crate::networks::LabNetworkDefinition;
use crate::networks::ovs::openvswitch::{OvsBridgeSpec, OvsDatapath, OvsPort};
use crate::networks::ovs::{openvswitch, ovs_requirements};
use crate::plan::address::{InterfaceSlot, LabSubnet, prefix_length};
use crate::plan::layout::{
    Layout, NamespaceEndpoint, Waypoint, check_one_node, direct_routes, server_of,
};
use crate::plan::nodes::{BRIDGED_PAST_NETFILTER, add_nodes};
use crate::plan::wiring::{NamespaceId, Wiring};
use crate::programs::Program;
use std::fmt::Write;
use tare_network::{Error, Family, HopKind, NetworkInfo, NetworkParameters, Requirement, Shape};
use tare_sandbox::programs::runtime_directory;

const SOURCE: &str = "https://docs.openvswitch.org/en/latest/ref/ovs-vswitchd.conf.db.5/";

pub(crate) const NETWORK: InternalPortNetwork = InternalPortNetwork {
    name: "ovs-internal",
    summary: "two containers, each with an internal port of an Open vSwitch bridge, forwarded by the kernel",
    datapath: OvsDatapath::Kernel,
};

/// Network of containers on internal ports, by one of Open vSwitch's datapaths.
pub(crate) struct InternalPortNetwork {
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) datapath: OvsDatapath,
}

impl LabNetworkDefinition for InternalPortNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: self.name,
            summary: self.summary,
            stands_for: "Open vSwitch itself, private to the lab: ovs-vsctl add-port … type=internal, ip link set … netns",
            source: SOURCE,
            options: &[],
        }
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        let mut needs = ovs_requirements(self.datapath);
        needs.push(Requirement::Program { name: "ip", package: "iproute2" });
        needs
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        check_one_node(self.name, shape)?;
        let mut wiring = Wiring::new(shape.family, shape.mtu);
        let node = add_nodes(&mut wiring, 1, &BRIDGED_PAST_NETFILTER)[0].space;
        let mut slots = (2..).map(|number| LabSubnet::docker(0).slot(number));
        let mut place = |role: &str, count: u32| -> Vec<PortContainer> {
            let numbered = (0..count).zip(&mut slots);
            numbered
                .map(|(index, slot)| PortContainer::add(&mut wiring, role, index, slot))
                .collect()
        };
        let mut servers = place("server", shape.servers);
        let mut clients = place("client", shape.clients);
        for (index, client) in clients.iter_mut().enumerate() {
            let server = &mut servers[server_of(index, shape)];
            client.add_neighbour(server.slot);
            server.add_neighbour(client.slot);
        }
        let ports =
            servers.iter().chain(&clients).map(|one| OvsPort::internal(&one.port, shape.mtu));
        let bridge = OvsBridgeSpec::for_containers(ports.collect());
        openvswitch::add(&mut wiring, node, self.datapath, &[bridge]);
        for one in servers.iter().chain(&clients) {
            one.move_port(&mut wiring, node);
        }
        openvswitch::add_bridge_counter(&mut wiring, node);
        let endpoint =
            |one: &PortContainer| NamespaceEndpoint::at_slot(one.space, one.slot, shape.family);
        let ends: Vec<NamespaceEndpoint> = servers.iter().map(endpoint).collect();
        Ok(Layout {
            clients: clients.iter().map(endpoint).collect(),
            routes: direct_routes(shape, site, &ends),
            servers: ends,
            path: vec![
                clients[0].waypoint(),
                openvswitch::waypoint(wiring.name(node), self.datapath),
                servers[0].waypoint(),
            ],
            proof: None,
            wiring,
        })
    }
}

/// Container with an internal port.
struct PortContainer {
    space: NamespaceId,
    slot: InterfaceSlot,
    /// Name of the port, on the bridge and in the container.
    port: String,
    neighbours: Vec<InterfaceSlot>,
}

impl PortContainer {
    fn add(wiring: &mut Wiring, role: &str, index: u32, slot: InterfaceSlot) -> Self {
        let space = wiring.add_namespace(format!("{role}-{index}"), &[]);
        let port = format!("int-{}{index}", &role[..1]);
        Self { space, slot, port, neighbours: Vec::new() }
    }

    fn add_neighbour(&mut self, slot: InterfaceSlot) {
        if !self.neighbours.contains(&slot) {
            self.neighbours.push(slot);
        }
    }

    fn waypoint(&self) -> Waypoint {
        Waypoint::device_with_detail(HopKind::Device, self.space, &self.port, "internal port")
    }

    /// Adds the steps on the node that move the port into the container and set it up there. The device exists only
    /// once the daemon has made it, so that the wiring's own lists cannot have it.
    fn move_port(&self, wiring: &mut Wiring, node: NamespaceId) {
        let Self { space, port, .. } = self;
        let container = wiring.name(*space).to_owned();
        let file = format!("{}/ip-{container}", runtime_directory(wiring.name(node)));
        let text = self.set_up_commands(wiring);
        let moved = ["link", "set", port, "netns", &container];
        let set_up = ["-n", &container, "-batch", &file];
        wiring.programs.extend([
            Program::step(node, "ip", moved).with_name(format!("ip-move-{container}")),
            Program::step(node, "ip", set_up)
                .with_name(format!("ip-{container}"))
                .with_file(file.clone(), text),
        ]);
    }

    /// Returns the commands of ip(8) in the container.
    fn set_up_commands(&self, wiring: &Wiring) -> String {
        let Self { slot, port, neighbours, .. } = self;
        let (family, mtu) = (wiring.family, wiring.mtu);
        let nodad = if family == Family::Ipv6 { " nodad" } else { "" };
        let mut text = format!(
            "link set {port} address {} mtu {mtu} up\naddress add {}/{} dev {port}{nodad}\n",
            slot.mac(),
            slot.address(family),
            prefix_length(family)
        );
        for other in neighbours {
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "neighbour replace {} lladdr {} dev {port} nud permanent",
                other.address(family),
                other.mac()
            );
        }
        text
    }
}
