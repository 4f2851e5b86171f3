//! The options `+redirect-peer` and `+xdp`: the containers of a bridge reach each other through an eBPF program at their
//! veth pairs, and not through the bridge and the netfilter rules of their node.

use crate::plan::layout::{Layout, PathProof, Waypoint};
use crate::plan::wiring::{
    DevicePair, DevicePairEnd, NamespaceId, PlannedRedirect, Wiring, XdpReceiver,
};
use tare_network::{Hop, HopKind, RedirectProgram, Requirement, UnmetRequirement};
use tare_sandbox::ebpf::redirect_support;
use tare_sandbox::netlink::MacAddress;

/// Returns what is missing for a program here. Returns `None` if nothing is.
pub(crate) fn unmet_requirement(program: RedirectProgram) -> Option<Requirement> {
    let error = redirect_support(program).err()?;
    let remedy = format!("{}, or leave out +{}", error.remedy, program.name());
    Some(Requirement::Unmet(UnmetRequirement { reason: error.why, remedy }))
}

/// Adds the redirection to every node with a bridge, and leads the path through it.
pub(crate) fn redirect(layout: &mut Layout, program: RedirectProgram) {
    let wiring = &mut layout.wiring;
    let nodes: Vec<NamespaceId> = wiring.nodes().map(|(node, _)| node).collect();
    for space in nodes {
        let targets: Vec<(String, MacAddress)> =
            containers(wiring, space).map(|(near, _, mac)| (near.device.clone(), mac)).collect();
        if targets.is_empty() {
            continue;
        }
        if program == RedirectProgram::Xdp {
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
fn shorten_path(
    path: &mut Vec<Waypoint>,
    node: NamespaceId,
    place: &str,
    program: RedirectProgram,
) {
    let is_here = |waypoint: &Waypoint| match waypoint {
        Waypoint::Device { space, .. } => *space == Some(node),
        Waypoint::Other(hop) => hop.place == place,
    };
    let first = path.iter().position(is_here);
    let Some((first, last)) = first.zip(path.iter().rposition(is_here)) else { return };
    let (end, detail) = match program {
        RedirectProgram::Peer => (last + 1, "bpf_redirect_peer, at the reception of the device"),
        RedirectProgram::Xdp => (last, "XDP_REDIRECT, in the driver of the device"),
    };
    let hop = Hop::new(HopKind::Ebpf, program.hop(), place).with_detail(detail);
    path.splice(first + 1..end, [Waypoint::Other(hop)]);
}
