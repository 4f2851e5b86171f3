//! `wireguard`: encrypted tunnels between all nodes by the kernel's WireGuard, and a bridge on each; and the layout
//! that it shares with `wireguard-user`.
//!
//! The keys are generated for each start of the network. The program wg derives the public keys from the private ones.

use crate::networks::{Confidentiality, LabNetworkDefinition, veth_and_bridge_requirements};
use crate::plan::address::{LabSubnet, prefix_length};
use crate::plan::layout::{Layout, PathProof, Waypoint};
use crate::plan::node_containers;
use crate::plan::nodes::{LabNode, UPLINK};
use crate::plan::underlay::{MOST_NODES, ROUTER, Underlay, check_nodes, inner_mtu, parse_link};
use crate::plan::wiring::{ChildDevice, IpRoute, ParentDevice, Wiring};
use crate::programs::{Program, ReadyCondition};
use crate::random_key;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::process::Command;
use tare_network::{
    Error, Family, HopKind, NetworkInfo, NetworkOption, NetworkParameters, Requirement, Shape,
};
use tare_sandbox::addressing::RouteDestination;
use tare_sandbox::devices::Wireguard;
use tare_sandbox::program;
use tare_sandbox::programs::{START_TIMEOUT, run_outside_sandbox, runtime_directory};

/// Headers on the underlay, bytes: as wg-quick(8), with room for an outer IPv6 header.
const HEADERS: u32 = 80;

const PORT: u16 = 51_820;
const WG: (&str, &str) = ("wg", "wireguard-tools");

/// Name of the userspace implementation.
pub(crate) const USERSPACE: &str = "wireguard-go";

/// Implementation of WireGuard that encrypts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WireguardBackend {
    Kernel,
    Userspace,
}

pub(crate) struct WireguardNetwork;

impl LabNetworkDefinition for WireguardNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "wireguard",
            summary: "encrypted tunnels between nodes by the kernel's WireGuard, a bridge on each",
            stands_for: "flannel's wireguard, Calico's and Cilium's encryption, without their programs",
            source: SOURCE,
            options: &NetworkOption::DEVICE_PAIRS,
        }
    }

    fn nodes(&self) -> RangeInclusive<u32> {
        2..=MOST_NODES
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        let mut needs = wireguard_requirements();
        needs.push(Requirement::Kernel { module: "wireguard" });
        needs
    }

    fn confidentiality(&self) -> Confidentiality {
        Confidentiality::Encrypted
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        layout("wireguard", WireguardBackend::Kernel, shape, site)
    }
}

/// Reference of WireGuard's networks.
pub(crate) const SOURCE: &str = "https://www.wireguard.com/protocol/; wg(8)";

/// Returns the requirements of both implementations.
pub(crate) fn wireguard_requirements() -> Vec<Requirement> {
    let (name, package) = WG;
    let mut needs = veth_and_bridge_requirements();
    needs.extend([Requirement::Nodes(2), Requirement::Program { name, package }]);
    needs
}

/// Lays out a tunnel between every two nodes, and a bridge on each.
pub(crate) fn layout(
    name: &str,
    by: WireguardBackend,
    shape: &Shape,
    site: &NetworkParameters,
) -> Result<Layout, Error> {
    check_nodes(name, 2, shape)?;
    let mut wiring = Wiring::new(shape.family, inner_mtu(shape, &parse_link(shape)?, HEADERS));
    let underlay = Underlay::add(&mut wiring, shape, &ROUTER)?;
    underlay.add_ipv4(&mut wiring);
    let pods = node_containers::add_on_bridges(&mut wiring, &underlay, shape, site);
    let keys =
        underlay.nodes.iter().map(|_| WireguardKeys::generate()).collect::<Result<Vec<_>, _>>()?;
    for (node, mine) in underlay.nodes.iter().zip(&keys) {
        let peers = underlay.nodes.iter().zip(&keys).filter(|(other, _)| *other != node);
        let told = configuration_step(&wiring, by, *node, mine, peers);
        match by {
            WireguardBackend::Kernel => {
                add_device(&mut wiring, &underlay, *node);
                wiring.programs.push(told);
            }
            WireguardBackend::Userspace => add_process(&mut wiring, &underlay, *node, told),
        }
    }
    let (client, server) = (&pods.clients[0], &pods.servers[0]);
    let tunnel = |at: usize| {
        let node = underlay.nodes[at];
        let name = device(by, node);
        match by {
            WireguardBackend::Kernel => Waypoint::device(HopKind::Encapsulation, node.space, name),
            WireguardBackend::Userspace => {
                let detail = format!("the process {USERSPACE}");
                Waypoint::device_with_detail(HopKind::Forwarder, node.space, &name, &detail)
            }
        }
    };
    let mut path = node_containers::path_to_bridge(&underlay, client);
    path.push(tunnel(client.node));
    path.extend(underlay.path(client.node, server.node));
    path.push(tunnel(server.node));
    path.extend(node_containers::path_to_bridge(&underlay, server).into_iter().rev());
    let near = underlay.nodes[client.node];
    let mut layout = pods.layout(wiring, path, shape, site);
    layout.proof = Some(PathProof::Device { space: near.space, name: device(by, near) });
    Ok(layout)
}

/// Returns the name of a node's device. A userspace process listens on a socket of that name, which must therefore
/// differ between nodes.
fn device(by: WireguardBackend, node: LabNode) -> String {
    match by {
        WireguardBackend::Kernel => "wg0".to_owned(),
        WireguardBackend::Userspace => format!("wg-n{}", node.number()),
    }
}

