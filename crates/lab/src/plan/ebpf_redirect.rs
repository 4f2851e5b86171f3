//! The options `+redirect-peer` and `+xdp`, by which the containers of a bridge reach each other through an eBPF program at
//! their veth pairs, and not through the bridge and the netfilter rules of their node; and `+sockmap`, by which the sockets
//! of one namespace reach each other without packets.

use crate::plan::layout::{Layout, PathProof, Waypoint};
use crate::plan::wiring::{
    DevicePair, DevicePairEnd, NamespaceId, PlannedRedirect, Wiring, XdpReceiver,
};
use tare_network::{Hop, HopKind, RedirectProgram, Requirement, UnmetRequirement};
use tare_sandbox::ebpf::{PairProgram, redirect_support};
use tare_sandbox::netlink::MacAddress;

/// Returns what is missing for a program here. Returns `None` if nothing is.
pub(crate) fn unmet_requirement(program: RedirectProgram) -> Option<Requirement> {
    let error = redirect_support(program).err()?;
    let remedy = format!("{}, or leave out +{}", error.remedy, program.name());
    Some(Requirement::Unmet(UnmetRequirement { reason: error.why, remedy }))
}

/// Adds the redirection, and leads the path through it.
pub(crate) fn redirect(layout: &mut Layout, program: RedirectProgram) {
    match program {
        RedirectProgram::Peer => redirect_packets(layout, PairProgram::Peer),
        RedirectProgram::Xdp => redirect_packets(layout, PairProgram::Xdp),
        RedirectProgram::Sockmap => redirect_sockets(layout),
    }
}

/// Redirects what the sockets of the servers' namespaces send. Their clients are in the same namespaces.
fn redirect_sockets(layout: &mut Layout) {
    let mut spaces: Vec<NamespaceId> = layout.servers.iter().filter_map(|one| one.space).collect();
    spaces.dedup();
    let Some(&first) = spaces.first() else { return };
    let program = RedirectProgram::Sockmap;
    let hop = Hop::new(HopKind::Ebpf, program.hop(), layout.wiring.name(first))
        .with_detail("bpf_msg_redirect_hash, from socket to socket");
    layout.path = vec![Waypoint::Other(hop)];
    layout.proof = Some(PathProof::Redirect { space: first });
    layout.wiring.socket_redirects = spaces;
}

/// Redirects the packets of every node with a bridge.
fn redirect_packets(layout: &mut Layout, program: PairProgram) {
    let wiring = &mut layout.wiring;
    let nodes: Vec<NamespaceId> = wiring.nodes().map(|(node, _)| node).collect();
    for space in nodes {
        let targets: Vec<(String, MacAddress)> =
            containers(wiring, space).map(|(near, _, mac)| (near.device.clone(), mac)).collect();
        if targets.is_empty() {
            continue;
        }
        if program == PairProgram::Xdp {
            prepare_for_xdp(wiring, space);
        }
        wiring.redirects.push(PlannedRedirect { space, program, targets });
        shorten_path(&mut layout.path, space, wiring.name(space), program);
        layout.proof = Some(PathProof::Redirect { space });
    }
}

/// Returns the containers that are attached to bridges of a node: both ends of their pairs, with their addresses.
fn containers(
    wiring: &Wiring,
    node: NamespaceId,
) -> impl Iterator<Item = (&DevicePairEnd, &DevicePairEnd, MacAddress)> {
    let attached =
        move |pair: &&DevicePair| pair.near.space == node && pair.near.controller.is_some();
    let pairs = wiring.device_pairs.iter().filter(attached);
    pairs.filter_map(|pair| Some((&pair.near, &pair.far, pair.far.mac?)))
}

/// Has the containers of a node send packets with their checksums, and receive packets from XDP programs.
fn prepare_for_xdp(wiring: &mut Wiring, node: NamespaceId) {
    let ends: Vec<(NamespaceId, String)> =
        containers(wiring, node).map(|(_, far, _)| (far.space, far.device.clone())).collect();
    wiring.without_tx_offload.extend(ends.iter().cloned());
    let receivers = ends.into_iter().map(|(space, device)| XdpReceiver { space, device });
    wiring.xdp_receivers.extend(receivers);
}

/// Replaces what a packet passes on a node after the device that receives it by the program, up to the device by which
/// it leaves: a packet that continues at the far end has not passed that device.
fn shorten_path(path: &mut Vec<Waypoint>, node: NamespaceId, place: &str, program: PairProgram) {
    let is_here = |waypoint: &Waypoint| match waypoint {
        Waypoint::Device { space, .. } => *space == Some(node),
        Waypoint::Other(hop) => hop.place == place,
    };
    let first = path.iter().position(is_here);
    let Some((first, last)) = first.zip(path.iter().rposition(is_here)) else { return };
    let (end, detail) = match program {
        PairProgram::Peer => (last + 1, "bpf_redirect_peer, at the reception of the device"),
        PairProgram::Xdp => (last, "XDP_REDIRECT, in the driver of the device"),
    };
    let hop = Hop::new(HopKind::Ebpf, program.option().hop(), place).with_detail(detail);
    path.splice(first + 1..end, [Waypoint::Other(hop)]);
}
