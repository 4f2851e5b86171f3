//! `docker:bridge+macvlan-nat`: a container on the default bridge that is reached by an address of its own outside, which
//! a macvlan device of the node's has and netfilter translates.

use super::bridge::{DEFAULT, DEVICE, bridge_of};
use super::laid::{Endpoint, Laid, NODE, Step, on_network, routes, side, specs};
use super::macvlan::{Sub, on_parent, parent_of};
use super::node::{Node, bridge_hops};
use super::none::{by_hand, device_name};
use super::wires::{assigned, within};
use super::{OPTIONS, Recipe, script};
use crate::want::Want;
use crate::work::{On, Work};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use tare_network::{About, Error, Family, Hop, HopKind, Shape, Site};

pub(super) struct MacvlanNat;

/// What is wired for one server.
struct Outside<'a> {
    /// The macvlan device.
    device: &'a str,
    /// The device that it and the clients sit on.
    parent: &'a str,
    /// The engine's bridge.
    bridge: &'a str,
    /// The clients' subnet.
    subnet: &'a str,
    /// The addresses outside, each with the server's own.
    addresses: &'a [(Ipv4Addr, IpAddr)],
    mark: &'a str,
    mtu: u32,
}

impl Outside<'_> {
    /// The device with its addresses, and a way to the clients that does not lead through the uplink: a machine cannot
    /// reach macvlan devices of its own by that.
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

    /// The rules, with `add` or `delete` before each.
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
        self.device_lines().into_iter().chain(rules).map(|line| within(NODE, &line)).collect()
    }

    /// What undoes them, as far as it was done.
    fn undoing(&self) -> Vec<String> {
        let delete = format!("ip link delete {}", self.device);
        let rules = self.rules("--delete", "--delete");
        rules
            .into_iter()
            .chain([delete])
            .map(|line| format!("{} || :", within(NODE, &line)))
            .collect()
    }
}

impl Recipe for MacvlanNat {
    fn about(&self) -> About {
        About {
            name: "docker:bridge+macvlan-nat",
            summary: "a Docker container on the default bridge, reached by an outside address that the host translates",
            stands_for: "an external address for a container by macvlan and iptables",
            source: "https://docs.docker.com/engine/network/drivers/macvlan/",
            options: OPTIONS,
        }
    }

    fn wants(&self, _: &Site) -> Vec<Want> {
        let mut wants = by_hand();
        wants.push(Want::Driver("macvlan"));
        wants.push(Want::Kernel("macvlan"));
        wants.push(Want::Program { name: "iptables", package: "iptables" });
        wants
    }

    fn lay(&self, work: &Work, shape: &Shape, site: &Site) -> Result<Laid, Error> {
        const WHAT: &str = "lay out docker:bridge+macvlan-nat";
        if shape.family == Family::Ipv6 {
            return Err(Error::new(WHAT, "its address is translated by IPv4's rules")
                .with_remedy("use --family ipv4"));
        }
        let node = Node::see(work)?;
        let parent = parent_of(work, &node.seen)?;
        let network = work.network(on_parent(Sub::Macvlan, &parent, shape))?;
        let subnet = subnet_of(work, &network)?;
        let on = On::Network(DEFAULT.to_owned());
        let servers = side(work, &specs("server", shape.servers, &on), DEFAULT, shape)?;
        let clients =
            work.containers(&specs("client", shape.clients, &On::Network(network.clone())))?;
        let clients: Vec<Endpoint> = clients
            .into_iter()
            .map(|container| on_network(container, &network, shape))
            .collect::<Result<_, _>>()?;
        let highest = highest(&subnet)
            .ok_or_else(|| Error::new(WHAT, format!("`{subnet}` is no IPv4 subnet")))?;
        let addresses: Vec<(Ipv4Addr, IpAddr)> = (0_u32..)
            .zip(&servers)
            .map(|(n, one)| (Ipv4Addr::from(highest - n), one.address))
            .collect();
        let (device, bridge) = (device_name(work), bridge_of(work, DEFAULT)?);
        let outside = Outside {
            device: &device,
            parent: &parent,
            bridge: &bridge,
            subnet: &subnet,
            addresses: &addresses,
            mark: &work.mark(),
            mtu: shape.mtu,
        };
        let variables: Vec<String> = assigned([&node.container])?
            .iter()
            .map(|line| line.replacen("node=", "node_0=", 1))
            .collect();
        let undoing = [variables.clone(), outside.undoing()].concat();
        work.undo(move || {
            // What was never made cannot be removed, and is not missed.
            let _ = script::carry_out("remove what was wired by hand", &undoing);
        });
        script::carry_out(
            "wire docker:bridge+macvlan-nat",
            &[variables, outside.lines()].concat(),
        )?;
        let mut path = vec![
            Step::OfClient(HopKind::Device, DEVICE),
            Step::Node(Hop::new(HopKind::Device, &device, NODE).with_mtu(shape.mtu)),
            Step::Node(
                Hop::new(HopKind::Nat, "nat/PREROUTING", NODE)
                    .with_detail(format!("{} to {}", addresses[0].0, addresses[0].1)),
            ),
        ];
        path.extend(bridge_hops(&node.seen, &bridge, "bridge").into_iter().take(1).map(Step::Node));
        path.push(Step::OfServer(HopKind::Veth, DEVICE));
        Ok(Laid {
            routes: routes(shape, site, |server, port| {
                let listen = SocketAddr::new(servers[server].address, port);
                (listen, SocketAddr::new(addresses[server].0.into(), port))
            }),
            servers,
            clients,
            path,
        })
    }

