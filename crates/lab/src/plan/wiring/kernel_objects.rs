//! Objects of a wiring as the kernel and ip(8) take them: with the name and the index of every device.

use super::device_indices::DeviceIndices;
use super::{DevicePair, DevicePairEnd, LinuxBridge, NamespaceId, Wiring};
use tare_network::Error;
use tare_sandbox::addressing::{NewAddress, NewFdbEntry, NewNeighbour, NewRoute, NewVxlanFdbEntry};
use tare_sandbox::devices::{
    BridgeMtu, NewBridge, NewChildDevice, NewDevicePair, NewIngressHook, NewNetem, NewPairEnd,
    NewRedirection, NewTokenBucket, NewVrf,
};
use tare_sandbox::ebpf::{NewEbpfRedirect, NewXdpReceiver, RedirectTarget};
use tare_sandbox::netlink::DeviceRef;

/// Objects to create, each with its namespace, in the order of their creation.
pub(crate) type Objects<T> = Result<Vec<(NamespaceId, T)>, Error>;

/// Device pair to create, and the namespaces of its ends.
pub(crate) struct PlacedPair<'a> {
    /// Namespace of the near end, in which the pair is made.
    pub(crate) near: NamespaceId,
    /// Namespace of the far end.
    pub(crate) far: NamespaceId,
    /// Device pair.
    pub(crate) pair: NewDevicePair<'a>,
}

/// Child device to create, and its namespaces.
pub(crate) struct PlacedChildDevice<'a> {
    /// Namespace of the parent, from which the device is made.
    pub(crate) from: NamespaceId,
    /// Namespace of the device.
    pub(crate) space: NamespaceId,
    /// Child device.
    pub(crate) device: NewChildDevice<'a>,
}

/// Objects of a wiring. Each list fails if it refers to a device that the wiring does not have.
pub(crate) struct KernelObjects<'a> {
    wiring: &'a Wiring,
    indices: DeviceIndices,
}

impl<'a> KernelObjects<'a> {
    /// Numbers the devices of a wiring.
    pub(crate) fn new(wiring: &'a Wiring) -> Self {
        Self { wiring, indices: DeviceIndices::from_wiring(wiring) }
    }

