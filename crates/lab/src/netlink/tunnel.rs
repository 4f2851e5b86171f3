//! What the kernel is told of tunnels, and of what waits in front of a device.

use super::Request;
use super::request::CREATE;
use crate::address::Mac;
use crate::netem::Netem;
use crate::wiring::{Proxy, Wrap};
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

/// A tunnel that hangs on the device with this index.
pub(super) fn described(wrap: Wrap, parent: Option<u32>) -> (InfoKind, InfoData) {
    match wrap {
        Wrap::Vxlan { id, local, port, proxy } => {
            let mut data = vec![
                InfoVxlan::Id(id),
                InfoVxlan::Local(local),
                InfoVxlan::Port(port),
                InfoVxlan::Learning(false),
                InfoVxlan::Proxy(proxy == Proxy::Answers),
            ];
            data.extend(parent.map(InfoVxlan::Link));
            (InfoKind::Vxlan, InfoData::Vxlan(data))
        }
        Wrap::Geneve { id, remote } => {
            let data = vec![InfoGeneve::Id(id), InfoGeneve::Remote(remote)];
            (InfoKind::Geneve, InfoData::Geneve(data))
        }
        Wrap::Ipip { local, remote } => {
            let (local, remote) = (IpAddr::V4(local), IpAddr::V4(remote));
            let mut data = vec![
                InfoIpTunnel::Local(local),
                InfoIpTunnel::Remote(remote),
                InfoIpTunnel::PMtuDisc(true),
            ];
            data.extend(parent.map(InfoIpTunnel::Link));
            (InfoKind::IpIp, InfoData::IpTunnel(data))
        }
        Wrap::Gre { local, remote } => {
            let mut data = vec![
                InfoGre::Local(local),
                InfoGre::Remote(remote),
                InfoGre::PathMTUDiscovery(true),
            ];
            data.extend(parent.map(InfoGre::Link));
            (InfoKind::GreTun, InfoData::GreTun(data))
        }
        Wrap::Wireguard => (InfoKind::Wireguard, InfoData::Other(Vec::new())),
    }
}

impl Request {
    /// Tells a VXLAN device for good behind which node a link-layer address is.
    pub(crate) fn forwarding(place: &str, index: u32, mac: Mac, remote: Ipv4Addr) -> Self {
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
            what: format!("send {mac} from {place} to {remote}"),
            flags: NLM_F_CREATE | NLM_F_APPEND,
            message: RouteNetlinkMessage::NewNeighbour(message),
        }
    }

    /// Puts a network emulator in front of a device.
    pub(crate) fn emulator(place: &str, name: &str, index: u32, netem: &Netem) -> Self {
        let mut message = TcMessage::default();
        message.header.index = index.cast_signed();
        message.header.parent = TcHandle::ROOT;
        message.attributes = vec![
            TcAttribute::Kind("netem".to_owned()),
            TcAttribute::Other(DefaultNla::new(TCA_OPTIONS, netem.options())),
        ];
        Self {
            what: format!("impair {place}:{name} by netem {netem}"),
            flags: CREATE,
            message: RouteNetlinkMessage::NewQueueDiscipline(message),
        }
    }
}
