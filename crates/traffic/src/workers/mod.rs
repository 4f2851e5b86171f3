//! Workers of a task: flows are distributed round-robin over threads, one a core unless more are asked for.

mod threads;

use crate::event_loop::{SharedDeadline, drive};
use crate::flow_group::FlowGroup;
use crate::placement::SideCores;
use crate::wait_mode::WaitMode;
use crate::{Error, Parameter, ParameterKind, TrialTask, parameters};
use std::io;
use std::sync::Arc;
use tare_record::{Finding, Nanos, Parameters};
pub(crate) use threads::WorkerThreads;

/// Parameter for the number of threads of a side, for every workload that distributes its flows over worker threads.
pub const THREADS: Parameter = Parameter {
    name: "threads",
    summary: "threads that carry the flows of each side; as many as the cores of the side unless given",
    kind: ParameterKind::Count { least: 1, most: 1024 },
    default: None,
};

/// Result of worker threads that have finished.
#[derive(Debug)]
pub(crate) struct WorkerOutput<L> {
    /// The flow groups, with their counts.
    pub(crate) lanes: Vec<L>,
    /// CPU time of the threads.
    pub(crate) cpu: Nanos,
    /// Findings of the threads.
    pub(crate) findings: Vec<Finding>,
}

/// Returns the number of threads of a process with this many flows.
pub(crate) fn thread_count(flows: usize, cores: &SideCores, parameters: &Parameters) -> usize {
    match parameters::optional_size(parameters, THREADS.name) {
        Some(asked) => asked.clamp(1, flows.max(1)),
        None => cores.thread_count(flows),
    }
}

/// Distributes flows over the threads of a process: as many as the parameters say, otherwise one for each of these
/// cores; never more than flows.
pub(crate) fn distribute<T>(
    flows: Vec<T>,
    cores: &SideCores,
    parameters: &Parameters,
) -> Vec<Vec<T>> {
    let threads = thread_count(flows.len(), cores, parameters);
    let mut hands: Vec<Vec<T>> = (0..threads).map(|_| Vec::new()).collect();
    for (index, flow) in flows.into_iter().enumerate() {
        hands[index % threads].push(flow);
    }
    hands
}

/// Runs every flow group on a thread of its own, a single one on the calling thread, until all have finished or the deadline
/// passes. The task's parameters choose the wait mode.
///
/// If one group fails, the others are not waited for.
pub(crate) fn run_flow_groups<L: FlowGroup>(
    lanes: Vec<L>,
    cores: &SideCores,
    task: &TrialTask,
    patience: &Arc<SharedDeadline>,
) -> Result<WorkerOutput<L>, Error> {
    run_workers(lanes, cores, task, patience, drive_flows(task))
}

/// Returns the work of a thread that drives a flow group, in the wait mode of the task's parameters.
pub(crate) fn drive_flows<L: FlowGroup>(
    task: &TrialTask,
) -> impl Fn(&mut L, &SharedDeadline) -> io::Result<()> + Send + Sync + 'static {
    let wait = WaitMode::from_parameters(&task.parameters);
    move |lane, patience| drive(lane, wait, patience)
}

/// Runs groups that have an event loop of their own, as [`run_flow_groups`] does.
pub(crate) fn run_workers<L: Send + 'static>(
    lanes: Vec<L>,
    cores: &SideCores,
    task: &TrialTask,
    patience: &Arc<SharedDeadline>,
    work: impl Fn(&mut L, &SharedDeadline) -> io::Result<()> + Send + Sync + 'static,
) -> Result<WorkerOutput<L>, Error> {
    WorkerThreads::start(lanes.len(), cores, task)?.run(lanes, patience, work)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_dealt_evenly_over_no_more_threads_than_cores() {
        let cores = SideCores::Pinned(vec![0, 1]);
        let free = Parameters::new();
        assert_eq!(distribute(vec![1, 2, 3], &cores, &free), [vec![1, 3], vec![2]]);
        assert_eq!(distribute(vec![1], &cores, &free), [vec![1]]);
        assert_eq!(distribute(Vec::<u32>::new(), &cores, &free), [Vec::<u32>::new()]);
        let four = Parameters::from([("threads".to_owned(), 4.into())]);
        assert_eq!(distribute(vec![1, 2, 3], &cores, &four), [vec![1], vec![2], vec![3]]);
    }
}
