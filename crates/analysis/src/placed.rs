//! Where packets were lost, by what every hop counted.
//!
//! A drop is often counted more than once on its way up: what a queue drops, a macvlan device or a tunnel above it counts
//! as not sent (net/core/dev.c, `net_xmit_eval`), and what the far end of a veth pair does not take in, its near end does
//! (drivers/net/veth.c, `veth_xmit`). So what devices could not send counts only beyond what was dropped below them.

use crate::reasons::{self, Told};
use tare_record::{Cause, Counted, Dropped, Finding, Gains, PlaceCounts, Trial};

/// The least share of segments sent again that is worth a word, and the fewest: what agents say to one another beside the
/// traffic is sent again, too.
const FEW: f64 = 1e-4;
const FEWEST: u64 = 20;
/// Drops of fewer packets than this share of what was sent again do not explain it.
const TELLING: f64 = 0.01;

/// A protocol's counters of drops, and what they say.
const BY_PROTOCOLS: [(&str, Cause); 19] = [
    ("Udp.RcvbufErrors", Cause::SocketBuffer),
    ("Udp6.RcvbufErrors", Cause::SocketBuffer),
    ("Udp.MemErrors", Cause::SocketBuffer),
    ("Udp6.MemErrors", Cause::SocketBuffer),
    ("TcpExt.TCPBacklogDrop", Cause::SocketBuffer),
    ("TcpExt.TCPRcvQDrop", Cause::SocketBuffer),
    ("Udp.NoPorts", Cause::NoSocket),
    ("Udp6.NoPorts", Cause::NoSocket),
    ("Udp.InCsumErrors", Cause::Checksum),
    ("Udp6.InCsumErrors", Cause::Checksum),
    ("Tcp.InCsumErrors", Cause::Checksum),
    ("Ip.InAddrErrors", Cause::Route),
    ("Ip6.InAddrErrors", Cause::Route),
    ("IpExt.InNoRoutes", Cause::Route),
    ("Ip6.InNoRoutes", Cause::Route),
    ("Ip.FragFails", Cause::TooLarge),
    ("Ip6.FragFails", Cause::TooLarge),
    ("Ip.ReasmFails", Cause::Reassembly),
    ("Ip6.ReasmFails", Cause::Reassembly),
];

/// Where the datagrams of these trials were lost, if any were.
pub(crate) fn loss(trials: &[&Trial]) -> Option<Finding> {
    let ends = || trials.iter().map(|trial| &trial.ends);
    let of: u64 = ends().map(|ends| ends.datagrams_sent).sum();
    let lost = of.saturating_sub(ends().map(|ends| ends.datagrams_received).sum());
    if lost == 0 {
        return None;
    }
    let (mut parts, left) = all_drops(trials);
    let least = TELLING * lost as f64;
    parts.extend(reasons::parts_of(left, &parts, lost.saturating_sub(packets(&parts)), least));
    most_first(&mut parts);
    let buffer = trials.iter().find_map(|trial| trial.parameters.get("receive_buffer")?.as_u64());
    for part in parts.iter_mut().filter(|part| part.cause == Cause::SocketBuffer) {
        part.detail = buffer.map(|bytes| format!("too small: {} KiB", bytes / 1024));
    }
    let unplaced = signed(lost) - signed(packets(&parts));
    Some(Finding::LossPlaced { lost, of, parts, unplaced })
}

/// How much TCP sent again in these trials, if it was more than a little.
pub(crate) fn retransmits(trials: &[&Trial]) -> Option<Finding> {
    let sum = |name| {
        let places = trials.iter().flat_map(|trial| &trial.meanwhile.counted.places);
        places.map(|place| get(&place.protocols, name)).sum::<u64>()
    };
    let (segments, of) = (sum("Tcp.RetransSegs"), sum("Tcp.OutSegs"));
    if segments < FEWEST || segments as f64 <= FEW * of as f64 {
        return None;
    }
    let (mut drops, left) = all_drops(trials);
    let least = TELLING * segments as f64;
    drops.extend(reasons::parts_of(left, &drops, segments.saturating_sub(packets(&drops)), least));
    drops.retain(|one| one.packets as f64 >= least);
    most_first(&mut drops);
    Some(Finding::Retransmitted { segments, of, drops })
}