    fn commands(&self, shape: &Shape, _: &Site) -> Vec<String> {
        let mut lines = script::begin();
        lines.push(
            "PARENT=$(ip -o route show default | sed -n 's/.* dev \\([^ ]*\\).*/\\1/p')".to_owned(),
        );
        lines.push(
            "docker network create --driver macvlan --subnet 198.18.0.0/24 --opt parent=\"$PARENT\" tare"
                .to_owned(),
        );
        lines.push(script::run(NODE, "--network host"));
        lines.push(script::run("server-0", ""));
        lines.push(script::run("client-0", "--network tare"));
        lines.push("node_0=$(docker inspect --format '{{.State.Pid}}' node-0)".to_owned());
        lines.push(
            "SERVER=$(docker inspect --format '{{.NetworkSettings.IPAddress}}' server-0)"
                .to_owned(),
        );
        let outside = Outside {
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

/// The IPv4 subnet that Docker chose for a network.
fn subnet_of(work: &Work, network: &str) -> Result<String, Error> {
    let inspecting = work.engine().docker().inspect_network(network, None);
    let what = format!("inspect the network {network}");
    let inspected = work.engine().get(what.clone(), inspecting)?;
    let subnets = inspected.ipam.and_then(|ipam| ipam.config).into_iter().flatten();
    subnets
        .filter_map(|config| config.subnet)
        .find(|subnet| !subnet.contains(':'))
        .ok_or_else(|| Error::new(what, "Docker gave it no IPv4 subnet"))
}

/// The highest address of a subnet that a machine may have: Docker gives out the lowest first.
fn highest(subnet: &str) -> Option<u32> {
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
        let address = |subnet| highest(subnet).map(Ipv4Addr::from);
        assert_eq!(address("172.20.0.0/16"), Some(Ipv4Addr::new(172, 20, 255, 254)));
        assert_eq!(address("198.18.0.0/24"), Some(Ipv4Addr::new(198, 18, 0, 254)));
        for none in ["172.20.0.0", "x/16", "10.0.0.0/31", "10.0.0.0/99"] {
            assert_eq!(address(none), None, "{none}");
        }
    }

    #[test]
    fn every_rule_is_marked_and_taken_away_again() {
        let addresses = [(Ipv4Addr::new(198, 18, 0, 254), IpAddr::from([172, 17, 0, 2]))];
        let outside = Outside {
            device: "mv",
            parent: "eth0",
            bridge: "docker0",
            subnet: "198.18.0.0/24",
            addresses: &addresses,
            mark: "tare.run=7",
            mtu: 1500,
        };
        let (made, undone) = (outside.lines(), outside.undoing());
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
