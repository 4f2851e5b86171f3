//! Building a wiring: namespaces by threads, devices by netlink, settings by files, rules by nft.

mod devices;

use crate::lab::Lab;
use crate::namespace::Namespace;
use crate::netlink::Request;
use crate::wiring::{End, Indices, Setting, SpaceId, Sysctl, Wiring};
use crate::{nft, offload, parallel};
use std::collections::BTreeMap;
use std::sync::Arc;
use tare_network::Error;

/// A wiring that is being built: what every step looks into.
struct Builder<'a> {
    wiring: &'a Wiring,
    spaces: &'a [Arc<Namespace>],
    indices: Indices,
}

/// Builds all of it; the namespaces are in the wiring's order. What was built goes with the last of them.
pub(crate) fn build(lab: &Lab, wiring: &Wiring) -> Result<Vec<Arc<Namespace>>, Error> {
    let plans: Vec<(&str, &[Sysctl])> =
        wiring.spaces.iter().map(|space| (space.name.as_str(), space.sysctls.as_slice())).collect();
    let spaces: Vec<Arc<Namespace>> =
        Namespace::make_all(&plans)?.into_iter().map(Arc::new).collect();
    let builder = Builder { wiring, spaces: &spaces, indices: Indices::of(wiring) };
    builder.carry_out(builder.controllers_and_cables()?)?;
    builder.carry_out(builder.far_ends()?)?;
    builder.carry_out(builder.wide_bridges()?)?;
    builder.note_links()?;
    builder.carry_out(builder.snooping()?)?;
    // A link hangs on one that was made before it, perhaps in another namespace.
    builder.carry_out_in_order(builder.links()?)?;
    builder.carry_out(builder.queues()?)?;
    builder.carry_out(builder.impairments()?)?;
    builder.set(&wiring.settings)?;
    builder.carry_out(builder.addresses()?)?;
    let rules: Vec<_> = wiring
        .rules
        .iter()
        .map(|rules| (Arc::clone(&spaces[rules.space.0]), rules.text.as_str()))
        .collect();
    nft::load(lab, &rules)?;
    offload::send_whole(wiring, &spaces)?;
    Ok(spaces)
}

/// Requests, each for a namespace.
type Requests = Vec<(SpaceId, Request)>;

impl Builder<'_> {
    /// Carries out requests, one batch for each namespace, in no order of the namespaces.
    fn carry_out(&self, requests: Requests) -> Result<(), Error> {
        let mut batches: Vec<Vec<Request>> = self.spaces.iter().map(|_| Vec::new()).collect();
        for (SpaceId(space), request) in requests {
            batches[space].push(request);
        }
        let batches: Vec<_> =
            self.spaces.iter().zip(&batches).filter(|(_, batch)| !batch.is_empty()).collect();
        parallel::each(&batches, |(space, batch)| space.execute(batch)).map(drop)
    }

    /// The near ends of cables came up before there was anybody at the other end: their links are up by now.
    fn note_links(&self) -> Result<(), Error> {
        let mut devices: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
        for End { space, device, .. } in self.wiring.cables.iter().map(|cable| &cable.near) {
            devices.entry(space.0).or_default().push(device);
        }
        let devices: Vec<_> = devices.into_iter().collect();
        parallel::each(&devices, |(space, devices)| self.spaces[*space].note_links(devices))
            .map(drop)
    }

    /// Carries out requests in the order in which they stand, a batch for each stretch in one namespace.
    fn carry_out_in_order(&self, requests: Requests) -> Result<(), Error> {
        requests.chunk_by(|(one, _), (next, _)| one == next).try_for_each(|stretch| {
            let batch: Vec<Request> = stretch.iter().map(|(_, request)| request.clone()).collect();
            self.spaces[stretch[0].0.0].execute(&batch)
        })
    }

    /// Makes settings, in the order in which they stand.
    fn set(&self, settings: &[Setting]) -> Result<(), Error> {
        settings
            .chunk_by(|one, next| one.space == next.space)
            .try_for_each(|stretch| self.spaces[stretch[0].space.0].set(stretch))
    }

    /// Addresses, routes, neighbours, forwarding entries and what bridges know.
    fn addresses(&self) -> Result<Requests, Error> {
        let Self { wiring, indices, .. } = self;
        let mut requests = Vec::new();
        for one in &wiring.addresses {
            let index = indices.get(one.space, &one.device)?;
            let place = wiring.name(one.space);
            requests.push((one.space, Request::address(place, index, one.address, one.prefix)));
        }
        for one in &wiring.routes {
            let device =
                one.device.as_ref().map(|name| indices.get(one.space, name)).transpose()?;
            let place = wiring.name(one.space);
            requests.push((one.space, Request::route(place, one, device, wiring.family)));
        }
        for one in &wiring.neighbours {
            let index = indices.get(one.space, &one.device)?;
            let place = wiring.name(one.space);
            requests.push((one.space, Request::neighbour(place, index, one.address, one.mac)));
        }
        for one in &wiring.forwarding {
            let index = indices.get(one.space, &one.device)?;
            let place = wiring.name(one.space);
            requests.push((one.space, Request::forwarding(place, index, one.mac, one.remote)));
        }
        for one in &wiring.stations {
            let index = indices.get(one.space, &one.port)?;
            let place = wiring.name(one.space);
            requests.push((one.space, Request::station(place, &one.port, index, one.mac)));
        }
        Ok(requests)
    }
}
