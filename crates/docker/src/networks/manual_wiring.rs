//! Networks `docker:none+veth`, `docker:none+pipework` and `docker:none+ovs`: containers that Docker starts without a
//! network, and that tare then wires itself, as the studies did.

use super::layout::{
    NODE, NetworkEndpoint, NetworkLayout, PathStep, container_names, container_specs,
    direct_routes, server_of,
};
use super::machine::MachineSnapshot;
use super::shell_wiring::{
    DEVICE, container_address, in_namespace, pid_assignments, pid_queries, switch_port_lines,
    veth_pair_lines,
};
use super::{DockerNetworkDefinition, OPTIONS, script};
use crate::container_handle::ContainerHandle;
use crate::engine_resources::{AttachTo, EngineResources};
use crate::requirement::EngineRequirement;
use std::net::IpAddr;
use tare_network::{Error, Family, Hop, HopKind, NetworkInfo, NetworkParameters, Shape};

/// Kind of the manual wiring.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ManualWiring {
    /// A veth pair between client and server.
    Veth,
    /// A Linux bridge, as pipework makes it.
    Pipework,
    /// A bridge of Open vSwitch.
    Ovs,
}

/// Name of the container in the node's network namespace.
const NODE_CONTAINER: &str = "node";

impl ManualWiring {
    fn name(self) -> &'static str {
        match self {
            Self::Veth => "docker:none+veth",
            Self::Pipework => "docker:none+pipework",
            Self::Ovs => "docker:none+ovs",
        }
    }

    /// Returns all lines after the containers' variables. `bridge` is the name of a bridge, `mark` the text that marks
    /// it.
    fn lines(self, shape: &Shape, bridge: &str, mark: &str) -> Vec<String> {
        match self {
            Self::Veth => pair_lines(shape),
            Self::Pipework => {
                let mut lines = bridge_lines(shape, bridge, mark);
                lines.push(forward_rule(shape, "--insert", bridge, mark));
                lines.extend(switch_lines(shape, |port| {
                    vec![in_namespace(
                        NODE_CONTAINER,
                        &format!("ip link set {port} master {bridge}"),
                    )]
                }));
                lines
            }
            Self::Ovs => {
                let mut lines = ovs_lines(bridge, mark);
                lines.extend(switch_lines(shape, |port| {
                    vec![format!("{VSCTL} add-port {bridge} {port}")]
                }));
                lines.extend(
                    container_addresses(shape).map(|(name, _)| checksum_offload_off(&name)),
                );
                lines
            }
        }
    }

    /// Returns the lines that undo the changes to the machine itself. Changes in containers go with the containers.
    fn undo_lines(self, shape: &Shape, bridge: &str, mark: &str) -> Vec<String> {
        match self {
            Self::Veth => Vec::new(),
            Self::Pipework => vec![
                format!("{} || :", forward_rule(shape, "--delete", bridge, mark)),
                in_namespace(NODE_CONTAINER, &format!("ip link delete {bridge}")),
            ],
            Self::Ovs => vec![format!("{VSCTL} --if-exists del-br {bridge}")],
        }
    }

    fn path(self, bridge: &str, shape: &Shape) -> Vec<PathStep> {
        let (near, far) = (
            PathStep::ClientDevice(HopKind::Veth, DEVICE),
            PathStep::ServerDevice(HopKind::Veth, DEVICE),
        );
        let switch = |detail: &str| {
            PathStep::Node(
                Hop::new(HopKind::Bridge, bridge, NODE).with_detail(detail).with_mtu(shape.mtu),
            )
        };
        match self {
            Self::Veth => vec![near, far],
            Self::Pipework => vec![near, switch("Linux bridge"), far],
            Self::Ovs => vec![near, switch("Open vSwitch"), far],
        }
    }
}

