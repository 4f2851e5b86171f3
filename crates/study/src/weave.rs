//! Weaving: the workloads of a plan that can run in slices get a number of slices that together last as long as a trial
//! would.

use crate::Catalogue;
use tare_network::NetworkSpec;
use tare_record::{Nanos, Plan, SlicePlan, WarmUpPolicy, WorkloadPlan};

/// Uncounted beginning of a slice: caches are cold, and a thread's first packets find it asleep.
const SKIP: Nanos = Nanos(1_000_000);

/// Slices that warm the connections of a trial up: windows open, and the kernel's tuning of buffers settles.
const WARM_UP: u32 = 2;

/// Most containers of all networks together that are up at once.
const MOST_CONTAINERS: u64 = 512;

/// Gives the workloads of a plan slices of this length, as far as they can run in slices. Nothing is woven if there is
/// only one network, if one of the networks cannot be woven, or if too many containers would be up at once.
pub(crate) fn weave(plan: &mut Plan, length: Nanos, catalogue: &dyn Catalogue) {
    if !can_be_woven(plan, catalogue) {
        return;
    }
    for workload in &mut plan.workloads {
        if catalogue.can_run_in_slices(&workload.name, &workload.parameters) {
            slice(workload, length);
        }
    }
}

fn can_be_woven(plan: &Plan, catalogue: &dyn Catalogue) -> bool {
    let containers =
        |shape: &tare_record::Shape| u64::from(shape.clients) + u64::from(shape.servers);
    let most = plan.shapes.iter().map(containers).max().unwrap_or(0);
    let can = |network: &str| {
        network.parse::<NetworkSpec>().is_ok_and(|spec| catalogue.can_be_woven(&spec))
    };
    plan.networks.len() > 1
        && most * plan.networks.len() as u64 <= MOST_CONTAINERS
        && plan.networks.iter().all(|entry| can(&entry.network))
}

/// Turns a trial in one piece into slices that together last as long.
fn slice(workload: &mut WorkloadPlan, length: Nanos) {
    let rounds = (workload.duration.0 / length.0.max(1)).max(1);
    let slices = SlicePlan {
        rounds: u32::try_from(rounds).unwrap_or(u32::MAX),
        warm_up: WARM_UP,
        length,
        skip: SKIP,
    };
    workload.duration = slices.duration();
    workload.interval = length;
    // The beginning of every slice is not counted; there is nothing left to cut.
    workload.warm_up = WarmUpPolicy::Fixed(Nanos(0));
    workload.slices = Some(slices);
}
