//! Placement of the threads of a side on cores, and the call that pins them.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::collections::BTreeSet;
use tare_record::finding::{PinningFailure, SpinningThreads};
use tare_record::{Finding, Placement};

/// Side of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrafficRole {
    /// Generating side.
    Client,
    /// Serving side.
    Server,
}

impl TrafficRole {
    /// Returns the name of the parameter that records the side's cores.
    #[must_use]
    pub fn cores_parameter(self) -> &'static str {
        match self {
            Self::Client => "client_cores",
            Self::Server => "server_cores",
        }
    }
}

/// Cores of one process of a side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SideCores {
    /// Allowed cores, among which the scheduler chooses.
    Free(Vec<u32>),
    /// Cores to which threads are pinned, in turn.
    Pinned(Vec<u32>),
}

impl SideCores {
    /// Returns the cores of a side, among those that this process may use.
    #[must_use]
    pub fn for_role(placement: &Placement, role: TrafficRole) -> Self {
        Self::select_among(&allowed_cores(), placement, role)
    }

    /// Returns the cores of a side, among the allowed ones. If only one core is allowed, both sides get it.
    fn select_among(allowed: &[u32], placement: &Placement, role: TrafficRole) -> Self {
        match (placement, role) {
            (Placement::Free, _) => Self::Free(allowed.to_vec()),
            (Placement::Same, _) => Self::Pinned(allowed.iter().take(1).copied().collect()),
            (Placement::Spread, _) => Self::half(allowed, role),
            (Placement::First(cores), _) => {
                Self::half(&allowed[..allowed.len().min(*cores as usize)], role)
            }
            (Placement::List { clients, .. }, TrafficRole::Client) => Self::Pinned(clients.clone()),
            (Placement::List { servers, .. }, TrafficRole::Server) => Self::Pinned(servers.clone()),
        }
    }

    /// Returns a side's half of these cores; of one core, both sides get it.
    fn half(cores: &[u32], role: TrafficRole) -> Self {
        let (clients, servers) = cores.split_at(cores.len() / 2);
        let half =
            if role == TrafficRole::Client && !clients.is_empty() { clients } else { servers };
        Self::Pinned(half.to_vec())
    }

    /// Returns all cores.
    #[must_use]
    pub fn list(&self) -> &[u32] {
        match self {
            Self::Free(cores) | Self::Pinned(cores) => cores,
        }
    }

    /// Returns true if a thread of one side may run on a core of the other side, provided that both are on this
    /// machine.
    pub(crate) fn are_shared(placement: &Placement) -> bool {
        let [clients, servers] =
            [TrafficRole::Client, TrafficRole::Server].map(|role| Self::for_role(placement, role));
        clients.list().iter().any(|core| servers.list().contains(core))
    }

    /// Returns the number of threads of a process with this many flows: no more than cores.
    pub(crate) fn thread_count(&self, flows: usize) -> usize {
        flows.clamp(1, self.list().len().max(1))
    }

    /// Returns the core of the n-th thread of its side. Returns `None` if the scheduler decides.
    #[must_use]
    pub fn nth(&self, thread: usize) -> Option<u32> {
        match self {
            Self::Pinned(cores) if !cores.is_empty() => Some(cores[thread % cores.len()]),
            _ => None,
        }
    }
}

/// Returns a finding if spinning threads share cores: threads of one side or, if both sides are on one machine, of
/// both.
pub(crate) fn find_spin_contention(threads: usize, cores: &BTreeSet<u32>) -> Option<Finding> {
    let (threads, cores) = (threads as u32, cores.len() as u32);
    (cores > 0 && threads > cores)
        .then_some(Finding::SpinningThreads(SpinningThreads { threads, cores }))
}

/// Returns the cores that this thread may use, smallest first. Empty if the kernel does not report them.
fn allowed_cores() -> Vec<u32> {
    sched_getaffinity(None)
        .map(|set| {
            (0..CpuSet::MAX_CPU).filter(|&core| set.is_set(core)).map(|core| core as u32).collect()
        })
        .unwrap_or_default()
}

/// Pins the calling thread to a core. Returns a finding if that fails; the thread then stays where it is.
#[must_use]
pub fn pin_thread(core: u32) -> Option<Finding> {
    let index = core as usize;
    if index >= CpuSet::MAX_CPU {
        return Some(Finding::PinningFailure(PinningFailure {
            reason: format!("core {core} does not exist"),
        }));
    }
    let mut set = CpuSet::new();
    set.set(index);
    let error = set_affinity(&set).err()?;
    Some(Finding::PinningFailure(PinningFailure {
        reason: format!("cannot pin a thread to core {core}: {error}"),
    }))
}

