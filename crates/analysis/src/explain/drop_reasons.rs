//! The kernel's drop reasons, matched with the drops that hops counted.
//!
//! A drop is counted by its hop and reported by the kernel, and is one drop: reasons are first matched with the part
//! that they explain. The remaining reasons become parts of their own, but never more packets than are still unplaced:
//! the kernel also frees packets that are not missing. Copies of packets that reached a daemon are no drops at all.

use crate::explain::counted_drops::dropped_copies;
use crate::explain::packet_path::PacketPath;
use tare_record::{DropCause, PacketDrops, SaturatingSum as _, TrialCounters};

/// Prefix of the reasons for which TCP freed packets that had arrived.
const TCP_PREFIX: &str = "TCP_";

/// Reason that specifies nothing; queues gave it before Linux 5.18.
const UNSPECIFIED: &str = "NOT_SPECIFIED";

/// Reason of a packet that is not for this host: the kernel's own copy of a packet that a packet socket received.
const OTHER_HOST: &str = "OTHERHOST";

/// Reason of a packet that a netfilter rule dropped.
const BY_RULE: &str = "NETFILTER_DROP";

/// Packets that the kernel dropped for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KernelDrops {
    place: String,
    device: String,
    reason: String,
    packets: u64,
}

impl KernelDrops {
    fn has_same_reason(&self, other: &Self) -> bool {
        (&self.place, &self.device, &self.reason) == (&other.place, &other.device, &other.reason)
    }

    /// Returns `true` if the packets were dropped on this path.
    pub(crate) fn is_on(&self, path: PacketPath<'_>) -> bool {
        path.passes_device(&self.place, &self.device)
    }

    /// Returns `true` if this part counts such packets.
    fn explains(&self, part: &PacketDrops) -> bool {
        let reason = self.reason.as_str();
        let here = |device: &str| self.device == device;
        self.place == part.place
            && match part.cause {
                DropCause::SocketBuffer => {
                    matches!(
                        reason,
                        "SOCKET_RCVBUFF" | "SOCKET_BACKLOG" | "PROTO_MEM" | "PACKET_SOCK_ERROR"
                    )
                }
                DropCause::NoSocket => reason == "NO_SOCKET",
                DropCause::Checksum => reason.ends_with("_CSUM"),
                DropCause::Rule | DropCause::Conntrack => reason == BY_RULE,
                DropCause::Route => is_routing_reason(reason),
                DropCause::TooLarge => reason == "PKT_TOO_BIG",
                DropCause::Reassembly => reason == "DUP_FRAG" || reason.starts_with("FRAG_"),
                DropCause::Backlog => reason == "CPU_BACKLOG" && here(&part.at),
                DropCause::Queue => {
                    here(queue_device(&part.at))
                        && (is_queue_reason(reason) || reason == UNSPECIFIED)
                }
                DropCause::Device => {
                    here(&part.at) && !is_stack_reason(reason) && !is_queue_reason(reason)
                }
                DropCause::Kernel => false,
            }
    }
}

/// Returns the device that a queue belongs to: `eth0` of `eth0/tbf`.
fn queue_device(queue: &str) -> &str {
    queue.rsplit_once('/').map_or(queue, |(device, _)| device)
}

/// Returns `true` if the reason is given by a queue.
fn is_queue_reason(reason: &str) -> bool {
    let queues = ["QDISC_", "FQ_", "CAKE_", "DUALPI2_"];
    queues.iter().any(|begin| reason.starts_with(begin))
}

fn is_routing_reason(reason: &str) -> bool {
    let others = ["IP_CSUM", "IP_INHDR", "IP_NOPROTO", "IP_TUNNEL_ECN"];
    reason.starts_with("IP_") && !others.contains(&reason)
}

/// Returns `true` if the reason is given by netfilter, a protocol or a socket, and not by a device or its queue.
fn is_stack_reason(reason: &str) -> bool {
    let above = ["SOCKET_", "IP_", "IPV6", "FRAG_", TCP_PREFIX, "NEIGH_"];
    above.iter().any(|begin| reason.starts_with(begin))
        || matches!(reason, BY_RULE | "NO_SOCKET" | "PROTO_MEM" | "UDP_CSUM" | "DUP_FRAG")
}

