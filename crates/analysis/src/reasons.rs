//! What the kernel itself says of drops, laid beside what hops counted.
//!
//! A drop is counted by its hop and told by the kernel, and is one drop: reasons go to the part that they explain first.
//! What is left over becomes parts of its own, but never more of it than is still unplaced: the kernel also lets go of
//! packets that nobody misses.

use tare_record::{Cause, Counted, Dropped};

/// What begins like this a TCP did with what had arrived.
const ARRIVED: &str = "TCP_";

/// What the kernel says where it says nothing; before Linux 5.18 queues did.
const UNSPECIFIED: &str = "NOT_SPECIFIED";

/// Packets that the kernel dropped for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    place: String,
    device: String,
    reason: String,
    packets: u64,
}

impl Told {
    fn is_like(&self, other: &Self) -> bool {
        (&self.place, &self.device, &self.reason) == (&other.place, &other.device, &other.reason)
    }

    /// Whether this part counts such packets.
    fn explains(&self, part: &Dropped) -> bool {
        let reason = self.reason.as_str();
        let here = |device: &str| self.device == device;
        self.place == part.place
            && match part.cause {
                Cause::SocketBuffer => {
                    matches!(reason, "SOCKET_RCVBUFF" | "SOCKET_BACKLOG" | "PROTO_MEM")
                }
                Cause::NoSocket => reason == "NO_SOCKET",
                Cause::Checksum => reason.ends_with("_CSUM"),
                Cause::Rule | Cause::Conntrack => reason == "NETFILTER_DROP",
                Cause::Route => is_routing(reason),
                Cause::TooLarge => reason == "PKT_TOO_BIG",
                Cause::Reassembly => reason == "DUP_FRAG" || reason.starts_with("FRAG_"),
                Cause::Backlog => reason == "CPU_BACKLOG" && here(&part.at),
                Cause::Queue => {
                    here(queue_device(&part.at)) && (is_of_a_queue(reason) || reason == UNSPECIFIED)
                }
                Cause::Device => here(&part.at) && !is_above(reason) && !is_of_a_queue(reason),
                Cause::Kernel => false,
            }
    }
}

/// The device that a queue is in front of: `eth0` of `eth0/tbf`.
fn queue_device(queue: &str) -> &str {
    queue.rsplit_once('/').map_or(queue, |(device, _)| device)
}

/// Whether it is a queue's to say so.
fn is_of_a_queue(reason: &str) -> bool {
    let queues = ["QDISC_", "FQ_", "CAKE_", "DUALPI2_"];
    queues.iter().any(|begin| reason.starts_with(begin))
}

fn is_routing(reason: &str) -> bool {
    let others = ["IP_CSUM", "IP_INHDR", "IP_NOPROTO", "IP_TUNNEL_ECN"];
    reason.starts_with("IP_") && !others.contains(&reason)
}

/// Whether it is for netfilter, a protocol or a socket to say so, and not for a device or its queue.
fn is_above(reason: &str) -> bool {
    let above = ["SOCKET_", "IP_", "IPV6", "FRAG_", ARRIVED, "NEIGH_"];
    above.iter().any(|begin| reason.starts_with(begin))
        || matches!(reason, "NETFILTER_DROP" | "NO_SOCKET" | "PROTO_MEM" | "UDP_CSUM" | "DUP_FRAG")
}

/// Gives the parts of a trial the reasons that the kernel had for them. Returned is what no part counts.
pub(crate) fn explain(parts: &mut [Dropped], counted: &Counted) -> Vec<Told> {
    let mut all = told(counted);
    // A device does not say why, so it is asked last.
    let (vague, clear): (Vec<_>, Vec<_>) =
        parts.iter_mut().partition(|part| part.cause == Cause::Device);
    for part in clear.into_iter().chain(vague) {
        for one in &mut all {
            let room = part.packets - explained(part);
            let packets = if one.explains(part) { one.packets.min(room) } else { 0 };
            if packets > 0 {
                *part.reasons.entry(one.reason.clone()).or_default() += packets;
                one.packets -= packets;
            }
        }
    }
    all.retain(|one| one.packets > 0 && !one.reason.starts_with(ARRIVED));
    all
}

fn told(counted: &Counted) -> Vec<Told> {
    let mut all = Vec::new();
    for place in &counted.places {
        for (device, reasons) in &place.reasons {
            all.extend(reasons.iter().map(|(reason, &packets)| Told {
                place: place.place.clone(),
                device: device.clone(),
                reason: reason.clone(),
                packets,
            }));
        }
    }
    all
}

/// How many of a part's packets the kernel says why it dropped.
fn explained(part: &Dropped) -> u64 {
    part.reasons.values().sum()
}

/// What several trials left over, alike with alike.
pub(crate) fn summed(all: Vec<Told>) -> Vec<Told> {
    let mut sums: Vec<Told> = Vec::new();
    for one in all {
        match sums.iter_mut().find(|known| known.is_like(&one)) {
            Some(known) => known.packets += one.packets,
            None => sums.push(one),
        }
    }
    sums.sort_by_key(|one| std::cmp::Reverse(one.packets));
    sums
}

