//! The cores that a network's programs are held to.

use rustix::thread::{CpuSet, sched_getaffinity};
use tare_network::Placement;

/// Those of a placement that leaves the whole machine only so many ([`Placement::First`]); nothing where programs may run
/// wherever the scheduler puts them.
pub(crate) fn of(placement: &Placement) -> Option<CpuSet> {
    let Placement::First(cores) = placement else {
        return None;
    };
    let allowed = sched_getaffinity(None).ok()?;
    let mut held = CpuSet::new();
    let first = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core));
    first.take(*cores as usize).for_each(|core| held.set(core));
    Some(held)
}
