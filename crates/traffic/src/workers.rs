//! Worker threads: one thread a core, over which flows are distributed round-robin. A single one is the calling thread.

use crate::event_loop::{SharedDeadline, drive};
use crate::flow_group::FlowGroup;
use crate::placement::{AffinityGuard, SideCores, pin_thread};
use crate::wait_mode::WaitMode;
use crate::{Error, Parameter, ParameterKind, TrialTask, parameters};
use rustix::time::{ClockId, clock_gettime};
use std::ffi::CString;
use std::io;
use std::thread;
use std::time::Instant;
use tare_record::{Finding, Nanos, Parameters};

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

/// Runs every flow group on a thread of its own, a single one on the calling thread, until all have finished or the deadline passes. The task's parameters
/// choose the wait mode.
///
/// If one group fails, the others are not waited for.
pub(crate) fn run_flow_groups<L: FlowGroup>(
    lanes: Vec<L>,
    cores: &SideCores,
    task: &TrialTask,
    patience: &SharedDeadline,
) -> Result<WorkerOutput<L>, Error> {
    let wait = WaitMode::from_parameters(&task.parameters);
    run_workers(lanes, cores, task, patience, |lane| drive(lane, wait, patience))
}

/// Runs groups that have an event loop of their own, as [`run_flow_groups`] does.
pub(crate) fn run_workers<L: Send>(
    lanes: Vec<L>,
    cores: &SideCores,
    task: &TrialTask,
    patience: &SharedDeadline,
    work: impl Fn(&mut L) -> io::Result<()> + Sync,
) -> Result<WorkerOutput<L>, Error> {
    let first = task.index as usize * lanes.len();
    let results = match <[L; 1]>::try_from(lanes) {
        // A thousand clients that begin together would each wait for their thread to start.
        Ok([only]) => {
            let _cores = AffinityGuard::keep();
            let _name = ThreadName::lend(&task.workload);
            vec![run_worker(only, cores.nth(first), patience, &work)]
        }
        Err(lanes) => run_side_by_side(lanes, first, cores, task, patience, &work),
    };
    let mut driven = WorkerOutput { lanes: Vec::new(), cpu: Nanos(0), findings: Vec::new() };
    for result in results {
        let (lane, cpu, finding) =
            result.map_err(|error| Error::io("carry traffic on a flow", error))?;
        driven.lanes.push(lane);
        driven.cpu = driven.cpu + cpu;
        driven.findings.extend(finding);
    }
    Ok(driven)
}

/// Name of the calling thread, which it gets back when this is dropped.
struct ThreadName(Option<CString>);

impl ThreadName {
    /// Gives the calling thread another name, of which the kernel keeps 15 bytes.
    fn lend(name: &str) -> Self {
        let own = rustix::thread::name().ok();
        if let Ok(name) = CString::new(name) {
            // A thread without its name carries the same traffic.
            let _ = rustix::thread::set_name(&name);
        }
        Self(own)
    }
}

impl Drop for ThreadName {
    fn drop(&mut self) {
        if let Some(own) = &self.0 {
            let _ = rustix::thread::set_name(own);
        }
    }
}

/// Result of a worker: its group, its CPU time, and a finding if it could not be pinned.
type WorkerResult<L> = io::Result<(L, Nanos, Option<Finding>)>;

/// Runs every group on a thread of its own. `first` is the number of the first thread among those of the side.
fn run_side_by_side<L: Send>(
    lanes: Vec<L>,
    first: usize,
    cores: &SideCores,
    task: &TrialTask,
    patience: &SharedDeadline,
    work: &(impl Fn(&mut L) -> io::Result<()> + Sync),
) -> Vec<WorkerResult<L>> {
    thread::scope(|scope| {
        let threads: Vec<_> = (first..)
            .zip(lanes)
            .map(|(nth, lane)| {
                let spawned = thread::Builder::new()
                    .name(task.workload.clone())
                    .spawn_scoped(scope, move || run_worker(lane, cores.nth(nth), patience, work));
                if spawned.is_err() {
                    patience.set(Instant::now());
                }
                spawned
            })
            .collect();
        threads
            .into_iter()
            .map(|spawned| {
                spawned.and_then(|thread| thread.join().unwrap_or_else(|_| Err(thread_panicked())))
            })
            .collect()
    })
}

/// Runs one group on the calling thread, pinned to `core` if given.
fn run_worker<L>(
    mut lane: L,
    core: Option<u32>,
    patience: &SharedDeadline,
    work: &(impl Fn(&mut L) -> io::Result<()> + Sync),
) -> WorkerResult<L> {
    let finding = core.and_then(pin_thread);
    let before = thread_cpu();
    let result = work(&mut lane);
    let cpu = thread_cpu() - before;
    if result.is_err() {
        patience.set(Instant::now());
    }
    result.map(|()| (lane, cpu, finding))
}

fn thread_panicked() -> io::Error {
    io::Error::other("the thread of the flow panicked")
}

/// Returns the CPU time of the calling thread so far.
fn thread_cpu() -> Nanos {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Nanos(time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs())
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