/// Parts of their own for what is left over, most first: `most` packets at most, and none of fewer than `least`.
///
/// What a part counts and the kernel does not explain may be among what it tells of elsewhere (both ends of a veth pair
/// have a hand in a drop), so as much is taken off.
pub(crate) fn parts_of(left: Vec<Told>, parts: &[Dropped], most: u64, least: f64) -> Vec<Dropped> {
    let vague: u64 = parts.iter().map(|part| part.packets - explained(part)).sum();
    let all: u64 = left.iter().map(|one| one.packets).sum();
    let mut room = all.saturating_sub(vague).min(most);
    let mut own: Vec<Dropped> = Vec::new();
    for one in left {
        let packets = one.packets.min(room);
        if packets == 0 || (packets as f64) < least {
            break;
        }
        room -= packets;
        let mut part = Dropped::new(&one.place, &one.device, Cause::Kernel, packets);
        part.reasons.insert(one.reason, packets);
        match own.iter_mut().find(|known| known.is_like(&part)) {
            Some(known) => known.join(part),
            None => own.push(part),
        }
    }
    own
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tare_record::{Gains, PlaceCounts};

    fn counted(place: &str, reasons: &[(&str, &str, u64)]) -> Counted {
        let mut counts = PlaceCounts { place: place.to_owned(), ..PlaceCounts::default() };
        for (device, reason, packets) in reasons {
            let of = counts.reasons.entry((*device).to_owned()).or_default();
            of.insert((*reason).to_owned(), *packets);
        }
        Counted { places: vec![counts], ..Counted::default() }
    }

    fn reasons(pairs: &[(&str, u64)]) -> Gains {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    #[test]
    fn each_reason_goes_to_the_part_that_it_explains() {
        let mut parts = [
            Dropped::new("node-0", "eth0", Cause::Device, 2),
            Dropped::new("node-0", "eth0/tbf", Cause::Queue, 10),
            Dropped::new("node-0", "filter/FORWARD#7 drop", Cause::Rule, 5),
            Dropped::new("server-0", "", Cause::SocketBuffer, 7),
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
        let left = summed(explain(&mut parts, &told));
        assert_eq!(parts[0].reasons, reasons(&[("DEV_READY", 2)]));
        assert_eq!(parts[1].reasons, reasons(&[("QDISC_DROP", 10)]));
        assert_eq!(parts[2].reasons, reasons(&[("NETFILTER_DROP", 5)]));
        assert_eq!(parts[3].reasons, Gains::new());
        let left: Vec<_> = left.iter().map(|one| (one.reason.as_str(), one.packets)).collect();
        assert_eq!(left, [("NETFILTER_DROP", 3), ("QDISC_DROP", 1)]);
    }

    #[test]
    fn what_no_counter_tells_of_is_a_part_of_its_own() {
        let told = counted("node-0", &[("eth0", "NETFILTER_DROP", 30), ("eth0", "OTHERHOST", 1)]);
        let left = || summed(explain(&mut [], &told));
        let own = parts_of(left(), &[], 40, 1.0);
        assert_eq!(own.len(), 1);
        assert_eq!(own[0].reasons, reasons(&[("NETFILTER_DROP", 30), ("OTHERHOST", 1)]));
        assert_eq!(own[0].to_string(), "at node-0:eth0 (NETFILTER_DROP, OTHERHOST)");
        assert_eq!(parts_of(left(), &[], 40, 2.0)[0].packets, 30);
        assert_eq!(parts_of(left(), &[], 12, 2.0)[0].packets, 12);
        // The veth pair's other end counts them, and does not say why.
        let near = Dropped::new("client-0", "eth0", Cause::Device, 31);
        assert_eq!(parts_of(left(), &[near], 40, 1.0), []);
    }

    proptest! {
        #[test]
        fn no_packet_is_counted_twice(queue in 0u64..50, device in 0u64..50, qdisc in 0u64..50,
                                      filter in 0u64..50, unplaced in 0u64..50) {
            let mut parts = [
                Dropped::new("node-0", "eth0/tbf", Cause::Queue, queue),
                Dropped::new("node-0", "eth0", Cause::Device, device),
            ];
            let told = [("eth0", "QDISC_DROP", qdisc), ("eth0", "NETFILTER_DROP", filter)];
            let left = summed(explain(&mut parts, &counted("node-0", &told)));
            for part in &parts {
                prop_assert!(explained(part) <= part.packets);
            }
            let own = parts_of(left, &parts, unplaced, 1.0);
            let more: u64 = own.iter().map(|part| part.packets).sum();
            prop_assert!(more <= unplaced);
            prop_assert!(queue + device + more <= (queue + device).max(qdisc + filter));
        }
    }
}