/// All drops of these trials that hops counted, most first; and what the kernel tells of beyond that.
fn all_drops(trials: &[&Trial]) -> (Vec<Dropped>, Vec<Told>) {
    let mut all: Vec<Dropped> = Vec::new();
    let mut left: Vec<Told> = Vec::new();
    for trial in trials {
        let mut parts = drops(trial);
        left.extend(reasons::explain(&mut parts, &trial.meanwhile.counted));
        for one in parts {
            match all.iter_mut().find(|known| known.is_like(&one)) {
                Some(known) => known.join(one),
                None => all.push(one),
            }
        }
    }
    most_first(&mut all);
    (all, reasons::summed(left))
}

fn most_first(parts: &mut [Dropped]) {
    parts.sort_by_key(|one| std::cmp::Reverse(one.packets));
}

fn packets(parts: &[Dropped]) -> u64 {
    parts.iter().map(|part| part.packets).sum()
}

/// The drops of one trial. Where no namespace could be looked into, the receiver's socket is still known to have dropped.
fn drops(trial: &Trial) -> Vec<Dropped> {
    let counted = &trial.meanwhile.counted;
    if !counted.places.is_empty() {
        return of_counters(counted);
    }
    let told = trial.findings.iter().find_map(|finding| match finding {
        Finding::DroppedAtSocket { dropped, .. } => Some(*dropped),
        _ => None,
    });
    told.map(|packets| Dropped::new("server", "", Cause::SocketBuffer, packets))
        .into_iter()
        .collect()
}

fn of_counters(counted: &Counted) -> Vec<Dropped> {
    let backlog: u64 = counted.cores.iter().map(|core| core.dropped).sum();
    let mut all: Vec<Dropped> = counted.places.iter().flat_map(by_stack).collect();
    let mut below: u64 = 0;
    for place in &counted.places {
        for one in by_queues(place).chain(by_devices(place, backlog)) {
            below += one.packets;
            all.push(one);
        }
    }
    for place in &counted.places {
        for (device, gains) in &place.devices {
            let unsent = get(gains, "tx_dropped") + get(gains, "tx_errors");
            let known = unsent.min(below);
            below -= known;
            all.push(Dropped::new(&place.place, device, Cause::Device, unsent - known));
        }
    }
    all.retain(|one| one.packets > 0);
    all
}

/// What a namespace's own stack, its rules and its connection tracking dropped.
fn by_stack(place: &PlaceCounts) -> Vec<Dropped> {
    let mut all: Vec<Dropped> = Vec::new();
    for (name, cause) in BY_PROTOCOLS {
        let one = Dropped::new(&place.place, "", cause, get(&place.protocols, name));
        match all.iter_mut().find(|known| known.is_like(&one)) {
            Some(known) => known.packets += one.packets,
            None => all.push(one),
        }
    }
    let tracking = get(&place.conntrack, "drop");
    all.push(Dropped::new(&place.place, "", Cause::Conntrack, tracking));
    let drops =
        place.rules.iter().filter(|(rule, _)| rule.ends_with(" drop") || rule.ends_with(" reject"));
    all.extend(
        drops.map(|(rule, gains)| {
            Dropped::new(&place.place, rule, Cause::Rule, get(gains, "packets"))
        }),
    );
    all
}

fn by_queues(place: &PlaceCounts) -> impl Iterator<Item = Dropped> + '_ {
    place
        .queues
        .iter()
        .map(|(queue, gains)| Dropped::new(&place.place, queue, Cause::Queue, get(gains, "drops")))
}

