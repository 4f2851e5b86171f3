//! Attribution of lost packets to places, by the counters of every hop.

use crate::explain::counted_drops::CountedDrops;
use crate::explain::drop_reasons;
use crate::explain::drop_reasons::KernelDrops;
use crate::explain::packet_path::{PacketKind, PacketPath};
use tare_record::finding::{LossByPlace, RetransmittedSegments};
use tare_record::{CounterDeltas, Finding, PacketDrops, SaturatingSum as _, Trial};

/// Smallest reported share of retransmitted segments, and their smallest number: messages between agents beside the
/// traffic are retransmitted, too.
const MIN_RETRANSMIT_SHARE: f64 = 1e-4;
const MIN_RETRANSMITS: u64 = 20;
/// Share of the lost or retransmitted packets below which drops do not explain them.
const MIN_EXPLAINED_SHARE: f64 = 0.01;

/// Returns the places at which the datagrams of these trials were lost. Returns `None` if none were lost.
pub(crate) fn attribute_loss(trials: &[&Trial]) -> Option<Finding> {
    let ends = || trials.iter().map(|trial| &trial.ends);
    let of: u64 = ends().map(|ends| ends.datagrams_sent).saturating_sum();
    let lost = of.saturating_sub(ends().map(|ends| ends.datagrams_received).saturating_sum());
    if lost == 0 {
        return None;
    }
    let mut parts = explained_drops(trials, PacketKind::Datagrams, lost);
    sort_most_first(&mut parts);
    let unplaced = to_i64(lost) - to_i64(total_packets(&parts));
    Some(Finding::LossByPlace(LossByPlace { lost, of, parts, unplaced }))
}

/// Returns the retransmissions of TCP in these trials. Returns `None` if there were only a few.
pub(crate) fn attribute_retransmits(trials: &[&Trial]) -> Option<Finding> {
    let sum = |name| {
        let places = trials.iter().flat_map(|trial| &trial.meanwhile.counted.places);
        places.map(|place| get(&place.protocols, name)).saturating_sum()
    };
    let (segments, of) = (sum("Tcp.RetransSegs"), sum("Tcp.OutSegs"));
    if segments < MIN_RETRANSMITS || segments as f64 <= MIN_RETRANSMIT_SHARE * of as f64 {
        return None;
    }
    let mut drops = explained_drops(trials, PacketKind::Segments, segments);
    drops.retain(|one| one.packets as f64 >= MIN_EXPLAINED_SHARE * segments as f64);
    sort_most_first(&mut drops);
    Some(Finding::RetransmittedSegments(RetransmittedSegments { segments, of, drops }))
}

/// Returns the drops of these trials by place, and the kernel's reasons for what the places do not explain of `missing`
/// packets.
fn explained_drops(trials: &[&Trial], kind: PacketKind, missing: u64) -> Vec<PacketDrops> {
    let (mut drops, left) = all_drops(trials, kind);
    let unexplained = missing.saturating_sub(total_packets(&drops));
    let least = MIN_EXPLAINED_SHARE * missing as f64;
    drops.extend(drop_reasons::unplaced_parts(left, &drops, unexplained, least));
    drops
}

/// Returns all drops of these trials that hops on the path counted, most first, and the kernel's reasons beyond those.
fn all_drops(trials: &[&Trial], kind: PacketKind) -> (Vec<PacketDrops>, Vec<KernelDrops>) {
    let mut all: Vec<PacketDrops> = Vec::new();
    let mut left: Vec<KernelDrops> = Vec::new();
    for trial in trials {
        let CountedDrops { on_path: mut parts, beside } = CountedDrops::from_trial(trial, kind);
        // Drops beside the path have the kernel's reasons, too, which then explain nothing else.
        let count = parts.len();
        parts.extend(beside);
        let reasons = drop_reasons::assign_reasons(&mut parts, &trial.meanwhile.counted);
        parts.truncate(count);
        let path = PacketPath::new(trial);
        left.extend(reasons.into_iter().filter(|one| one.is_on(path)));
        for one in parts {
            match all.iter_mut().find(|known| known.has_same_origin(&one)) {
                Some(known) => known.merge(one),
                None => all.push(one),
            }
        }
    }
    sort_most_first(&mut all);
    (all, drop_reasons::sum_by_reason(left))
}

