//! Proof that a network carries packets, and that they take the path that the network is named after.

use crate::build::BuiltWiring;
use crate::plan::layout::{Layout, NamespaceEndpoint, PathProof};
use crate::programs::{PacketCounter, RunningPrograms};
use crate::verify::carriers::prove_carriers;
use crate::verify::connectivity::connect;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use tare_network::{ClientRoute, Error};
use tare_sandbox::{Namespace, Sandbox, listen_in, nft, parallel};

/// Connects every client with its server, and checks that the packets passed the counters of their path. If they did
/// not, the error includes the reasons of the daemons that carry them.
pub(crate) fn prove_path(
    sandbox: &Sandbox,
    layout: &Layout,
    built: &BuiltWiring,
    programs: &RunningPrograms,
) -> Result<(), Error> {
    send_and_check(sandbox, layout, built, programs).map_err(|error| programs.explain(error))?;
    prove_carriers(&layout.wiring, &built.spaces, programs)
}

/// Sends packets, and checks the counters.
fn send_and_check(
    sandbox: &Sandbox,
    layout: &Layout,
    built: &BuiltWiring,
    programs: &RunningPrograms,
) -> Result<(), Error> {
    let counters = layout.wiring.counters.iter().filter(|_| !layout.routes.is_empty());
    let counters: Vec<(&PacketCounter, u64)> = counters
        .map(|counter| Ok((counter, programs.count(counter)?)))
        .collect::<Result<_, Error>>()?;
    let proof = layout.proof.as_ref().filter(|_| !layout.routes.is_empty());
    let before = proof.map(|proof| packets_passed(sandbox, proof, built)).transpose()?;
    connect_all(layout, &built.spaces)?;
    for (counter, before) in counters {
        if programs.count(counter)? <= before {
            return Err(counter_unchanged(format!(
                "verify the path by the counter of {}",
                counter.description
            )));
        }
    }
    let (Some(proof), Some(before)) = (proof, before) else {
        return Ok(());
    };
    if packets_passed(sandbox, proof, built)? > before {
        return Ok(());
    }
    let what = match proof {
        PathProof::Rule { space, rule } => {
            format!("verify that packets pass the rule `{rule}` in {}", layout.wiring.name(*space))
        }
        PathProof::Device { space, name } => {
            format!("verify that packets pass {}:{name}", layout.wiring.name(*space))
        }
        PathProof::Redirect { space } => {
            let place = layout.wiring.name(*space);
            format!("verify that the eBPF program of {place} redirects")
        }
    };
    Err(counter_unchanged(what))
}

fn counter_unchanged(what: String) -> Error {
    Error::new(what, "the counter has not increased: packets take another path")
}

/// Connects every client with its server, by the first of its routes.
fn connect_all(layout: &Layout, spaces: &[Arc<Namespace>]) -> Result<(), Error> {
    let space = |endpoint| namespace(endpoint, spaces).map(AsRef::as_ref);
    let mut routes: Vec<&ClientRoute> = layout.routes.iter().collect();
    routes.dedup_by_key(|route| route.client);
    let mut listeners: BTreeMap<(usize, SocketAddr), TcpListener> = BTreeMap::new();
    for route in &routes {
        if let Entry::Vacant(place) = listeners.entry((route.server, route.listen)) {
            place.insert(listen_in(space(&layout.servers[route.server]), route.listen)?);
        }
    }
    let reached = parallel::try_map(&routes, |route| {
        let listener = &listeners[&(route.server, route.listen)];
        connect(space(&layout.clients[route.client]), route.dial, listener)
    });
    reached.map(drop)
}

/// Returns the number of packets that have passed. Of a device it is the number of received packets: a VRF device
/// counts no other packets that it forwards.
fn packets_passed(
    sandbox: &Sandbox,
    proof: &PathProof,
    BuiltWiring { spaces, redirects }: &BuiltWiring,
) -> Result<u64, Error> {
    match proof {
        PathProof::Rule { space, rule } => nft::packets(sandbox, &spaces[space.0], rule),
        PathProof::Device { space, name } => {
            let device = spaces[space.0].device(name)?;
            Ok(device.map_or(0, |device| device.received))
        }
        PathProof::Redirect { space } => {
            redirects.get(space).map_or(Ok(0), |redirect| redirect.count())
        }
    }
}

/// Returns the namespace of an endpoint. Returns `None` for that of tare itself.
pub(crate) fn namespace<'a>(
    endpoint: &NamespaceEndpoint,
    spaces: &'a [Arc<Namespace>],
) -> Option<&'a Arc<Namespace>> {
    endpoint.space.map(|space| &spaces[space.0])
}
