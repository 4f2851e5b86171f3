//! Devices and their queues, each kind in one file that holds both back ends: the request to the kernel (rtnetlink(7))
//! and the command that does the same (ip-link(8), tc(8)).
//!
//! A `place` is the name of the network namespace in which a request is carried out or a command is run.

mod bridge;
mod child_device;
mod device_pair;
mod geneve;
mod gre;
mod ipip;
mod ipvlan;
mod macvlan;
mod netem;
mod netkit;
mod redirect;
mod tbf;
mod veth;
mod vlan;
mod vrf;
mod vxlan;
mod wireguard;

pub use bridge::{BridgeMtu, NewBridge};
pub use child_device::{ChildDeviceKind, NewChildDevice, ParentRole};
pub use device_pair::{DeviceAttachment, DevicePairKind, NewDevicePair, NewPairEnd};
pub use geneve::Geneve;
pub use gre::Gre;
pub use ipip::Ipip;
pub use ipvlan::{Ipvlan, IpvlanMode};
pub use macvlan::Macvlan;
pub use netem::{Netem, NewNetem};
pub use netkit::Netkit;
pub use redirect::{NewIngressHook, NewRedirection};
pub use tbf::{NewTokenBucket, TokenBucket};
pub use veth::Veth;
pub use vlan::Vlan;
pub use vrf::NewVrf;
pub use vxlan::{NeighbourProxy, Vxlan};
pub use wireguard::Wireguard;

/// Returns the words of ip-link(8) that attach a device to a bridge or VRF, after a space.
fn controller_words(controller: Option<&crate::netlink::DeviceRef<'_>>) -> String {
    controller.map(|one| format!(" master {}", one.name)).unwrap_or_default()
}