fn sort_most_first(parts: &mut [PacketDrops]) {
    parts.sort_by_key(|one| std::cmp::Reverse(one.packets));
}

fn total_packets(parts: &[PacketDrops]) -> u64 {
    parts.iter().map(|part| part.packets).saturating_sum()
}

fn get(gains: &CounterDeltas, name: &str) -> u64 {
    gains.get(name).copied().unwrap_or(0)
}

fn to_i64(packets: u64) -> i64 {
    i64::try_from(packets).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::trial;
    use proptest::prelude::*;
    use tare_record::finding::SocketDrops;
    use tare_record::{CoreCounts, DropCause, EndCounts, NamespaceCounts};

    fn gains(pairs: &[(&str, u64)]) -> CounterDeltas {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    fn lossy(sent: u64, received: u64, places: Vec<NamespaceCounts>) -> Trial {
        let mut trial = trial("bridge", 0, &[]);
        trial.ends = EndCounts {
            datagrams_sent: sent,
            datagrams_received: received,
            ..EndCounts::default()
        };
        trial.meanwhile.counted.places = places;
        trial.parameters.insert("receive_buffer".to_owned(), 212_992.into());
        trial
    }

    fn place(name: &str) -> NamespaceCounts {
        NamespaceCounts { place: name.to_owned(), ..NamespaceCounts::default() }
    }

    fn server(full: u64) -> NamespaceCounts {
        NamespaceCounts { protocols: gains(&[("Udp.RcvbufErrors", full)]), ..place("server-0") }
    }

    #[test]
    fn the_parts_and_the_rest_are_the_whole() {
        let node = NamespaceCounts {
            queues: [("eth0/tbf".to_owned(), gains(&[("drops", 2), ("packets", 900)]))]
                .into_iter()
                .collect(),
            rules: [
                ("filter/FORWARD#7 drop".to_owned(), gains(&[("packets", 5)])),
                ("filter/FORWARD#8 accept".to_owned(), gains(&[("packets", 900)])),
            ]
            .into_iter()
            .collect(),
            ..place("node-0")
        };
        let trials = [lossy(1000, 952, vec![node, server(39)]), lossy(1000, 1000, Vec::new())];
        let found = attribute_loss(&trials.iter().collect::<Vec<_>>()).unwrap();
        let Finding::LossByPlace(LossByPlace { lost, of, parts, unplaced }) = &found else {
            panic!("{found}")
        };
        let packets: Vec<u64> = parts.iter().map(|part| part.packets).collect();
        assert_eq!((*lost, *of, &packets[..], *unplaced), (48, 2000, &[39, 5, 2][..], 2));
        assert_eq!(
            found.to_string(),
            "2.4 % lost: 1.9 % in server-0's socket buffer (too small: 208 KiB), \
             0.2 % by the rule node-0:filter/FORWARD#7 drop, 0.1 % at the queue node-0:eth0/tbf, 0.1 % at unknown places"
        );
        assert_eq!(attribute_loss(&[&trials[1]]), None);
    }

    #[test]
    fn a_drop_that_is_counted_twice_is_one() {
        let device =
            |name: &str, counter: &str, packets| (name.to_owned(), gains(&[(counter, packets)]));
        let node = NamespaceCounts {
            devices: [device("veth-s0", "tx_dropped", 12)].into_iter().collect(),
            ..place("node-0")
        };
        let server = NamespaceCounts {
            devices: [device("eth0", "rx_dropped", 9)].into_iter().collect(),
            ..place("server-0")
        };
        let mut trial = lossy(100, 88, vec![node, server]);
        trial.meanwhile.counted.cores = vec![CoreCounts { dropped: 9, ..CoreCounts::default() }];
        let found = attribute_loss(&[&trial]).unwrap();
        let Finding::LossByPlace(LossByPlace { parts, unplaced, .. }) = found else {
            panic!("{found}")
        };
        let expected = [
            PacketDrops::new("server-0", "eth0", DropCause::Backlog, 9),
            PacketDrops::new("node-0", "veth-s0", DropCause::Device, 3),
        ];
        assert_eq!((parts.as_slice(), unplaced), (&expected[..], 0));
    }

    #[test]
    fn the_kernels_reasons_stand_with_the_parts_and_fill_the_rest() {
        let reasons =
            |device: &str, reason, packets| (device.to_owned(), gains(&[(reason, packets)]));
        let node = NamespaceCounts {
            reasons: [reasons("port1", "NETFILTER_DROP", 12)].into_iter().collect(),
            ..place("node-0")
        };
        let server = NamespaceCounts {
            reasons: [reasons("", "SOCKET_RCVBUFF", 39)].into_iter().collect(),
            ..server(39)
        };
        let found = attribute_loss(&[&lossy(1000, 949, vec![node, server])]).unwrap();
        assert_eq!(
            found.to_string(),
            "5.1 % lost: 3.9 % in server-0's socket buffer (too small: 208 KiB; SOCKET_RCVBUFF), \
             1.2 % at node-0:port1 (NETFILTER_DROP)"
        );
    }

    #[test]
    fn what_does_not_fit_is_lost_where_it_was_refused() {
        let node = NamespaceCounts {
            protocols: gains(&[("Ip.FragFails", 30), ("Ip.ForwDatagrams", 900)]),
            reasons: [("port2".to_owned(), gains(&[("PKT_TOO_BIG", 30)]))].into_iter().collect(),
            ..place("node-0")
        };
        let tunnel =
            NamespaceCounts { protocols: gains(&[("Ip6.FragFails", 5)]), ..place("node-1") };
        let found = attribute_loss(&[&lossy(1000, 963, vec![node, tunnel])]).unwrap();
        let Finding::LossByPlace(LossByPlace { parts, unplaced, .. }) = &found else {
            panic!("{found}")
        };
        let placed: u64 = parts.iter().map(|part| part.packets).sum();
        assert_eq!((placed, *unplaced), (35, 2));
        assert_eq!(
            found.to_string(),
            "3.7 % lost: 3.0 % in node-0, larger than the MTU and not to be fragmented (PKT_TOO_BIG), \
             0.5 % in node-1, larger than the MTU and not to be fragmented, 0.2 % at unknown places"
        );
    }

    #[test]
    fn without_counters_the_receiver_has_its_say() {
        let mut trial = lossy(100, 90, Vec::new());
        trial.findings = vec![Finding::SocketDrops(SocketDrops { dropped: 8, of: 100 })];
        let found = attribute_loss(&[&trial]).unwrap().to_string();
        assert!(found.starts_with("10.0 % lost: 8.0 % in server's socket buffer"), "{found}");
        assert!(found.ends_with("2.0 % at unknown places"), "{found}");
    }

    #[test]
    fn segments_sent_again_are_told_with_what_was_dropped() {
        let client = |again| NamespaceCounts {
            protocols: gains(&[("Tcp.OutSegs", 10_000), ("Tcp.RetransSegs", again)]),
            ..place("client-0")
        };
        let queue = NamespaceCounts {
            queues: [("eth0/tbf".to_owned(), gains(&[("drops", 30)]))].into_iter().collect(),
            ..place("node-0")
        };
        let trial = lossy(0, 0, vec![client(40), queue]);
        let found = attribute_retransmits(&[&trial]).unwrap().to_string();
        assert_eq!(
            found,
            "40 segments were retransmitted (0.4 % of all); dropped: 30 at the queue node-0:eth0/tbf"
        );
        assert_eq!(attribute_retransmits(&[&lossy(0, 0, vec![client(19)])]), None);
    }

    proptest! {
        #[test]
        fn whatever_is_counted_adds_up(sent in 1u64..1000, received in 0u64..1000, full in 0u64..500,
                                       queue in 0u64..500, unsent in 0u64..500) {
            let node = NamespaceCounts {
                queues: [("eth0/tbf".to_owned(), gains(&[("drops", queue)]))].into_iter().collect(),
                devices: [("eth0".to_owned(), gains(&[("tx_dropped", unsent)]))].into_iter().collect(),
                ..place("node-0")
            };
            let trial = lossy(sent, received, vec![node, server(full)]);
            match attribute_loss(&[&trial]) {
                Some(Finding::LossByPlace(LossByPlace { lost, parts, unplaced, .. })) => {
                    let placed: u64 = parts.iter().map(|part| part.packets).sum();
                    prop_assert_eq!(to_i64(placed) + unplaced, to_i64(lost));
                    prop_assert_eq!(placed, full + queue.max(unsent));
                }
                other => prop_assert!(other.is_none() && received >= sent),
            }
        }
    }
}
