//! What was counted while a trial ran: hop by hop in every namespace, and core by core.
//!
//! Counters are read before a trial's first and after its last packet, outside of what is measured. Kept is what each has
//! gained, under the name that the kernel gives it; a counter that stood still is left out.

use crate::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What counters have gained, by name.
pub type Gains = BTreeMap<String, u64>;

/// The one that is no counter but a level: bytes that wait in a queue.
const BACKLOG: &str = "backlog";

/// Everything that was counted while a trial ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counted {
    /// Namespace by namespace, those in which nothing moved left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<PlaceCounts>,
    /// Core by core.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<CoreCounts>,
    /// CPU time of each of the network's own daemons (user and system), ns, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub daemons: BTreeMap<String, Nanos>,
    /// How often the machine's cores changed from one task to another.
    #[serde(default)]
    pub context_switches: u64,
}

/// What was counted in one namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlaceCounts {
    /// Its name: `client-0`, `node-0`.
    pub place: String,
    /// Devices by name; counters as in `struct rtnl_link_stats64`: `rx_packets`, `tx_dropped`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub devices: BTreeMap<String, Gains>,
    /// The queue in front of each device, as `eth0/tbf`: `packets`, `bytes`, `drops`, `overlimits`, `requeues`; and
    /// `backlog`, the bytes that waited at the end.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queues: BTreeMap<String, Gains>,
    /// Netfilter rules with a counter, as `filter/FORWARD#7 drop` (table, chain, handle, what becomes of the packet):
    /// `packets`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rules: BTreeMap<String, Gains>,
    /// Connection tracking, as in `/proc/net/stat/nf_conntrack`: `insert_failed`, `drop`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub conntrack: Gains,
    /// Protocols, as in `/proc/net/snmp`, `netstat` and `snmp6`: `Udp.RcvbufErrors`, `Ip6.FragFails`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub protocols: Gains,
    /// Packets that the kernel dropped, by device (empty where a packet had none any more), and by the kernel's own reason
    /// (`enum skb_drop_reason`): `QDISC_DROP`. Only root sees them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reasons: BTreeMap<String, Gains>,
}

/// What was counted of one core's work for the network (`/proc/net/softnet_stat`), and its `ksoftirqd`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CoreCounts {
    /// Its number.
    pub core: u32,
    /// Packets that it took in.
    pub packets: u64,
    /// Packets dropped because its backlog was full (`net.core.netdev_max_backlog`).
    pub dropped: u64,
    /// How often it had to stop with packets left (`net.core.netdev_budget`).
    pub squeezed: u64,
    /// Packets that other cores steered to it (RPS).
    pub steered: u64,
    /// CPU time of its `ksoftirqd`, ns; nothing where that thread cannot be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ksoftirqd: Option<Nanos>,
}

impl PlaceCounts {
    /// What was gained since an earlier reading of the same place. What was not there before has gained all it has.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            place: self.place.clone(),
            devices: each(&self.devices, &before.devices),
            queues: each(&self.queues, &before.queues),
            rules: each(&self.rules, &before.rules),
            conntrack: gains(&self.conntrack, &before.conntrack),
            protocols: gains(&self.protocols, &before.protocols),
            reasons: each(&self.reasons, &before.reasons),
        }
    }

    /// Whether nothing was gained.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.devices.is_empty()
            && self.queues.is_empty()
            && self.rules.is_empty()
            && self.conntrack.is_empty()
            && self.protocols.is_empty()
            && self.reasons.is_empty()
    }
}

fn each(
    now: &BTreeMap<String, Gains>,
    before: &BTreeMap<String, Gains>,
) -> BTreeMap<String, Gains> {
    let none = Gains::new();
    let gained = |(name, now): (&String, &Gains)| {
        let gained = gains(now, before.get(name).unwrap_or(&none));
        (!gained.is_empty()).then(|| (name.clone(), gained))
    };
    now.iter().filter_map(gained).collect()
}

fn gains(now: &Gains, before: &Gains) -> Gains {
    let gained = |(name, &now): (&String, &u64)| {
        let before = if name == BACKLOG { 0 } else { before.get(name).copied().unwrap_or(0) };
        (now > before).then(|| (name.clone(), now - before))
    };
    now.iter().filter_map(gained).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(pairs: &[(&str, u64)]) -> Gains {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    #[test]
    fn what_stood_still_is_left_out() {
        let queue = |drops, backlog| {
            let queue = of(&[("drops", drops), (BACKLOG, backlog), ("packets", 7)]);
            BTreeMap::from([("eth0/tbf".to_owned(), queue)])
        };
        let before = PlaceCounts { queues: queue(3, 900), ..PlaceCounts::default() };
        let now = PlaceCounts {
            queues: queue(5, 400),
            protocols: of(&[("Udp.RcvbufErrors", 2)]),
            ..before.clone()
        };
        let since = now.since(&before);
        assert_eq!(since.queues["eth0/tbf"], of(&[("drops", 2), (BACKLOG, 400)]));
        assert_eq!(since.protocols, of(&[("Udp.RcvbufErrors", 2)]));
        assert!(!since.is_empty() && before.since(&now).protocols.is_empty());
        assert!(PlaceCounts::default().is_empty());
    }

    proptest! {
        #[test]
        fn gains_add_up(before in proptest::collection::btree_map("[a-d]", 0u64..9, 0..5),
                        more in proptest::collection::btree_map("[a-d]", 0u64..9, 0..5)) {
            let mut now = before.clone();
            for (name, value) in &more {
                *now.entry(name.clone()).or_default() += value;
            }
            let expected: Gains = more.into_iter().filter(|(_, value)| *value > 0).collect();
            prop_assert_eq!(gains(&now, &before), expected);
        }
    }
}
