//! `veth`: two containers joined by a virtual cable, and nothing between them.

use super::{Recipe, filtered};
use crate::address::{Slot, Subnet};
use crate::docker::dns_rules;
use crate::layout::{Endpoint, Layout, Waypoint, one_node, routes, server_of};
use crate::nodes::UPLINK;
use crate::wiring::{Address, Cable, CableKind, End, Rules, SpaceId, Wiring};
use tare_network::{
    About, BitsPerSecond, Error, Family, Hop, HopKind, Need, NetworkOption, Shape, Site,
};

pub(super) struct Veth;

/// Each cable has four addresses of the 2^16 of its subnet.
const MOST_CLIENTS: u32 = 16_000;

/// A cable between a client and its server.
struct Joint {
    client: Slot,
    server: Slot,
    /// The server's device: it has one for each of its clients.
    device: String,
}

impl Recipe for Veth {
    fn about(&self) -> About {
        About {
            name: "veth",
            summary: "two containers joined by a veth pair, with Docker's DNS rules in both",
            stands_for: "a veth pair straight between two Docker containers",
            source: "veth(4); moby, libnetwork/resolver_unix.go",
            options: &NetworkOption::WIRED,
        }
    }

    fn needs(&self, site: &Site) -> Vec<Need> {
        let mut needs = vec![Need::Kernel { module: "veth" }];
        if !site.options.plain {
            needs.extend(filtered(&[]));
        }
        needs
    }

    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        layout("veth", CableKind::Veth, shape, site)
    }
}

/// Every client joined with its server by a cable of its own.
pub(super) fn layout(
    name: &str,
    kind: CableKind,
    shape: &Shape,
    site: &Site,
) -> Result<Layout, Error> {
    one_node(name, shape)?;
    if shape.clients < shape.servers {
        let why = "a server without a client has no cable, hence no address";
        return Err(Error::new(format!("lay out {name}"), why)
            .with_remedy(format!("use --clients {} or more", shape.servers)));
    }
    if shape.clients > MOST_CLIENTS {
        let why = format!("there is room for {MOST_CLIENTS} cables");
        return Err(
            Error::new(format!("lay out {name}"), why).with_remedy("ask for fewer --clients")
        );
    }
    let mut wiring = Wiring::new(shape.family, shape.mtu);
    let spaces = |wiring: &mut Wiring, role: &str, count: u32| -> Vec<SpaceId> {
        (0..count).map(|index| wiring.space(format!("{role}-{index}"), &[])).collect()
    };
    let servers = spaces(&mut wiring, "server", shape.servers);
    let clients = spaces(&mut wiring, "client", shape.clients);
    let joints: Vec<Joint> = (0..).zip(&clients).map(|(client, _)| joint(client, shape)).collect();
    for (client, joint) in joints.iter().enumerate() {
        let server = servers[server_of(client, shape)];
        lay(&mut wiring, [clients[client], server], joint, kind, site.options.rate);
    }
    if !site.options.plain {
        let all = servers.iter().chain(&clients);
        wiring.rules.extend(all.map(|&space| Rules { space, text: dns_rules() }));
    }
    let endpoint = |space: &SpaceId, slot: Slot| Endpoint {
        space: Some(*space),
        address: slot.address(shape.family),
    };
    Ok(Layout {
        path: path(&wiring, clients[0], servers[0], &joints[0], kind),
        // Server k's first client is client k.
        servers: servers.iter().zip(&joints).map(|(one, to)| endpoint(one, to.server)).collect(),
        clients: clients.iter().zip(&joints).map(|(one, to)| endpoint(one, to.client)).collect(),
        routes: routes(shape, site, |client, _| {
            let server = joints[client].server.address(shape.family);
            (server, server)
        }),
        proof: None,
        wiring,
    })
}

/// The cable of a client; of its four addresses, the middle two are used.
fn joint(client: u16, shape: &Shape) -> Joint {
    let base = client * 4;
    Joint {
        client: Subnet::PAIRS.slot(base + 1),
        server: Subnet::PAIRS.slot(base + 2),
        device: format!("eth{}", u32::from(client) / shape.servers),
    }
}

/// Lays one cable.
fn lay(
    wiring: &mut Wiring,
    [client, server]: [SpaceId; 2],
    joint: &Joint,
    kind: CableKind,
    rate: Option<BitsPerSecond>,
) {
    let near = End::new(client, UPLINK).with_mac(joint.client.mac());
    let far = End::new(server, joint.device.as_str()).with_mac(joint.server.mac());
    wiring.cables.push(Cable { kind, ..Cable::new(near, far).limited_to(rate) });
    let prefix = match wiring.family {
        Family::Ipv4 => 30,
        Family::Ipv6 => 126,
    };
    let ends = [(client, UPLINK, joint.client), (server, joint.device.as_str(), joint.server)];
    for (space, device, slot) in ends {
        let address = slot.address(wiring.family);
        wiring.addresses.push(Address { space, device: device.to_owned(), address, prefix });
    }
    wiring.neighbour(client, UPLINK, joint.server);
    wiring.neighbour(server, &joint.device, joint.client);
}

fn path(
    wiring: &Wiring,
    client: SpaceId,
    server: SpaceId,
    joint: &Joint,
    kind: CableKind,
) -> Vec<Waypoint> {
    let end = |space, device: &str| match kind {
        CableKind::Veth => Waypoint::device(HopKind::Veth, space, device),
        CableKind::Netkit => Waypoint::told(HopKind::Device, space, device, "netkit, L2"),
    };
    let mut path = vec![end(client, UPLINK), end(server, &joint.device)];
    // Docker's DNS rules are for IPv4 only, and so is the connection tracking that they switch on.
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
