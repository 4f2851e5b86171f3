//! Tests of `--link rate=`: a queue between a node and the switch, which its senders do not feel.

use crate::cases::{enter, path, raise};
use crate::harness::Case;
use crate::rates;
use tare_dev::eventually;
use tare_network::{NamespaceCounts, Shape, Topology};

pub(crate) fn all() -> Vec<Case> {
    let of = |case: &str, name, body: fn(&str)| Case::of_network(case, name, body);
    let cases = ["host", "vxlan"].map(|name| {
        [
            of("a_link_lets_no_more_through_than_it_is_told", name, limits),
            of("a_link_loses_what_exceeds_it", name, loses_what_exceeds_it),
            of("measures::a_link_is_as_fast_as_it_is_told", name, is_as_fast_as_it_is_told),
        ]
    });
    cases.into_iter().flatten().collect()
}

/// Raises a network over links of a rate, each of which has a queue for each direction.
fn over_links(name: &str, link: &str) -> Topology {
    let shape = Shape { nodes: 2, link: Some(link.to_owned()), ..Shape::default() };
    let topology = raise(&enter(), name, &shape);
    let path = path(&topology);
    let queues: Vec<&str> = path.iter().filter_map(|hop| hop.strip_suffix(" Queue")).collect();
    assert_eq!(queues, ["link-0:switch/tbf", "link-1:node/tbf"]);
    topology
}

fn limits(name: &str) {
    rates::assert_limited(&mut over_links(name, "rate=100mbit"), ["swallow", "pour"]);
}

fn is_as_fast_as_it_is_told(name: &str) {
    // VXLAN's headers use a part of the link.
    rates::assert_used(&over_links(name, "rate=100mbit"), ["swallow", "pour"], 85.0);
}

/// Packets of a sender's node.
#[derive(Debug, Default)]
struct SentPackets {
    /// Packets that have left the node.
    sent: u64,
    /// Packets of these that the link's queue has passed on.
    passed: u64,
    /// Packets of these that the link's queue has dropped.
    lost: u64,
}

impl SentPackets {
    fn add(&mut self, gains: &[NamespaceCounts]) {
        let place = |name: &str| gains.iter().find(|counts| counts.place == name);
        if let Some(uplink) = place("node-0").and_then(|node| node.devices.get("eth0")) {
            self.sent += uplink.get("tx_packets").copied().unwrap_or(0);
        }
        if let Some(queue) = place("link-0").and_then(|link| link.queues.get("switch/tbf")) {
            self.passed += queue.get("packets").copied().unwrap_or(0);
            self.lost += queue.get("drops").copied().unwrap_or(0);
        }
    }
}

/// Every packet leaves the node at once, and the link passes it on or drops it. Were the queue in front of the node's own
/// device, the sender's socket would wait for it, and nothing would be lost: it holds many times what a socket may have
/// on its way (net.core.wmem_default, 208 KiB).
fn loses_what_exceeds_it(name: &str) {
    let mut topology = over_links(name, "rate=300mbit,queue=30ms");
    let mut watch = topology.watch.take().expect("the lab counts");
    watch.read_gains();
    let mut packets = SentPackets::default();
    eventually("a flood fills the queue, and every packet is accounted for", || {
        if packets.lost == 0 {
            rates::send_flood(&topology);
        }
        packets.add(&watch.read_gains());
        packets.lost > 0 && packets.sent == packets.passed + packets.lost
    });
}
