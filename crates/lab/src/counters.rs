//! Counters of every hop: devices, queues, rules, connection tracking, protocols and the daemons' sockets, for each
//! namespace.
//!
//! Nothing here makes the kernel load a module, and nothing here runs while a trial is measured.

use crate::build::BuiltWiring;
use crate::networks::CALLER;
use crate::plan::layout::Layout;
use crate::plan::wiring::NamespaceId;
use crate::programs::RunningPrograms;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use tare_network::{
    CounterDeltas, CounterGroups, CounterWatch, KernelProgramRuns, NamespaceCounts, RedirectProgram,
};
use tare_sandbox::counters::{NamespaceReader, NamespaceReading};
use tare_sandbox::ebpf::EbpfRedirect;
use tare_sandbox::netlink::{DeviceStats, QdiscStats};
use tare_sandbox::programs::{ProcessSocket, SocketEnd};
use tare_sandbox::{DropCounter, DropReasons, DropWatch, Sandbox};

/// Largest number of namespaces whose counters are read. Nodes come first, then servers, then clients.
const MOST: usize = 64;

/// Sources of the counts of a namespace.
struct CountSources {
    /// Inode number of the namespace. `None` if it is not known.
    inode: Option<u64>,
    reader: NamespaceReader,
    /// Watch on the kernel's drop reasons in the namespace. `None` if they are not read there.
    watched: Option<DropWatch>,
    /// Redirection by an eBPF program in the namespace. `None` if it has none.
    redirect: Option<Arc<EbpfRedirect>>,
}

/// Namespace, with the counters of the previous read.
struct WatchedNamespace {
    name: String,
    sources: CountSources,
    before: NamespaceCounts,
}

/// Counters of a network in the namespaces of its layout, with their values at the previous read.
pub(crate) struct NetworkCounters {
    places: Vec<WatchedNamespace>,
    drops: Option<Arc<DropCounter>>,
    programs: Arc<RunningPrograms>,
}

/// Sockets of daemons with the names of their programs, by the inode number of their network namespace.
type DaemonSockets = BTreeMap<u64, Vec<(String, ProcessSocket)>>;

impl NetworkCounters {
    /// Starts to count in all namespaces of a layout that was built.
    pub(crate) fn start(
        sandbox: &Sandbox,
        layout: &Layout,
        built: &BuiltWiring,
        programs: &Arc<RunningPrograms>,
    ) -> Self {
        let sockets = daemon_sockets(programs);
        let filters = !layout.wiring.rules.is_empty() || sandbox.kernel().is_present("nf_tables");
        let mut ends = layout.servers.iter().chain(&layout.clients);
        let uses_caller = ends.any(|end| end.space.is_none());
        let drops = sandbox.drops().cloned();
        let watch = |inode: Option<u64>| drops.as_ref()?.watch(inode?);
        let spaces = (0..).map(NamespaceId).zip(&built.spaces);
        let inside = spaces.take(MOST).filter_map(|(id, space)| {
            let reader = space.run_inside(|| NamespaceReader::open(filters)).ok()?;
            let inode = rustix::fs::fstat(space).ok().map(|stat| stat.st_ino);
            let redirect = built.redirects.get(&id).cloned();
            let sources = CountSources { inode, reader, watched: watch(inode), redirect };
            WatchedNamespace::start(space.name(), sources, &sockets)
        });
        let mut places: Vec<WatchedNamespace> = inside.collect();
        if uses_caller {
            // The rules of the machine itself are not tare's, and only root may list them.
            let inode = fs::metadata("/proc/thread-self/ns/net").ok().map(|file| file.ino());
            let reader = NamespaceReader::open(false).ok();
            places.extend(reader.and_then(|reader| {
                let sources = CountSources { inode, reader, watched: watch(inode), redirect: None };
                WatchedNamespace::start(CALLER, sources, &sockets)
            }));
        }
        Self { places, drops, programs: Arc::clone(programs) }
    }
}

impl CounterWatch for NetworkCounters {
    /// Returns the increase since the previous read. A namespace that cannot be read any more has no increase.
    fn read_gains(&mut self) -> Vec<NamespaceCounts> {
        let dropped = self.drops.as_ref().map(|drops| drops.read()).unwrap_or_default();
        let sockets = daemon_sockets(&self.programs);
        let gained = |place: &mut WatchedNamespace| {
            let watched = place.sources.watched.as_ref();
            let reasons = watched.and_then(|watched| watched.select(&dropped));
            let reading = place.sources.read()?;
            let now = to_place_counts(&place.name, reading, reasons, place.select(&sockets));
            let gained = now.since(&place.before);
            place.before = now;
            (!gained.is_empty()).then_some(gained)
        };
        self.places.iter_mut().filter_map(gained).collect()
    }

    fn drop_program_cost(&self) -> Option<KernelProgramRuns> {
        self.drops.as_ref()?.run_cost()
    }
}

