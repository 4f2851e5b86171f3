//! Which cores the threads of a side run on, and putting them there.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::collections::BTreeSet;
use tare_record::{Finding, Placement};

/// The two sides of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The generating side.
    Client,
    /// The serving side.
    Server,
}

impl Role {
    /// The name under which its cores are recorded.
    pub(crate) fn cores(self) -> &'static str {
        match self {
            Self::Client => "client_cores",
            Self::Server => "server_cores",
        }
    }
}

/// The cores of one process of a side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cores {
    /// Wherever the scheduler puts a thread; these are allowed.
    Free(Vec<u32>),
    /// Thread by thread on these, in turn.
    Pinned(Vec<u32>),
}

impl Cores {
    /// The cores of a side, of those that this process may use.
    pub(crate) fn of(placement: &Placement, role: Role) -> Self {
        Self::among(&allowed(), placement, role)
    }

    /// The cores of a side, of those that are allowed. With one core both sides get it.
    fn among(allowed: &[u32], placement: &Placement, role: Role) -> Self {
        match (placement, role) {
            (Placement::Free, _) => Self::Free(allowed.to_vec()),
            (Placement::Same, _) => Self::Pinned(allowed.iter().take(1).copied().collect()),
            (Placement::Spread, _) => Self::half(allowed, role),
            (Placement::First(cores), _) => {
                Self::half(&allowed[..allowed.len().min(*cores as usize)], role)
            }
            (Placement::List { clients, .. }, Role::Client) => Self::Pinned(clients.clone()),
            (Placement::List { servers, .. }, Role::Server) => Self::Pinned(servers.clone()),
        }
    }

    /// A side's half of these; of one core both sides get it.
    fn half(cores: &[u32], role: Role) -> Self {
        let (clients, servers) = cores.split_at(cores.len() / 2);
        let half = if role == Role::Client && !clients.is_empty() { clients } else { servers };
        Self::Pinned(half.to_vec())
    }

    /// All of them.
    pub(crate) fn list(&self) -> &[u32] {
        match self {
            Self::Free(cores) | Self::Pinned(cores) => cores,
        }
    }

    /// Whether a thread of either side may run on a core of the other's: both are on this machine.
    pub(crate) fn are_shared(placement: &Placement) -> bool {
        let [clients, servers] = [Role::Client, Role::Server].map(|role| Self::of(placement, role));
        clients.list().iter().any(|core| servers.list().contains(core))
    }

    /// How many threads a process with so many flows has: no more than cores.
    pub(crate) fn threads(&self, flows: usize) -> usize {
        flows.clamp(1, self.list().len().max(1))
    }

    /// The core of the n-th thread of its side; nothing where the scheduler decides.
    pub(crate) fn nth(&self, thread: usize) -> Option<u32> {
        match self {
            Self::Pinned(cores) if !cores.is_empty() => Some(cores[thread % cores.len()]),
            _ => None,
        }
    }
}

/// That threads which spin share cores, of one side or, where both are on one machine, of both together.
pub(crate) fn crowded(threads: usize, cores: &BTreeSet<u32>) -> Option<Finding> {
    let (threads, cores) = (threads as u32, cores.len() as u32);
    (cores > 0 && threads > cores).then_some(Finding::SpinsOnSharedCore { threads, cores })
}

/// The cores that this thread may use, smallest first; empty where the kernel does not say.
fn allowed() -> Vec<u32> {
    sched_getaffinity(None)
        .map(|set| {
            (0..CpuSet::MAX_CPU).filter(|&core| set.is_set(core)).map(|core| core as u32).collect()
        })
        .unwrap_or_default()
}

/// Puts the calling thread on a core; where that fails, it says so and the thread stays where it is.
pub(crate) fn pin(core: u32) -> Option<Finding> {
    let index = core as usize;
    if index >= CpuSet::MAX_CPU {
        return Some(Finding::NotPinned { reason: format!("core {core} does not exist") });
    }
    let mut set = CpuSet::new();
    set.set(index);
    let error = sched_setaffinity(None, &set).err()?;
    Some(Finding::NotPinned { reason: format!("core {core}: {error}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_share_cores_unless_they_are_kept_apart() {
        let list = |clients: &[u32], servers: &[u32]| Placement::List {
            clients: clients.to_vec(),
            servers: servers.to_vec(),
        };
        for shared in [Placement::Same, Placement::Free, list(&[0, 1], &[1, 2])] {
            assert!(Cores::are_shared(&shared), "{shared}");
        }
        assert!(!Cores::are_shared(&list(&[0], &[1])));
        assert_eq!(Cores::are_shared(&Placement::Spread), allowed().len() < 2);
    }
    use proptest::prelude::*;

    fn both(allowed: &[u32], placement: &str) -> (Vec<u32>, Vec<u32>) {
        let placement = placement.parse().unwrap();
        let cores = |role| Cores::among(allowed, &placement, role).list().to_vec();
        (cores(Role::Client), cores(Role::Server))
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
        let pinned = Cores::Pinned(vec![3, 7]);
        assert_eq!((pinned.nth(0), pinned.nth(1), pinned.nth(2)), (Some(3), Some(7), Some(3)));
        assert_eq!((pinned.threads(1), pinned.threads(64)), (1, 2));
        assert_eq!(Cores::Free(vec![3, 7]).nth(0), None);
        assert_eq!(Cores::Pinned(Vec::new()).nth(0), None);
        assert_eq!(Cores::Free(Vec::new()).threads(8), 1);
    }

    #[test]
    fn more_threads_than_cores_are_a_crowd() {
        let cores = BTreeSet::from([0, 1]);
        assert_eq!(crowded(2, &cores), None);
        let expected = Finding::SpinsOnSharedCore { threads: 3, cores: 2 };
        assert_eq!(crowded(3, &cores), Some(expected));
        assert_eq!(crowded(3, &BTreeSet::new()), None);
    }

    #[test]
    fn a_core_that_is_not_there_is_a_finding() {
        assert!(matches!(pin(1023), Some(Finding::NotPinned { .. })));
        assert!(matches!(pin(4095), Some(Finding::NotPinned { .. })));
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
