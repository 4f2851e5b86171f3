//! Requests for device pairs across two namespaces.

use super::NetlinkRequest;
use super::request::{CREATE, device, set_up};
use crate::plan::address::MacAddress;
use crate::plan::wiring::DevicePairKind;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoNetkit, InfoVeth, LinkAttribute, LinkInfo, LinkMessage, NetkitMode,
};
use std::os::fd::{AsRawFd, BorrowedFd};

/// End of a pair to create.
pub(crate) struct NewPairEnd<'a> {
    /// Name of the device.
    pub(crate) name: &'a str,
    /// Index in its namespace.
    pub(crate) index: u32,
    /// Link-layer address. `None` for a random one.
    pub(crate) mac: Option<MacAddress>,
}

/// Pair to create: the near end in the socket's own namespace, the far end in another.
pub(crate) struct NewDevicePair<'a> {
    /// Kind of devices.
    pub(crate) kind: DevicePairKind,
    /// End in the socket's namespace. It comes up at once.
    pub(crate) near: NewPairEnd<'a>,
    /// Index of the bridge or VRF that the near end is attached to.
    pub(crate) controller: Option<u32>,
    /// End in the other namespace. It is down until it is set up there.
    pub(crate) far: NewPairEnd<'a>,
    /// Namespace of the far end.
    pub(crate) namespace: BorrowedFd<'a>,
    /// MTU of both ends, bytes.
    pub(crate) mtu: u32,
}

/// Queues of each end in each direction: as many as a pair uses by default. Without an explicit number it would have
/// room for one per core, and the kernel waits for all cores before it removes the others (veth_init_queues).
const QUEUES: u32 = 1;

impl NetlinkRequest {
    /// Creates a pair across two namespaces and attaches its near end, in one message.
    pub(crate) fn create_pair(place: &str, pair: &NewDevicePair<'_>) -> Self {
        let mut far = one_end(&pair.far, pair.mtu);
        far.attributes.push(LinkAttribute::NetNsFd(pair.namespace.as_raw_fd()));
        let mut near = one_end(&pair.near, pair.mtu);
        set_up(&mut near);
        near.attributes.extend(pair.controller.map(LinkAttribute::Controller));
        let (kind, data) = pair_info(pair.kind, far);
        near.attributes
            .push(LinkAttribute::LinkInfo(vec![LinkInfo::Kind(kind), LinkInfo::Data(data)]));
        Self {
            what: format!("create the {} pair {place}:{}", pair.kind.name(), pair.near.name),
            flags: CREATE,
            message: RouteNetlinkMessage::NewLink(near),
        }
    }
}

fn one_end(end: &NewPairEnd<'_>, mtu: u32) -> LinkMessage {
    let mut link = device(end.name, end.index, end.mac, mtu);
    link.attributes.push(LinkAttribute::NumTxQueues(QUEUES));
    link.attributes.push(LinkAttribute::NumRxQueues(QUEUES));
    link
}

/// Returns the netlink attributes of the pair's kind and its far end.
fn pair_info(kind: DevicePairKind, far: LinkMessage) -> (InfoKind, InfoData) {
    match kind {
        DevicePairKind::Veth => (InfoKind::Veth, InfoData::Veth(InfoVeth::Peer(far))),
        DevicePairKind::Netkit => {
            // For switches and containers the pair is like a veth pair: it carries frames, not bare packets.
            let data = vec![InfoNetkit::Mode(NetkitMode::L2), InfoNetkit::Peer(far)];
            (InfoKind::Netkit, InfoData::Netkit(data))
        }
    }
}
