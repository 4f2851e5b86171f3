//! Building a wiring: namespaces by threads, devices by netlink, rules by nft.

use crate::lab::Lab;
use crate::namespace::Namespace;
use crate::netlink::{NewBridge, NewPair, PairEnd, Request};
use crate::nft;
use crate::wiring::{Cable, SpaceId, Sysctl, Wiring};
use std::collections::HashMap;
use std::os::fd::AsFd;
use std::sync::Arc;
use tare_network::Error;

/// Where the lab's own device indices begin. The kernel gives new namespaces devices of its own where tunnel drivers are
/// loaded (`tunl0`, `sit0` …), numbered from 2.
const FIRST_INDEX: u32 = 100;

/// The index of every device of a wiring, by namespace and name.
struct Indices(HashMap<(usize, String), u32>);

impl Indices {
    fn of(wiring: &Wiring) -> Self {
        let mut indices = HashMap::new();
        let mut next = vec![FIRST_INDEX; wiring.spaces.len()];
        let bridges = wiring.bridges.iter().map(|bridge| (bridge.space, bridge.name));
        let ends = wiring.cables.iter().flat_map(|cable| [&cable.near, &cable.far]);
        let ends = ends.map(|end| (end.space, end.device.as_str()));
        for (SpaceId(space), name) in bridges.chain(ends) {
            indices.insert((space, name.to_owned()), next[space]);
            next[space] += 1;
        }
        for space in 0..wiring.spaces.len() {
            indices.insert((space, "lo".to_owned()), 1);
        }
        Self(indices)
    }

    fn get(&self, space: SpaceId, name: &str) -> Result<u32, Error> {
        self.0.get(&(space.0, name.to_owned())).copied().ok_or_else(|| {
            Error::new(format!("find the device {name}"), "the wiring has no such device")
        })
    }
}

/// Builds all of it; the namespaces are in the wiring's order. What was built goes with the last of them.
pub(crate) fn build(lab: &Lab, wiring: &Wiring) -> Result<Vec<Arc<Namespace>>, Error> {
    let plans: Vec<(&str, &[Sysctl])> =
        wiring.spaces.iter().map(|space| (space.name.as_str(), space.sysctls.as_slice())).collect();
    let spaces: Vec<Arc<Namespace>> =
        Namespace::make_all(&plans)?.into_iter().map(Arc::new).collect();
    let indices = Indices::of(wiring);
    carry_out(&spaces, devices(wiring, &spaces, &indices)?)?;
    carry_out(&spaces, queues(wiring, &indices)?)?;
    carry_out(&spaces, addresses(wiring, &indices)?)?;
    let rules: Vec<_> = wiring
        .rules
        .iter()
        .map(|rules| (Arc::clone(&spaces[rules.space.0]), rules.text.as_str()))
        .collect();
    nft::load(lab, &rules)?;
    Ok(spaces)
}

/// Requests, each for a namespace.
type Requests = Vec<(SpaceId, Request)>;

/// Carries out requests, one batch for each namespace, in the order in which the namespaces first occur.
fn carry_out(spaces: &[Arc<Namespace>], requests: Requests) -> Result<(), Error> {
    let mut batches: Vec<Vec<Request>> = spaces.iter().map(|_| Vec::new()).collect();
    for (SpaceId(space), request) in requests {
        batches[space].push(request);
    }
    spaces.iter().zip(&batches).try_for_each(|(space, batch)| space.execute(batch))
}

/// Bridges, then pairs.
fn devices(
    wiring: &Wiring,
    spaces: &[Arc<Namespace>],
    indices: &Indices,
) -> Result<Requests, Error> {
    let mut requests = Vec::new();
    for bridge in &wiring.bridges {
        let new = NewBridge {
            name: bridge.name,
            index: indices.get(bridge.space, bridge.name)?,
            mac: bridge.mac,
            mtu: wiring.mtu,
        };
        requests.push((bridge.space, Request::bridge(wiring.name(bridge.space), &new)));
    }
    for cable in &wiring.cables {
        requests.push((cable.near.space, pair(wiring, cable, spaces, indices)?));
    }
    Ok(requests)
}

fn pair(
    wiring: &Wiring,
    cable: &Cable,
    spaces: &[Arc<Namespace>],
    indices: &Indices,
) -> Result<Request, Error> {
    let Cable { near, bridge, far, rate: _ } = cable;
    let new = NewPair {
        near: PairEnd {
            name: &near.device,
            index: indices.get(near.space, &near.device)?,
            mac: near.mac,
        },
        bridge: bridge.map(|name| indices.get(near.space, name)).transpose()?,
        far: PairEnd {
            name: &far.device,
            index: indices.get(far.space, &far.device)?,
            mac: far.mac,
        },
        namespace: spaces[far.space.0].as_fd(),
        mtu: wiring.mtu,
    };
    Ok(Request::pair(wiring.name(near.space), &new))
}

/// A queue in front of each end of every limited cable.
fn queues(wiring: &Wiring, indices: &Indices) -> Result<Requests, Error> {
    let mut requests = Vec::new();
    for cable in &wiring.cables {
        let Some(bucket) = cable.bucket(wiring.mtu) else { continue };
        for end in [&cable.near, &cable.far] {
            let index = indices.get(end.space, &end.device)?;
            let request = Request::queue(wiring.name(end.space), &end.device, index, &bucket);
            requests.push((end.space, request));
        }
    }
    Ok(requests)
}

/// Far ends up, then addresses, routes and neighbours.
fn addresses(wiring: &Wiring, indices: &Indices) -> Result<Requests, Error> {
    let mut requests = Vec::new();
    for Cable { far, .. } in &wiring.cables {
        let index = indices.get(far.space, &far.device)?;
        requests.push((far.space, Request::up(wiring.name(far.space), &far.device, index)));
    }
    for one in &wiring.addresses {
        let index = indices.get(one.space, &one.device)?;
        let place = wiring.name(one.space);
        requests.push((one.space, Request::address(place, index, one.address, one.prefix)));
    }
    for one in &wiring.routes {
        let place = wiring.name(one.space);
        requests.push((one.space, Request::default_route(place, one.gateway)));
    }
    for one in &wiring.neighbours {
        let index = indices.get(one.space, &one.device)?;
        let place = wiring.name(one.space);
        requests.push((one.space, Request::neighbour(place, index, one.address, one.mac)));
    }
    Ok(requests)
}
