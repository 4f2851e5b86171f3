//! The devices of a wiring, as requests.

use super::{Builder, Requests};
use crate::netlink::{NewBridge, NewLink, NewPair, PairEnd, Request};
use crate::wiring::{Bridge, Cable, End, Impairment, Link, SpaceId};
use std::os::fd::AsFd;
use tare_network::Error;

impl Builder<'_> {
    /// Bridges and VRFs, then the cables that are plugged into them.
    pub(super) fn controllers_and_cables(&self) -> Result<Requests, Error> {
        let Self { wiring, indices, .. } = self;
        let mut requests = Vec::new();
        for bridge in &wiring.bridges {
            let new = NewBridge {
                name: &bridge.name,
                index: indices.get(bridge.space, &bridge.name)?,
                mac: bridge.mac,
                mtu: bridge.mtu.unwrap_or(wiring.mtu),
            };
            requests.push((bridge.space, Request::bridge(wiring.name(bridge.space), &new)));
        }
        for vrf in &wiring.vrfs {
            let index = indices.get(vrf.space, &vrf.name)?;
            requests.push((vrf.space, Request::vrf(wiring.name(vrf.space), vrf, index)));
        }
        for cable in &wiring.cables {
            requests.push((cable.near.space, self.pair(cable)?));
        }
        Ok(requests)
    }

    fn pair(&self, cable: &Cable) -> Result<Request, Error> {
        let Cable { kind, near, far, .. } = cable;
        let new = NewPair {
            kind: *kind,
            near: self.end(near)?,
            controller: self.controller(near.space, near.controller.as_deref())?,
            far: self.end(far)?,
            namespace: self.spaces[far.space.0].as_fd(),
            mtu: cable.mtu.unwrap_or(self.wiring.mtu),
        };
        Ok(Request::pair(self.wiring.name(near.space), &new))
    }

    fn end<'a>(&self, end: &'a End) -> Result<PairEnd<'a>, Error> {
        let index = self.indices.get(end.space, &end.device)?;
        Ok(PairEnd { name: &end.device, index, mac: end.mac })
    }

    fn controller(&self, space: SpaceId, name: Option<&str>) -> Result<Option<u32>, Error> {
        name.map(|name| self.indices.get(space, name)).transpose()
    }

    /// The far ends of cables, plugged in where they are to be, and up.
    pub(super) fn far_ends(&self) -> Result<Requests, Error> {
        let set_up = |cable: &Cable| {
            let End { space, device, controller, .. } = &cable.far;
            let index = self.indices.get(*space, device)?;
            let controller = self.controller(*space, controller.as_deref())?;
            let place = self.wiring.name(*space);
            Ok((*space, Request::up_in(place, device, index, controller)))
        };
        self.wiring.cables.iter().map(set_up).collect()
    }

    /// What bridges do only once they have their ports.
    pub(super) fn snooping(&self) -> Result<Requests, Error> {
        let snoop = |bridge: &Bridge| {
            let index = self.indices.get(bridge.space, &bridge.name)?;
            let place = self.wiring.name(bridge.space);
            Ok((bridge.space, Request::snoop(place, &bridge.name, index)))
        };
        self.wiring.bridges.iter().map(snoop).collect()
    }

    /// The MTUs of bridges that the kernel has lowered as they got their ports.
    pub(super) fn wide_bridges(&self) -> Result<Requests, Error> {
        let widen = |(bridge, mtu): (&Bridge, u32)| {
            let index = self.indices.get(bridge.space, &bridge.name)?;
            let place = self.wiring.name(bridge.space);
            Ok((bridge.space, Request::mtu(place, &bridge.name, index, mtu)))
        };
        self.wiring.wide_bridges().map(widen).collect()
    }

    /// Links, each made from within its parent's namespace.
    pub(super) fn links(&self) -> Result<Requests, Error> {
        self.wiring.links.iter().map(|link| self.link(link)).collect()
    }

    fn link(&self, link: &Link) -> Result<(SpaceId, Request), Error> {
        let parent = link.kind.parent();
        let elsewhere = link.parent_elsewhere();
        let new = NewLink {
            link,
            index: self.indices.get(link.space, &link.name)?,
            parent: parent.map(|it| self.indices.get(it.space, &it.device)).transpose()?,
            controller: self.controller(link.space, link.controller.as_deref())?,
            namespace: elsewhere.map(|_| self.spaces[link.space.0].as_fd()),
            mtu: link.mtu.unwrap_or(self.wiring.mtu),
        };
        let from = elsewhere.map_or(link.space, |parent| parent.space);
        Ok((from, Request::link(self.wiring.name(link.space), &new)))
    }

    /// A network emulator in front of each device that is worse than it could be.
    pub(super) fn impairments(&self) -> Result<Requests, Error> {
        let Self { wiring, indices, .. } = self;
        let impair = |one: &Impairment| {
            let index = indices.get(one.space, &one.device)?;
            let place = wiring.name(one.space);
            Ok((one.space, Request::emulator(place, &one.device, index, &one.netem)))
        };
        wiring.impairments.iter().map(impair).collect()
    }

    /// A queue in front of each end of every limited cable.
    pub(super) fn queues(&self) -> Result<Requests, Error> {
        let Self { wiring, indices, .. } = self;
        let mut requests = Vec::new();
        for cable in &wiring.cables {
            let Some(bucket) = cable.bucket(wiring) else { continue };
            for end in cable.ends() {
                let index = indices.get(end.space, &end.device)?;
                let place = wiring.name(end.space);
                let request = Request::queue(place, &end.device, index, &bucket);
                requests.push((end.space, request));
            }
        }
        Ok(requests)
    }
}
