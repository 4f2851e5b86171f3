//! Why the kernel dropped packets, in its own words: counted by a program that it runs whenever it drops one.
//!
//! The program hangs on the raw tracepoint `kfree_skb`, which a packet that arrives never passes: where nothing is lost,
//! nothing runs. It counts packets of namespaces that are watched, by device and reason; all others it lets go at once.
//! Only root may load it, and it has to be loaded before the process enters a user namespace. It goes with its
//! descriptors. The kernel is asked to time it, so that what it costs is known.

mod btf;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod program;

use crate::sys::bpf::{self, Map};
use btf::Btf;
use program::Offsets;
use rustix::io::Errno;
use rustix::thread::CapabilitySet;
use std::collections::BTreeMap;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use tare_network::{Error, Gains, Nanos, Ran};

/// Where a kernel describes its types.
const TYPES: &str = "/sys/kernel/btf/vmlinux";

/// Room for namespaces that are watched, and for what is counted. Where it runs out, drops stay without a reason.
const MOST_WATCHED: u32 = 4096;
const MOST_COUNTS: u32 = 16384;

/// What was dropped in a namespace: packets by reason, by the index of the device; 0 where it had none any more.
pub(crate) type Reasons = BTreeMap<u32, Gains>;

/// The program, counting.
pub(crate) struct Drops {
    /// Namespaces that are watched, by the number of their inode.
    watched: Map<1>,
    /// Packets by namespace, device, reason.
    counts: Map<3>,
    /// What the kernel calls its reasons.
    names: BTreeMap<u32, String>,
    /// How many watch a namespace.
    watchers: Mutex<BTreeMap<u32, u32>>,
    program: OwnedFd,
    /// It counts as long as this is open.
    _attached: OwnedFd,
    /// It is timed as long as this is open; nothing where the kernel does not time programs.
    timed: Option<OwnedFd>,
}

/// A namespace that is watched as long as this is there.
pub(crate) struct Watched {
    drops: Arc<Drops>,
    inode: u32,
}

/// Whether this process may have the kernel say why it drops packets: tried out, and undone.
///
/// # Errors
/// Why not, and what it would take.
pub fn drop_reasons() -> Result<(), Error> {
    Drops::load().map(|_| ())
}

impl Drops {
    /// Loads the program and has it count.
    pub(crate) fn load() -> Result<Self, Error> {
        if !may_load() {
            return Err(error("only root may ask it").with_remedy("run tare as root"));
        }
        let types = fs::read(TYPES).map_err(|problem| {
            error(format!("{TYPES}, by which it describes itself, cannot be read: {problem}"))
                .with_remedy("use a kernel with CONFIG_DEBUG_INFO_BTF")
        })?;
        let btf = Btf::parse(&types).ok_or_else(|| error(format!("{TYPES} is not understood")))?;
        let offsets = Offsets::of(&btf)
            .ok_or_else(|| error("it keeps no reasons").with_remedy("use Linux 5.17 or later"))?;
        let (watched, counts) = (made(Map::new(MOST_WATCHED))?, made(Map::new(MOST_COUNTS))?);
        let program = program::write(offsets, watched.as_fd(), counts.as_fd());
        let program = made(bpf::load(&program))?;
        let attached = made(bpf::attach(program.as_fd(), c"kfree_skb"))?;
        let watchers = Mutex::default();
        let (names, timed) = (names(&btf), bpf::time_programs().ok());
        Ok(Self { watched, counts, names, watchers, program, _attached: attached, timed })
    }

    /// How often the program ran so far, for whomever, and how long that took.
    pub(crate) fn ran(&self) -> Option<Ran> {
        self.timed.as_ref()?;
        let (runs, time) = bpf::ran(self.program.as_fd()).ok()?;
        Some(Ran { runs, time: Nanos(time) })
    }

    /// Begins to watch the namespace that has this inode; nothing where there is no room.
    pub(crate) fn watch(self: &Arc<Self>, inode: u64) -> Option<Watched> {
        let inode = u32::try_from(inode).ok()?;
        let mut watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        self.watched.set(&[inode], 1).ok()?;
        *watchers.entry(inode).or_default() += 1;
        Some(Watched { drops: Arc::clone(self), inode })
    }

