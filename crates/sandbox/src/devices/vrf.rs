//! VRF devices: a separate routing table for the devices that are attached (Documentation/networking/vrf.rst).

use crate::NamespaceChange;
use crate::netlink::{CREATE, DeviceRef, NetlinkRequest, push_link_info, set_link_up};
use netlink_packet_route::link::{InfoData, InfoKind, InfoVrf, LinkAttribute, LinkMessage};

/// VRF device to create.
#[derive(Clone, Copy, Debug)]
pub struct NewVrf<'a> {
    /// Name, and index in its namespace.
    pub device: DeviceRef<'a>,
    /// Number of its routing table.
    pub table: u32,
}

impl NamespaceChange for NewVrf<'_> {
    fn request(&self, place: &str) -> NetlinkRequest {
        let mut link = LinkMessage::default();
        link.header.index = self.device.index;
        link.attributes = vec![LinkAttribute::IfName(self.device.name.to_owned())];
        set_link_up(&mut link);
        push_link_info(&mut link, InfoKind::Vrf, InfoData::Vrf(vec![InfoVrf::TableId(self.table)]));
        NetlinkRequest::new_link(
            format!("create the VRF {place}:{}", self.device.name),
            CREATE,
            link,
        )
    }

    fn command(&self, place: &str) -> String {
        format!("ip -n {place} link add {} up type vrf table {}", self.device.name, self.table)
    }
}
