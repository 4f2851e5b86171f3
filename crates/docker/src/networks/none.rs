//! `docker:none+veth`, `docker:none+pipework`, `docker:none+ovs`: containers that Docker starts without a network, which
//! are then wired by hand, as the studies did it.

use super::laid::{Endpoint, Laid, NODE, Step, direct, names, server_of, specs};
use super::node::Node;
use super::wires::{DEVICE, address, asked, assigned, pair, plugged, within};
use super::{OPTIONS, Recipe, script};
use crate::want::Want;
use crate::work::{On, Running, Work};
use std::net::IpAddr;
use tare_network::{About, Error, Family, Hop, HopKind, Shape, Site};

/// By which hand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ByHand {
    /// A pair of devices straight between the two.
    Veth,
    /// A bridge, as pipework makes it.
    Pipework,
    /// A bridge of Open vSwitch.
    Ovs,
}

/// What the container in the node's namespace is called.
const HOST: &str = "node";

impl ByHand {
    fn name(self) -> &'static str {
        match self {
            Self::Veth => "docker:none+veth",
            Self::Pipework => "docker:none+pipework",
            Self::Ovs => "docker:none+ovs",
        }
    }

    /// All lines, after the containers' variables; `bridge` is the name of a bridge, `mark` what it is marked with.
    fn lines(self, shape: &Shape, bridge: &str, mark: &str) -> Vec<String> {
        match self {
            Self::Veth => pairs(shape),
            Self::Pipework => {
                let mut lines = bridge_lines(shape, bridge, mark);
                lines.push(passing(shape, "--insert", bridge, mark));
                lines.extend(on_switch(shape, |port| {
                    vec![within(HOST, &format!("ip link set {port} master {bridge}"))]
                }));
                lines
            }
            Self::Ovs => {
                let mut lines = ovs_lines(bridge, mark);
                lines.extend(on_switch(shape, |port| {
                    vec![format!("{VSCTL} add-port {bridge} {port}")]
                }));
                lines.extend(everybody(shape).map(|(name, _)| unchecked(&name)));
                lines
            }
        }
    }

    /// What undoes the lines on the machine itself; what is in containers goes with them.
    fn undoing(self, shape: &Shape, bridge: &str, mark: &str) -> Vec<String> {
        match self {
            Self::Veth => Vec::new(),
            Self::Pipework => vec![
                format!("{} || :", passing(shape, "--delete", bridge, mark)),
                within(HOST, &format!("ip link delete {bridge}")),
            ],
            Self::Ovs => vec![format!("{VSCTL} --if-exists del-br {bridge}")],
        }
    }

    fn path(self, bridge: &str, shape: &Shape) -> Vec<Step> {
        let (near, far) =
            (Step::OfClient(HopKind::Veth, DEVICE), Step::OfServer(HopKind::Veth, DEVICE));
        let switch = |detail: &str| {
            Step::Node(
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

impl Recipe for ByHand {
    fn about(&self) -> About {
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
        About { name: self.name(), summary, stands_for, source, options: OPTIONS }
    }

    fn wants(&self, _: &Site) -> Vec<Want> {
        let mut wants = by_hand();
        if *self == Self::Pipework {
            wants.push(Want::Program { name: "iptables", package: "iptables" });
        }
        if *self == Self::Ovs {
            wants.push(Want::Program { name: "ovs-vsctl", package: "openvswitch-switch" });
            wants.push(Want::Program { name: "ethtool", package: "ethtool" });
        }
        wants
    }

    fn lay(&self, work: &Work, shape: &Shape, site: &Site) -> Result<Laid, Error> {
        let node = Node::see(work)?;
        let servers = work.containers(&specs("server", shape.servers, &On::Nothing))?;
        let clients = work.containers(&specs("client", shape.clients, &On::Nothing))?;
        let all: Vec<&Running> = servers.iter().chain(&clients).chain([&node.container]).collect();
        let variables = assigned(all.iter().copied())?;
        let bridge = device_name(work);
        let undoing = [variables.clone(), self.undoing(shape, &bridge, &work.mark())].concat();
        work.undo(move || {
            // What was never made cannot be removed, and is not missed.
            let _ = script::carry_out("remove what was wired by hand", &undoing);
        });
        let lines = [variables, self.lines(shape, &bridge, &work.mark())].concat();
        script::carry_out(&format!("wire {}", self.name()), &lines)?;
        let mut addressed = everybody(shape).map(|(_, address)| address);
        let mut endpoints = |side: Vec<Running>| -> Vec<Endpoint> {
            side.into_iter()
                .zip(addressed.by_ref())
                .map(|(container, address)| Endpoint { container, address })
                .collect()
        };
        let servers = endpoints(servers);
        let clients = endpoints(clients);
        let path = self.path(&bridge, shape);
        Ok(Laid { routes: direct(shape, site, &servers), servers, clients, path })
    }

    fn commands(&self, shape: &Shape, _: &Site) -> Vec<String> {
        let mut lines = script::both(shape, "--network none");
        let mut known: Vec<String> = everybody(shape).map(|(name, _)| name).collect();
        if *self != Self::Veth {
            lines.push(script::run(HOST, "--network host"));
            known.push(HOST.to_owned());
        }
        lines.extend(asked(known));
        lines.extend(self.lines(shape, "br-tare", "by hand"));
        lines
    }
}

/// What everything needs that root wires beside the engine.
pub(super) fn by_hand() -> Vec<Want> {
    vec![
        Want::OwnMachine,
        Want::Program { name: "ip", package: "iproute2" },
        Want::Program { name: "nsenter", package: "util-linux" },
    ]
}

/// A name for a device on the machine, short enough for the kernel, that nothing else has.
pub(super) fn device_name(work: &Work) -> String {
    let unique = work.unique("");
    let digits: String = unique.chars().filter(char::is_ascii_hexdigit).collect();
    let end = digits.len().saturating_sub(9);
    format!("tare{}", &digits[end..])
}

/// All containers with their addresses, servers first.
fn everybody(shape: &Shape) -> impl Iterator<Item = (String, IpAddr)> {
    let family = shape.family;
    names("server", shape.servers)
        .chain(names("client", shape.clients))
        .enumerate()
        .map(move |(number, name)| (name, address(number, family)))
}

fn pairs(shape: &Shape) -> Vec<String> {
    let all: Vec<(String, IpAddr)> = everybody(shape).collect();
    let (servers, clients) = all.split_at(shape.servers as usize);
    let line = |(client, (name, near)): (usize, &(String, IpAddr))| {
        let (server, far) = &servers[server_of(client, shape)];
        pair((name, *near), (server, *far), client / servers.len(), shape)
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
    .map(|command| within(HOST, command))
    .collect()
}

/// The rule by which a bridge's packets pass the host's filter: Docker has it drop what it does not know, where bridged
/// packets come before it at all.
fn passing(shape: &Shape, how: &str, bridge: &str, mark: &str) -> String {
    let filter = match shape.family {
        Family::Ipv4 => "iptables",
        Family::Ipv6 => "ip6tables",
    };
    let rule = format!(
        "{filter} --wait {how} FORWARD --in-interface {bridge} --out-interface {bridge} \
         --match comment --comment '{mark}' --jump ACCEPT"
    );
    within(HOST, &rule)
}

/// Open vSwitch's own command, with a limit to its patience.
const VSCTL: &str = "ovs-vsctl --timeout=10";

/// A bridge on the kernel's data path where there is one, else in userspace: Open vSwitch takes the one for granted, and
/// makes no device where the kernel lacks it.
fn ovs_lines(bridge: &str, mark: &str) -> Vec<String> {
    let there = within(HOST, &format!("ip link show {bridge} >/dev/null 2>&1"));
    vec![
        format!(
            "{VSCTL} add-br {bridge} -- set bridge {bridge} datapath_type=system external-ids:tare='\"{mark}\"'"
        ),
        format!(
            "if {there}; then datapath=system; else datapath=netdev; {VSCTL} set bridge {bridge} datapath_type=netdev; fi"
        ),
    ]
}

/// In userspace Open vSwitch takes packets as they are: a checksum that a device was to fill in stays wrong.
fn unchecked(name: &str) -> String {
    let off = within(name, &format!("ethtool --offload {DEVICE} tx off >/dev/null"));
    format!("[ \"$datapath\" = system ] || {off}")
}

fn on_switch(shape: &Shape, plug: impl Fn(&str) -> Vec<String>) -> Vec<String> {
    everybody(shape)
        .flat_map(|(name, address)| plugged(HOST, (&name, address), shape, &plug))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_devices_are_told_apart() {
        let shape = Shape { servers: 2, clients: 5, ..Shape::default() };
        let lines = pairs(&shape).join("\n");
        for device in ["name eth1 mtu", "name eth2 mtu", "name eth3 mtu"] {
            assert!(lines.contains(device), "{lines}");
        }
        assert_eq!(lines.matches("type veth").count(), 5);
    }

    #[test]
    fn what_is_made_on_the_machine_is_marked_and_undone() {
        for network in [ByHand::Pipework, ByHand::Ovs] {
            let made = network.lines(&Shape::default(), "tare1", "tare.run=7").join("\n");
            assert!(made.contains("tare.run=7"), "{made}");
            assert!(
                network
                    .undoing(&Shape::default(), "tare1", "tare.run=7")
                    .iter()
                    .any(|line| line.contains("tare1"))
            );
        }
    }
}
