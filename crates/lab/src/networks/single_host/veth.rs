//! `veth`: two containers joined directly by a veth pair.

use crate::networks::{LabNetworkDefinition, nftables_requirements};
use crate::plan::address::{InterfaceSlot, LabSubnet};
use crate::plan::docker_rules::dns::dns_rules;
use crate::plan::layout::{
    Layout, NamespaceEndpoint, Waypoint, check_one_node, client_routes, server_of,
};
use crate::plan::nodes::UPLINK;
use crate::plan::wiring::{
    DevicePair, DevicePairEnd, InterfaceAddress, NamespaceId, Ruleset, Wiring,
};
use tare_network::{
    BitsPerSecond, Error, Family, Hop, HopKind, NetworkInfo, NetworkOption, NetworkParameters,
    Requirement, Shape,
};
use tare_sandbox::devices::{DevicePairKind, Veth};

pub(crate) struct VethNetwork;

/// Most clients: each pair has four of the 2^16 addresses of its subnet.
const MOST_CLIENTS: u32 = 16_000;

/// Device pair between a client and its server.
struct ClientDevicePair {
    client: InterfaceSlot,
    server: InterfaceSlot,
    /// Name of the server's device; a server has one for each of its clients.
    device: String,
}

impl LabNetworkDefinition for VethNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "veth",
            summary: "two containers joined by a veth pair, with Docker's DNS rules in both",
            stands_for: "a veth pair straight between two Docker containers",
            source: "veth(4); moby, libnetwork/resolver_unix.go",
            options: &NetworkOption::WIRED,
        }
    }

    fn requirements(&self, site: &NetworkParameters) -> Vec<Requirement> {
        let mut needs = vec![Requirement::Kernel { module: "veth" }];
        if !site.options.plain {
            needs.extend(nftables_requirements(&[]));
        }
        needs
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        layout("veth", &Veth, shape, site)
    }
}

/// Lays out every client joined with its server by its own device pair.
///
/// Fails if a server has no client, or if there are too many clients.
pub(crate) fn layout(
    name: &str,
    kind: &'static dyn DevicePairKind,
    shape: &Shape,
    site: &NetworkParameters,
) -> Result<Layout, Error> {
    check_one_node(name, shape)?;
    if shape.clients < shape.servers {
        let why = "a server without a client has no device pair, and therefore no address";
        return Err(Error::new(format!("lay out {name}"), why)
            .with_remedy(format!("use --clients {} or more", shape.servers)));
    }
    if shape.clients > MOST_CLIENTS {
        let why = format!("at most {MOST_CLIENTS} clients are supported");
        return Err(Error::new(format!("lay out {name}"), why).with_remedy("use fewer --clients"));
    }
    let mut wiring = Wiring::new(shape.family, shape.mtu);
    let spaces = |wiring: &mut Wiring, role: &str, count: u32| -> Vec<NamespaceId> {
        (0..count).map(|index| wiring.add_namespace(format!("{role}-{index}"), &[])).collect()
    };
    let servers = spaces(&mut wiring, "server", shape.servers);
    let clients = spaces(&mut wiring, "client", shape.clients);
    let joints: Vec<ClientDevicePair> =
        (0..).zip(&clients).map(|(client, _)| client_device_pair(client, shape)).collect();
    for (client, joint) in joints.iter().enumerate() {
        let server = servers[server_of(client, shape)];
        add_device_pair(&mut wiring, [clients[client], server], joint, kind, site.options.rate);
    }
    if !site.options.plain {
        let all = servers.iter().chain(&clients);
        wiring.rules.extend(all.map(|&space| Ruleset { space, text: dns_rules() }));
    }
    let endpoint = |space: &NamespaceId, slot: InterfaceSlot| NamespaceEndpoint {
        space: Some(*space),
        address: slot.address(shape.family),
    };
    Ok(Layout {
        path: path(&wiring, clients[0], servers[0], &joints[0], kind),
        // The first client of server k is client k.
        servers: servers.iter().zip(&joints).map(|(one, to)| endpoint(one, to.server)).collect(),
        clients: clients.iter().zip(&joints).map(|(one, to)| endpoint(one, to.client)).collect(),
        routes: client_routes(shape, site, |client, _| {
            let server = joints[client].server.address(shape.family);
            (server, server)
        }),
        proof: None,
        wiring,
    })
}

/// Returns the device pair of a client. It uses the middle two of its four addresses.
fn client_device_pair(client: u16, shape: &Shape) -> ClientDevicePair {
    let base = client * 4;
    ClientDevicePair {
        client: LabSubnet::PAIRS.slot(base + 1),
        server: LabSubnet::PAIRS.slot(base + 2),
        device: format!("eth{}", u32::from(client) / shape.servers),
    }
}

/// Adds one device pair with its addresses and neighbour entries.
fn add_device_pair(
    wiring: &mut Wiring,
    [client, server]: [NamespaceId; 2],
    joint: &ClientDevicePair,
    kind: &'static dyn DevicePairKind,
    rate: Option<BitsPerSecond>,
) {
    let near = DevicePairEnd::new(client, UPLINK).with_mac(joint.client.mac());
    let far = DevicePairEnd::new(server, joint.device.as_str()).with_mac(joint.server.mac());
    wiring.device_pairs.push(DevicePair { kind, ..DevicePair::new(near, far).limited_to(rate) });
    let prefix = match wiring.family {
        Family::Ipv4 => 30,
        Family::Ipv6 => 126,
    };
    let ends = [(client, UPLINK, joint.client), (server, joint.device.as_str(), joint.server)];
    for (space, device, slot) in ends {
        let address = slot.address(wiring.family);
        wiring.addresses.push(InterfaceAddress {
            space,
            device: device.to_owned(),
            address,
            prefix,
        });
    }
    wiring.add_neighbour(client, UPLINK, joint.server);
    wiring.add_neighbour(server, &joint.device, joint.client);
}

fn path(
    wiring: &Wiring,
    client: NamespaceId,
    server: NamespaceId,
    joint: &ClientDevicePair,
    kind: &'static dyn DevicePairKind,
) -> Vec<Waypoint> {
    let end = |space, device: &str| match kind.detail() {
        None => Waypoint::device(kind.hop_kind(), space, device),
        Some(detail) => Waypoint::device_with_detail(kind.hop_kind(), space, device, detail),
    };
    let mut path = vec![end(client, UPLINK), end(server, &joint.device)];
    // Docker's DNS rules are for IPv4 only, and so is the connection tracking that they enable.
    if !wiring.rules.is_empty() && wiring.family == Family::Ipv4 {
        let tracking = |space| {
            Waypoint::Other(
                Hop::new(HopKind::Conntrack, "nf_conntrack", wiring.name(space))
                    .with_detail("switched on by table ip nat (DOCKER_OUTPUT, DOCKER_POSTROUTING)"),
            )
        };
        path.insert(0, tracking(client));
        path.push(tracking(server));
    }
    path
}
