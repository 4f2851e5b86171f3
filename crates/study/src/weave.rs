//! Weaving: the workloads of a plan that can run in slices are woven, if all networks can be up at once.

use crate::{Catalogue, SliceLength, slice_choice};
use tare_network::NetworkSpec;
use tare_record::{Nanos, Plan, Shape, SliceKind, SlicePlan, WarmUpPolicy, WorkloadPlan};

/// Uncounted beginning of a slice: caches are cold, and a thread's first packets find it asleep.
const SKIP: Nanos = Nanos(1_000_000);

/// Uncounted beginning of a slice where threads sleep until the other end's message arrives: until then the kernel keeps the
/// tick of idle cores, which wake faster with it than they do while the traffic lasts.
const MESSAGE_SKIP: Nanos = Nanos(10_000_000);

/// Shortest slice where agents are on other machines, and its uncounted beginning: an order takes some milliseconds over
/// a control channel, and clients on several machines begin as they receive theirs.
const SHORTEST_REMOTE: Nanos = Nanos(50_000_000);
const REMOTE_SKIP: Nanos = Nanos(5_000_000);

/// Shortest slice that is tried where threads of one side share a core: each runs for some milliseconds before the next.
const SHORTEST_SHARED: Nanos = Nanos(10_000_000);

/// Slices that warm the connections of a trial up: windows open, and the kernel's tuning of buffers settles.
const WARM_UP: u32 = 2;

/// Slices that warm up a connection of single messages, which fill no window.
const MESSAGE_WARM_UP: u32 = 1;

/// Slices that warm up the server of a program that is run anew in each of them.
const PROGRAM_WARM_UP: u32 = 1;

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
        SliceLength::Auto => None,
        SliceLength::Span(length) => Some(length),
    };
    let kind = catalogue.slice_kind(workload)?;
    Some(match kind {
        // The lengths of `auto`, for connections that last, are too short to run a program in.
        SliceKind::Program { unit } => {
            program_slices(together, length.filter(|length| *length >= unit)?, unit)
        }
        SliceKind::Messages => message_slices(together, length.unwrap_or(tried_lengths(kind)[0])),
        SliceKind::Stream => slice_plan(together, length.unwrap_or(tried_lengths(kind)[0]), SKIP),
    })
}

/// Returns the lengths that the first blocks of a run try. Empty for a program, whose length the study states.
pub(crate) fn tried_lengths(kind: SliceKind) -> &'static [Nanos] {
    match kind {
        SliceKind::Stream => &slice_choice::LENGTHS,
        SliceKind::Messages => &slice_choice::MESSAGE_LENGTHS,
        SliceKind::Program { .. } => &[],
    }
}

/// Returns slices of this length that together last as long as `together`, or a single one.
fn slice_plan(together: Nanos, length: Nanos, skip: Nanos) -> SlicePlan {
    let rounds = u32::try_from((together.0 / length.0.max(1)).max(1)).unwrap_or(u32::MAX);
    SlicePlan { rounds, warm_up: WARM_UP, length, skip }
}

/// Returns slices of threads that sleep until the other end's message arrives.
fn message_slices(together: Nanos, length: Nanos) -> SlicePlan {
    SlicePlan { warm_up: MESSAGE_WARM_UP, ..slice_plan(together, length, MESSAGE_SKIP) }
}

/// Returns slices in each of which a program is run anew, for a multiple of this unit. The program counts from the moment
/// at which it is connected, so nothing is left out at its beginning.
fn program_slices(together: Nanos, length: Nanos, unit: Nanos) -> SlicePlan {
    let length = Nanos(length.0.div_ceil(unit.0.max(1)).saturating_mul(unit.0));
    SlicePlan { warm_up: PROGRAM_WARM_UP, ..slice_plan(together, length, Nanos(0)) }
}

/// Returns slices that are long enough for agents on other machines.
fn remote_slices(slices: SlicePlan) -> SlicePlan {
    let length = slices.length.max(SHORTEST_REMOTE);
    let skip = slices.skip.max(REMOTE_SKIP);
    SlicePlan { warm_up: slices.warm_up, ..slice_plan(slices.duration(), length, skip) }
}

