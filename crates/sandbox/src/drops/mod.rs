//! Reasons for which the kernel dropped packets, counted by a BPF program that runs at every drop.
//!
//! The program is attached to the raw tracepoint `kfree_skb`, which a packet that arrives never passes: if no packet is
//! lost, the program does not run. It counts the packets of watched namespaces by device and reason, and returns at
//! once for all others. Only root may load it, and it must be loaded before the process enters a user namespace. It is
//! removed when its descriptors are closed. The kernel times the program, so that its cost is known.

mod btf;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod program;

use crate::ebpf::may_load_programs;
use crate::sys::bpf::{self, BpfMap, ProgramKind};
use btf::Btf;
use program::KernelOffsets;
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use tare_network::{CounterDeltas, Error, KernelProgramRuns, Nanos};

/// BTF of the running kernel.
const TYPES: &str = "/sys/kernel/btf/vmlinux";

/// Capacity for watched namespaces, and for counts. When it is exhausted, drops are recorded without a reason.
const MOST_WATCHED: u32 = 4096;
const MOST_COUNTS: u32 = 16384;

/// Drops in a namespace: packets by reason, by the index of the device. The index is 0 if the packet had no device any
/// more.
pub type DropReasons = BTreeMap<u32, CounterDeltas>;

/// Loaded and attached program.
pub struct DropCounter {
    /// Watched namespaces, by their inode number.
    watched: BpfMap<1>,
    /// Packets by namespace, device and reason.
    counts: BpfMap<3>,
    /// The kernel's names of its reasons.
    names: BTreeMap<u32, String>,
    /// Number of watches of each namespace.
    watchers: Mutex<BTreeMap<u32, u32>>,
    program: OwnedFd,
    /// The program is attached as long as this is open.
    _attached: OwnedFd,
    /// The program is timed as long as this is open. `None` if the kernel does not time programs.
    timed: Option<OwnedFd>,
}

/// Watch on a namespace. Dropping it ends the watch.
pub struct DropWatch {
    drops: Arc<DropCounter>,
    inode: u32,
}

/// Checks that this process may count the kernel's drop reasons. It loads the program and unloads it again.
///
/// # Errors
/// The process may not. The error says why, and what it requires.
pub fn drop_reasons() -> Result<(), Error> {
    DropCounter::load().map(|_| ())
}

impl DropCounter {
    /// Loads the program and attaches it.
    pub(crate) fn load() -> Result<Self, Error> {
        if !may_load_programs() {
            return Err(
                error("only root can load the eBPF program").with_remedy("run tare as root")
            );
        }
        let types = fs::read(TYPES).map_err(|problem| {
            error(format!("the kernel's type information {TYPES} cannot be read: {problem}"))
                .with_remedy("use a kernel with CONFIG_DEBUG_INFO_BTF")
        })?;
        let invalid = || error(format!("the kernel's type information {TYPES} cannot be parsed"));
        let btf = Btf::parse(&types).ok_or_else(invalid)?;
        let missing =
            || error("this kernel records no drop reasons").with_remedy("use Linux 5.17 or later");
        let offsets = KernelOffsets::from_btf(&btf).ok_or_else(missing)?;
        let (watched, counts) =
            (map_errno(BpfMap::new(MOST_WATCHED))?, map_errno(BpfMap::new(MOST_COUNTS))?);
        let program = program::build_program(offsets, watched.as_fd(), counts.as_fd());
        let program = map_errno(bpf::load(ProgramKind::RawTracepoint, &program))?;
        let attached = map_errno(bpf::attach(program.as_fd(), c"kfree_skb"))?;
        let watchers = Mutex::default();
        let (names, timed) = (names(&btf), bpf::time_programs().ok());
        Ok(Self { watched, counts, names, watchers, program, _attached: attached, timed })
    }

    /// Returns the number of runs of the program so far, for all networks, and their total time. Returns `None` if the
    /// kernel does not time programs.
    pub fn run_cost(&self) -> Option<KernelProgramRuns> {
        self.timed.as_ref()?;
        let (runs, time) = bpf::program_run_stats(self.program.as_fd()).ok()?;
        Some(KernelProgramRuns { runs, time: Nanos(time) })
    }

    /// Starts to watch the namespace with this inode. Returns `None` if there is no room for it.
    pub fn watch(self: &Arc<Self>, inode: u64) -> Option<DropWatch> {
        let inode = u32::try_from(inode).ok()?;
        let mut watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        self.watched.set(&[inode], 1).ok()?;
        *watchers.entry(inode).or_default() += 1;
        Some(DropWatch { drops: Arc::clone(self), inode })
    }

    /// Returns the drops so far, by namespace.
    pub fn read(&self) -> BTreeMap<u32, DropReasons> {
        let mut all: BTreeMap<u32, DropReasons> = BTreeMap::new();
        for key in self.keys() {
            let [inode, device, reason] = key;
            if let Ok(packets) = self.counts.get(&key) {
                let reasons = all.entry(inode).or_default().entry(device).or_default();
                reasons.insert(self.name(reason), packets);
            }
        }
        all
    }

    fn keys(&self) -> Vec<[u32; 3]> {
        let mut keys: Vec<[u32; 3]> = Vec::new();
        // When a key is removed during the iteration, the kernel starts again at the first key. To count a key twice is
        // harmless, but an endless list is not.
        while let Ok(key) = self.counts.next_key(keys.last()) {
            keys.push(key);
            if keys.len() > 2 * MOST_COUNTS as usize {
                break;
            }
        }
        keys
    }