/// What devices did not take in; where a core's backlog was full meanwhile, that is why.
fn by_devices(place: &PlaceCounts, backlog: u64) -> impl Iterator<Item = Dropped> + '_ {
    place.devices.iter().map(move |(device, gains)| {
        let names = ["rx_dropped", "rx_errors", "rx_missed_errors"];
        let packets = names.into_iter().map(|name| get(gains, name)).sum();
        let cause = if packets > 0 && packets <= backlog { Cause::Backlog } else { Cause::Device };
        Dropped::new(&place.place, device, cause, packets)
    })
}

fn get(gains: &Gains, name: &str) -> u64 {
    gains.get(name).copied().unwrap_or(0)
}

fn signed(packets: u64) -> i64 {
    i64::try_from(packets).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::trial;
    use proptest::prelude::*;
    use tare_record::{CoreCounts, Ends};

    fn gains(pairs: &[(&str, u64)]) -> Gains {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    fn lossy(sent: u64, received: u64, places: Vec<PlaceCounts>) -> Trial {
        let mut trial = trial("bridge", 0, &[]);
        trial.ends = Ends { datagrams_sent: sent, datagrams_received: received, ..Ends::default() };
        trial.meanwhile.counted.places = places;
        trial.parameters.insert("receive_buffer".to_owned(), 212_992.into());
        trial
    }

    fn place(name: &str) -> PlaceCounts {
        PlaceCounts { place: name.to_owned(), ..PlaceCounts::default() }
    }

    fn server(full: u64) -> PlaceCounts {
        PlaceCounts { protocols: gains(&[("Udp.RcvbufErrors", full)]), ..place("server-0") }
    }

    #[test]
    fn the_parts_and_the_rest_are_the_whole() {
        let node = PlaceCounts {
            queues: [("eth0/tbf".to_owned(), gains(&[("drops", 2), ("packets", 900)]))].into(),
            rules: [
                ("filter/FORWARD#7 drop".to_owned(), gains(&[("packets", 5)])),
                ("filter/FORWARD#8 accept".to_owned(), gains(&[("packets", 900)])),
            ]
            .into(),
            ..place("node-0")
        };
        let trials = [lossy(1000, 952, vec![node, server(39)]), lossy(1000, 1000, Vec::new())];
        let found = loss(&trials.iter().collect::<Vec<_>>()).unwrap();
        let Finding::LossPlaced { lost, of, parts, unplaced } = &found else { panic!("{found}") };
        let packets: Vec<u64> = parts.iter().map(|part| part.packets).collect();
        assert_eq!((*lost, *of, &packets[..], *unplaced), (48, 2000, &[39, 5, 2][..], 2));
        assert_eq!(
            found.to_string(),
            "2.4 % lost: 1.9 % in server-0's socket buffer (too small: 208 KiB), \
             0.2 % by the rule node-0:filter/FORWARD#7 drop, 0.1 % at the queue node-0:eth0/tbf, 0.1 % unplaced"
        );
        assert_eq!(loss(&[&trials[1]]), None);
    }

    #[test]
    fn a_drop_that_is_counted_twice_is_one() {
        let device =
            |name: &str, counter: &str, packets| (name.to_owned(), gains(&[(counter, packets)]));
        let node = PlaceCounts {
            devices: [device("veth-s0", "tx_dropped", 12)].into(),
            ..place("node-0")
        };
        let server =
            PlaceCounts { devices: [device("eth0", "rx_dropped", 9)].into(), ..place("server-0") };
        let mut trial = lossy(100, 88, vec![node, server]);
        trial.meanwhile.counted.cores = vec![CoreCounts { dropped: 9, ..CoreCounts::default() }];
        let found = loss(&[&trial]).unwrap();
        let Finding::LossPlaced { parts, unplaced, .. } = found else { panic!("{found}") };
        let expected = [
            Dropped::new("server-0", "eth0", Cause::Backlog, 9),
            Dropped::new("node-0", "veth-s0", Cause::Device, 3),
        ];
        assert_eq!((parts.as_slice(), unplaced), (&expected[..], 0));
    }

    #[test]
    fn the_kernels_reasons_stand_with_the_parts_and_fill_the_rest() {
        let reasons =
            |device: &str, reason, packets| (device.to_owned(), gains(&[(reason, packets)]));
        let node = PlaceCounts {
            reasons: [reasons("port1", "NETFILTER_DROP", 12)].into(),
            ..place("node-0")
        };
        let server =
            PlaceCounts { reasons: [reasons("", "SOCKET_RCVBUFF", 39)].into(), ..server(39) };
        let found = loss(&[&lossy(1000, 949, vec![node, server])]).unwrap();
        assert_eq!(
            found.to_string(),
            "5.1 % lost: 3.9 % in server-0's socket buffer (too small: 208 KiB; SOCKET_RCVBUFF), \
             1.2 % at node-0:port1 (NETFILTER_DROP)"
        );
    }

    #[test]
    fn what_does_not_fit_is_lost_where_it_was_refused() {
        let node = PlaceCounts {
            protocols: gains(&[("Ip.FragFails", 30), ("Ip.ForwDatagrams", 900)]),
            reasons: [("port2".to_owned(), gains(&[("PKT_TOO_BIG", 30)]))].into(),
            ..place("node-0")
        };
        let tunnel = PlaceCounts { protocols: gains(&[("Ip6.FragFails", 5)]), ..place("node-1") };
        let found = loss(&[&lossy(1000, 963, vec![node, tunnel])]).unwrap();
        let Finding::LossPlaced { parts, unplaced, .. } = &found else { panic!("{found}") };
        let placed: u64 = parts.iter().map(|part| part.packets).sum();
        assert_eq!((placed, *unplaced), (35, 2));
        assert_eq!(
            found.to_string(),
            "3.7 % lost: 3.0 % in node-0, where they did not fit and were not to be cut (PKT_TOO_BIG), \
             0.5 % in node-1, where they did not fit and were not to be cut, 0.2 % unplaced"
        );
    }

    #[test]
    fn without_counters_the_receiver_has_its_say() {
        let mut trial = lossy(100, 90, Vec::new());
        trial.findings = vec![Finding::DroppedAtSocket { dropped: 8, of: 100 }];
        let found = loss(&[&trial]).unwrap().to_string();
        assert!(found.starts_with("10.0 % lost: 8.0 % in server's socket buffer"), "{found}");
        assert!(found.ends_with("2.0 % unplaced"), "{found}");
    }

    #[test]
    fn segments_sent_again_are_told_with_what_was_dropped() {
        let client = |again| PlaceCounts {
            protocols: gains(&[("Tcp.OutSegs", 10_000), ("Tcp.RetransSegs", again)]),
            ..place("client-0")
        };
        let queue = PlaceCounts {
            queues: [("eth0/tbf".to_owned(), gains(&[("drops", 30)]))].into(),
            ..place("node-0")
        };
        let trial = lossy(0, 0, vec![client(40), queue]);
        let found = retransmits(&[&trial]).unwrap().to_string();
        assert_eq!(
            found,
            "40 segments were sent again (0.4 % of all); dropped: 30 at the queue node-0:eth0/tbf"
        );
        assert_eq!(retransmits(&[&lossy(0, 0, vec![client(19)])]), None);
    }

    proptest! {
        #[test]
        fn whatever_is_counted_adds_up(sent in 1u64..1000, received in 0u64..1000, full in 0u64..500,
                                       queue in 0u64..500, unsent in 0u64..500) {
            let node = PlaceCounts {
                queues: [("eth0/tbf".to_owned(), gains(&[("drops", queue)]))].into(),
                devices: [("eth0".to_owned(), gains(&[("tx_dropped", unsent)]))].into(),
                ..place("node-0")
            };
            let trial = lossy(sent, received, vec![node, server(full)]);
            match loss(&[&trial]) {
                Some(Finding::LossPlaced { lost, parts, unplaced, .. }) => {
                    let placed: u64 = parts.iter().map(|part| part.packets).sum();
                    prop_assert_eq!(signed(placed) + unplaced, signed(lost));
                    prop_assert_eq!(placed, full + queue.max(unsent));
                }
                other => prop_assert!(other.is_none() && received >= sent),
            }
        }
    }
}
