//! Netlink requests for the devices of a wiring.

use super::{Requests, WiringBuilder};
use crate::netlink::{NetlinkRequest, NewBridge, NewChildDevice, NewDevicePair, NewPairEnd};
use crate::plan::wiring::{
    ChildDevice, DevicePair, DevicePairEnd, Impairment, LinuxBridge, NamespaceId,
};
use std::os::fd::AsFd;
use tare_network::Error;

impl WiringBuilder<'_> {
    /// Returns the requests for bridges and VRFs, then for the device pairs that are attached to them.
    pub(super) fn controllers_and_pairs(&self) -> Result<Requests, Error> {
        let Self { wiring, indices, .. } = self;
        let mut requests = Vec::new();
        for bridge in &wiring.bridges {
            let new = NewBridge {
                name: &bridge.name,
                index: indices.get(bridge.space, &bridge.name)?,
                mac: bridge.mac,
                mtu: bridge.mtu.unwrap_or(wiring.mtu),
            };
            requests.push((
                bridge.space,
                NetlinkRequest::create_bridge(wiring.name(bridge.space), &new),
            ));
        }
        for vrf in &wiring.vrfs {
            let index = indices.get(vrf.space, &vrf.name)?;
            requests
                .push((vrf.space, NetlinkRequest::create_vrf(wiring.name(vrf.space), vrf, index)));
        }
        for cable in &wiring.device_pairs {
            requests.push((cable.near.space, self.pair(cable)?));
        }
        Ok(requests)
    }

    fn pair(&self, cable: &DevicePair) -> Result<NetlinkRequest, Error> {
        let DevicePair { kind, near, far, .. } = cable;
        let new = NewDevicePair {
            kind: *kind,
            near: self.end(near)?,
            controller: self.controller(near.space, near.controller.as_deref())?,
            far: self.end(far)?,
            namespace: self.spaces[far.space.0].as_fd(),
            mtu: cable.mtu.unwrap_or(self.wiring.mtu),
        };
        Ok(NetlinkRequest::create_pair(self.wiring.name(near.space), &new))
    }

    fn end<'a>(&self, end: &'a DevicePairEnd) -> Result<NewPairEnd<'a>, Error> {
        let index = self.indices.get(end.space, &end.device)?;
        Ok(NewPairEnd { name: &end.device, index, mac: end.mac })
    }

    fn controller(&self, space: NamespaceId, name: Option<&str>) -> Result<Option<u32>, Error> {
        name.map(|name| self.indices.get(space, name)).transpose()
    }

    /// Returns the requests that attach the far ends of device pairs to their controllers and set them up.
    pub(super) fn far_ends(&self) -> Result<Requests, Error> {
        let set_up = |cable: &DevicePair| {
            let DevicePairEnd { space, device, controller, .. } = &cable.far;
            let index = self.indices.get(*space, device)?;
            let controller = self.controller(*space, controller.as_deref())?;
            let place = self.wiring.name(*space);
            Ok((*space, NetlinkRequest::attach_and_bring_up(place, device, index, controller)))
        };
        self.wiring.device_pairs.iter().map(set_up).collect()
    }

    /// Returns the requests that enable multicast snooping on bridges, which is done only once they have their ports.
    pub(super) fn enable_snooping(&self) -> Result<Requests, Error> {
        let snoop = |bridge: &LinuxBridge| {
            let index = self.indices.get(bridge.space, &bridge.name)?;
            let place = self.wiring.name(bridge.space);
            Ok((bridge.space, NetlinkRequest::enable_snooping(place, &bridge.name, index)))
        };
        self.wiring.bridges.iter().map(snoop).collect()
    }

    /// Returns the requests that restore the MTUs of bridges, which the kernel lowered when their ports were added.
    pub(super) fn restore_bridge_mtus(&self) -> Result<Requests, Error> {
        let widen = |(bridge, mtu): (&LinuxBridge, u32)| {
            let index = self.indices.get(bridge.space, &bridge.name)?;
            let place = self.wiring.name(bridge.space);
            Ok((bridge.space, NetlinkRequest::set_mtu(place, &bridge.name, index, mtu)))
        };
        self.wiring.wide_bridges().map(widen).collect()
    }

    /// Returns the requests for child devices, each made from within its parent's namespace.
    pub(super) fn links(&self) -> Result<Requests, Error> {
        self.wiring.child_devices.iter().map(|link| self.link(link)).collect()
    }

    fn link(&self, link: &ChildDevice) -> Result<(NamespaceId, NetlinkRequest), Error> {
        let parent = link.kind.parent();
        let elsewhere = link.foreign_parent();
        let new = NewChildDevice {
            link,
            index: self.indices.get(link.space, &link.name)?,
            parent: parent.map(|it| self.indices.get(it.space, &it.device)).transpose()?,
            controller: self.controller(link.space, link.controller.as_deref())?,
            namespace: elsewhere.map(|_| self.spaces[link.space.0].as_fd()),
            mtu: link.mtu.unwrap_or(self.wiring.mtu),
        };
        let from = elsewhere.map_or(link.space, |parent| parent.space);
        Ok((from, NetlinkRequest::create_child_device(self.wiring.name(link.space), &new)))
    }

    /// Returns the requests for a network emulator on each impaired device.
    pub(super) fn impairments(&self) -> Result<Requests, Error> {
        let Self { wiring, indices, .. } = self;
        let impair = |one: &Impairment| {
            let index = indices.get(one.space, &one.device)?;
            let place = wiring.name(one.space);
            Ok((one.space, NetlinkRequest::add_netem(place, &one.device, index, &one.netem)))
        };
        wiring.impairments.iter().map(impair).collect()
    }

    /// Returns the requests for a queue at each end of every rate-limited device pair.
    pub(super) fn queues(&self) -> Result<Requests, Error> {
        let Self { wiring, indices, .. } = self;
        let mut requests = Vec::new();
        for cable in &wiring.device_pairs {
            let Some(bucket) = cable.bucket(wiring) else { continue };
            for end in cable.ends() {
                let index = indices.get(end.space, &end.device)?;
                let place = wiring.name(end.space);
                let request = NetlinkRequest::add_tbf(place, &end.device, index, &bucket);
                requests.push((end.space, request));
            }
        }
        Ok(requests)
    }
}
