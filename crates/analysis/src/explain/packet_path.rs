//! Path of a trial's packets, and the places that lie on it.
//!
//! A trial lists the hops of its first client. With several clients or servers, names that differ from a hop's in their
//! number only are on the path of another client: `veth-c3` beside `veth-c0`.

use tare_record::{Hop, HopKind, Trial};

/// Kind of packets that are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacketKind {
    /// Datagrams of the workload.
    Datagrams,
    /// Segments of TCP that were sent again.
    Segments,
}

/// Path of a trial's packets.
#[derive(Clone, Copy)]
pub(crate) struct PacketPath<'a> {
    trial: &'a Trial,
}

impl<'a> PacketPath<'a> {
    pub(crate) fn new(trial: &'a Trial) -> Self {
        Self { trial }
    }

    /// Returns true if a client or a server of the workload runs in this namespace.
    pub(crate) fn ends_in(self, place: &str) -> bool {
        let hops = &self.trial.hops;
        let ends = [hops.first(), hops.last()];
        ["client", "server"].iter().any(|role| place.starts_with(role))
            || hops.is_empty()
            || ends.into_iter().flatten().any(|hop| self.is_same(&hop.place, place))
    }

    /// Returns true if packets pass this namespace.
    pub(crate) fn passes(self, place: &str) -> bool {
        self.ends_in(place) || self.hops_in(place).next().is_some()
    }

    /// Returns true if packets pass this device. A path that names no device of a namespace is not known there, so all
    /// of them may be on it. A packet that had no device any more (an empty name) was somewhere in the namespace.
    pub(crate) fn passes_device(self, place: &str, device: &str) -> bool {
        self.passes(place)
            && (device.is_empty() || !self.is_known_in(place) || self.names(place, device))
    }

    /// Returns true if packets of the workload travel inside other packets here, or a program reads and sends them.
    /// Then protocols other than the workload's carry them.
    pub(crate) fn is_carried_in(self, place: &str) -> bool {
        let carries = |hop: &Hop| matches!(hop.kind, HopKind::Forwarder | HopKind::Encapsulation);
        self.trial.hops.is_empty() || self.hops_in(place).any(carries)
    }

    fn hops_in(self, place: &str) -> impl Iterator<Item = &'a Hop> {
        self.trial.hops.iter().filter(move |hop| self.is_same(&hop.place, place))
    }

    fn names(self, place: &str, device: &str) -> bool {
        // A queue is named after its device: `eth0/tbf`.
        let of_hop = |hop: &'a Hop| hop.name.split('/').next().unwrap_or_default();
        self.hops_in(place).any(|hop| self.is_same(of_hop(hop), device))
    }

    /// Returns true if the path names a device of this namespace that carried packets.
    fn is_known_in(self, place: &str) -> bool {
        let places = &self.trial.meanwhile.counted.places;
        let counted = places.iter().find(|counts| counts.place == place);
        counted.is_some_and(|counts| counts.devices.keys().any(|device| self.names(place, device)))
    }

    /// Returns true if two names are the same or, with several clients or servers, differ in their number only.
    fn is_same(self, one: &str, other: &str) -> bool {
        let shape = &self.trial.shape;
        one == other
            || ((shape.clients > 1 || shape.servers > 1)
                && without_number(one).is_some_and(|name| without_number(other) == Some(name)))
    }
}

/// Returns a name without the number at its end. Returns `None` if it has no number.
fn without_number(name: &str) -> Option<&str> {
    let rest = name.trim_end_matches(|one: char| one.is_ascii_digit());
    (rest.len() < name.len()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::trial;
    use tare_record::{CounterDeltas, NamespaceCounts};

    fn counted(place: &str, devices: &[&str]) -> NamespaceCounts {
        let gains = CounterDeltas::from_iter([("rx_packets".to_owned(), 9)]);
        NamespaceCounts {
            place: place.to_owned(),
            devices: devices.iter().map(|&device| (device.to_owned(), gains.clone())).collect(),
            ..NamespaceCounts::default()
        }
    }

    fn bridged() -> Trial {
        let mut trial = trial("bridge", 0, &[]);
        let veth = |name, place| Hop::new(HopKind::Veth, name, place);
        trial.hops = vec![
            veth("eth0", "client-0"),
            veth("veth-c0", "node-0"),
            Hop::new(HopKind::Bridge, "docker0", "node-0"),
            Hop::new(HopKind::Queue, "veth-s0/tbf", "node-0"),
            veth("eth0", "server-0"),
        ];
        trial.meanwhile.counted.places = vec![
            counted("node-0", &["veth-c0", "docker0", "veth-s0", "veth-c1", "off0"]),
            counted("server-0", &["eth0", "eth1"]),
        ];
        trial
    }

    #[test]
    fn only_devices_that_a_hop_names_are_passed() {
        let trial = bridged();
        let path = PacketPath::new(&trial);
        for device in ["veth-c0", "docker0", "veth-s0", ""] {
            assert!(path.passes_device("node-0", device), "{device}");
        }
        for device in ["off0", "veth-c1"] {
            assert!(!path.passes_device("node-0", device), "{device}");
        }
        assert!(path.passes_device("server-0", "eth0") && !path.passes_device("server-0", "eth1"));
        assert!(!path.passes("node-1") && !path.passes_device("node-1", "eth0"));
        assert!(path.ends_in("server-0") && !path.ends_in("node-0"));
    }

    #[test]
    fn other_clients_have_paths_like_the_first() {
        let mut trial = bridged();
        trial.shape.clients = 2;
        let path = PacketPath::new(&trial);
        assert!(path.passes_device("node-0", "veth-c1") && path.passes_device("node-1", "veth-c1"));
        assert!(!path.passes_device("node-0", "off0") && !path.passes("underlay"));
    }

    #[test]
    fn where_no_path_is_known_every_device_may_be_on_it() {
        let mut trial = bridged();
        trial.hops = vec![Hop::new(HopKind::Device, "network.py", "node-0")];
        let path = PacketPath::new(&trial);
        assert!(path.passes_device("node-0", "off0") && path.passes_device("server-0", "eth1"));
        assert!(!path.passes("underlay"));
        trial.hops.clear();
        assert!(PacketPath::new(&trial).passes_device("underlay", "port0"));
    }
}