/// Adds the kernel's reasons to the parts of a trial. Returns the reasons that no part counts.
pub(crate) fn assign_reasons(
    parts: &mut [PacketDrops],
    counted: &TrialCounters,
) -> Vec<KernelDrops> {
    let mut all = kernel_drops(counted);
    // A device does not give a cause, so it is matched last.
    let (vague, clear): (Vec<_>, Vec<_>) =
        parts.iter_mut().partition(|part| part.cause == DropCause::Device);
    for part in clear.into_iter().chain(vague) {
        for one in &mut all {
            let room = part.packets - explained_packets(part);
            let packets = if one.explains(part) { one.packets.min(room) } else { 0 };
            if packets > 0 {
                let known = part.reasons.entry(one.reason.clone()).or_default();
                *known = known.saturating_add(packets);
                one.packets -= packets;
            }
        }
    }
    all.retain(|one| one.packets > 0 && !one.reason.starts_with(TCP_PREFIX));
    all
}

/// Returns the reasons of all packets that were dropped, without those of copies.
fn kernel_drops(counted: &TrialCounters) -> Vec<KernelDrops> {
    let mut all = Vec::new();
    for place in &counted.places {
        let mut copies = dropped_copies(place);
        for (device, reasons) in &place.reasons {
            for (reason, &packets) in reasons.iter().filter(|(reason, _)| *reason != OTHER_HOST) {
                let copied = if reason == BY_RULE { packets.min(copies) } else { 0 };
                copies -= copied;
                all.push(KernelDrops {
                    place: place.place.clone(),
                    device: device.clone(),
                    reason: reason.clone(),
                    packets: packets - copied,
                });
            }
        }
    }
    all
}

/// Returns the number of a part's packets that have a reason.
fn explained_packets(part: &PacketDrops) -> u64 {
    part.reasons.values().saturating_sum()
}

/// Adds up the remaining reasons of several trials, most packets first.
pub(crate) fn sum_by_reason(all: Vec<KernelDrops>) -> Vec<KernelDrops> {
    let mut sums: Vec<KernelDrops> = Vec::new();
    for one in all {
        match sums.iter_mut().find(|known| known.has_same_reason(&one)) {
            Some(known) => known.packets = known.packets.saturating_add(one.packets),
            None => sums.push(one),
        }
    }
    sums.sort_by_key(|one| std::cmp::Reverse(one.packets));
    sums
}