impl DockerNetworkDefinition for ManualWiring {
    fn info(&self) -> NetworkInfo {
        let (summary, stands_for, source) = match self {
            Self::Veth => (
                "two Docker containers without a network, joined by a veth pair",
                "docker run --network none, then ip link add … type veth",
                "https://man7.org/linux/man-pages/man4/veth.4.html",
            ),
            Self::Pipework => (
                "two Docker containers without a network, put on a bridge as pipework does it",
                "pipework br1 CONTAINER ADDRESS",
                "https://github.com/jpetazzo/pipework",
            ),
            Self::Ovs => (
                "two Docker containers without a network, put on a bridge of Open vSwitch",
                "ovs-docker, pipework ovsbr0 CONTAINER ADDRESS",
                "https://docs.openvswitch.org/en/latest/howto/docker/",
            ),
        };
        NetworkInfo { name: self.name(), summary, stands_for, source, options: OPTIONS }
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<EngineRequirement> {
        let mut wants = manual_requirements();
        if *self == Self::Pipework {
            wants.push(EngineRequirement::Program { name: "iptables", package: "iptables" });
        }
        if *self == Self::Ovs {
            wants.push(EngineRequirement::Program {
                name: "ovs-vsctl",
                package: "openvswitch-switch",
            });
            wants.push(EngineRequirement::Program { name: "ethtool", package: "ethtool" });
        }
        wants
    }

    fn lay_out(
        &self,
        work: &EngineResources,
        shape: &Shape,
        site: &NetworkParameters,
    ) -> Result<NetworkLayout, Error> {
        let node = MachineSnapshot::take(work)?;
        let servers =
            work.start_containers(&container_specs("server", shape.servers, &AttachTo::Loopback))?;
        let clients =
            work.start_containers(&container_specs("client", shape.clients, &AttachTo::Loopback))?;
        let all: Vec<&ContainerHandle> =
            servers.iter().chain(&clients).chain([&node.container]).collect();
        let variables = pid_assignments(all.iter().copied())?;
        let bridge = device_name(work);
        let undoing = [variables.clone(), self.undo_lines(shape, &bridge, &work.mark())].concat();
        work.on_removal(move || {
            // A step that was never carried out cannot be undone, and its failure does not matter.
            let _ = script::run_lines("remove the wiring of the network", &undoing);
        });
        let lines = [variables, self.lines(shape, &bridge, &work.mark())].concat();
        script::run_lines(&format!("wire {}", self.name()), &lines)?;
        let mut addressed = container_addresses(shape).map(|(_, address)| address);
        let mut endpoints = |side: Vec<ContainerHandle>| -> Vec<NetworkEndpoint> {
            side.into_iter()
                .zip(addressed.by_ref())
                .map(|(container, address)| NetworkEndpoint { container, address })
                .collect()
        };
        let servers = endpoints(servers);
        let clients = endpoints(clients);
        let path = self.path(&bridge, shape);
        Ok(NetworkLayout { routes: direct_routes(shape, site, &servers), servers, clients, path })
    }

    fn commands(&self, shape: &Shape, _: &NetworkParameters) -> Vec<String> {
        let mut lines = script::all_lines(shape, "--network none");
        let mut known: Vec<String> = container_addresses(shape).map(|(name, _)| name).collect();
        if *self != Self::Veth {
            lines.push(script::run_line(NODE_CONTAINER, "--network host"));
            known.push(NODE_CONTAINER.to_owned());
        }
        lines.extend(pid_queries(known));
        lines.extend(self.lines(shape, "br-tare", "by hand"));
        lines
    }
}

/// Returns the requirements of all wiring by root next to the engine.
pub(super) fn manual_requirements() -> Vec<EngineRequirement> {
    vec![
        EngineRequirement::LocalRoot,
        EngineRequirement::Program { name: "ip", package: "iproute2" },
        EngineRequirement::Program { name: "nsenter", package: "util-linux" },
    ]
}

/// Returns a unique name for a device on the machine, short enough for the kernel.
pub(super) fn device_name(work: &EngineResources) -> String {
    let unique = work.unique_name("");
    let digits: String = unique.chars().filter(char::is_ascii_hexdigit).collect();
    let end = digits.len().saturating_sub(9);
    format!("tare{}", &digits[end..])
}

/// Returns all containers with their addresses, servers first.
fn container_addresses(shape: &Shape) -> impl Iterator<Item = (String, IpAddr)> {
    let family = shape.family;
    container_names("server", shape.servers)
        .chain(container_names("client", shape.clients))
        .enumerate()
        .map(move |(number, name)| (name, container_address(number, family)))
}

fn pair_lines(shape: &Shape) -> Vec<String> {
    let all: Vec<(String, IpAddr)> = container_addresses(shape).collect();
    let (servers, clients) = all.split_at(shape.servers as usize);
    let line = |(client, (name, near)): (usize, &(String, IpAddr))| {
        let (server, far) = &servers[server_of(client, shape)];
        veth_pair_lines((name, *near), (server, *far), client / servers.len(), shape)
    };
    clients.iter().enumerate().flat_map(line).collect()
}

fn bridge_lines(shape: &Shape, bridge: &str, mark: &str) -> Vec<String> {
    [
        format!("ip link add {bridge} mtu {} type bridge", shape.mtu),
        format!("ip link set {bridge} alias '{mark}'"),
        format!("ip link set {bridge} up"),
    ]
    .iter()
    .map(|command| in_namespace(NODE_CONTAINER, command))
    .collect()
}

/// Returns the rule that lets a bridge's packets pass the host's filter. Docker makes the filter drop unknown packets,
/// if bridged packets traverse it at all.
fn forward_rule(shape: &Shape, how: &str, bridge: &str, mark: &str) -> String {
    let filter = match shape.family {
        Family::Ipv4 => "iptables",
        Family::Ipv6 => "ip6tables",
    };
    let rule = format!(
        "{filter} --wait {how} FORWARD --in-interface {bridge} --out-interface {bridge} \
         --match comment --comment '{mark}' --jump ACCEPT"
    );
    in_namespace(NODE_CONTAINER, &rule)
}

/// Command of Open vSwitch, with a timeout in seconds.
const VSCTL: &str = "ovs-vsctl --timeout=10";

/// Returns the lines that make a bridge on the kernel's datapath, or in user space if the kernel has none. Open vSwitch
/// assumes that the kernel has one, and makes no device if it does not.
fn ovs_lines(bridge: &str, mark: &str) -> Vec<String> {
    let there = in_namespace(NODE_CONTAINER, &format!("ip link show {bridge} >/dev/null 2>&1"));
    vec![
        format!(
            "{VSCTL} add-br {bridge} -- set bridge {bridge} datapath_type=system external-ids:tare='\"{mark}\"'"
        ),
        format!(
            "if {there}; then datapath=system; else datapath=netdev; {VSCTL} set bridge {bridge} datapath_type=netdev; fi"
        ),
    ]
}

/// Returns the line that turns transmit checksum offload off, for a datapath in user space: Open vSwitch then forwards
/// packets as they are, and a checksum left to a device would stay wrong.
fn checksum_offload_off(name: &str) -> String {
    let off = in_namespace(name, &format!("ethtool --offload {DEVICE} tx off >/dev/null"));
    format!("[ \"$datapath\" = system ] || {off}")
}

fn switch_lines(shape: &Shape, plug: impl Fn(&str) -> Vec<String>) -> Vec<String> {
    container_addresses(shape)
        .flat_map(|(name, address)| {
            switch_port_lines(NODE_CONTAINER, (&name, address), shape, &plug)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_devices_are_told_apart() {
        let shape = Shape { servers: 2, clients: 5, ..Shape::default() };
        let lines = pair_lines(&shape).join("\n");
        for device in ["name eth1 mtu", "name eth2 mtu", "name eth3 mtu"] {
            assert!(lines.contains(device), "{lines}");
        }
        assert_eq!(lines.matches("type veth").count(), 5);
    }

    #[test]
    fn what_is_made_on_the_machine_is_marked_and_undone() {
        for network in [ManualWiring::Pipework, ManualWiring::Ovs] {
            let made = network.lines(&Shape::default(), "tare1", "tare.run=7").join("\n");
            assert!(made.contains("tare.run=7"), "{made}");
            assert!(
                network
                    .undo_lines(&Shape::default(), "tare1", "tare.run=7")
                    .iter()
                    .any(|line| line.contains("tare1"))
            );
        }
    }
}
