//! What every hop counts: devices, queues, rules, connection tracking and protocols, namespace by namespace.
//!
//! Nothing here asks the kernel for what it would have to load a module for, and nothing runs while a trial is measured.

#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod rules;

use crate::drops::{Drops, Reasons, Watched};
use crate::lab::Lab;
use crate::layout::Layout;
use crate::namespace::Namespace;
use crate::netlink::{Counted, Queue, Socket};
use crate::networks::CALLER;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use tare_network::{Error, Gains, PlaceCounts, Ran, counted};

/// The most namespaces that are looked into: nodes come first, then servers, then clients.
const MOST: usize = 64;

/// Where counters are read.
enum Place {
    /// A namespace of the lab's.
    Lab(Arc<Namespace>),
    /// tare's own, where a network has its ends.
    Caller,
}

/// A place, and what was counted there when it was last read.
struct One {
    place: Place,
    /// That the kernel says why it drops packets there; nothing where it is not asked.
    watched: Option<Watched>,
    before: PlaceCounts,
}

/// The counters of a network, and what they were when they were last read.
pub(crate) struct Counters {
    places: Vec<One>,
    drops: Option<Arc<Drops>>,
    /// Whether there may be netfilter rules.
    filters: bool,
}

impl Counters {
    /// Begins to count in all namespaces of a layout that was built.
    pub(crate) fn watch(lab: &Lab, layout: &Layout, spaces: &[Arc<Namespace>]) -> Self {
        let filters = !layout.wiring.rules.is_empty() || lab.kernel().is_present("nf_tables");
        let mut ends = layout.servers.iter().chain(&layout.clients);
        let caller = ends.any(|end| end.space.is_none()).then_some(Place::Caller);
        let inside = spaces.iter().take(MOST).map(|space| Place::Lab(Arc::clone(space)));
        let drops = lab.drops().cloned();
        let begun = |place: Place| {
            let watched = drops.as_ref().and_then(|drops| drops.watch(place.inode()?));
            // Nothing was dropped before anybody watched.
            let before = place.read(filters, None).ok()?;
            Some(One { place, watched, before })
        };
        let places = inside.chain(caller).filter_map(begun).collect();
        Self { places, drops, filters }
    }

    /// What was gained since they were last read. A place that cannot be read any more has gained nothing.
    pub(crate) fn gained(&mut self) -> Vec<PlaceCounts> {
        let filters = self.filters;
        let dropped = self.drops.as_ref().map(|drops| drops.read()).unwrap_or_default();
        let gained = |One { place, watched, before }: &mut One| {
            let reasons = watched.as_ref().and_then(|watched| watched.among(&dropped));
            let now = place.read(filters, reasons).ok()?;
            let gained = now.since(before);
            *before = now;
            (!gained.is_empty()).then_some(gained)
        };
        self.places.iter_mut().filter_map(gained).collect()
    }

    /// What the kernel has run so far to say why it drops packets.
    pub(crate) fn ran(&self) -> Option<Ran> {
        self.drops.as_ref()?.ran()
    }
}

impl Place {
    /// The number of the namespace's inode.
    fn inode(&self) -> Option<u64> {
        match self {
            Self::Lab(space) => rustix::fs::fstat(space).ok().map(|stat| stat.st_ino),
            Self::Caller => fs::metadata("/proc/thread-self/ns/net").ok().map(|file| file.ino()),
        }
    }

    /// All counters as they are now.
    fn read(&self, filters: bool, reasons: Option<&Reasons>) -> Result<PlaceCounts, Error> {
        let Self::Lab(space) = self else {
            let mut socket = Socket::open()?;
            let (devices, queues) = (socket.devices()?, socket.queues()?);
            // The rules of a machine are its own affair, and only root may list them.
            return Ok(counts(CALLER, &devices, &queues, Within::read(false), reasons));
        };
        let (devices, queues) = space.counted()?;
        let within = space.within(|| Ok(Within::read(filters)))?;
        Ok(counts(space.name(), &devices, &queues, within, reasons))
    }
}

