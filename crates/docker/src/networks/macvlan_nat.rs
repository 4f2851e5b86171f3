//! Network `docker:bridge+macvlan-nat`: a container on the default bridge that is reached by an external address of its
//! own. A macvlan device of the node has that address, and netfilter translates it.

use super::bridge::{DEFAULT_NETWORK, DEVICE, bridge_device};
use super::layout::{
    NODE, NetworkEndpoint, NetworkLayout, PathStep, build_routes, container_specs,
    endpoint_on_network, start_servers,
};
use super::machine::{MachineSnapshot, bridge_hop};
use super::macvlan::{ParentDeviceNetwork, parent_device, request_on_parent};
use super::manual_wiring::{device_name, manual_requirements};
use super::shell_wiring::{in_namespace, pid_assignments};
use super::{DockerNetworkDefinition, OPTIONS, script};
use crate::engine_resources::{AttachTo, EngineResources};
use crate::requirement::EngineRequirement;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use tare_network::{Error, Family, Hop, HopKind, NetworkInfo, NetworkParameters, Shape, quote};

pub(super) struct DockerMacvlanNat;

/// External addresses of the servers, as they are wired.
struct ExternalAddresses<'a> {
    /// Name of the macvlan device.
    device: &'a str,
    /// Parent device of the macvlan device and of the clients' devices.
    parent: &'a str,
    /// Name of the engine's bridge.
    bridge: &'a str,
    /// Subnet of the clients.
    subnet: &'a str,
    /// External addresses, each with the address of its server.
    addresses: &'a [(Ipv4Addr, IpAddr)],
    mark: &'a str,
    mtu: u32,
}

impl ExternalAddresses<'_> {
    /// Returns the lines that make the device with its addresses, and a route to the clients that does not use the
    /// uplink: a machine cannot reach its own macvlan devices through their parent.
    fn device_lines(&self) -> Vec<String> {
        let Self { device, parent, subnet, mark, mtu, .. } = self;
        let mut lines = vec![
            format!("ip link add {device} link {parent} mtu {mtu} type macvlan mode bridge"),
            format!("ip link set {device} alias '{mark}'"),
            format!("sh -c 'echo 1 >/proc/sys/net/ipv4/conf/{device}/arp_ignore'"),
            format!("sh -c 'echo 2 >/proc/sys/net/ipv4/conf/{device}/arp_announce'"),
        ];
        lines.extend(
            self.addresses.iter().map(|(own, _)| format!("ip address add {own}/32 dev {device}")),
        );
        lines.push(format!("ip link set {device} up"));
        lines.push(format!("ip route add {subnet} dev {device}"));
        lines
    }

    /// Returns the rules, each with `insert` or `append` as its command.
    fn rules(&self, insert: &str, append: &str) -> Vec<String> {
        let Self { device, bridge, mark, .. } = self;
        let remark = format!("--match comment --comment '{mark}'");
        let mut rules = vec![format!(
            "iptables --wait {insert} FORWARD --in-interface {device} --out-interface {bridge} {remark} --jump ACCEPT"
        )];
        for (own, server) in self.addresses {
            rules.push(format!(
                "iptables --wait --table nat {append} PREROUTING --destination {own} {remark} --jump DNAT --to-destination {server}"
            ));
            rules.push(format!(
                "iptables --wait --table nat {insert} POSTROUTING --source {server} --out-interface {device} {remark} --jump SNAT --to-source {own}"
            ));
        }
        rules
    }

    fn lines(&self) -> Vec<String> {
        let rules = self.rules("--insert", "--append");
        self.device_lines().into_iter().chain(rules).map(|line| in_namespace(NODE, &line)).collect()
    }

    /// Returns the lines that undo the others, as far as those were carried out.
    fn undo_lines(&self) -> Vec<String> {
        let delete = format!("ip link delete {}", self.device);
        let rules = self.rules("--delete", "--delete");
        rules
            .into_iter()
            .chain([delete])
            .map(|line| format!("{} || :", in_namespace(NODE, &line)))
            .collect()
    }
}

