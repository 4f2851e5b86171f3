//! Requests for the objects of a wiring.

use super::{Requests, WiringBuilder};
use crate::plan::wiring::{NamespaceId, Objects};
use std::os::fd::AsFd;
use tare_network::Error;
use tare_sandbox::NamespaceChange;

impl WiringBuilder<'_> {
    /// Returns the requests for bridges and VRFs, then for the device pairs that are attached to them.
    pub(super) fn controllers_and_pairs(&self) -> Result<Requests, Error> {
        let mut requests = self.requests(self.objects.bridges())?;
        requests.extend(self.requests(self.objects.vrfs())?);
        for one in self.objects.device_pairs()? {
            let far = self.spaces[one.far.0].as_fd();
            requests.push((one.near, one.pair.request(self.wiring.name(one.near), far)));
        }
        Ok(requests)
    }

    /// Returns the requests that attach the far ends of device pairs to their controllers and set them up.
    pub(super) fn far_ends(&self) -> Result<Requests, Error> {
        let pairs = self.objects.device_pairs()?.into_iter();
        self.requests(Ok(pairs.map(|one| (one.far, one.pair.far.attachment())).collect()))
    }

    /// Returns the requests that restore the MTUs of bridges, which the kernel lowered when their ports were added.
    pub(super) fn bridge_mtus(&self) -> Result<Requests, Error> {
        self.requests(self.objects.bridge_mtus())
    }

    /// Returns the requests that enable multicast snooping on bridges, which is done only once they have their ports.
    pub(super) fn snooping(&self) -> Result<Requests, Error> {
        let bridges = self.objects.bridges()?.into_iter();
        let place = |space| self.wiring.name(space);
        Ok(bridges.map(|(space, one)| (space, one.snooping_request(place(space)))).collect())
    }

    /// Returns the requests for child devices, each made from within its parent's namespace.
    pub(super) fn child_devices(&self) -> Result<Requests, Error> {
        let devices = self.objects.child_devices()?.into_iter().map(|one| {
            let elsewhere = (one.from != one.space).then(|| self.spaces[one.space.0].as_fd());
            (one.from, one.device.request(self.wiring.name(one.space), elsewhere))
        });
        Ok(devices.collect())
    }

    /// Returns the requests for token buckets, network emulators and redirections.
    pub(super) fn queues(&self) -> Result<Requests, Error> {
        let objects = &self.objects;
        let mut requests = self.requests(objects.token_buckets())?;
        requests.extend(self.requests(objects.impairments())?);
        requests.extend(self.requests(objects.ingress_hooks())?);
        requests.extend(self.requests(objects.redirections())?);
        Ok(requests)
    }

    /// Returns the requests for addresses, routes, neighbours and forwarding entries.
    pub(super) fn addresses(&self) -> Result<Requests, Error> {
        let objects = &self.objects;
        let mut requests = self.requests(objects.addresses())?;
        requests.extend(self.requests(objects.routes())?);
        requests.extend(self.requests(objects.neighbours())?);
        requests.extend(self.requests(objects.vxlan_fdb_entries())?);
        requests.extend(self.requests(objects.fdb_entries())?);
        Ok(requests)
    }

    fn requests<T: NamespaceChange>(&self, objects: Objects<T>) -> Result<Requests, Error> {
        let request = |(space, one): (NamespaceId, T)| {
            let request = one.request(self.wiring.name(space));
            (space, request)
        };
        Ok(objects?.into_iter().map(request).collect())
    }
}