/// What only those can read who are in the namespace.
struct Within {
    rules: BTreeMap<String, Gains>,
    conntrack: Gains,
    protocols: Gains,
}

impl Within {
    fn read(filters: bool) -> Self {
        // A kernel without nf_tables after all has no rules.
        let rules = if filters { rules::all().unwrap_or_default() } else { BTreeMap::new() };
        Self { rules, conntrack: counted::conntrack(), protocols: counted::protocols() }
    }
}

fn counts(
    place: &str,
    devices: &[Counted],
    queues: &[Queue],
    within: Within,
    reasons: Option<&Reasons>,
) -> PlaceCounts {
    let name = |index: u32| devices.iter().find(|one| one.index == index).map(|one| &one.name);
    let queue = |queue: &Queue| {
        let device = name(queue.device)?;
        Some((format!("{device}/{}", queue.kind), of_queue(queue)))
    };
    let of_device_number = |(&index, gains): (&u32, &Gains)| {
        let device = match index {
            0 => String::new(),
            index => name(index).cloned().unwrap_or_else(|| format!("device {index}")),
        };
        (device, gains.clone())
    };
    PlaceCounts {
        place: place.to_owned(),
        devices: devices.iter().map(|one| (one.name.clone(), of_device(one))).collect(),
        queues: queues.iter().filter_map(queue).collect(),
        rules: within.rules,
        conntrack: within.conntrack,
        protocols: within.protocols,
        reasons: reasons.into_iter().flatten().map(of_device_number).collect(),
    }
}

fn of_device(Counted { stats, .. }: &Counted) -> Gains {
    named([
        ("rx_packets", stats.rx_packets),
        ("tx_packets", stats.tx_packets),
        ("rx_bytes", stats.rx_bytes),
        ("tx_bytes", stats.tx_bytes),
        ("rx_errors", stats.rx_errors),
        ("tx_errors", stats.tx_errors),
        ("rx_dropped", stats.rx_dropped),
        ("tx_dropped", stats.tx_dropped),
        ("rx_missed_errors", stats.rx_missed_errors),
        ("tx_carrier_errors", stats.tx_carrier_errors),
        ("rx_nohandler", stats.rx_nohandler),
    ])
}

fn of_queue(queue: &Queue) -> Gains {
    named([
        ("packets", u64::from(queue.packets)),
        ("bytes", queue.bytes),
        ("drops", u64::from(queue.drops)),
        ("overlimits", u64::from(queue.overlimits)),
        ("requeues", u64::from(queue.requeues)),
        ("backlog", u64::from(queue.backlog)),
    ])
}

fn named<const N: usize>(all: [(&str, u64); N]) -> Gains {
    all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use netlink_packet_route::link::Stats64;

    #[test]
    fn a_queue_is_named_after_its_device() {
        let mut stats = Stats64::default();
        stats.tx_dropped = 4;
        let devices = [Counted { index: 7, name: "eth0".to_owned(), stats }];
        let queue = |device| Queue { device, kind: "tbf".to_owned(), drops: 3, ..Queue::default() };
        let within =
            Within { rules: BTreeMap::new(), conntrack: Gains::new(), protocols: Gains::new() };
        let full = Gains::from([("QDISC_DROP".to_owned(), 3)]);
        let reasons = Reasons::from([(0, Gains::new()), (7, full), (9, Gains::new())]);
        let counts = counts("node-0", &devices, &[queue(7), queue(8)], within, Some(&reasons));
        assert_eq!(counts.reasons.keys().collect::<Vec<_>>(), ["", "device 9", "eth0"]);
        assert_eq!(counts.reasons["eth0"]["QDISC_DROP"], 3);
        assert_eq!(counts.queues.keys().collect::<Vec<_>>(), ["eth0/tbf"]);
        assert_eq!(counts.queues["eth0/tbf"]["drops"], 3);
        assert_eq!(counts.devices["eth0"]["tx_dropped"], 4);
    }
}