/// Returns the subnets of the other nodes' containers.
fn remote_networks(wiring: &Wiring, underlay: &Underlay, node: LabNode) -> Vec<RouteDestination> {
    let others = underlay.nodes.iter().filter(|other| **other != node);
    let network =
        |other: &LabNode| LabSubnet::docker(other.number()).slot(0).address(wiring.family);
    others
        .map(|other| RouteDestination::Net(network(other), prefix_length(wiring.family)))
        .collect()
}

/// Adds a node's kernel device, and its routes to the other nodes' containers.
fn add_device(wiring: &mut Wiring, underlay: &Underlay, node: LabNode) {
    let name = device(WireguardBackend::Kernel, node);
    let parent = ParentDevice::new(node.space, UPLINK);
    wiring.child_devices.push(ChildDevice {
        mtu: Some(underlay.link.mtu() - HEADERS),
        ..ChildDevice::new(node.space, &name, parent, Wireguard)
    });
    let routes = remote_networks(wiring, underlay, node).into_iter();
    wiring.routes.extend(routes.map(|to| IpRoute::by_device(node.space, to, &name)));
}

/// Adds a node's userspace process, which creates a TUN device, and the steps that set this device's MTU and its routes
/// to the other nodes' containers.
fn add_process(wiring: &mut Wiring, underlay: &Underlay, node: LabNode, told: Program) {
    let name = device(WireguardBackend::Userspace, node);
    let ready = ReadyCondition::ListensOn(format!("/run/wireguard/{name}.sock"));
    let daemon = Program::daemon(node.space, USERSPACE, ["--foreground", &name], ready);
    wiring.programs.extend([daemon, told]);
    let step = |line: String| Program::step(node.space, "ip", line.split(' '));
    let mtu = underlay.link.mtu() - HEADERS;
    wiring.programs.push(step(format!("link set {name} mtu {mtu} up")).with_name("ip-up"));
    let family = if wiring.family == Family::Ipv4 { "-4" } else { "-6" };
    for (number, to) in remote_networks(wiring, underlay, node).into_iter().enumerate() {
        let step = step(format!("{family} route add {to} dev {name}"));
        wiring.programs.push(step.with_name(format!("ip-route-{number}")));
    }
}

/// Returns the step that configures a node's device: its own key, and the key and the containers' subnet of each other
/// node.
fn configuration_step<'a>(
    wiring: &Wiring,
    by: WireguardBackend,
    node: LabNode,
    mine: &WireguardKeys,
    peers: impl Iterator<Item = (&'a LabNode, &'a WireguardKeys)>,
) -> Program {
    let mut input = format!("[Interface]\nPrivateKey = {}\nListenPort = {PORT}\n", mine.private);
    for (peer, keys) in peers {
        let containers = LabSubnet::docker(peer.number()).prefix(wiring.family);
        input.push_str(&format!(
            "[Peer]\nPublicKey = {}\nAllowedIPs = {containers}\nEndpoint = {}:{PORT}\n",
            keys.public,
            peer.ipv4()
        ));
    }
    let device = device(by, node);
    let file = format!("{}/{device}.conf", runtime_directory(wiring.name(node.space)));
    Program::step(node.space, WG.0, ["setconf", &device, &file]).with_file(file.clone(), input)
}

/// Key pair of a node, in base64 as wg prints it.
struct WireguardKeys {
    private: String,
    public: String,
}

impl WireguardKeys {
    fn generate() -> Result<Self, Error> {
        let mut key = random_key::random_bytes::<32>()?;
        // The key is clamped for Curve25519 (RFC 7748, 5).
        key[0] &= 248;
        key[31] = (key[31] & 127) | 64;
        let private = to_base64(&key);
        let public = derive_public_key(program::find(WG.0), &private)?;
        Ok(Self { private, public })
    }
}

/// Derives the public key of a private one by `wg`. Fails if the program is missing or rejects the key.
fn derive_public_key(wg: Option<PathBuf>, private: &str) -> Result<String, Error> {
    const WHAT: &str = "derive a public key with wg";
    let (name, package) = WG;
    let wg = wg.ok_or_else(|| {
        Error::new(WHAT, format!("the program {name} is not installed"))
            .with_remedy(format!("sudo apt-get install {package}"))
    })?;
    let mut command = Command::new(wg);
    command.arg("pubkey");
    let key = run_outside_sandbox(command, private, START_TIMEOUT)?.into_stdout(WHAT)?;
    match key.trim() {
        "" => Err(Error::new(WHAT, "wg printed no key")),
        key => Ok(key.to_owned()),
    }
}

/// Encodes bytes in base64 (RFC 4648, 4).
fn to_base64(bytes: &[u8]) -> String {
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
    fn only_a_missing_program_is_to_be_installed() {
        let scratch = tare_dev::ScratchDirectory::new();
        for (script, why) in [
            ("echo wg: no key >&2; exit 1", "exit code 1: wg: no key"),
            ("exit 0", "wg printed no key"),
        ] {
            let wg = scratch.write_program("wg", &format!("#!/bin/sh\n{script}\n"));
            let error = derive_public_key(Some(wg), "key").unwrap_err();
            assert!(error.remedy.is_empty() && error.why.ends_with(why), "{error:?}");
        }
        let error = derive_public_key(None, "key").unwrap_err();
        assert!(error.remedy.ends_with(WG.1), "{error:?}");
    }

    #[test]
    fn a_public_key_is_the_output_of_the_program() {
        let scratch = tare_dev::ScratchDirectory::new();
        let wg = scratch.write_program("wg", "#!/bin/sh\necho \"$1 of $(cat)\"\n");
        assert_eq!(derive_public_key(Some(wg), "key").unwrap(), "pubkey of key");
    }

    #[test]
    fn base64_is_that_of_the_rfc() {
        let cases =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        for (plain, encoded) in cases {
            assert_eq!(to_base64(plain.as_bytes()), encoded);
        }
    }
}
