//! CPU affinity of a network's programs.

use rustix::thread::{CpuSet, sched_getaffinity};
use tare_network::Placement;

/// Returns the cores of a placement that limits the whole machine to a number of them ([`Placement::First`]). Returns
/// `None` if programs may run wherever the scheduler puts them.
pub(crate) fn allowed_cpus(placement: &Placement) -> Option<CpuSet> {
    let Placement::First(cores) = placement else {
        return None;
    };
    let allowed = sched_getaffinity(None).ok()?;
    let mut held = CpuSet::new();
    let first = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core));
    first.take(*cores as usize).for_each(|core| held.set(core));
    Some(held)
}
