//! Lanes on threads: one thread a core, the flows dealt over them in turn.

use crate::drive::{Lane, Patience, drive};
use crate::placement::{Cores, pin};
use crate::{Error, Kind, Parameter, Task, parameters};
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::thread;
use std::time::Instant;
use tare_record::{Finding, Nanos, Parameters};

/// How many threads a side has: a parameter of every workload whose flows are dealt over lanes.
pub(crate) const THREADS: Parameter = Parameter {
    name: "threads",
    summary: "threads that carry the flows of each side; as many as its cores unless given",
    kind: Kind::Count { least: 1, most: 1024 },
    default: None,
};

/// Lanes that have come to their end.
#[derive(Debug)]
pub(crate) struct Driven<L> {
    /// They, with what they counted.
    pub(crate) lanes: Vec<L>,
    /// CPU time of their threads.
    pub(crate) cpu: Nanos,
    /// What was noticed.
    pub(crate) findings: Vec<Finding>,
}

/// Deals flows over the threads of a process: as many as were asked for, else one for each of these cores; never more
/// than flows.
pub(crate) fn deal<T>(flows: Vec<T>, cores: &Cores, parameters: &Parameters) -> Vec<Vec<T>> {
    let threads = match parameters::optional_size(parameters, THREADS.name) {
        Some(asked) => asked.clamp(1, flows.len().max(1)),
        None => cores.threads(flows.len()),
    };
    let mut hands: Vec<Vec<T>> = (0..threads).map(|_| Vec::new()).collect();
    for (index, flow) in flows.into_iter().enumerate() {
        hands[index % threads].push(flow);
    }
    hands
}

/// Runs every lane on a thread of its own until all have come to their end, or patience is over.
///
/// When one breaks, the others are not waited for.
pub(crate) fn run<L: Lane>(
    lanes: Vec<L>,
    cores: &Cores,
    task: &Task,
    patience: &Patience,
) -> Result<Driven<L>, Error> {
    run_by(drive, lanes, cores, task, patience)
}

/// The same for lanes that are driven by something else: what they do on their thread, until patience is over.
pub(crate) fn run_by<L: Send>(
    drive: impl Fn(&mut L, &Patience) -> io::Result<()> + Sync,
    lanes: Vec<L>,
    cores: &Cores,
    task: &Task,
    patience: &Patience,
) -> Result<Driven<L>, Error> {
    let drive = &drive;
    let first = task.index as usize * lanes.len();
    let results = thread::scope(|scope| {
        let threads: Vec<_> = (first..)
            .zip(lanes)
            .map(|(nth, lane)| {
                let spawned = thread::Builder::new()
                    .name(task.workload.clone())
                    .spawn_scoped(scope, move || carry(drive, lane, cores.nth(nth), patience));
                if spawned.is_err() {
                    patience.limit(Instant::now());
                }
                spawned
            })
            .collect();
        threads
            .into_iter()
            .map(|spawned| spawned.and_then(|thread| thread.join().unwrap_or_else(|_| Err(died()))))
            .collect::<Vec<_>>()
    });
    let mut driven = Driven { lanes: Vec::new(), cpu: Nanos(0), findings: Vec::new() };
    for result in results {
        let (lane, cpu, finding) = result.map_err(|error| Error::io("a flow broke", error))?;
        driven.lanes.push(lane);
        driven.cpu = driven.cpu + cpu;
        driven.findings.extend(finding);
    }
    Ok(driven)
}

/// The life of one thread.
fn carry<L>(
    drive: impl Fn(&mut L, &Patience) -> io::Result<()>,
    mut lane: L,
    core: Option<u32>,
    patience: &Patience,
) -> io::Result<(L, Nanos, Option<Finding>)> {
    let finding = core.and_then(pin);
    let before = thread_cpu();
    let result = drive(&mut lane, patience);
    let cpu = thread_cpu() - before;
    if result.is_err() {
        patience.limit(Instant::now());
    }
    result.map(|()| (lane, cpu, finding))
}

fn died() -> io::Error {
    io::Error::other("its thread died")
}

/// CPU time of the calling thread so far.
fn thread_cpu() -> Nanos {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Nanos(time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_dealt_evenly_over_no_more_threads_than_cores() {
        let cores = Cores::Pinned(vec![0, 1]);
        let free = Parameters::new();
        assert_eq!(deal(vec![1, 2, 3], &cores, &free), [vec![1, 3], vec![2]]);
        assert_eq!(deal(vec![1], &cores, &free), [vec![1]]);
        assert_eq!(deal(Vec::<u32>::new(), &cores, &free), [Vec::<u32>::new()]);
        let four = Parameters::from([("threads".to_owned(), 4.into())]);
        assert_eq!(deal(vec![1, 2, 3], &cores, &four), [vec![1], vec![2], vec![3]]);
    }
}
