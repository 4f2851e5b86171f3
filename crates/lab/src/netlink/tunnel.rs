//! Requests for tunnels, forwarding entries and the network emulator.

use super::NetlinkRequest;
use super::request::CREATE;
use crate::netem::Netem;
use crate::plan::address::MacAddress;
use crate::plan::wiring::{Encapsulation, NeighbourProxy};
use netlink_packet_core::{DefaultNla, NLM_F_APPEND, NLM_F_CREATE};
use netlink_packet_route::link::{
    InfoData, InfoGeneve, InfoGre, InfoIpTunnel, InfoKind, InfoVxlan,
};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourFlags, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use std::net::{IpAddr, Ipv4Addr};

/// TCA_OPTIONS (linux/rtnetlink.h).
const TCA_OPTIONS: u16 = 2;

/// Returns the netlink attributes of a tunnel whose parent has this index.
pub(super) fn tunnel_info(wrap: Encapsulation, parent: Option<u32>) -> (InfoKind, InfoData) {
    match wrap {
        Encapsulation::Vxlan { id, local, port, proxy } => {
            let mut data = vec![
                InfoVxlan::Id(id),
                InfoVxlan::Local(local),
                InfoVxlan::Port(port),
                InfoVxlan::Learning(false),
                InfoVxlan::Proxy(proxy == NeighbourProxy::Answers),
            ];
            data.extend(parent.map(InfoVxlan::Link));
            (InfoKind::Vxlan, InfoData::Vxlan(data))
        }
        Encapsulation::Geneve { id, remote } => {
            let data = vec![InfoGeneve::Id(id), InfoGeneve::Remote(remote)];
            (InfoKind::Geneve, InfoData::Geneve(data))
        }
        Encapsulation::Ipip { local, remote } => {
            let (local, remote) = (IpAddr::V4(local), IpAddr::V4(remote));
            let mut data = vec![
                InfoIpTunnel::Local(local),
                InfoIpTunnel::Remote(remote),
                InfoIpTunnel::PMtuDisc(true),
            ];
            data.extend(parent.map(InfoIpTunnel::Link));
            (InfoKind::IpIp, InfoData::IpTunnel(data))
        }
        Encapsulation::Gre { local, remote } => {
            let mut data = vec![
                InfoGre::Local(local),
                InfoGre::Remote(remote),
                InfoGre::PathMTUDiscovery(true),
            ];
            data.extend(parent.map(InfoGre::Link));
            (InfoKind::GreTun, InfoData::GreTun(data))
        }
        Encapsulation::Wireguard => (InfoKind::Wireguard, InfoData::Other(Vec::new())),
    }
}

impl NetlinkRequest {
    /// Adds a permanent entry to a VXLAN device: the link-layer address is behind the given node.
    pub(crate) fn add_vxlan_fdb_entry(
        place: &str,
        index: u32,
        mac: MacAddress,
        remote: Ipv4Addr,
    ) -> Self {
        let mut message = NeighbourMessage::default();
        message.header.family = AddressFamily::Bridge;
        message.header.ifindex = index;
        message.header.state = NeighbourState::Permanent;
        message.header.flags = NeighbourFlags::Own;
        message.attributes = vec![
            NeighbourAttribute::LinkLayerAddress(mac.bytes().to_vec()),
            NeighbourAttribute::Destination(NeighbourAddress::Inet(remote)),
        ];
        Self {
            what: format!("add the forwarding entry {mac} to {remote} in {place}"),
            flags: NLM_F_CREATE | NLM_F_APPEND,
            message: RouteNetlinkMessage::NewNeighbour(message),
        }
    }

    /// Adds a network emulator to a device.
    pub(crate) fn add_netem(place: &str, name: &str, index: u32, netem: &Netem) -> Self {
        let mut message = TcMessage::default();
        message.header.index = index.cast_signed();
        message.header.parent = TcHandle::ROOT;
        message.attributes = vec![
            TcAttribute::Kind("netem".to_owned()),
            TcAttribute::Other(DefaultNla::new(TCA_OPTIONS, netem.options())),
        ];
        Self {
            what: format!("add the queue netem {netem} to {place}:{name}"),
            flags: CREATE,
            message: RouteNetlinkMessage::NewQueueDiscipline(message),
        }
    }
}