impl CountSources {
    /// Reads the namespace. A redirection counts as a rule that packets pass. Returns `None` if the namespace cannot be
    /// read.
    fn read(&mut self) -> Option<NamespaceReading> {
        let mut reading = self.reader.read().ok()?;
        if let Some(redirect) = &self.redirect
            && let Ok(count) = redirect.count()
        {
            let (name, unit) = (redirect.program().hop(), counted(redirect.program()));
            reading.rules.insert(name.to_owned(), to_gains([(unit, count)]));
        }
        Some(reading)
    }
}

/// Returns what a program counts.
fn counted(program: RedirectProgram) -> &'static str {
    match program {
        RedirectProgram::Peer | RedirectProgram::Xdp => "packets",
        RedirectProgram::Sockmap => "sends",
    }
}

impl WatchedNamespace {
    /// Starts to count in a namespace. Returns `None` if it cannot be read.
    fn start(name: &str, sources: CountSources, sockets: &DaemonSockets) -> Option<Self> {
        let (name, before) = (name.to_owned(), NamespaceCounts::default());
        let mut place = Self { name, sources, before };
        // No drops were counted before the watch started.
        let reading = place.sources.read()?;
        place.before = to_place_counts(&place.name, reading, None, place.select(sockets));
        Some(place)
    }

    /// Returns the daemons' sockets in this namespace.
    fn select<'a>(&self, sockets: &'a DaemonSockets) -> &'a [(String, ProcessSocket)] {
        self.sources.inode.and_then(|inode| sockets.get(&inode)).map_or(&[], Vec::as_slice)
    }
}

/// Reads the daemons' sockets.
fn daemon_sockets(programs: &RunningPrograms) -> DaemonSockets {
    let mut sockets = DaemonSockets::new();
    for (program, socket) in programs.sockets() {
        sockets.entry(socket.namespace).or_default().push((program, socket));
    }
    sockets
}

fn to_place_counts(
    place: &str,
    reading: NamespaceReading,
    reasons: Option<&DropReasons>,
    sockets: &[(String, ProcessSocket)],
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
    let device_name = |index: u32| name(index).cloned().unwrap_or_default();
    NamespaceCounts {
        place: place.to_owned(),
        sockets: socket_counts(sockets, device_name),
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

/// Returns the counts of sockets. Sockets of one program with the same end are one.
fn socket_counts(
    sockets: &[(String, ProcessSocket)],
    device_name: impl Fn(u32) -> String,
) -> CounterGroups {
    let mut all = CounterGroups::new();
    for (program, ProcessSocket { end, memory, .. }) in sockets {
        // A space separates the program from the rest.
        let program = program.replace(' ', "_");
        let name = match end {
            SocketEnd::Udp(address) => format!("{program} udp {address}"),
            SocketEnd::Packet(index) => format!("{program} packet {}", device_name(*index)),
        };
        let counts = all.entry(name).or_default();
        *counts.entry("drops".to_owned()).or_default() += u64::from(memory.drops);
        counts.insert("receive_buffer".to_owned(), memory.receive_buffer.into());
    }
    all
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
    use tare_sandbox::sys::socket::SocketMemory;

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
            rules: CounterGroups::new(),
            conntrack: CounterDeltas::new(),
            protocols: CounterDeltas::new(),
        };
        let full = CounterDeltas::from_iter([("QDISC_DROP".to_owned(), 3)]);
        let reasons =
            DropReasons::from([(0, CounterDeltas::new()), (7, full), (9, CounterDeltas::new())]);
        let socket = |end| ProcessSocket {
            inode: 1,
            namespace: 2,
            end,
            memory: SocketMemory { receive_buffer: 4096, drops: 5 },
        };
        let named = |program: &str, end| (program.to_owned(), socket(end));
        let sockets = [
            named("flanneld", SocketEnd::Udp("10.20.0.2:8285".to_owned())),
            named("a b", SocketEnd::Packet(7)),
            named("a b", SocketEnd::Packet(7)),
        ];
        let counts = to_place_counts("node-0", reading, Some(&reasons), &sockets);
        let count = |groups: &CounterGroups, name: &str, counter: &str| {
            groups.get(name).and_then(|counters| counters.get(counter)).copied()
        };
        let drops = |name: &str| count(&counts.sockets, name, "drops");
        assert_eq!(drops("flanneld udp 10.20.0.2:8285"), Some(5));
        assert_eq!(drops("a_b packet eth0"), Some(10));
        assert_eq!(count(&counts.sockets, "a_b packet eth0", "receive_buffer"), Some(4096));
        assert_eq!(counts.reasons.keys().collect::<Vec<_>>(), ["", "device 9", "eth0"]);
        assert_eq!(count(&counts.reasons, "eth0", "QDISC_DROP"), Some(3));
        assert_eq!(counts.queues.keys().collect::<Vec<_>>(), ["eth0/tbf"]);
        assert_eq!(count(&counts.queues, "eth0/tbf", "drops"), Some(3));
        assert_eq!(count(&counts.devices, "eth0", "tx_dropped"), Some(4));
    }
}