    /// Returns the bridges.
    pub(crate) fn bridges(&self) -> Objects<NewBridge<'a>> {
        let bridges = self.wiring.bridges.iter();
        bridges.map(|one| Ok((one.space, self.bridge(one)?))).collect()
    }

    /// Returns the MTUs of bridges that the kernel lowers when their ports are added.
    pub(crate) fn bridge_mtus(&self) -> Objects<BridgeMtu<'a>> {
        let bridges = self.wiring.wide_bridges().map(|(one, mtu)| {
            Ok((one.space, BridgeMtu { device: self.device(one.space, &one.name)?, mtu }))
        });
        bridges.collect()
    }

    /// Returns the VRF devices.
    pub(crate) fn vrfs(&self) -> Objects<NewVrf<'a>> {
        let vrfs = self.wiring.vrfs.iter().map(|one| {
            let device = self.device(one.space, &one.name)?;
            Ok((one.space, NewVrf { device, table: one.table }))
        });
        vrfs.collect()
    }

    /// Returns the device pairs.
    pub(crate) fn device_pairs(&self) -> Result<Vec<PlacedPair<'a>>, Error> {
        let pairs = self.wiring.device_pairs.iter().map(|one| {
            let (near, far) = (self.pair_end(&one.near)?, self.pair_end(&one.far)?);
            let mtu = one.mtu.unwrap_or(self.wiring.mtu);
            let pair = NewDevicePair { kind: one.kind, near, far, mtu };
            Ok(PlacedPair { near: one.near.space, far: one.far.space, pair })
        });
        pairs.collect()
    }

    /// Returns the child devices, each after its parent.
    pub(crate) fn child_devices(&self) -> Result<Vec<PlacedChildDevice<'a>>, Error> {
        let devices = self.wiring.child_devices.iter().map(|one| {
            let device = NewChildDevice {
                kind: one.kind.as_ref(),
                device: self.device(one.space, &one.name)?,
                parent: self.device(one.parent.space, &one.parent.device)?,
                mac: one.mac,
                mtu: one.mtu.unwrap_or(self.wiring.mtu),
                controller: self.optional_device(one.space, one.controller.as_deref())?,
            };
            Ok(PlacedChildDevice { from: one.parent.space, space: one.space, device })
        });
        devices.collect()
    }

    /// Returns the token buckets: one at each end of every rate-limited device pair, then those of single devices.
    pub(crate) fn token_buckets(&self) -> Objects<NewTokenBucket<'a>> {
        let limited = |one: &'a DevicePair| Some((one, one.bucket(self.wiring)?));
        let pairs = self.wiring.device_pairs.iter().filter_map(limited);
        let ends = pairs.flat_map(|(one, bucket)| {
            one.ends().map(|end| (end.space, end.device.as_str(), bucket))
        });
        let limits = self.wiring.rate_limits.iter();
        ends.chain(limits.map(|one| (one.space, one.device, one.bucket)))
            .map(|(space, name, bucket)| {
                Ok((space, NewTokenBucket { device: self.device(space, name)?, bucket }))
            })
            .collect()
    }

    /// Returns the hooks of the devices whose packets are redirected.
    pub(crate) fn ingress_hooks(&self) -> Objects<NewIngressHook<'a>> {
        let hooks = self.wiring.redirections.iter().map(|one| {
            Ok((one.space, NewIngressHook { device: self.device(one.space, one.from)? }))
        });
        hooks.collect()
    }

    /// Returns the redirections.
    pub(crate) fn redirections(&self) -> Objects<NewRedirection<'a>> {
        let redirections = self.wiring.redirections.iter().map(|one| {
            let [from, to] = [self.device(one.space, one.from)?, self.device(one.space, one.to)?];
            Ok((one.space, NewRedirection { from, to }))
        });
        redirections.collect()
    }

    /// Returns the redirections among the veth pairs of nodes.
    pub(crate) fn redirects(&self) -> Objects<NewEbpfRedirect<'a>> {
        let redirects = self.wiring.redirects.iter().map(|one| {
            let targets = one.targets.iter().map(|(name, mac)| {
                Ok(RedirectTarget { device: self.device(one.space, name)?, mac: *mac })
            });
            let (program, targets) = (one.program, targets.collect::<Result<_, Error>>()?);
            Ok((one.space, NewEbpfRedirect { program, targets }))
        });
        redirects.collect()
    }

    /// Returns the devices that receive packets from XDP programs.
    pub(crate) fn xdp_receivers(&self) -> Objects<NewXdpReceiver<'a>> {
        let receivers = self.wiring.xdp_receivers.iter().map(|one| {
            Ok((one.space, NewXdpReceiver { device: self.device(one.space, &one.device)? }))
        });
        receivers.collect()
    }

    /// Returns the network emulators, one for each impaired device.
    pub(crate) fn impairments(&self) -> Objects<NewNetem<'a>> {
        let impaired = self.wiring.impairments.iter().map(|one| {
            let device = self.device(one.space, &one.device)?;
            Ok((one.space, NewNetem { device, netem: one.netem }))
        });
        impaired.collect()
    }

    /// Returns the addresses of devices.
    pub(crate) fn addresses(&self) -> Objects<NewAddress<'a>> {
        let addresses = self.wiring.addresses.iter().map(|one| {
            let device = self.device(one.space, &one.device)?;
            Ok((one.space, NewAddress { device, address: one.address, prefix: one.prefix }))
        });
        addresses.collect()
    }

    /// Returns the routes, each after those by which its gateway is reached.
    pub(crate) fn routes(&self) -> Objects<NewRoute<'a>> {
        let routes = self.wiring.routes.iter().map(|one| {
            let route = NewRoute {
                to: one.to,
                via: one.via,
                device: self.optional_device(one.space, one.device.as_deref())?,
                onlink: one.onlink,
                table: one.table,
                kind: one.kind,
                family: self.wiring.family,
            };
            Ok((one.space, route))
        });
        routes.collect()
    }

    /// Returns the permanent neighbour entries.
    pub(crate) fn neighbours(&self) -> Objects<NewNeighbour<'a>> {
        let neighbours = self.wiring.neighbours.iter().map(|one| {
            let device = self.device(one.space, &one.device)?;
            Ok((one.space, NewNeighbour { device, address: one.address, mac: one.mac }))
        });
        neighbours.collect()
    }

    /// Returns the forwarding entries of VXLAN devices.
    pub(crate) fn vxlan_fdb_entries(&self) -> Objects<NewVxlanFdbEntry<'a>> {
        let entries = self.wiring.vxlan_fdb_entries.iter().map(|one| {
            let device = self.device(one.space, &one.device)?;
            Ok((one.space, NewVxlanFdbEntry { device, mac: one.mac, remote: one.remote }))
        });
        entries.collect()
    }

    /// Returns the static entries in the forwarding databases of bridges.
    pub(crate) fn fdb_entries(&self) -> Objects<NewFdbEntry<'a>> {
        let entries = self.wiring.fdb_entries.iter().map(|one| {
            Ok((one.space, NewFdbEntry { port: self.device(one.space, &one.port)?, mac: one.mac }))
        });
        entries.collect()
    }

    fn bridge(&self, one: &'a LinuxBridge) -> Result<NewBridge<'a>, Error> {
        let device = self.device(one.space, &one.name)?;
        Ok(NewBridge { device, mac: one.mac, mtu: one.mtu.unwrap_or(self.wiring.mtu) })
    }

    fn pair_end(&self, end: &'a DevicePairEnd) -> Result<NewPairEnd<'a>, Error> {
        Ok(NewPairEnd {
            device: self.device(end.space, &end.device)?,
            mac: end.mac,
            controller: self.optional_device(end.space, end.controller.as_deref())?,
        })
    }

    fn optional_device(
        &self,
        space: NamespaceId,
        name: Option<&'a str>,
    ) -> Result<Option<DeviceRef<'a>>, Error> {
        name.map(|name| self.device(space, name)).transpose()
    }

    fn device(&self, space: NamespaceId, name: &'a str) -> Result<DeviceRef<'a>, Error> {
        Ok(DeviceRef { name, index: self.indices.get(space, name)? })
    }
}
