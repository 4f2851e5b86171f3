//! Construction of a wiring: namespaces by threads, devices by netlink, settings by files, rules by nft.

pub(crate) mod adoption;
mod requests;

use crate::offload;
use crate::plan::wiring::{DevicePairEnd, DeviceSysctl, KernelObjects, NamespaceId, Wiring};
use std::collections::BTreeMap;
use std::sync::Arc;
use tare_network::Error;
use tare_sandbox::ebpf::{EbpfRedirect, NewSocketRedirect};
use tare_sandbox::netlink::NetlinkRequest;
use tare_sandbox::{Namespace, Sandbox, Sysctl, nft, parallel};

/// Wiring under construction, which every step reads.
struct WiringBuilder<'a> {
    wiring: &'a Wiring,
    spaces: &'a [Arc<Namespace>],
    objects: KernelObjects<'a>,
}

/// Built wiring.
pub(crate) struct BuiltWiring {
    /// Namespaces, in the wiring's order. Everything that was built is removed with the last of them.
    pub(crate) spaces: Vec<Arc<Namespace>>,
    /// Redirections by eBPF programs.
    pub(crate) redirects: Redirects,
}

/// Redirections by eBPF programs, by namespace: of a node's packets, or of its own sockets' data.
pub(crate) type Redirects = BTreeMap<NamespaceId, Arc<EbpfRedirect>>;

/// Builds a wiring.
pub(crate) fn build(sandbox: &Sandbox, wiring: &Wiring) -> Result<BuiltWiring, Error> {
    let plans: Vec<(&str, &[Sysctl])> =
        wiring.spaces.iter().map(|space| (space.name.as_str(), space.sysctls.as_slice())).collect();
    let spaces: Vec<Arc<Namespace>> =
        Namespace::make_all(&plans)?.into_iter().map(Arc::new).collect();
    let builder = WiringBuilder { wiring, spaces: &spaces, objects: KernelObjects::new(wiring) };
    builder.carry_out(builder.controllers_and_pairs()?)?;
    builder.carry_out(builder.far_ends()?)?;
    builder.carry_out(builder.bridge_mtus()?)?;
    builder.refresh_links()?;
    builder.carry_out(builder.snooping()?)?;
    // A child device depends on a device made before it, possibly in another namespace.
    builder.carry_out_in_order(builder.child_devices()?)?;
    builder.carry_out(builder.queues()?)?;
    let redirects = builder.attach_programs()?;
    builder.write_settings(&wiring.settings)?;
    builder.carry_out(builder.addresses()?)?;
    let rules: Vec<_> = wiring
        .rules
        .iter()
        .map(|rules| (Arc::clone(&spaces[rules.space.0]), rules.text.as_str()))
        .collect();
    nft::load(sandbox, &rules)?;
    offload::disable_tx_offload(wiring, &spaces)?;
    Ok(BuiltWiring { spaces, redirects })
}

/// Requests, each with the namespace in which to carry it out.
type Requests = Vec<(NamespaceId, NetlinkRequest)>;

impl WiringBuilder<'_> {
    /// Carries out requests, one batch for each namespace. The order of the namespaces is not defined.
    fn carry_out(&self, requests: Requests) -> Result<(), Error> {
        let mut batches: Vec<Vec<NetlinkRequest>> =
            self.spaces.iter().map(|_| Vec::new()).collect();
        for (NamespaceId(space), request) in requests {
            batches[space].push(request);
        }
        let batches: Vec<_> =
            self.spaces.iter().zip(&batches).filter(|(_, batch)| !batch.is_empty()).collect();
        parallel::try_map(&batches, |(space, batch)| space.execute(batch)).map(drop)
    }

    /// Updates the link state of the near ends of device pairs: they came up before their far ends existed, and their
    /// links are up by now.
    fn refresh_links(&self) -> Result<(), Error> {
        let mut devices: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
        for DevicePairEnd { space, device, .. } in
            self.wiring.device_pairs.iter().map(|cable| &cable.near)
        {
            devices.entry(space.0).or_default().push(device);
        }
        let devices: Vec<_> = devices.into_iter().collect();
        parallel::try_map(&devices, |(space, devices)| self.spaces[*space].refresh_links(devices))
            .map(drop)
    }

    /// Carries out requests in their order, one batch for each run of requests in one namespace.
    fn carry_out_in_order(&self, requests: Requests) -> Result<(), Error> {
        requests.chunk_by(|(one, _), (next, _)| one == next).try_for_each(|stretch| {
            let batch: Vec<NetlinkRequest> =
                stretch.iter().map(|(_, request)| request.clone()).collect();
            self.spaces[stretch[0].0.0].execute(&batch)
        })
    }

    /// Attaches the eBPF programs of nodes and containers.
    fn attach_programs(&self) -> Result<Redirects, Error> {
        let receivers = self.objects.xdp_receivers()?;
        parallel::try_map(&receivers, |(space, one)| one.attach(&self.spaces[space.0]))?;
        let packets = self.objects.redirects()?.into_iter();
        let packets = packets.map(|(space, one)| Ok((space, one.attach(&self.spaces[space.0])?)));
        let sockets = self.wiring.socket_redirects.iter();
        let sockets =
            sockets.map(|&space| Ok((space, NewSocketRedirect.attach(&self.spaces[space.0])?)));
        packets.chain(sockets).map(|one| one.map(|(space, one)| (space, Arc::new(one)))).collect()
    }

    /// Writes settings in their order.
    fn write_settings(&self, settings: &[DeviceSysctl]) -> Result<(), Error> {
        settings.chunk_by(|one, next| one.space == next.space).try_for_each(|stretch| {
            let sysctls: Vec<&Sysctl> = stretch.iter().map(|one| &one.sysctl).collect();
            self.spaces[stretch[0].space.0].write_settings(&sysctls)
        })
    }
}
