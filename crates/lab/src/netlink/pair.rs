//! Pairs of devices across two namespaces.

use super::Request;
use super::request::{CREATE, device, set_up};
use crate::address::Mac;
use crate::wiring::CableKind;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoNetkit, InfoVeth, LinkAttribute, LinkInfo, LinkMessage, NetkitMode,
};
use std::os::fd::{AsRawFd, BorrowedFd};

/// One end of a pair to create.
pub(crate) struct PairEnd<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// Its index in its namespace.
    pub(crate) index: u32,
    /// Its link-layer address; a random one otherwise.
    pub(crate) mac: Option<Mac>,
}

/// A pair to create: its near end in the socket's own namespace, its far end in another.
pub(crate) struct NewPair<'a> {
    /// What it is made of.
    pub(crate) kind: CableKind,
    /// The end in the socket's namespace; it comes up at once.
    pub(crate) near: PairEnd<'a>,
    /// The index of the bridge or VRF that the near end is plugged into.
    pub(crate) controller: Option<u32>,
    /// The end in the other namespace; it is down until it is set up there.
    pub(crate) far: PairEnd<'a>,
    /// The other namespace.
    pub(crate) namespace: BorrowedFd<'a>,
    /// Of both ends, bytes.
    pub(crate) mtu: u32,
}

/// The queues of each end in each direction: as many as a pair uses that is made without a word about them. It would have
/// room for one a core, and the kernel waits for all cores before it does without them (veth_init_queues).
const QUEUES: u32 = 1;

impl Request {
    /// Creates a pair across two namespaces and plugs its near end in, all in one message.
    pub(crate) fn pair(place: &str, pair: &NewPair<'_>) -> Self {
        let mut far = one_end(&pair.far, pair.mtu);
        far.attributes.push(LinkAttribute::NetNsFd(pair.namespace.as_raw_fd()));
        let mut near = one_end(&pair.near, pair.mtu);
        set_up(&mut near);
        near.attributes.extend(pair.controller.map(LinkAttribute::Controller));
        let (kind, data) = described(pair.kind, far);
        near.attributes
            .push(LinkAttribute::LinkInfo(vec![LinkInfo::Kind(kind), LinkInfo::Data(data)]));
        Self {
            what: format!("create the {} pair {place}:{}", pair.kind.name(), pair.near.name),
            flags: CREATE,
            message: RouteNetlinkMessage::NewLink(near),
        }
    }
}

fn one_end(end: &PairEnd<'_>, mtu: u32) -> LinkMessage {
    let mut link = device(end.name, end.index, end.mac, mtu);
    link.attributes.push(LinkAttribute::NumTxQueues(QUEUES));
    link.attributes.push(LinkAttribute::NumRxQueues(QUEUES));
    link
}

/// What tells the kernel of the far end.
fn described(kind: CableKind, far: LinkMessage) -> (InfoKind, InfoData) {
    match kind {
        CableKind::Veth => (InfoKind::Veth, InfoData::Veth(InfoVeth::Peer(far))),
        CableKind::Netkit => {
            // As switches and containers see it, it is a cable: frames, not bare packets, go over it.
            let data = vec![InfoNetkit::Mode(NetkitMode::L2), InfoNetkit::Peer(far)];
            (InfoKind::Netkit, InfoData::Netkit(data))
        }
    }
}