/// Weaves the workloads of a plan that have slices, and takes the slices away if the networks cannot be woven. Returns
/// true if all workloads are woven.
pub(crate) fn weave(plan: &mut Plan, catalogue: &dyn Catalogue) -> bool {
    let can_be_woven = can_be_woven(plan, catalogue);
    let has_link = plan.shapes.iter().any(|shape| shape.link.is_some());
    let is_remote = is_any_network(plan, |network| catalogue.is_on_other_machines(network));
    for workload in &mut plan.workloads {
        let kind = catalogue.slice_kind(&workload.name);
        let runs_program = matches!(kind, Some(SliceKind::Program { .. }));
        // A window that opens anew after a pause takes many round trips of a link with a delay. A program's connections
        // are new in any case, and it runs for seconds.
        let woven = can_be_woven && (runs_program || !has_link);
        workload.slices = workload.slices.filter(|_| woven);
        if is_remote || !woven {
            workload.slice_lengths.clear();
        }
        if is_remote && !runs_program {
            workload.slices = workload.slices.map(remote_slices);
        }
        if plan.shapes.iter().any(|shape| shares_cores(shape, workload, catalogue)) {
            workload.slice_lengths.retain(|length| *length >= SHORTEST_SHARED);
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

/// Returns true if the clients of a shape have more threads than cores.
fn shares_cores(shape: &Shape, workload: &WorkloadPlan, catalogue: &dyn Catalogue) -> bool {
    let asked = workload.parameters.get("threads").and_then(|threads| threads.as_u64());
    let threads = asked.map_or(1, |threads| threads.min(u64::from(shape.flows)));
    let processes = u64::from(shape.clients) * u64::from(shape.processes);
    processes * threads > catalogue.client_cores(&shape.cpus)
}

/// Returns true if there are several networks, if all of them can be woven, and if no more containers would be up at
/// once than the machine bears.
fn can_be_woven(plan: &Plan, catalogue: &dyn Catalogue) -> bool {
    let containers = |shape: &Shape| u64::from(shape.clients) + u64::from(shape.servers);
    let most = plan.shapes.iter().map(containers).max().unwrap_or(0);
    plan.networks.len() > 1
        && most * plan.networks.len() as u64 <= MOST_CONTAINERS
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
    use crate::Study;
    use crate::test_data::{SLICE_UNIT, TestCatalogue};
    use tare_record::Metric;

    /// Networks that can be woven, a workload of connections that last, and one that runs a program for whole seconds.
    const PROGRAMS: TestCatalogue = TestCatalogue {
        networks: &["host", "bridge"],
        workloads: &["lasting", "program", "whole"],
        metrics: &[Metric::Tps],
    };

    /// Returns the slices of `lasting`, `program` and `whole`, and the numbers of lengths that are tried.
    fn planned(slice: &str, more: &str) -> Vec<(Option<SlicePlan>, usize)> {
        let text = format!("[method]\nduration = '5s'\nslice = '{slice}'\n{more}");
        let plan = Study::parse(&text, "test").and_then(|study| study.plan(&PROGRAMS, 7)).unwrap();
        plan.validate().unwrap();
        let slices = |one: &tare_record::WorkloadPlan| (one.slices, one.slice_lengths.len());
        plan.workloads.iter().map(slices).collect()
    }

    #[test]
    fn a_program_runs_for_whole_seconds_and_in_no_shorter_slices() {
        let program = |rounds, seconds| SlicePlan {
            rounds,
            warm_up: PROGRAM_WARM_UP,
            length: Nanos(seconds * SLICE_UNIT.0),
            skip: Nanos(0),
        };
        for (slice, expected) in [
            ("auto", None),
            ("999ms", None),
            ("1s", Some(program(5, 1))),
            ("1500ms", Some(program(2, 2))),
            ("10s", Some(program(1, 10))),
        ] {
            let planned = planned(slice, "");
            assert_eq!(planned[1], (expected, 0), "{slice}");
            let tried = if slice == "auto" { slice_choice::LENGTHS.len() } else { 0 };
            assert_eq!((planned[0].0.is_some(), planned[0].1), (true, tried), "{slice}");
            assert_eq!(planned[2], (None, 0));
        }
        assert_eq!(planned("off", ""), [(None, 0); 3]);
    }

    #[test]
    fn slices_of_threads_that_sleep_are_longer_and_begin_later() {
        let catalogue = TestCatalogue { workloads: &["messages"], ..PROGRAMS };
        let planned = |slice: &str| {
            let text = format!("[method]\nduration = '5s'\nslice = '{slice}'");
            let study = Study::parse(&text, "test").unwrap();
            study.plan(&catalogue, 7).unwrap().workloads.remove(0)
        };
        let slices = |rounds, length| {
            Some(SlicePlan { rounds, warm_up: MESSAGE_WARM_UP, length, skip: MESSAGE_SKIP })
        };
        let tried = planned("auto");
        assert_eq!(tried.slices, slices(100, slice_choice::MESSAGE_LENGTHS[0]));
        assert_eq!(tried.slice_lengths, slice_choice::MESSAGE_LENGTHS);
        let asked = planned("20ms");
        assert_eq!((asked.slices, asked.slice_lengths), (slices(250, Nanos(20_000_000)), vec![]));
        // Agents on other machines have the later of both beginnings.
        let remote = remote_slices(asked.slices.unwrap());
        assert_eq!(Some(remote), slices(100, SHORTEST_REMOTE));
    }

    #[test]
    fn slices_in_which_threads_share_cores_are_not_the_shortest() {
        let catalogue = TestCatalogue { workloads: &["stream"], ..PROGRAMS };
        let tried = |more: &str| {
            let text = format!("[method]\nslice = 'auto'\n{more}");
            let study = Study::parse(&text, "test").unwrap();
            study.plan(&catalogue, 7).unwrap().workloads.remove(0).slice_lengths
        };
        let threads =
            "[[workload]]\nname = 'stream'\nparameters = { threads = 3 }\n[shape]\nflows = [8]";
        assert_eq!(tried(threads), slice_choice::LENGTHS[..2]);
        assert_eq!(tried("[shape]\nclients = [1, 3]"), slice_choice::LENGTHS[..2]);
        // A thread has at least one flow.
        assert_eq!(tried(&threads.replace('8', "2")), slice_choice::LENGTHS);
    }

    #[test]
    fn a_scaled_study_is_woven_where_it_can_be() {
        let text = "[method]\nduration = '5m'\nblocks = 10";
        let study = Study::parse(text, "test").and_then(crate::scaled).unwrap();
        let plan = study.plan(&PROGRAMS, 7).unwrap();
        let woven: Vec<bool> = plan.workloads.iter().map(|one| one.slices.is_some()).collect();
        assert_eq!(woven, [true, false, false]);
    }

    #[test]
    fn a_link_leaves_the_slices_of_programs() {
        let planned = planned("1s", "[shape]\nnodes = [2]\nlink = ['rate=10gbit']");
        let woven: Vec<bool> = planned.iter().map(|(slices, _)| slices.is_some()).collect();
        assert_eq!(woven, [false, true, false]);
    }

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
