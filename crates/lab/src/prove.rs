//! Proof that a network carries packets, and that they take the path that gives it its name.

use crate::lab::Lab;
use crate::layout::{Endpoint, Layout, Proof};
use crate::namespace::{Namespace, listen_in};
use crate::programs::{Counter, Running};
use crate::reach::connect;
use crate::{nft, parallel};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use tare_network::{Error, Route};

/// Connects every client with its server, and sees that the packets passed where they should. Where they do not, the daemons
/// that should carry them say why.
pub(crate) fn prove(
    lab: &Lab,
    layout: &Layout,
    spaces: &[Arc<Namespace>],
    programs: &Running,
) -> Result<(), Error> {
    pass(lab, layout, spaces, programs).map_err(|error| programs.explain(error))
}

/// Has packets pass, and looks where.
fn pass(
    lab: &Lab,
    layout: &Layout,
    spaces: &[Arc<Namespace>],
    programs: &Running,
) -> Result<(), Error> {
    let counters = layout.wiring.counters.iter().filter(|_| !layout.routes.is_empty());
    let counters: Vec<(&Counter, u64)> = counters
        .map(|counter| Ok((counter, programs.count(counter)?)))
        .collect::<Result<_, Error>>()?;
    let proof = layout.proof.as_ref().filter(|_| !layout.routes.is_empty());
    let before = proof.map(|proof| counted(lab, proof, spaces)).transpose()?;
    reach_all(layout, spaces)?;
    for (counter, before) in counters {
        if programs.count(counter)? <= before {
            return Err(stands_still(format!("see {}", counter.what)));
        }
    }
    let (Some(proof), Some(before)) = (proof, before) else {
        return Ok(());
    };
    if counted(lab, proof, spaces)? > before {
        return Ok(());
    }
    let what = match proof {
        Proof::Rule { space, rule } => {
            format!("see packets pass `{rule}` in {}", layout.wiring.name(*space))
        }
        Proof::Device { space, name } => {
            format!("see packets pass {}:{name}", layout.wiring.name(*space))
        }
    };
    Err(stands_still(what))
}

fn stands_still(what: String) -> Error {
    Error::new(what, "its counter has not moved: they take another path")
}

/// Connects every client with its server, by the first of its routes.
fn reach_all(layout: &Layout, spaces: &[Arc<Namespace>]) -> Result<(), Error> {
    let space = |endpoint| namespace(endpoint, spaces).map(AsRef::as_ref);
    let mut routes: Vec<&Route> = layout.routes.iter().collect();
    routes.dedup_by_key(|route| route.client);
    let mut listeners: BTreeMap<(usize, SocketAddr), TcpListener> = BTreeMap::new();
    for route in &routes {
        if let Entry::Vacant(place) = listeners.entry((route.server, route.listen)) {
            place.insert(listen_in(space(&layout.servers[route.server]), route.listen)?);
        }
    }
    let reached = parallel::each(&routes, |route| {
        let listener = &listeners[&(route.server, route.listen)];
        connect(space(&layout.clients[route.client]), route.dial, listener)
    });
    reached.map(drop)
}

/// How many packets have passed; of a device, how many came in by it: a VRF device counts no others that it forwards.
fn counted(lab: &Lab, proof: &Proof, spaces: &[Arc<Namespace>]) -> Result<u64, Error> {
    match proof {
        Proof::Rule { space, rule } => nft::packets(lab, &spaces[space.0], rule),
        Proof::Device { space, name } => {
            let device = spaces[space.0].device(name)?;
            Ok(device.map_or(0, |device| device.received))
        }
    }
}

/// The namespace of an endpoint; nothing for tare's own.
pub(crate) fn namespace<'a>(
    endpoint: &Endpoint,
    spaces: &'a [Arc<Namespace>],
) -> Option<&'a Arc<Namespace>> {
    endpoint.space.map(|space| &spaces[space.0])
}
