//! Kernel counters of one trial: by hop in every namespace, and by core.
//!
//! Counters are read before the first and after the last packet of a trial, outside of the measured time. The record
//! keeps the increase of each counter under the kernel's name for it; counters that did not increase are left out.

use crate::Nanos;
use litemap::LiteMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Increases of counters, by counter name.
pub type CounterDeltas = LiteMap<String, u64>;

/// Increases of counters of a namespace, by the name of what has them (a device, a rule, a socket).
pub type CounterGroups = LiteMap<String, CounterDeltas>;

/// Names of the entries that are levels and not counters: bytes waiting in a queue, and the size of a socket's buffer.
const BACKLOG: &str = "backlog";
const RECEIVE_BUFFER: &str = "receive_buffer";

/// Increases of all counters during one trial.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrialCounters {
    /// Counters by namespace; namespaces without any increase are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<NamespaceCounts>,
    /// Network processing counters by core.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<CoreCounts>,
    /// CPU time of each daemon of the network (user and system), ns, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub daemons: BTreeMap<String, Nanos>,
    /// Context switches on all cores of the machine.
    #[serde(default)]
    pub context_switches: u64,
}

/// Increases of the counters of one namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamespaceCounts {
    /// Name of the namespace: `client-0`, `node-0`.
    pub place: String,
    /// Device counters by device name, named as in `struct rtnl_link_stats64`: `rx_packets`, `tx_dropped`.
    #[serde(default, skip_serializing_if = "LiteMap::is_empty")]
    #[schemars(with = "BTreeMap<String, BTreeMap<String, u64>>")]
    pub devices: CounterGroups,
    /// Counters of the qdisc of each device, as `eth0/tbf`: `packets`, `bytes`, `drops`, `overlimits`, `requeues`; and
    /// `backlog`, the bytes waiting at the end.
    #[serde(default, skip_serializing_if = "LiteMap::is_empty")]
    #[schemars(with = "BTreeMap<String, BTreeMap<String, u64>>")]
    pub queues: CounterGroups,
    /// Netfilter rules with a counter, as `filter/FORWARD#7 drop` (table, chain, handle, verdict): `packets`.
    #[serde(default, skip_serializing_if = "LiteMap::is_empty")]
    #[schemars(with = "BTreeMap<String, BTreeMap<String, u64>>")]
    pub rules: CounterGroups,
    /// Connection tracking counters, as in `/proc/net/stat/nf_conntrack`: `insert_failed`, `drop`.
    #[serde(default, skip_serializing_if = "LiteMap::is_empty")]
    #[schemars(with = "BTreeMap<String, u64>")]
    pub conntrack: CounterDeltas,
    /// Protocol counters, as in `/proc/net/snmp`, `netstat` and `snmp6`: `Udp.RcvbufErrors`, `Ip6.FragFails`.
    #[serde(default, skip_serializing_if = "LiteMap::is_empty")]
    #[schemars(with = "BTreeMap<String, u64>")]
    pub protocols: CounterDeltas,
    /// Sockets of the network's daemons that dropped packets, as `flanneld udp 10.20.0.2:8285` and `ovs-vswitchd packet
    /// veth-c0` (program, protocol, own address or device): `drops`; and `receive_buffer`, the buffer's size, bytes.
    #[serde(default, skip_serializing_if = "LiteMap::is_empty")]
    #[schemars(with = "BTreeMap<String, BTreeMap<String, u64>>")]
    pub sockets: CounterGroups,
    /// Packets dropped by the kernel, by device (empty for a packet that no longer had one) and by the kernel's drop
    /// reason (`enum skb_drop_reason`): `QDISC_DROP`. Available to root only.
    #[serde(default, skip_serializing_if = "LiteMap::is_empty")]
    #[schemars(with = "BTreeMap<String, BTreeMap<String, u64>>")]
    pub reasons: CounterGroups,
}

/// Network processing of one core (`/proc/net/softnet_stat`), and the CPU time of its `ksoftirqd`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CoreCounts {
    /// Number of the core.
    pub core: u32,
    /// Packets received for processing.
    pub packets: u64,
    /// Packets dropped because the core's backlog was full (`net.core.netdev_max_backlog`).
    pub dropped: u64,
    /// Times that processing stopped with packets left (`net.core.netdev_budget`).
    pub squeezed: u64,
    /// Packets steered to this core by other cores (RPS).
    pub steered: u64,
    /// CPU time of the core's `ksoftirqd`, ns; `None` if that thread is not visible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ksoftirqd: Option<Nanos>,
}

