//! `wireguard`: an encrypted tunnel from each node to all others by the kernel's WireGuard, a bridge on each;
//! `wireguard-user` is laid out alike.
//!
//! The keys are drawn anew each time. A public key follows from a private one; the program wg works it out.

use super::{Recipe, Secrecy, wired};
use crate::address::{Subnet, prefix_length};
use crate::layout::{Layout, Proof, Waypoint};
use crate::nodes::{Node, UPLINK};
use crate::pods;
use crate::program;
use crate::programs::{Program, Ready, directory};
use crate::secret;
use crate::underlay::{MOST_NODES, ROUTER, Underlay, joins, link_of, mtu_inside};
use crate::wiring::{Destination, Link, LinkKind, Parent, Route, Wiring, Wrap};
use std::io::Write;
use std::ops::RangeInclusive;
use std::process::{Command, Stdio};
use tare_network::{About, Error, Family, HopKind, Need, NetworkOption, Shape, Site};

/// What of a packet on the underlay is not the containers', bytes: wg-quick(8) leaves room for IPv6 outside.
const HEADERS: u32 = 80;

const PORT: u16 = 51_820;
const WG: (&str, &str) = ("wg", "wireguard-tools");

/// WireGuard as a program.
pub(super) const USERSPACE: &str = "wireguard-go";

/// Who encrypts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    Kernel,
    Process,
}

pub(super) struct Wireguard;

impl Recipe for Wireguard {
    fn about(&self) -> About {
        About {
            name: "wireguard",
            summary: "encrypted tunnels between nodes by the kernel's WireGuard, a bridge on each",
            stands_for: "flannel's wireguard, Calico's and Cilium's encryption, without their programs",
            source: SOURCE,
            options: &NetworkOption::CABLED,
        }
    }

    fn nodes(&self) -> RangeInclusive<u32> {
        2..=MOST_NODES
    }

    fn needs(&self, _: &Site) -> Vec<Need> {
        let mut needs = needs();
        needs.push(Need::Kernel { module: "wireguard" });
        needs
    }

    fn secrecy(&self) -> Secrecy {
        Secrecy::Encrypted
    }

    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        layout("wireguard", By::Kernel, shape, site)
    }
}

/// Where the reference is.
pub(super) const SOURCE: &str = "https://www.wireguard.com/protocol/; wg(8)";

/// What it needs, whoever encrypts.
pub(super) fn needs() -> Vec<Need> {
    let (name, package) = WG;
    let mut needs = wired();
    needs.extend([Need::Nodes(2), Need::Program { name, package }]);
    needs
}

/// A tunnel from each node to all others, and a bridge on each.
pub(super) fn layout(name: &str, by: By, shape: &Shape, site: &Site) -> Result<Layout, Error> {
    joins(name, 2, shape)?;
    let mut wiring = Wiring::new(shape.family, mtu_inside(shape, &link_of(shape)?, HEADERS));
    let underlay = Underlay::add(&mut wiring, shape, &ROUTER)?;
    underlay.speak_ipv4(&mut wiring);
    let pods = pods::on_bridges(&mut wiring, &underlay, shape, site);
    let keys = underlay.nodes.iter().map(|_| Keys::draw()).collect::<Result<Vec<_>, _>>()?;
    for (node, mine) in underlay.nodes.iter().zip(&keys) {
        let peers = underlay.nodes.iter().zip(&keys).filter(|(other, _)| *other != node);
        let told = setup(&wiring, by, *node, mine, peers);
        match by {
            By::Kernel => {
                add_device(&mut wiring, &underlay, *node);
                wiring.programs.push(told);
            }
            By::Process => add_process(&mut wiring, &underlay, *node, told),
        }
    }
    let (client, server) = (&pods.clients[0], &pods.servers[0]);
    let tunnel = |at: usize| {
        let node = underlay.nodes[at];
        let name = device(by, node);
        match by {
            By::Kernel => Waypoint::device(HopKind::Encapsulation, node.space, name),
            By::Process => {
                let detail = format!("the process {USERSPACE}");
                Waypoint::told(HopKind::Forwarder, node.space, &name, &detail)
            }
        }
    };
    let mut path = pods::to_bridge(&underlay, client);
    path.push(tunnel(client.node));
    path.extend(underlay.path(client.node, server.node));
    path.push(tunnel(server.node));
    path.extend(pods::to_bridge(&underlay, server).into_iter().rev());
    let near = underlay.nodes[client.node];
    let mut layout = pods.layout(wiring, path, shape, site);
    layout.proof = Some(Proof::Device { space: near.space, name: device(by, near) });
    Ok(layout)
}

/// The name of a node's device. A process listens on a socket of that name: on no two nodes is it the same.
fn device(by: By, node: Node) -> String {
    match by {
        By::Kernel => "wg0".to_owned(),
        By::Process => format!("wg-n{}", node.number()),
    }
}

