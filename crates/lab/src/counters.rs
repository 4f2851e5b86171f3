//! Counters of every hop: devices, queues, rules, connection tracking and protocols, for each namespace.
//!
//! Nothing here makes the kernel load a module, and nothing here runs while a trial is measured.

use crate::networks::CALLER;
use crate::plan::layout::Layout;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use tare_network::{CounterDeltas, KernelProgramRuns, NamespaceCounts};
use tare_sandbox::counters::{NamespaceReader, NamespaceReading};
use tare_sandbox::netlink::{DeviceStats, QdiscStats};
use tare_sandbox::{DropCounter, DropReasons, DropWatch, Namespace, Sandbox};

/// Largest number of namespaces whose counters are read. Nodes come first, then servers, then clients.
const MOST: usize = 64;

/// Namespace, with the counters of the previous read.
struct WatchedNamespace {
    name: String,
    reader: NamespaceReader,
    /// Watch on the kernel's drop reasons in the namespace. `None` if they are not read there.
    watched: Option<DropWatch>,
    before: NamespaceCounts,
}

/// Counters of a network, with their values at the previous read.
pub(crate) struct NetworkCounters {
    places: Vec<WatchedNamespace>,
    drops: Option<Arc<DropCounter>>,
}

impl NetworkCounters {
    /// Starts to count in all namespaces of a layout that was built.
    pub(crate) fn start(sandbox: &Sandbox, layout: &Layout, spaces: &[Arc<Namespace>]) -> Self {
        let filters = !layout.wiring.rules.is_empty() || sandbox.kernel().is_present("nf_tables");
        let mut ends = layout.servers.iter().chain(&layout.clients);
        let uses_caller = ends.any(|end| end.space.is_none());
        let drops = sandbox.drops().cloned();
        let watch = |inode: Option<u64>| drops.as_ref()?.watch(inode?);
        let inside = spaces.iter().take(MOST).filter_map(|space| {
            let reader = space.run_inside(|| NamespaceReader::open(filters)).ok()?;
            let inode = rustix::fs::fstat(space).ok().map(|stat| stat.st_ino);
            WatchedNamespace::start(space.name(), reader, watch(inode))
        });
        let mut places: Vec<WatchedNamespace> = inside.collect();
        if uses_caller {
            // The rules of the machine itself are not tare's, and only root may list them.
            let inode = fs::metadata("/proc/thread-self/ns/net").ok().map(|file| file.ino());
            let reader = NamespaceReader::open(false).ok();
            places.extend(
                reader.and_then(|reader| WatchedNamespace::start(CALLER, reader, watch(inode))),
            );
        }
        Self { places, drops }
    }

    /// Returns the increase since the previous read. A namespace that cannot be read any more has no increase.
    pub(crate) fn read_gains(&mut self) -> Vec<NamespaceCounts> {
        let dropped = self.drops.as_ref().map(|drops| drops.read()).unwrap_or_default();
        let gained = |place: &mut WatchedNamespace| {
            let reasons = place.watched.as_ref().and_then(|watched| watched.select(&dropped));
            let now = to_place_counts(&place.name, place.reader.read().ok()?, reasons);
            let gained = now.since(&place.before);
            place.before = now;
            (!gained.is_empty()).then_some(gained)
        };
        self.places.iter_mut().filter_map(gained).collect()
    }

    /// Returns the cost so far of the program that counts the kernel's drop reasons.
    pub(crate) fn drop_program_cost(&self) -> Option<KernelProgramRuns> {
        self.drops.as_ref()?.run_cost()
    }
}

impl WatchedNamespace {
    /// Starts to count in a namespace. Returns `None` if it cannot be read.
    fn start(name: &str, mut reader: NamespaceReader, watched: Option<DropWatch>) -> Option<Self> {
        // No drops were counted before the watch started.
        let before = to_place_counts(name, reader.read().ok()?, None);
        Some(Self { name: name.to_owned(), reader, watched, before })
    }
}

fn to_place_counts(
    place: &str,
    reading: NamespaceReading,
    reasons: Option<&DropReasons>,
) -> NamespaceCounts {
    let NamespaceReading { devices, queues, rules, conntrack, protocols } = reading;
    let name = |index: u32| devices.iter().find(|one| one.index == index).map(|one| &one.name);
    let queue = |queue: &QdiscStats| {
        let device = name(queue.device)?;
        Some((format!("{device}/{}", queue.kind), queue_gains(queue)))
    };
    let of_device_number = |(&index, gains): (&u32, &CounterDeltas)| {
        let device = match index {
            0 => String::new(),
            index => name(index).cloned().unwrap_or_else(|| format!("device {index}")),
        };
        (device, gains.clone())
    };
    NamespaceCounts {
        place: place.to_owned(),
        devices: devices.iter().map(|one| (one.name.clone(), device_gains(one))).collect(),
        queues: queues.iter().filter_map(queue).collect(),
        rules,
        conntrack,
        protocols,
        reasons: reasons.into_iter().flatten().map(of_device_number).collect(),
    }
}

fn device_gains(DeviceStats { stats, .. }: &DeviceStats) -> CounterDeltas {
    to_gains([
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

fn queue_gains(queue: &QdiscStats) -> CounterDeltas {
    to_gains([
        ("packets", u64::from(queue.packets)),
        ("bytes", queue.bytes),
        ("drops", u64::from(queue.drops)),
        ("overlimits", u64::from(queue.overlimits)),
        ("requeues", u64::from(queue.requeues)),
        ("backlog", u64::from(queue.backlog)),
    ])
}

fn to_gains<const N: usize>(all: [(&str, u64); N]) -> CounterDeltas {
    all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use netlink_packet_route::link::Stats64;
    use std::collections::BTreeMap;

    #[test]
    fn a_queue_is_named_after_its_device() {
        let mut stats = Stats64::default();
        stats.tx_dropped = 4;
        let queue = |device| QdiscStats {
            device,
            kind: "tbf".to_owned(),
            drops: 3,
            ..QdiscStats::default()
        };
        let reading = NamespaceReading {
            devices: vec![DeviceStats { index: 7, name: "eth0".to_owned(), stats }],
            queues: vec![queue(7), queue(8)],
            rules: BTreeMap::new(),
            conntrack: CounterDeltas::new(),
            protocols: CounterDeltas::new(),
        };
        let full = CounterDeltas::from([("QDISC_DROP".to_owned(), 3)]);
        let reasons =
            DropReasons::from([(0, CounterDeltas::new()), (7, full), (9, CounterDeltas::new())]);
        let counts = to_place_counts("node-0", reading, Some(&reasons));
        assert_eq!(counts.reasons.keys().collect::<Vec<_>>(), ["", "device 9", "eth0"]);
        assert_eq!(counts.reasons["eth0"]["QDISC_DROP"], 3);
        assert_eq!(counts.queues.keys().collect::<Vec<_>>(), ["eth0/tbf"]);
        assert_eq!(counts.queues["eth0/tbf"]["drops"], 3);
        assert_eq!(counts.devices["eth0"]["tx_dropped"], 4);
    }
}
