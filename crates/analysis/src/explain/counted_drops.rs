//! Drops that the hops of a trial counted, on the path of its packets and beside it.
//!
//! A drop is often counted more than once on its way up: a macvlan device or a tunnel counts a drop of the queue below
//! it as not sent (net/core/dev.c, `net_xmit_eval`), and the near end of a veth pair counts what its far end does not
//! receive (drivers/net/veth.c, `veth_xmit`). So packets that devices could not send count only beyond the drops below
//! them.

use crate::explain::packet_path::{PacketKind, PacketPath};
use tare_record::finding::SocketDrops;
use tare_record::{
    COPIES_CHAIN, CounterDeltas, DropCause, Finding, NamespaceCounts, PacketDrops,
    SaturatingSum as _, Trial,
};

/// Protocol counters of drops, and their causes.
const PROTOCOL_DROP_COUNTERS: [(&str, DropCause); 19] = [
    ("Udp.RcvbufErrors", DropCause::SocketBuffer),
    ("Udp6.RcvbufErrors", DropCause::SocketBuffer),
    ("Udp.MemErrors", DropCause::SocketBuffer),
    ("Udp6.MemErrors", DropCause::SocketBuffer),
    ("TcpExt.TCPBacklogDrop", DropCause::SocketBuffer),
    ("TcpExt.TCPRcvQDrop", DropCause::SocketBuffer),
    ("Udp.NoPorts", DropCause::NoSocket),
    ("Udp6.NoPorts", DropCause::NoSocket),
    ("Udp.InCsumErrors", DropCause::Checksum),
    ("Udp6.InCsumErrors", DropCause::Checksum),
    ("Tcp.InCsumErrors", DropCause::Checksum),
    ("Ip.InAddrErrors", DropCause::Route),
    ("Ip6.InAddrErrors", DropCause::Route),
    ("IpExt.InNoRoutes", DropCause::Route),
    ("Ip6.InNoRoutes", DropCause::Route),
    ("Ip.FragFails", DropCause::TooLarge),
    ("Ip6.FragFails", DropCause::TooLarge),
    ("Ip.ReasmFails", DropCause::Reassembly),
    ("Ip6.ReasmFails", DropCause::Reassembly),
];

/// Drops of one trial.
#[derive(Default)]
pub(crate) struct CountedDrops {
    /// Drops that may be of the missing packets.
    pub(crate) on_path: Vec<PacketDrops>,
    /// Drops of other packets.
    pub(crate) beside: Vec<PacketDrops>,
}

impl CountedDrops {
    /// Reads the drops from the counters of a trial. If no namespace could be read, the drops at the receiver's socket
    /// are still known.
    pub(crate) fn from_trial(trial: &Trial, kind: PacketKind) -> Self {
        let mut drops = Self::default();
        if trial.meanwhile.counted.places.is_empty() {
            drops.on_path = receiver_drops(trial).into_iter().collect();
        } else {
            drops.add_stacks(trial, kind);
            drops.add_devices(trial);
        }
        if kind == PacketKind::Datagrams {
            add_buffer_size(&mut drops.on_path, trial);
        }
        drops.on_path.retain(|one| one.packets > 0);
        drops.beside.retain(|one| one.packets > 0);
        drops
    }

    /// Adds a record to those of the same origin.
    fn add(&mut self, is_on_path: bool, drops: PacketDrops) {
        let all = if is_on_path { &mut self.on_path } else { &mut self.beside };
        match all.iter_mut().find(|known| known.has_same_origin(&drops)) {
            Some(known) => known.merge(drops),
            None => all.push(drops),
        }
    }

    /// Adds the drops of the namespaces' own stacks: their sockets, protocols, rules and connection tracking.
    fn add_stacks(&mut self, trial: &Trial, kind: PacketKind) {
        let path = PacketPath::new(trial);
        for counts in &trial.meanwhile.counted.places {
            let place = counts.place.as_str();
            let mut of_daemons = self.add_daemon_sockets(path, counts);
            for (name, cause) in PROTOCOL_DROP_COUNTERS {
                let mut packets = get(&counts.protocols, name);
                if cause == DropCause::SocketBuffer && name.starts_with("Udp") {
                    // A daemon's socket has a part of its own.
                    let known = packets.min(of_daemons);
                    (packets, of_daemons) = (packets - known, of_daemons - known);
                }
                let is_on_path = path.passes(place) && is_counter_of(name, kind, path, place);
                self.add(is_on_path, PacketDrops::new(place, "", cause, packets));
            }
            let tracking = get(&counts.conntrack, "drop");
            self.add(
                path.passes(place),
                PacketDrops::new(place, "", DropCause::Conntrack, tracking),
            );
            for (rule, gains) in dropping_rules(counts) {
                let drops = PacketDrops::new(place, rule, DropCause::Rule, get(gains, "packets"));
                self.add(path.passes(place), drops);
            }
        }
    }