/// The other nodes' containers.
fn behind(wiring: &Wiring, underlay: &Underlay, node: Node) -> Vec<Destination> {
    let others = underlay.nodes.iter().filter(|other| **other != node);
    let network = |other: &Node| Subnet::docker(other.number()).slot(0).address(wiring.family);
    others.map(|other| Destination::Net(network(other), prefix_length(wiring.family))).collect()
}

/// A node's device of the kernel's, and its routes to the others' containers.
fn add_device(wiring: &mut Wiring, underlay: &Underlay, node: Node) {
    let name = device(By::Kernel, node);
    let kind = LinkKind::Tunnel { parent: Parent::new(node.space, UPLINK), wrap: Wrap::Wireguard };
    wiring.links.push(Link {
        mtu: Some(underlay.link.mtu() - HEADERS),
        ..Link::new(node.space, &name, kind)
    });
    let routes = behind(wiring, underlay, node).into_iter();
    wiring.routes.extend(routes.map(|to| Route::by_device(node.space, to, &name)));
}

/// A node's process, which makes a TUN device, and the same for that.
fn add_process(wiring: &mut Wiring, underlay: &Underlay, node: Node, told: Program) {
    let name = device(By::Process, node);
    let ready = Ready::Listens(format!("/run/wireguard/{name}.sock"));
    let daemon = Program::daemon(node.space, USERSPACE, ["--foreground", &name], ready);
    wiring.programs.extend([daemon, told]);
    let step = |line: String| Program::step(node.space, "ip", line.split(' '));
    let mtu = underlay.link.mtu() - HEADERS;
    wiring.programs.push(step(format!("link set {name} mtu {mtu} up")).named("ip-up"));
    let family = if wiring.family == Family::Ipv4 { "-4" } else { "-6" };
    for (number, to) in behind(wiring, underlay, node).into_iter().enumerate() {
        let step = step(format!("{family} route add {to} dev {name}"));
        wiring.programs.push(step.named(format!("ip-route-{number}")));
    }
}

/// What a node's device is told: its key, and each other node's, with the containers that are behind it.
fn setup<'a>(
    wiring: &Wiring,
    by: By,
    node: Node,
    mine: &Keys,
    peers: impl Iterator<Item = (&'a Node, &'a Keys)>,
) -> Program {
    let mut input = format!("[Interface]\nPrivateKey = {}\nListenPort = {PORT}\n", mine.private);
    for (peer, keys) in peers {
        let containers = Subnet::docker(peer.number()).prefix(wiring.family);
        input.push_str(&format!(
            "[Peer]\nPublicKey = {}\nAllowedIPs = {containers}\nEndpoint = {}:{PORT}\n",
            keys.public,
            peer.ipv4()
        ));
    }
    let device = device(by, node);
    let file = format!("{}/{device}.conf", directory(wiring.name(node.space)));
    Program::step(node.space, WG.0, ["setconf", &device, &file]).with_file(file.clone(), input)
}

/// A node's keys, in base64 as wg writes them.
struct Keys {
    private: String,
    public: String,
}

impl Keys {
    fn draw() -> Result<Self, Error> {
        let mut key = secret::random::<32>()?;
        // Curve25519 (RFC 7748, 5).
        key[0] &= 248;
        key[31] = (key[31] & 127) | 64;
        let private = base64(&key);
        let public = public(&private)?;
        Ok(Self { private, public })
    }
}

/// The public key that belongs to a private one.
fn public(private: &str) -> Result<String, Error> {
    let (name, package) = WG;
    let error = |why: String| {
        Error::new("work out a public key by wg", why)
            .with_remedy(format!("sudo apt-get install {package}"))
    };
    let path =
        program::find(name).ok_or_else(|| error("the program is not installed".to_owned()))?;
    let mut child = Command::new(path)
        .arg("pubkey")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|why| error(why.to_string()))?;
    let written = child.stdin.take().map(|mut input| input.write_all(private.as_bytes()));
    written.unwrap_or(Ok(())).map_err(|why| error(why.to_string()))?;
    let output = child.wait_with_output().map_err(|why| error(why.to_string()))?;
    let key = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if output.status.success() && !key.is_empty() {
        Ok(key)
    } else {
        Err(error("it gave none".to_owned()))
    }
}

/// RFC 4648, 4.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4_usize {
            let used = digit <= chunk.len();
            let value = (bits >> (18 - 6 * digit)) & 63;
            text.push(if used { char::from(DIGITS[value as usize]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_rfc() {
        let cases =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        for (plain, encoded) in cases {
            assert_eq!(base64(plain.as_bytes()), encoded);
        }
    }
}