impl DockerNetworkDefinition for DockerMacvlanNat {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "docker:bridge+macvlan-nat",
            summary: "a Docker container on the default bridge, reached by an outside address that the host translates",
            stands_for: "an external address for a container by macvlan and iptables",
            source: "https://docs.docker.com/engine/network/drivers/macvlan/",
            options: OPTIONS,
        }
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<EngineRequirement> {
        let mut wants = manual_requirements();
        wants.push(EngineRequirement::IptablesFirewall);
        wants.push(EngineRequirement::Driver("macvlan"));
        wants.push(EngineRequirement::Kernel("macvlan"));
        wants.push(EngineRequirement::Program { name: "iptables", package: "iptables" });
        wants
    }

    fn lay_out(
        &self,
        work: &EngineResources,
        shape: &Shape,
        site: &NetworkParameters,
    ) -> Result<NetworkLayout, Error> {
        const WHAT: &str = "lay out docker:bridge+macvlan-nat";
        if shape.family == Family::Ipv6 {
            let why = "the host translates the outside address with IPv4 rules only";
            return Err(Error::new(WHAT, why).with_remedy("use --family ipv4"));
        }
        let node = MachineSnapshot::take(work)?;
        let parent = parent_device(work, &node.snapshot)?;
        let network =
            work.create_network(request_on_parent(ParentDeviceNetwork::Macvlan, &parent, shape))?;
        let subnet = ipv4_subnet(work, &network)?;
        let servers = start_servers(work, DEFAULT_NETWORK, shape)?;
        let clients = work.start_containers(&container_specs(
            "client",
            shape.clients,
            &AttachTo::Network(network.clone()),
        ))?;
        let clients: Vec<NetworkEndpoint> = clients
            .into_iter()
            .map(|container| endpoint_on_network(container, &network, shape))
            .collect::<Result<_, _>>()?;
        let highest = highest_address(&subnet).ok_or_else(|| {
            let why = format!("`{subnet}` is not an IPv4 subnet with two or more host addresses");
            Error::new(WHAT, why)
        })?;
        let addresses: Vec<(Ipv4Addr, IpAddr)> = (0_u32..)
            .zip(&servers)
            .map(|(n, one)| (Ipv4Addr::from(highest - n), one.address))
            .collect();
        let (device, bridge) =
            (device_name(work), bridge_device(work, DEFAULT_NETWORK, &node.snapshot)?);
        // The user and the engine name them, and a shell reads them.
        let [parent, bridge, subnet] = [&parent, &bridge, &subnet].map(|word| quote(word));
        let outside = ExternalAddresses {
            device: &device,
            parent: &parent,
            bridge: &bridge,
            subnet: &subnet,
            addresses: &addresses,
            mark: &work.mark(),
            mtu: shape.mtu,
        };
        let variables: Vec<String> = pid_assignments([&node.container])?
            .iter()
            .map(|line| line.replacen("node=", "node_0=", 1))
            .collect();
        let undoing = [variables.clone(), outside.undo_lines()].concat();
        work.on_removal(move || {
            // A step that was never carried out cannot be undone, and its failure does not matter.
            let _ = script::run_lines("remove the wiring of docker:bridge+macvlan-nat", &undoing);
        });
        script::run_lines(
            "wire docker:bridge+macvlan-nat",
            &[variables, outside.lines()].concat(),
        )?;
        let mut path = vec![
            PathStep::ClientDevice(HopKind::Device, DEVICE),
            PathStep::Node(Hop::new(HopKind::Device, &device, NODE).with_mtu(shape.mtu)),
            PathStep::Node(
                Hop::new(HopKind::Nat, "nat/PREROUTING", NODE)
                    .with_detail(format!("{} to {}", addresses[0].0, addresses[0].1)),
            ),
        ];
        path.push(PathStep::Node(bridge_hop(&node.snapshot, &bridge)));
        path.push(PathStep::ServerDevice(HopKind::Veth, DEVICE));
        Ok(NetworkLayout {
            routes: build_routes(shape, site, |server, port| {
                let listen = SocketAddr::new(servers[server].address, port);
                (listen, SocketAddr::new(addresses[server].0.into(), port))
            }),
            servers,
            clients,
            path,
        })
    }

    fn commands(&self, shape: &Shape, _: &NetworkParameters) -> Vec<String> {
        let mut lines = script::first_lines();
        lines.push(
            "PARENT=$(ip -o route show default | sed -n 's/.* dev \\([^ ]*\\).*/\\1/p')".to_owned(),
        );
        lines.push(
            "docker network create --driver macvlan --subnet 198.18.0.0/24 --opt parent=\"$PARENT\" tare"
                .to_owned(),
        );
        lines.push(script::run_line(NODE, "--network host"));
        lines.push(script::run_line("server-0", ""));
        lines.push(script::run_line("client-0", "--network tare"));
        lines.push("node_0=$(docker inspect --format '{{.State.Pid}}' node-0)".to_owned());
        lines.push(
            "SERVER=$(docker inspect --format '{{.NetworkSettings.IPAddress}}' server-0)"
                .to_owned(),
        );
        let outside = ExternalAddresses {
            device: "mvpub1",
            parent: "\"$PARENT\"",
            bridge: "docker0",
            subnet: "198.18.0.0/24",
            addresses: &[(Ipv4Addr::new(198, 18, 0, 254), Ipv4Addr::UNSPECIFIED.into())],
            mark: "by hand",
            mtu: shape.mtu,
        };
        let server = Ipv4Addr::UNSPECIFIED.to_string();
        lines.extend(outside.lines().iter().map(|line| line.replace(&server, "\"$SERVER\"")));
        lines
    }
}