    /// Adds the drops of the daemons' sockets, those of the socket with most drops first. Returns the number of packets
    /// that the UDP counters of the namespace count, too.
    fn add_daemon_sockets(&mut self, path: PacketPath<'_>, counts: &NamespaceCounts) -> u64 {
        let place = counts.place.as_str();
        let of_udp = |(name, _): &&(&str, DropCause)| {
            name.starts_with("Udp")
                && (name.ends_with("RcvbufErrors") || name.ends_with("MemErrors"))
        };
        let counted = PROTOCOL_DROP_COUNTERS.iter().filter(of_udp);
        let all: u64 = counted.map(|(name, _)| get(&counts.protocols, name)).saturating_sum();
        let mut left = all;
        let mut sockets: Vec<(&String, &CounterDeltas)> = counts.sockets.iter().collect();
        sockets.sort_by_key(|(_, gains)| std::cmp::Reverse(get(gains, "drops")));
        for (socket, gains) in sockets {
            let mut words = socket.split(' ');
            let program = words.next().unwrap_or_default();
            let (protocol, own) =
                (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            let drops = get(gains, "drops");
            let (at, packets, is_on_path) = match protocol {
                "packet" => (format!("{program}/{own}"), drops, path.passes_device(place, own)),
                _ => {
                    let drops = drops.min(left);
                    left -= drops;
                    (program.to_owned(), drops, path.passes(place) && path.is_carried_in(place))
                }
            };
            let mut part = PacketDrops::new(place, &at, DropCause::SocketBuffer, packets);
            part.detail = gains.get("receive_buffer").map(|&bytes| too_small(bytes));
            self.add(is_on_path, part);
        }
        all - left
    }

    /// Adds the drops of queues and devices.
    fn add_devices(&mut self, trial: &Trial) {
        let (path, counted) = (PacketPath::new(trial), &trial.meanwhile.counted);
        let backlog: u64 = counted.cores.iter().map(|core| core.dropped).saturating_sum();
        let mut below = [0u64; 2];
        for counts in &counted.places {
            for (device, one) in queue_drops(counts).chain(receive_drops(counts, backlog)) {
                let is_on_path = path.passes_device(&counts.place, device);
                let sum = &mut below[usize::from(is_on_path)];
                *sum = sum.saturating_add(one.packets);
                self.add(is_on_path, one);
            }
        }
        for NamespaceCounts { place, devices, .. } in &counted.places {
            for (device, gains) in devices {
                let is_on_path = path.passes_device(place, device);
                let unsent = get(gains, "tx_dropped").saturating_add(get(gains, "tx_errors"));
                let known = unsent.min(below[usize::from(is_on_path)]);
                below[usize::from(is_on_path)] -= known;
                let drops = PacketDrops::new(place, device, DropCause::Device, unsent - known);
                self.add(is_on_path, drops);
            }
        }
    }
}

/// Returns the drops that the receiver itself noticed.
fn receiver_drops(trial: &Trial) -> Option<PacketDrops> {
    let told = trial.findings.iter().find_map(|finding| match finding {
        Finding::SocketDrops(SocketDrops { dropped, .. }) => Some(*dropped),
        _ => None,
    });
    told.map(|packets| PacketDrops::new("server", "", DropCause::SocketBuffer, packets))
}

/// Adds the size of the workload's buffer to the drops in it. Other sockets of the kernel's or of daemons have sizes of
/// their own.
fn add_buffer_size(parts: &mut [PacketDrops], trial: &Trial) {
    let path = PacketPath::new(trial);
    let is_workloads = |part: &&mut PacketDrops| {
        part.cause == DropCause::SocketBuffer && part.at.is_empty() && path.ends_in(&part.place)
    };
    let bytes = trial.parameters.get("receive_buffer").and_then(|bytes| bytes.as_u64());
    for part in parts.iter_mut().filter(is_workloads) {
        part.detail = bytes.map(too_small);
    }
}

fn too_small(bytes: u64) -> String {
    format!("too small: {} KiB", bytes / 1024)
}

/// Returns true if the counter of a protocol may count the missing packets in this namespace: it is of their own
/// protocol, or of one that carries them.
fn is_counter_of(name: &str, kind: PacketKind, path: PacketPath<'_>, place: &str) -> bool {
    let is_own = match kind {
        PacketKind::Datagrams => !name.starts_with("Tcp"),
        PacketKind::Segments => !name.starts_with("Udp"),
    };
    is_own || path.is_carried_in(place)
}

/// Returns the rules that drop packets, and not only copies of them, with their counters.
fn dropping_rules(
    counts: &NamespaceCounts,
) -> impl Iterator<Item = (&String, &CounterDeltas)> + '_ {
    counts.rules.iter().filter(|(rule, _)| is_dropping(rule) && !drops_copies(rule))
}

