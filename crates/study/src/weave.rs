//! Weaving: the workloads of a plan that can run in slices are woven, if all networks can be up at once.

use crate::{Catalogue, SliceLength, slice_choice};
use tare_network::NetworkSpec;
use tare_record::{Nanos, Plan, Shape, SlicePlan, WarmUpPolicy};

/// Uncounted beginning of a slice: caches are cold, and a thread's first packets find it asleep.
const SKIP: Nanos = Nanos(1_000_000);

/// Shortest slice where agents are on other machines, and its uncounted beginning: an order takes some milliseconds over
/// a control channel, and clients on several machines begin as they receive theirs.
const SHORTEST_REMOTE: Nanos = Nanos(50_000_000);
const REMOTE_SKIP: Nanos = Nanos(5_000_000);

/// Slices that warm the connections of a trial up: windows open, and the kernel's tuning of buffers settles.
const WARM_UP: u32 = 2;

/// Most containers of all networks together that are up at once.
const MOST_CONTAINERS: u64 = 512;

/// Returns the slices of a workload that together last this long. Returns `None` if they are off, or if the workload
/// cannot run in slices.
pub(crate) fn slices(
    length: Option<SliceLength>,
    together: Nanos,
    workload: &str,
    catalogue: &dyn Catalogue,
) -> Option<SlicePlan> {
    let length = match length? {
        SliceLength::Off => return None,
        SliceLength::Auto => slice_choice::LENGTHS[0],
        SliceLength::Span(length) => length,
    };
    catalogue.can_run_in_slices(workload).then(|| slice_plan(together, length, SKIP))
}

/// Returns slices of this length that together last as long as `together`, or a single one.
fn slice_plan(together: Nanos, length: Nanos, skip: Nanos) -> SlicePlan {
    let rounds = u32::try_from((together.0 / length.0.max(1)).max(1)).unwrap_or(u32::MAX);
    SlicePlan { rounds, warm_up: WARM_UP, length, skip }
}

/// Returns slices that are long enough for agents on other machines.
fn remote_slices(slices: SlicePlan) -> SlicePlan {
    slice_plan(slices.duration(), slices.length.max(SHORTEST_REMOTE), REMOTE_SKIP)
}

/// Weaves the workloads of a plan that have slices, and takes the slices away if the networks cannot be woven. Returns
/// true if all workloads are woven.
pub(crate) fn weave(plan: &mut Plan, catalogue: &dyn Catalogue) -> bool {
    let woven = can_be_woven(plan, catalogue);
    let is_remote = is_any_network(plan, |network| catalogue.is_on_other_machines(network));
    for workload in &mut plan.workloads {
        workload.slices = workload.slices.filter(|_| woven);
        if is_remote || !woven {
            workload.slice_lengths.clear();
        }
        if is_remote {
            workload.slices = workload.slices.map(remote_slices);
        }
        if let Some(slices) = &workload.slices {
            workload.duration = slices.duration();
            workload.interval = slices.length;
            // The beginning of every slice is not counted; there is nothing left to cut.
            workload.warm_up = WarmUpPolicy::Fixed(Nanos(0));
        }
    }
    plan.workloads.iter().all(|workload| workload.slices.is_some())
}

/// Returns true if there are several networks, if all of them can be woven, and if no more containers would be up at
/// once than the machine bears.
fn can_be_woven(plan: &Plan, catalogue: &dyn Catalogue) -> bool {
    let containers = |shape: &Shape| u64::from(shape.clients) + u64::from(shape.servers);
    let most = plan.shapes.iter().map(containers).max().unwrap_or(0);
    plan.networks.len() > 1
        && most * plan.networks.len() as u64 <= MOST_CONTAINERS
        // A window that opens anew after a pause takes many round trips of a link with a delay.
        && plan.shapes.iter().all(|shape| shape.link.is_none())
        && !is_any_network(plan, |network| !catalogue.can_be_woven(network))
}

/// Returns true if a condition holds for any network of a plan. Networks that cannot be parsed are reported when they are
/// raised.
fn is_any_network(plan: &Plan, condition: impl Fn(&NetworkSpec) -> bool) -> bool {
    let parsed = plan.networks.iter().filter_map(|entry| entry.network.parse().ok());
    parsed.into_iter().any(|network| condition(&network))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_of_agents_on_other_machines_are_longer_and_together_last_as_long() {
        let second = Nanos(1_000_000_000);
        let remote = |length| remote_slices(slice_plan(second, Nanos(length), SKIP));
        for (length, rounds, longer) in
            [(20_000_000, 20, 50_000_000), (100_000_000, 10, 100_000_000)]
        {
            let slices = remote(length);
            assert_eq!((slices.rounds, slices.length), (rounds, Nanos(longer)));
            assert_eq!((slices.duration(), slices.skip), (second, REMOTE_SKIP));
        }
    }
}