/// Lets the calling thread run on these cores. If it already does, the kernel is not asked: to take the old set away leaves
/// work to RCU, which keeps the core's tick running for some 20 ms (see `kept_files.rs` of `tare-observe`).
fn set_affinity(cores: &CpuSet) -> rustix::io::Result<()> {
    if sched_getaffinity(None).is_ok_and(|own| own == *cores) {
        return Ok(());
    }
    sched_setaffinity(None, cores)
}

/// Cores on which the calling thread may run, which it gets back when this is dropped.
#[derive(Debug)]
pub(crate) struct AffinityGuard(Option<CpuSet>);

impl AffinityGuard {
    /// Keeps the cores of the calling thread. It gets none back if they cannot be read.
    pub(crate) fn keep() -> Self {
        Self(sched_getaffinity(None).ok())
    }
}

impl Drop for AffinityGuard {
    fn drop(&mut self) {
        if let Some(set) = &self.0 {
            // The kernel refuses a set only if all its cores are gone, and then any core will do.
            let _ = set_affinity(set);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_was_pinned_gets_its_cores_back() {
        let cores = || sched_getaffinity(None).unwrap();
        let before = cores();
        let first = allowed_cores()[0];
        {
            let _kept = AffinityGuard::keep();
            assert_eq!(pin_thread(first), None);
            assert_eq!(cores().count(), 1);
        }
        assert_eq!(cores(), before);
    }

    #[test]
    fn sides_share_cores_unless_they_are_kept_apart() {
        let list = |clients: &[u32], servers: &[u32]| Placement::List {
            clients: clients.to_vec(),
            servers: servers.to_vec(),
        };
        for shared in [Placement::Same, Placement::Free, list(&[0, 1], &[1, 2])] {
            assert!(SideCores::are_shared(&shared), "{shared}");
        }
        assert!(!SideCores::are_shared(&list(&[0], &[1])));
        assert_eq!(SideCores::are_shared(&Placement::Spread), allowed_cores().len() < 2);
    }
    use proptest::prelude::*;

    fn both(allowed: &[u32], placement: &str) -> (Vec<u32>, Vec<u32>) {
        let placement = placement.parse().unwrap();
        let cores = |role| SideCores::select_among(allowed, &placement, role).list().to_vec();
        (cores(TrafficRole::Client), cores(TrafficRole::Server))
    }

    #[test]
    fn spread_gives_each_side_its_half() {
        assert_eq!(both(&[0, 1], "spread"), (vec![0], vec![1]));
        assert_eq!(both(&[2, 3, 5], "spread"), (vec![2], vec![3, 5]));
        assert_eq!(both(&[4], "spread"), (vec![4], vec![4]));
        assert_eq!(both(&[], "spread"), (vec![], vec![]));
    }

    #[test]
    fn the_other_placements_are_what_they_say() {
        assert_eq!(both(&[1, 2, 3], "same"), (vec![1], vec![1]));
        assert_eq!(both(&[1, 2], "free"), (vec![1, 2], vec![1, 2]));
        assert_eq!(both(&[0, 1], "5/6-7"), (vec![5], vec![6, 7]));
    }

    #[test]
    fn threads_take_the_cores_in_turn() {
        let pinned = SideCores::Pinned(vec![3, 7]);
        assert_eq!((pinned.nth(0), pinned.nth(1), pinned.nth(2)), (Some(3), Some(7), Some(3)));
        assert_eq!((pinned.thread_count(1), pinned.thread_count(64)), (1, 2));
        assert_eq!(SideCores::Free(vec![3, 7]).nth(0), None);
        assert_eq!(SideCores::Pinned(Vec::new()).nth(0), None);
        assert_eq!(SideCores::Free(Vec::new()).thread_count(8), 1);
    }

    #[test]
    fn more_threads_than_cores_are_a_crowd() {
        let cores = BTreeSet::from([0, 1]);
        assert_eq!(find_spin_contention(2, &cores), None);
        let expected = Finding::SpinningThreads(SpinningThreads { threads: 3, cores: 2 });
        assert_eq!(find_spin_contention(3, &cores), Some(expected));
        assert_eq!(find_spin_contention(3, &BTreeSet::new()), None);
    }

    #[test]
    fn a_core_that_is_not_there_is_a_finding() {
        assert!(matches!(pin_thread(1023), Some(Finding::PinningFailure(_))));
        assert!(matches!(pin_thread(4095), Some(Finding::PinningFailure(_))));
    }

    proptest! {
        #[test]
        fn spread_sides_share_no_core_unless_there_is_only_one(count in 1u32..200) {
            let allowed: Vec<u32> = (0..count).collect();
            let (clients, servers) = both(&allowed, "spread");
            prop_assert!(!clients.is_empty() && !servers.is_empty());
            prop_assert_eq!(clients.iter().any(|core| servers.contains(core)), count == 1);
        }
    }
}