impl NamespaceCounts {
    /// Returns the increases since an earlier reading of the same namespace. An entry that is missing from the earlier
    /// reading counts from 0.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            place: self.place.clone(),
            devices: group_deltas(&self.devices, &before.devices),
            queues: group_deltas(&self.queues, &before.queues),
            rules: group_deltas(&self.rules, &before.rules),
            conntrack: counter_deltas(&self.conntrack, &before.conntrack),
            protocols: counter_deltas(&self.protocols, &before.protocols),
            sockets: socket_deltas(&self.sockets, &before.sockets),
            reasons: group_deltas(&self.reasons, &before.reasons),
        }
    }

    /// Returns true if no counter increased.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.devices.is_empty()
            && self.queues.is_empty()
            && self.rules.is_empty()
            && self.conntrack.is_empty()
            && self.protocols.is_empty()
            && self.sockets.is_empty()
            && self.reasons.is_empty()
    }
}

fn group_deltas(now: &CounterGroups, before: &CounterGroups) -> CounterGroups {
    let none = CounterDeltas::new();
    let gained = |(name, now): (&String, &CounterDeltas)| {
        let gained = counter_deltas(now, before.get(name).unwrap_or(&none));
        (!gained.is_empty()).then(|| (name.clone(), gained))
    };
    now.iter().filter_map(gained).collect()
}

/// Returns the sockets that dropped packets since the earlier reading.
fn socket_deltas(now: &CounterGroups, before: &CounterGroups) -> CounterGroups {
    let mut gained = group_deltas(now, before);
    gained.retain(|_, gains| gains.contains_key("drops"));
    gained
}

fn counter_deltas(now: &CounterDeltas, before: &CounterDeltas) -> CounterDeltas {
    let gained = |(name, &now): (&String, &u64)| {
        let is_level = name == BACKLOG || name == RECEIVE_BUFFER;
        let before = if is_level { 0 } else { before.get(name).copied().unwrap_or(0) };
        (now > before).then(|| (name.clone(), now - before))
    };
    now.iter().filter_map(gained).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counter_map(pairs: &[(&str, u64)]) -> CounterDeltas {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    #[test]
    fn what_stood_still_is_left_out() {
        let queue = |drops, backlog| {
            let queue = counter_map(&[("drops", drops), (BACKLOG, backlog), ("packets", 7)]);
            CounterGroups::from_iter([("eth0/tbf".to_owned(), queue)])
        };
        let before = NamespaceCounts { queues: queue(3, 900), ..NamespaceCounts::default() };
        let now = NamespaceCounts {
            queues: queue(5, 400),
            protocols: counter_map(&[("Udp.RcvbufErrors", 2)]),
            ..before.clone()
        };
        let since = now.since(&before);
        assert_eq!(
            since.queues.get("eth0/tbf"),
            Some(&counter_map(&[("drops", 2), (BACKLOG, 400)]))
        );
        assert_eq!(since.protocols, counter_map(&[("Udp.RcvbufErrors", 2)]));
        assert!(!since.is_empty() && before.since(&now).protocols.is_empty());
        assert!(NamespaceCounts::default().is_empty());
    }

    #[test]
    fn a_socket_that_dropped_nothing_is_left_out() {
        let socket = |drops| {
            CounterGroups::from_iter([(
                "flanneld udp 10.20.0.2:8285".to_owned(),
                counter_map(&[("drops", drops), (RECEIVE_BUFFER, 4096)]),
            )])
        };
        let reading = |drops| NamespaceCounts { sockets: socket(drops), ..Default::default() };
        assert!(reading(7).since(&reading(7)).is_empty());
        assert_eq!(reading(9).since(&reading(7)).sockets, socket(2));
    }

    proptest! {
        #[test]
        fn gains_add_up(before in proptest::collection::btree_map("[a-d]", 0u64..9, 0..5),
                        more in proptest::collection::btree_map("[a-d]", 0u64..9, 0..5)) {
            let mut now = before.clone();
            for (name, value) in &more {
                *now.entry(name.clone()).or_default() += value;
            }
            let expected: CounterDeltas = more.into_iter().filter(|(_, value)| *value > 0).collect();
            let (now, before) = (now.into_iter().collect(), before.into_iter().collect());
            prop_assert_eq!(counter_deltas(&now, &before), expected);
        }
    }
}
