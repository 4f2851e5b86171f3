//! Threads of a task's workers. They last for all slices of a trial: a thread that begins or ends leaves work to RCU, which
//! keeps the idle tick of its core (see `kept_files.rs` of `tare-observe`), and what a slice shows would depend on it.

use super::WorkerOutput;
use crate::event_loop::SharedDeadline;
use crate::placement::{AffinityGuard, SideCores, pin_thread};
use crate::{Error, TrialTask};
use rustix::time::{ClockId, clock_gettime};
use std::ffi::CString;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Instant;
use tare_record::{Finding, Nanos};

/// Threads on which the flow groups of a task run, each on its own, once or in every slice.
#[derive(Debug)]
pub(crate) struct WorkerThreads {
    kind: ThreadKind,
    /// Core of each thread; `None` where the scheduler chooses.
    cores: Vec<Option<u32>>,
}

/// Threads that a task has.
#[derive(Debug)]
enum ThreadKind {
    /// The calling thread carries the only group: a thousand clients that begin together would each wait for their thread to
    /// start.
    Calling(
        #[expect(dead_code, reason = "gives the thread's properties back when it is dropped")]
        BorrowedThread,
    ),
    /// Threads of their own.
    Spawned(Vec<SpawnedThread>),
}

impl WorkerThreads {
    /// Starts a thread for each of so many groups; the only one of them runs on the calling thread, which stays on its core
    /// until this is dropped.
    ///
    /// # Errors
    /// Fails if a thread cannot be started.
    pub(crate) fn start(groups: usize, cores: &SideCores, task: &TrialTask) -> Result<Self, Error> {
        let first = task.index as usize * groups;
        let cores = (first..first + groups).map(|nth| cores.nth(nth)).collect();
        let kind = if groups == 1 {
            ThreadKind::Calling(BorrowedThread::borrow(&task.workload))
        } else {
            let threads: io::Result<_> =
                (0..groups).map(|_| SpawnedThread::start(&task.workload)).collect();
            ThreadKind::Spawned(
                threads.map_err(|error| Error::io("start a thread for flows", error))?,
            )
        };
        Ok(Self { kind, cores })
    }

    /// Runs the groups, one on each thread, until all have finished or the deadline passes. If one group fails, the others are
    /// not waited for.
    ///
    /// # Errors
    /// Fails if a group fails; all groups are gone then.
    pub(crate) fn run<L: Send + 'static>(
        &self,
        lanes: Vec<L>,
        patience: &Arc<SharedDeadline>,
        work: impl Fn(&mut L, &SharedDeadline) -> io::Result<()> + Send + Sync + 'static,
    ) -> Result<WorkerOutput<L>, Error> {
        debug_assert_eq!(lanes.len(), self.cores.len(), "each group has its thread");
        let placed = self.cores.iter().copied().zip(lanes);
        let results: Vec<_> = match &self.kind {
            ThreadKind::Calling(_) => {
                placed.map(|(core, lane)| run_worker(lane, core, patience, &work)).collect()
            }
            ThreadKind::Spawned(threads) => {
                let work = Arc::new(work);
                let begun: Vec<_> = threads
                    .iter()
                    .zip(placed)
                    .map(|(thread, (core, lane))| {
                        let (patience, work) = (Arc::clone(patience), Arc::clone(&work));
                        thread.begin(move || run_worker(lane, core, &patience, &*work))
                    })
                    .collect();
                begun
                    .into_iter()
                    .map(|result| result.recv().unwrap_or_else(|_| Err(thread_panicked())))
                    .collect()
            }
        };
        collect_output(results)
    }
}

/// Puts the results of all workers together.
fn collect_output<L>(results: Vec<WorkerResult<L>>) -> Result<WorkerOutput<L>, Error> {
    let mut output = WorkerOutput { lanes: Vec::new(), cpu: Nanos(0), findings: Vec::new() };
    for result in results {
        let (lane, cpu, finding) =
            result.map_err(|error| Error::io("carry traffic on a flow", error))?;
        output.lanes.push(lane);
        output.cpu = output.cpu + cpu;
        output.findings.extend(finding);
    }
    Ok(output)
}

/// Result of a worker: its group, its CPU time, and a finding if it could not be pinned.
type WorkerResult<L> = io::Result<(L, Nanos, Option<Finding>)>;

/// Runs one group on the calling thread, pinned to `core` if given.
fn run_worker<L>(
    mut lane: L,
    core: Option<u32>,
    patience: &SharedDeadline,
    work: &impl Fn(&mut L, &SharedDeadline) -> io::Result<()>,
) -> WorkerResult<L> {
    let finding = core.and_then(pin_thread);
    let before = thread_cpu();
    let result = work(&mut lane, patience);
    let cpu = thread_cpu() - before;
    if result.is_err() {
        patience.set(Instant::now());
    }
    result.map(|()| (lane, cpu, finding))
}

/// Piece of work for a thread.
type WorkItem = Box<dyn FnOnce() + Send>;

