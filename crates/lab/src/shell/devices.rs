//! Commands for the devices of a wiring, by ip(8) and tc(8).

use super::tunnels;
use crate::plan::wiring::{
    ChildDevice, ChildDeviceKind, DeviceIndices, DevicePair, DevicePairEnd, IpvlanMode,
    LinuxBridge, MacvlanMode, ParentDevice, VrfDevice, Wiring,
};
use crate::tbf::TokenBucket;

/// A wiring, and the indices of its devices.
pub(super) struct DeviceCommands<'a> {
    wiring: &'a Wiring,
    indices: DeviceIndices,
}

impl<'a> DeviceCommands<'a> {
    pub(super) fn new(wiring: &'a Wiring) -> Self {
        Self { wiring, indices: DeviceIndices::from_wiring(wiring) }
    }

    /// Returns the commands that make all devices.
    pub(super) fn lines(&self) -> Vec<String> {
        let wiring = self.wiring;
        let mut lines = Vec::new();
        lines.extend(wiring.bridges.iter().map(|one| self.bridge(one)));
        lines.extend(wiring.vrfs.iter().map(|one| self.vrf(one)));
        lines.extend(wiring.device_pairs.iter().map(|one| self.cable(one)));
        lines.extend(wiring.device_pairs.iter().map(|one| self.far_end(&one.far)));
        lines.extend(wiring.wide_bridges().map(|(bridge, mtu)| {
            let place = wiring.name(bridge.space);
            format!("ip -n {place} link set {} mtu {mtu}", bridge.name)
        }));
        lines.extend(wiring.child_devices.iter().flat_map(|one| self.link(one)));
        lines.extend(wiring.device_pairs.iter().flat_map(|one| self.queues(one)));
        lines.extend(wiring.impairments.iter().map(|one| tunnels::impairment(wiring, one)));
        lines
    }

    fn bridge(&self, bridge: &LinuxBridge) -> String {
        let mac = bridge.mac.map(|mac| format!(" address {mac}")).unwrap_or_default();
        let mtu = bridge.mtu.unwrap_or(self.wiring.mtu);
        let place = self.wiring.name(bridge.space);
        format!("ip -n {place} link add {}{mac} mtu {mtu} up type bridge", bridge.name)
    }

    fn vrf(&self, vrf: &VrfDevice) -> String {
        let VrfDevice { space, name, table } = vrf;
        format!("ip -n {} link add {name} up type vrf table {table}", self.wiring.name(*space))
    }

    fn cable(&self, cable: &DevicePair) -> String {
        let mtu = cable.mtu.unwrap_or(self.wiring.mtu);
        let end = |end: &DevicePairEnd| {
            let mac = end.mac.map(|mac| format!(" address {mac}")).unwrap_or_default();
            format!("{}{mac} mtu {mtu}", end.device)
        };
        format!(
            "ip -n {} link add {}{} up type {} peer name {} netns {}",
            self.wiring.name(cable.near.space),
            end(&cable.near),
            controller(cable.near.controller.as_deref()),
            cable.kind.name(),
            end(&cable.far),
            self.wiring.name(cable.far.space),
        )
    }

    fn far_end(&self, far: &DevicePairEnd) -> String {
        let controller = controller(far.controller.as_deref());
        format!("ip -n {} link set {}{controller} up", self.wiring.name(far.space), far.device)
    }

    /// Returns the commands for a child device. A device in another namespace than its parent's gets an explicit index:
    /// a kernel before 6.15 mistakes the device of that name in the parent's namespace for the new one. A bridge or VRF
    /// is looked up in the namespace in which the command runs, so a device made from elsewhere is attached afterwards.
    fn link(&self, link: &ChildDevice) -> Vec<String> {
        let from = link.kind.parent().map_or(link.space, |parent| parent.space);
        let mut words = vec![format!("ip -n {} link add", self.wiring.name(from))];
        let is_tunnel = matches!(link.kind, ChildDeviceKind::Tunnel { .. });
        let parent = link.kind.parent().filter(|_| !is_tunnel);
        words.extend(parent.map(|ParentDevice { device, .. }| format!("link {device}")));
        words.push(format!("name {}", link.name));
        words.extend(link.mac.map(|mac| format!("address {mac}")));
        words.push(format!("mtu {}", link.mtu.unwrap_or(self.wiring.mtu)));
        if link.foreign_parent().is_some() {
            let index = self.indices.get(link.space, &link.name);
            words.extend(index.ok().map(|index| format!("index {index}")));
            words.push(format!("netns {}", self.wiring.name(link.space)));
        }
        let elsewhere = link.foreign_parent().is_some();
        let here = link.controller.as_ref().filter(|_| !elsewhere);
        words.extend(here.map(|name| format!("master {name}")));
        words.push(format!("up type {}", kind(&link.kind)));
        let plug = |name: &String| {
            format!("ip -n {} link set {} master {name}", self.wiring.name(link.space), link.name)
        };
        let later = link.controller.as_ref().filter(|_| elsewhere).map(plug);
        std::iter::once(words.join(" ")).chain(later).collect()
    }

    /// Returns the commands for the queues of a rate-limited pair, one at each end.
    fn queues(&self, cable: &DevicePair) -> Vec<String> {
        let queue = |bucket: TokenBucket| {
            cable.ends().map(|end| {
                let place = self.wiring.name(end.space);
                format!("tc -n {place} qdisc add dev {} root tbf {bucket}", end.device)
            })
        };
        cable.bucket(self.wiring).into_iter().flat_map(queue).collect()
    }
}

fn controller(name: Option<&str>) -> String {
    name.map(|name| format!(" master {name}")).unwrap_or_default()
}

/// Returns the kind of a child device, as `ip link add … type` takes it.
fn kind(kind: &ChildDeviceKind) -> String {
    match kind {
        ChildDeviceKind::Macvlan { mode: MacvlanMode::Bridge, .. } => {
            "macvlan mode bridge".to_owned()
        }
        ChildDeviceKind::Ipvlan { mode: IpvlanMode::L2, .. } => "ipvlan mode l2".to_owned(),
        ChildDeviceKind::Ipvlan { mode: IpvlanMode::L3, .. } => "ipvlan mode l3".to_owned(),
        ChildDeviceKind::Vlan { id, .. } => format!("vlan id {id}"),
        ChildDeviceKind::Tunnel { parent, wrap } => tunnels::kind(wrap, &parent.device),
    }
}
