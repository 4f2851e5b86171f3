//! Slices of a client's trial: its flow groups run one after another, and rest in between.

use crate::event_loop::SharedDeadline;
use crate::flow_group::FlowGroup;
use crate::placement::{AffinityGuard, SideCores, pin_thread};
use crate::slices::window::SliceWindow;
use crate::workers::{self, WorkerOutput};
use crate::{Error, TrialTask, clock};
use std::sync::Arc;
use tare_record::{Finding, Nanos, SlicePlan};

/// Flows of one thread that generate traffic in slices.
pub(crate) trait SlicedFlowGroup: FlowGroup {
    /// Prepares the flows for a slice with this window.
    fn begin_slice(&mut self, window: SliceWindow, patience: &Arc<SharedDeadline>);

    /// Ends the last slice: from now on the flows generate nothing, and close.
    fn end_slices(&mut self, patience: &Arc<SharedDeadline>);
}

/// Slices of a client's trial: the next one, and what the worker threads of those before it took and found.
#[derive(Debug)]
pub(crate) struct ClientSlices {
    plan: SlicePlan,
    next: u32,
    /// CPU time of the worker threads so far.
    cpu: Nanos,
    /// Findings of the worker threads so far, each once.
    findings: Vec<Finding>,
    /// Cores of the thread before the first slice, if the slices run on the calling thread.
    cores: Option<AffinityGuard>,
}

impl ClientSlices {
    /// Creates the slices of a task, none of which has run.
    ///
    /// # Errors
    /// Fails if the task runs in one piece.
    pub(crate) fn for_task(task: &TrialTask) -> Result<Self, Error> {
        let plan = task.slices.ok_or_else(|| {
            Error::Job("cannot run a slice: the trial runs in one piece: order `go`".to_owned())
        })?;
        Ok(Self { plan, next: 0, cpu: Nanos(0), findings: Vec::new(), cores: None })
    }

    /// Returns the slices of a task that have run, or creates them before the first one.
    ///
    /// # Errors
    /// Fails if the task runs in one piece.
    pub(crate) fn started<'s>(
        slices: &'s mut Option<Self>,
        task: &TrialTask,
    ) -> Result<&'s mut Self, Error> {
        match slices {
            Some(slices) => Ok(slices),
            None => Ok(slices.insert(Self::for_task(task)?)),
        }
    }

    /// Runs the next slice of these flow groups.
    ///
    /// # Errors
    /// Fails if a flow breaks; the flow groups are gone then.
    pub(crate) fn run_next<G: SlicedFlowGroup>(
        &mut self,
        groups: &mut Vec<G>,
        cores: &SideCores,
        task: &TrialTask,
    ) -> Result<(), Error> {
        let window = self.begin(groups.len(), cores, task);
        let patience = Arc::new(SharedDeadline::default());
        let mut resumed = std::mem::take(groups);
        resumed.iter_mut().for_each(|group| group.begin_slice(window, &patience));
        *groups = self.add(workers::run_flow_groups(resumed, cores, task, &patience)?);
        Ok(())
    }

    /// Ends the flows, and returns what all slices took and found.
    ///
    /// # Errors
    /// Fails if a flow breaks.
    pub(crate) fn finish<G: SlicedFlowGroup>(
        mut self,
        mut groups: Vec<G>,
        cores: &SideCores,
        task: &TrialTask,
        patience: &Arc<SharedDeadline>,
    ) -> Result<WorkerOutput<G>, Error> {
        groups.iter_mut().for_each(|group| group.end_slices(patience));
        let ended = self.add(workers::run_flow_groups(groups, cores, task, patience)?);
        Ok(self.into_output(ended))
    }

    /// Begins the next slice of so many flow groups now. A slice beyond the last one does not count.
    ///
    /// If the calling thread carries the only group, it stays on its core until the last slice has ended: all slices of a
    /// task run on one thread.
    pub(crate) fn begin(
        &mut self,
        groups: usize,
        cores: &SideCores,
        task: &TrialTask,
    ) -> SliceWindow {
        if self.cores.is_none() && groups == 1 {
            self.cores = Some(AffinityGuard::keep());
            // The worker of each slice tells if that fails.
            let _ = cores.nth(task.index as usize).and_then(pin_thread);
        }
        let window = SliceWindow::slice(&self.plan, self.next, clock::now().0);
        self.next += 1;
        window
    }

    /// Adds what the worker threads of a slice took and found. Returns the flow groups.
    pub(crate) fn add<G>(&mut self, driven: WorkerOutput<G>) -> Vec<G> {
        self.cpu = self.cpu + driven.cpu;
        for finding in driven.findings {
            if !self.findings.contains(&finding) {
                self.findings.push(finding);
            }
        }
        driven.lanes
    }

    /// Returns what all slices took and found, with these flow groups.
    pub(crate) fn into_output<G>(self, groups: Vec<G>) -> WorkerOutput<G> {
        WorkerOutput { lanes: groups, cpu: self.cpu, findings: self.findings }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::thread::sched_getaffinity;

    #[test]
    fn the_only_worker_keeps_its_core_until_the_slices_are_over() {
        let slices = SlicePlan { rounds: 2, warm_up: 1, length: Nanos(1), skip: Nanos(0) };
        let mut task = TrialTask::for_test("tcp-rr", vec![([127, 0, 0, 1], 7).into()]);
        task.slices = Some(slices);
        let allowed = || {
            let set = sched_getaffinity(None).unwrap();
            (0..rustix::thread::CpuSet::MAX_CPU)
                .filter(|&core| set.is_set(core))
                .collect::<Vec<_>>()
        };
        let before = allowed();
        let pinned = SideCores::Pinned(vec![u32::try_from(before[0]).unwrap()]);
        for (groups, within) in [(1, vec![before[0]]), (2, before.clone())] {
            let mut client = ClientSlices::for_task(&task).unwrap();
            for _ in 0..2 {
                client.begin(groups, &pinned, &task);
                assert_eq!(allowed(), within, "{groups} groups");
            }
            drop(client);
            assert_eq!(allowed(), before, "{groups} groups");
        }
    }
}