/// Thread that carries out one piece of work after another, and sleeps in between. It ends when this is dropped.
#[derive(Debug)]
struct SpawnedThread {
    /// `None` once the thread is to end.
    work: Option<Sender<WorkItem>>,
    /// `None` once the thread has ended.
    thread: Option<JoinHandle<()>>,
}

impl SpawnedThread {
    /// Starts a thread of this name.
    fn start(name: &str) -> io::Result<Self> {
        let (work, pieces) = channel::<WorkItem>();
        let thread = thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || pieces.into_iter().for_each(|piece| piece()))?;
        Ok(Self { work: Some(work), thread: Some(thread) })
    }

    /// Begins a piece of work. Its result can be received when it is done; nothing comes if it panics.
    fn begin<T: Send + 'static>(&self, piece: impl FnOnce() -> T + Send + 'static) -> Receiver<T> {
        let (done, result) = channel();
        let piece = Box::new(move || {
            // The receiver is gone if nothing waits for the result any more.
            let _ = done.send(piece());
        });
        if let Some(work) = &self.work {
            // A thread that has panicked takes nothing: the piece is dropped, and with it the way of its result.
            let _ = work.send(piece);
        }
        result
    }
}

impl Drop for SpawnedThread {
    fn drop(&mut self) {
        self.work = None;
        if let Some(thread) = self.thread.take() {
            // A panic has been reported as the result of its piece of work.
            let _ = thread.join();
        }
    }
}

/// Calling thread, which gets its name and its cores back when this is dropped.
#[derive(Debug)]
struct BorrowedThread {
    name: Option<CString>,
    _cores: AffinityGuard,
}

impl BorrowedThread {
    /// Gives the calling thread another name, of which the kernel keeps 15 bytes.
    fn borrow(name: &str) -> Self {
        let own = rustix::thread::name().ok();
        if let Ok(name) = CString::new(name) {
            // A thread without its name carries the same traffic.
            let _ = rustix::thread::set_name(&name);
        }
        Self { name: own, _cores: AffinityGuard::keep() }
    }
}

impl Drop for BorrowedThread {
    fn drop(&mut self) {
        if let Some(own) = &self.name {
            let _ = rustix::thread::set_name(own);
        }
    }
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
    use rustix::thread::{CpuSet, gettid, sched_getaffinity};

    fn task() -> TrialTask {
        TrialTask::for_test("tcp-rr", vec![([127, 0, 0, 1], 7).into()])
    }

    /// First core that this thread may use, to which threads are pinned.
    fn first_core() -> (u32, SideCores) {
        let set = sched_getaffinity(None).unwrap();
        let first = (0..CpuSet::MAX_CPU).find(|&core| set.is_set(core)).unwrap() as u32;
        (first, SideCores::Pinned(vec![first]))
    }

    /// Runs groups that note their thread and its name, and returns them.
    fn note(threads: &WorkerThreads, groups: usize) -> Vec<String> {
        let noted = threads.run(vec![String::new(); groups], &Arc::default(), |lane, _| {
            let name = rustix::thread::name()?;
            *lane = format!("{} {}", gettid().as_raw_nonzero(), name.to_string_lossy());
            Ok(())
        });
        noted.unwrap().lanes
    }

    #[test]
    fn every_group_has_the_same_thread_in_all_slices() {
        let (_, cores) = first_core();
        for groups in [1, 3] {
            let threads = WorkerThreads::start(groups, &cores, &task()).unwrap();
            let first = note(&threads, groups);
            assert!(first.iter().all(|one| one.ends_with(" tcp-rr")), "{first:?}");
            let distinct: std::collections::BTreeSet<_> = first.iter().collect();
            assert_eq!(distinct.len(), groups, "{first:?}");
            assert_eq!(note(&threads, groups), first);
        }
    }

    #[test]
    fn the_calling_thread_keeps_its_core_until_the_slices_are_over() {
        let (core, cores) = first_core();
        let allowed = || sched_getaffinity(None).unwrap();
        let (before, name) = (allowed(), rustix::thread::name().unwrap());
        let threads = WorkerThreads::start(1, &cores, &task()).unwrap();
        note(&threads, 1);
        assert!(allowed().count() == 1 && allowed().is_set(core as usize));
        drop(threads);
        assert_eq!((allowed(), rustix::thread::name().unwrap()), (before, name));
    }

    #[test]
    fn a_group_that_fails_or_panics_ends_the_others_and_is_an_error() {
        let threads = WorkerThreads::start(2, &SideCores::Free(vec![0]), &task()).unwrap();
        let wait_for_the_end = |lane: &mut u32, patience: &SharedDeadline| match lane {
            0 => Err(io::Error::other("broken")),
            1 => {
                while !patience.is_past() {
                    thread::yield_now();
                }
                Ok(())
            }
            _ => panic!("a defect"),
        };
        let failed = threads.run(vec![0, 1], &Arc::default(), wait_for_the_end);
        assert!(failed.unwrap_err().to_string().contains("broken"));
        let panicked = threads.run(vec![2, 0], &Arc::default(), wait_for_the_end);
        assert!(panicked.unwrap_err().to_string().contains("panicked"));
    }
}