/// Returns parts for the remaining reasons, most first: `most` packets at most, and none of fewer than `least`.
///
/// Packets that a part counts without a reason may be among the remaining reasons of another place (both ends of a veth
/// pair take part in a drop), so as many are subtracted.
pub(crate) fn unplaced_parts(
    left: Vec<KernelDrops>,
    parts: &[PacketDrops],
    most: u64,
    least: f64,
) -> Vec<PacketDrops> {
    let vague: u64 = parts
        .iter()
        .map(|part| part.packets.saturating_sub(explained_packets(part)))
        .saturating_sum();
    let all: u64 = left.iter().map(|one| one.packets).saturating_sum();
    let mut room = all.saturating_sub(vague).min(most);
    let mut own: Vec<PacketDrops> = Vec::new();
    for one in left {
        let packets = one.packets.min(room);
        if packets == 0 || (packets as f64) < least {
            break;
        }
        room -= packets;
        let mut part = PacketDrops::new(&one.place, &one.device, DropCause::Kernel, packets);
        part.reasons.insert(one.reason, packets);
        match own.iter_mut().find(|known| known.has_same_origin(&part)) {
            Some(known) => known.merge(part),
            None => own.push(part),
        }
    }
    own
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tare_record::{CounterDeltas, NamespaceCounts};

    fn counted(place: &str, reasons: &[(&str, &str, u64)]) -> TrialCounters {
        let mut counts = NamespaceCounts { place: place.to_owned(), ..NamespaceCounts::default() };
        for (device, reason, packets) in reasons {
            let of = counts.reasons.entry((*device).to_owned()).or_default();
            of.insert((*reason).to_owned(), *packets);
        }
        TrialCounters { places: vec![counts], ..TrialCounters::default() }
    }

    fn reasons(pairs: &[(&str, u64)]) -> CounterDeltas {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    #[test]
    fn each_reason_goes_to_the_part_that_it_explains() {
        let mut parts = [
            PacketDrops::new("node-0", "eth0", DropCause::Device, 2),
            PacketDrops::new("node-0", "eth0/tbf", DropCause::Queue, 10),
            PacketDrops::new("node-0", "filter/FORWARD#7 drop", DropCause::Rule, 5),
            PacketDrops::new("server-0", "", DropCause::SocketBuffer, 7),
        ];
        let told = counted(
            "node-0",
            &[
                ("eth0", "QDISC_DROP", 10),
                ("eth0", "NETFILTER_DROP", 8),
                ("eth0", "DEV_READY", 2),
                ("eth0", "TCP_OLD_DATA", 9),
                ("eth1", "QDISC_DROP", 1),
            ],
        );
        let left = sum_by_reason(assign_reasons(&mut parts, &told));
        assert_eq!(parts[0].reasons, reasons(&[("DEV_READY", 2)]));
        assert_eq!(parts[1].reasons, reasons(&[("QDISC_DROP", 10)]));
        assert_eq!(parts[2].reasons, reasons(&[("NETFILTER_DROP", 5)]));
        assert_eq!(parts[3].reasons, CounterDeltas::new());
        let left: Vec<_> = left.iter().map(|one| (one.reason.as_str(), one.packets)).collect();
        assert_eq!(left, [("NETFILTER_DROP", 3), ("QDISC_DROP", 1)]);
    }

    #[test]
    fn what_no_counter_tells_of_is_a_part_of_its_own() {
        let told = counted("node-0", &[("eth0", "NETFILTER_DROP", 30), ("eth0", "NOMEM", 1)]);
        let left = || sum_by_reason(assign_reasons(&mut [], &told));
        let own = unplaced_parts(left(), &[], 40, 1.0);
        assert_eq!(own.len(), 1);
        assert_eq!(own[0].reasons, reasons(&[("NETFILTER_DROP", 30), ("NOMEM", 1)]));
        assert_eq!(own[0].to_string(), "at node-0:eth0 (NETFILTER_DROP, NOMEM)");
        assert_eq!(unplaced_parts(left(), &[], 40, 2.0)[0].packets, 30);
        assert_eq!(unplaced_parts(left(), &[], 12, 2.0)[0].packets, 12);
        // The veth pair's other end counts them without a reason.
        let near = PacketDrops::new("client-0", "eth0", DropCause::Device, 31);
        assert_eq!(unplaced_parts(left(), &[near], 40, 1.0), []);
    }

    #[test]
    fn copies_are_no_drops() {
        let mut told = counted(
            "node-0",
            &[("eth0", "NETFILTER_DROP", 30), ("eth0", "OTHERHOST", 1805), ("eth1", "NOMEM", 2)],
        );
        let rules = &mut told.places[0].rules;
        rules.insert("inet/kernel-copies#3 drop".to_owned(), reasons(&[("packets", 28)]));
        rules.insert("inet/kernel-copies#4 accept".to_owned(), reasons(&[("packets", 900)]));
        let left = sum_by_reason(assign_reasons(&mut [], &told));
        let left: Vec<_> = left.iter().map(|one| (one.reason.as_str(), one.packets)).collect();
        assert_eq!(left, [("NETFILTER_DROP", 2), ("NOMEM", 2)]);
    }

    proptest! {
        #[test]
        fn no_packet_is_counted_twice(queue in 0u64..50, device in 0u64..50, qdisc in 0u64..50,
                                      filter in 0u64..50, unplaced in 0u64..50) {
            let mut parts = [
                PacketDrops::new("node-0", "eth0/tbf", DropCause::Queue, queue),
                PacketDrops::new("node-0", "eth0", DropCause::Device, device),
            ];
            let told = [("eth0", "QDISC_DROP", qdisc), ("eth0", "NETFILTER_DROP", filter)];
            let left = sum_by_reason(assign_reasons(&mut parts, &counted("node-0", &told)));
            for part in &parts {
                prop_assert!(explained_packets(part) <= part.packets);
            }
            let own = unplaced_parts(left, &parts, unplaced, 1.0);
            let more: u64 = own.iter().map(|part| part.packets).sum();
            prop_assert!(more <= unplaced);
            prop_assert!(queue + device + more <= (queue + device).max(qdisc + filter));
        }
    }
}