    /// What was dropped so far, namespace by namespace.
    pub(crate) fn read(&self) -> BTreeMap<u32, Reasons> {
        let mut all: BTreeMap<u32, Reasons> = BTreeMap::new();
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
        // Where a key is taken away meanwhile, the kernel begins anew: a second time does no harm, an endless list would.
        while let Ok(key) = self.counts.after(keys.last()) {
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

    /// Stops watching: the kernel may give the number to another namespace.
    fn forget(&self, inode: u32) {
        let mut watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        let left = watchers.get(&inode).copied().unwrap_or(1) - 1;
        if left > 0 {
            watchers.insert(inode, left);
            return;
        }
        watchers.remove(&inode);
        // What is not there any more needs no removing.
        let _ = self.watched.remove(&[inode]);
        for key in self.keys().iter().filter(|key| key[0] == inode) {
            let _ = self.counts.remove(key);
        }
    }
}

impl Watched {
    /// What was dropped in it, of all that was read.
    pub(crate) fn among<'a>(&self, all: &'a BTreeMap<u32, Reasons>) -> Option<&'a Reasons> {
        all.get(&self.inode)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.drops.forget(self.inode);
    }
}

/// Whether it is worth trying: within a user namespace the kernel still refuses.
fn may_load() -> bool {
    let mine = rustix::thread::capabilities(None).map(|sets| sets.effective);
    let both = CapabilitySet::BPF | CapabilitySet::PERFMON;
    mine.is_ok_and(|mine| mine.contains(CapabilitySet::SYS_ADMIN) || mine.contains(both))
}

/// The kernel's reasons, without what all of them begin with.
fn names(btf: &Btf) -> BTreeMap<u32, String> {
    let all = btf.constants("skb_drop_reason").unwrap_or_default();
    let short = |name: &str| name.trim_start_matches("SKB_DROP_REASON_").to_owned();
    all.into_iter().map(|(value, name)| (value, short(name))).collect()
}

fn error(why: impl ToString) -> Error {
    Error::new("ask the kernel why it drops packets", why)
}

fn made<T>(result: Result<T, Errno>) -> Result<T, Error> {
    result.map_err(|errno| match errno {
        Errno::PERM | Errno::ACCESS => error("it lets nobody load programs from here")
            .with_remedy("run tare as root outside of containers, with CAP_BPF and CAP_PERFMON"),
        errno => error(format!("bpf(2): {errno}"))
            .with_remedy("use a kernel with CONFIG_BPF_SYSCALL and CONFIG_BPF_EVENTS"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::{Request, Socket};
    use std::net::UdpSocket;
    use std::os::unix::fs::MetadataExt;
    use tare_dev::eventually;

    /// Datagrams that the test sends to nobody.
    const LOST: u64 = 5;

    /// Who may load it counts what nobody listened for, as the kernel does; who may not is told what it would take.
    #[test]
    fn the_kernel_says_why_or_tare_says_what_it_would_take() {
        match Drops::load() {
            Ok(drops) => std::thread::spawn(|| count_the_lost(drops)).join().unwrap(),
            Err(error) => assert!(!error.remedy.is_empty(), "{error}"),
        }
    }

    /// Counts in a network namespace of this thread's own, where nobody else loses anything.
    fn count_the_lost(drops: Drops) {
        crate::sys::unshare_network().unwrap();
        Socket::open().unwrap().execute(&[Request::up("here", "lo", 1)]).unwrap();
        let drops = Arc::new(drops);
        let inode = fs::metadata("/proc/thread-self/ns/net").unwrap().ino();
        let (once, twice) = (drops.watch(inode).unwrap(), drops.watch(inode).unwrap());
        drop(once);
        let nobody = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let before = drops.ran();
        for _ in 0..LOST {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            assert_eq!(socket.send_to(b"lost", nobody).unwrap(), 4);
        }
        // What was sent over loopback may arrive on another core, later than it was sent.
        eventually("the kernel has counted all of them", || no_ports() == LOST);
        let expected = BTreeMap::from([(1, Gains::from([("NO_SOCKET".to_owned(), LOST)]))]);
        eventually("so has tare", || {
            let all = drops.read();
            let counted = twice.among(&all).cloned().unwrap_or_default();
            if counted == expected { Ok(()) } else { Err(format!("{counted:?}")) }
        });
        let ran = drops.ran().zip(before).map(|(now, before)| now.since(before));
        // Only an administrator may have programs timed.
        let mine = rustix::thread::capabilities(None).unwrap().effective;
        assert_eq!(ran.is_some(), mine.contains(CapabilitySet::SYS_ADMIN));
        assert!(ran.is_none_or(|ran| ran.runs >= LOST && ran.time > Nanos(0)), "{ran:?}");
        drop(twice);
        assert!(drops.read().is_empty());
    }

    /// Datagrams in this thread's namespace for which no socket was there (`NoPorts`, RFC 4113's `udpNoPorts`).
    fn no_ports() -> u64 {
        let snmp = fs::read_to_string("/proc/thread-self/net/snmp").unwrap();
        let mut lines = snmp.lines().filter_map(|line| line.strip_prefix("Udp: "));
        let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
        let mut both = names.split(' ').zip(values.split(' '));
        both.find(|(name, _)| *name == "NoPorts").unwrap().1.parse().unwrap()
    }
}