fn is_dropping(rule: &str) -> bool {
    rule.ends_with(" drop") || rule.ends_with(" reject")
}

/// Returns true if the rule, as `table/chain#7 drop`, drops copies of packets only.
fn drops_copies(rule: &str) -> bool {
    let chain = rule.split('#').next().and_then(|name| name.split_once('/'));
    chain.is_some_and(|(_, chain)| chain == COPIES_CHAIN)
}

/// Returns the number of copies of packets that rules of a namespace dropped.
pub(crate) fn dropped_copies(counts: &NamespaceCounts) -> u64 {
    let rules = counts.rules.iter().filter(|(rule, _)| is_dropping(rule) && drops_copies(rule));
    rules.map(|(_, gains)| get(gains, "packets")).saturating_sum()
}

/// Returns the drops of queues, each with its device.
fn queue_drops(place: &NamespaceCounts) -> impl Iterator<Item = (&str, PacketDrops)> + '_ {
    place.queues.iter().map(|(queue, gains)| {
        let packets = get(gains, "drops");
        let device = queue.rsplit_once('/').map_or(queue.as_str(), |(device, _)| device);
        (device, PacketDrops::new(&place.place, queue, DropCause::Queue, packets))
    })
}

/// Returns the packets that devices did not receive. If a core's backlog had at least as many drops, the backlog is the
/// cause.
fn receive_drops(
    place: &NamespaceCounts,
    backlog: u64,
) -> impl Iterator<Item = (&str, PacketDrops)> + '_ {
    place.devices.iter().map(move |(device, gains)| {
        let names = ["rx_dropped", "rx_errors", "rx_missed_errors"];
        let packets = names.into_iter().map(|name| get(gains, name)).saturating_sum();
        let cause =
            if packets > 0 && packets <= backlog { DropCause::Backlog } else { DropCause::Device };
        (device.as_str(), PacketDrops::new(&place.place, device, cause, packets))
    })
}