    fn name(&self, reason: u32) -> String {
        self.names.get(&reason).cloned().unwrap_or_else(|| format!("{reason:#x}"))
    }

    /// Ends a watch: the kernel may give the inode number to another namespace.
    fn unwatch(&self, inode: u32) {
        let mut watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        let left = watchers.get(&inode).copied().unwrap_or(1) - 1;
        if left > 0 {
            watchers.insert(inode, left);
            return;
        }
        watchers.remove(&inode);
        // A key that does not exist any more need not be removed.
        let _ = self.watched.remove(&[inode]);
        for key in self.keys().iter().filter(|key| key[0] == inode) {
            let _ = self.counts.remove(key);
        }
    }
}

impl DropWatch {
    /// Returns the drops in this namespace, out of all that were read.
    pub fn select<'a>(&self, all: &'a BTreeMap<u32, DropReasons>) -> Option<&'a DropReasons> {
        all.get(&self.inode)
    }
}

impl Drop for DropWatch {
    fn drop(&mut self) {
        self.drops.unwatch(self.inode);
    }
}

/// Returns the kernel's reasons, without their common prefix.
fn names(btf: &Btf) -> BTreeMap<u32, String> {
    let all = btf.constants("skb_drop_reason").unwrap_or_default();
    let short = |name: &str| name.trim_start_matches("SKB_DROP_REASON_").to_owned();
    all.into_iter().map(|(value, name)| (value, short(name))).collect()
}

fn error(why: impl ToString) -> Error {
    Error::new("read the reasons for which the kernel drops packets", why)
}

fn map_errno<T>(result: Result<T, Errno>) -> Result<T, Error> {
    result.map_err(|errno| match errno {
        Errno::PERM | Errno::ACCESS => error("the kernel allows no eBPF programs here")
            .with_remedy("run tare as root outside of containers, with CAP_BPF and CAP_PERFMON"),
        errno => error(format!("bpf(2): {errno}"))
            .with_remedy("use a kernel with CONFIG_BPF_SYSCALL and CONFIG_BPF_EVENTS"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::{DeviceRef, NetlinkRequest, NetlinkSocket};
    use rustix::thread::CapabilitySet;
    use std::net::UdpSocket;
    use std::os::unix::fs::MetadataExt;
    use tare_dev::eventually;

    /// Number of datagrams that the test sends without a receiver.
    const LOST: u64 = 5;

    /// A process that may load the program counts datagrams without a socket, as the kernel does. Another process gets
    /// an error that says what it requires.
    #[test]
    fn the_kernel_says_why_or_tare_says_what_it_would_take() {
        match DropCounter::load() {
            Ok(drops) => std::thread::spawn(|| count_the_lost(drops)).join().unwrap(),
            Err(error) => assert!(!error.remedy.is_empty(), "{error}"),
        }
    }

    /// Counts in a network namespace of this thread alone, where no other process loses packets.
    fn count_the_lost(drops: DropCounter) {
        crate::sys::unshare_network().unwrap();
        NetlinkSocket::open()
            .unwrap()
            .execute(&[NetlinkRequest::bring_up("here", DeviceRef::LOOPBACK)])
            .unwrap();
        let drops = Arc::new(drops);
        let inode = fs::metadata("/proc/thread-self/ns/net").unwrap().ino();
        let (once, twice) = (drops.watch(inode).unwrap(), drops.watch(inode).unwrap());
        drop(once);
        let nobody = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let before = drops.run_cost();
        for _ in 0..LOST {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            assert_eq!(socket.send_to(b"lost", nobody).unwrap(), 4);
        }
        // Datagrams over loopback may arrive on another core, later than they were sent.
        eventually("the kernel has counted all of them", || no_ports() == LOST);
        let expected =
            BTreeMap::from([(1, CounterDeltas::from_iter([("NO_SOCKET".to_owned(), LOST)]))]);
        eventually("so has tare", || {
            let all = drops.read();
            let counted = twice.select(&all).cloned().unwrap_or_default();
            if counted == expected { Ok(()) } else { Err(format!("{counted:?}")) }
        });
        let ran = drops.run_cost().zip(before).map(|(now, before)| now.since(before));
        // Only an administrator may have programs timed.
        let mine = rustix::thread::capabilities(None).unwrap().effective;
        assert_eq!(ran.is_some(), mine.contains(CapabilitySet::SYS_ADMIN));
        assert!(ran.is_none_or(|ran| ran.runs >= LOST && ran.time > Nanos(0)), "{ran:?}");
        drop(twice);
        assert!(drops.read().is_empty());
    }

    /// Returns the number of datagrams in this thread's namespace without a socket (`NoPorts`, RFC 4113's
    /// `udpNoPorts`).
    fn no_ports() -> u64 {
        let snmp = fs::read_to_string("/proc/thread-self/net/snmp").unwrap();
        let mut lines = snmp.lines().filter_map(|line| line.strip_prefix("Udp: "));
        let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
        let mut both = names.split(' ').zip(values.split(' '));
        both.find(|(name, _)| *name == "NoPorts").unwrap().1.parse().unwrap()
    }
}