/// Returns the IPv4 subnet that Docker chose for a network.
fn ipv4_subnet(work: &EngineResources, network: &str) -> Result<String, Error> {
    let inspecting = work.engine().docker().inspect_network(network, None);
    let what = format!("inspect the network {network}");
    let inspected = work.engine().request(what.clone(), inspecting)?;
    let subnets = inspected.ipam.and_then(|ipam| ipam.config).into_iter().flatten();
    subnets
        .filter_map(|config| config.subnet)
        .find(|subnet| !subnet.contains(':'))
        .ok_or_else(|| Error::new(what, "Docker assigned no IPv4 subnet"))
}

/// Returns the highest host address of a subnet; Docker assigns the lowest addresses first. Returns `None` if the
/// subnet is invalid or has fewer than two host addresses.
fn highest_address(subnet: &str) -> Option<u32> {
    let (address, bits) = subnet.split_once('/')?;
    let (address, bits): (Ipv4Addr, u32) = (address.parse().ok()?, bits.parse().ok()?);
    let of_hosts = u32::MAX.checked_shr(bits).filter(|_| bits <= 30)?;
    Some((u32::from(address) | of_hosts) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_address_is_the_one_before_the_broadcasts() {
        let address = |subnet| highest_address(subnet).map(Ipv4Addr::from);
        assert_eq!(address("172.20.0.0/16"), Some(Ipv4Addr::new(172, 20, 255, 254)));
        assert_eq!(address("198.18.0.0/24"), Some(Ipv4Addr::new(198, 18, 0, 254)));
        for none in ["172.20.0.0", "x/16", "10.0.0.0/31", "10.0.0.0/99"] {
            assert_eq!(address(none), None, "{none}");
        }
    }

    #[test]
    fn every_rule_is_marked_and_taken_away_again() {
        let addresses = [(Ipv4Addr::new(198, 18, 0, 254), IpAddr::from([172, 17, 0, 2]))];
        let outside = ExternalAddresses {
            device: "mv",
            parent: "eth0",
            bridge: "docker0",
            subnet: "198.18.0.0/24",
            addresses: &addresses,
            mark: "tare.run=7",
            mtu: 1500,
        };
        let (made, undone) = (outside.lines(), outside.undo_lines());
        let rules =
            |lines: &[String]| lines.iter().filter(|line| line.contains("iptables")).count();
        assert_eq!(rules(&made), 3);
        assert_eq!(rules(&undone), 3);
        assert!(
            made.iter()
                .filter(|line| line.contains("iptables"))
                .all(|line| line.contains("tare.run=7"))
        );
    }
}