fn get(gains: &CounterDeltas, name: &str) -> u64 {
    gains.get(name).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::trial;
    use tare_record::{Hop, HopKind};

    fn gains(pairs: &[(&str, u64)]) -> CounterDeltas {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    fn place(name: &str) -> NamespaceCounts {
        NamespaceCounts { place: name.to_owned(), ..NamespaceCounts::default() }
    }

    /// Returns a trial over a daemon's device, with a workload whose receive buffer has 208 KiB.
    fn tunnelled(places: Vec<NamespaceCounts>) -> Trial {
        let mut trial = trial("flannel-udp", 0, &[]);
        trial.parameters.insert("receive_buffer".to_owned(), 212_992.into());
        trial.hops = vec![
            Hop::new(HopKind::Veth, "eth0", "client-0"),
            Hop::new(HopKind::Forwarder, "flannel0", "node-0"),
            Hop::new(HopKind::Forwarder, "flannel0", "node-1"),
            Hop::new(HopKind::Veth, "eth0", "server-0"),
        ];
        trial.meanwhile.counted.places = places;
        trial
    }

    fn flanneld(counted: u64) -> NamespaceCounts {
        let socket = |drops, bytes| gains(&[("drops", drops), ("receive_buffer", bytes)]);
        NamespaceCounts {
            protocols: gains(&[("Udp.RcvbufErrors", counted)]),
            sockets: [
                ("flanneld udp 10.20.0.2:8285".to_owned(), socket(40, 425_984)),
                ("flanneld udp 10.20.0.2:9".to_owned(), socket(2, 4096)),
                ("sniffer packet flannel0".to_owned(), socket(5, 8192)),
                ("sniffer packet off0".to_owned(), socket(900, 8192)),
            ]
            .into_iter()
            .collect(),
            devices: [("flannel0".to_owned(), gains(&[("rx_packets", 99)]))].into_iter().collect(),
            ..place("node-1")
        }
    }

    fn words(parts: &[PacketDrops]) -> Vec<String> {
        parts.iter().map(|part| format!("{} {part}", part.packets)).collect()
    }

    #[test]
    fn a_daemons_socket_has_its_own_size_and_the_workloads_its_own() {
        let server =
            NamespaceCounts { protocols: gains(&[("Udp.RcvbufErrors", 7)]), ..place("server-0") };
        let trial = tunnelled(vec![flanneld(45), server]);
        let drops = CountedDrops::from_trial(&trial, PacketKind::Datagrams);
        assert_eq!(
            words(&drops.on_path),
            [
                "42 in flanneld's socket buffer in node-1 (too small: 416 KiB)",
                "5 in sniffer's socket buffer in node-1, on flannel0 (too small: 8 KiB)",
                // No daemon of tare has this socket, and it is not the workload's.
                "3 in node-1's socket buffer",
                "7 in server-0's socket buffer (too small: 208 KiB)",
            ]
        );
        assert_eq!(
            words(&drops.beside),
            ["900 in sniffer's socket buffer in node-1, on off0 (too small: 8 KiB)"]
        );
    }

    #[test]
    fn a_daemons_socket_dropped_no_more_than_the_namespace_counted() {
        let drops = CountedDrops::from_trial(&tunnelled(vec![flanneld(41)]), PacketKind::Segments);
        let of_udp = drops.on_path.iter().filter(|part| !part.at.contains('/'));
        assert_eq!(of_udp.map(|part| part.packets).collect::<Vec<_>>(), [41]);
    }

    #[test]
    fn segments_are_not_lost_in_sockets_of_udp_unless_they_are_carried_in_it() {
        let full = |name| NamespaceCounts {
            protocols: gains(&[("Udp.RcvbufErrors", 50), ("TcpExt.TCPRcvQDrop", 3)]),
            ..place(name)
        };
        let trial = tunnelled(vec![full("client-0"), full("node-0"), full("node-9")]);
        let drops = CountedDrops::from_trial(&trial, PacketKind::Segments);
        let found = |parts: &[PacketDrops]| -> Vec<(String, u64)> {
            parts.iter().map(|part| (part.place.clone(), part.packets)).collect()
        };
        let expected = |all: &[(&str, u64)]| -> Vec<(String, u64)> {
            all.iter().map(|(name, packets)| ((*name).to_owned(), *packets)).collect()
        };
        assert_eq!(found(&drops.on_path), expected(&[("client-0", 3), ("node-0", 53)]));
        assert_eq!(found(&drops.beside), expected(&[("client-0", 50), ("node-9", 53)]));
    }

    #[test]
    fn a_device_beside_the_path_explains_nothing() {
        let device = |name: &str, counter, packets| (name.to_owned(), gains(&[(counter, packets)]));
        let node = NamespaceCounts {
            devices: [
                device("flannel0", "rx_packets", 99),
                device("off0", "rx_dropped", 70),
                device("flannel0.up", "tx_dropped", 70),
            ]
            .into_iter()
            .collect(),
            queues: [("off0/tbf".to_owned(), gains(&[("drops", 30)]))].into_iter().collect(),
            rules: [
                ("lossy/forward#3 drop".to_owned(), gains(&[("packets", 6)])),
                ("openvswitch/kernel-copies#3 drop".to_owned(), gains(&[("packets", 600)])),
            ]
            .into_iter()
            .collect(),
            ..place("node-0")
        };
        let mut trial = tunnelled(vec![node]);
        trial.hops.push(Hop::new(HopKind::Device, "flannel0.up", "node-0"));
        let drops = CountedDrops::from_trial(&trial, PacketKind::Segments);
        assert_eq!(
            words(&drops.on_path),
            ["6 by the rule node-0:lossy/forward#3 drop", "70 at node-0:flannel0.up"]
        );
        assert_eq!(words(&drops.beside), ["30 at the queue node-0:off0/tbf", "70 at node-0:off0"]);
    }
}
