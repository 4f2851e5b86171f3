//! Slices of a client's trial: its flow groups run one after another, and rest in between.

use crate::event_loop::SharedDeadline;
use crate::flow_group::FlowGroup;
use crate::placement::SideCores;
use crate::slices::window::SliceWindow;
use crate::workers::{self, WorkerOutput, WorkerThreads};
use crate::{Error, TrialTask, clock};
use std::io;
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
    /// Threads of the flow groups, which last for all slices; `None` before the first one.
    threads: Option<WorkerThreads>,
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
        Ok(Self { plan, next: 0, cpu: Nanos(0), findings: Vec::new(), threads: None })
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
        let window = self.begin();
        let patience = Arc::new(SharedDeadline::default());
        let mut resumed = std::mem::take(groups);
        resumed.iter_mut().for_each(|group| group.begin_slice(window, &patience));
        *groups = self.run(resumed, cores, task, &patience, workers::drive_flows(task))?;
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
        let ended = self.run(groups, cores, task, patience, workers::drive_flows(task))?;
        Ok(self.into_output(ended))
    }

    /// Begins the next slice now. A slice beyond the last one does not count.
    pub(crate) fn begin(&mut self) -> SliceWindow {
        let window = SliceWindow::slice(&self.plan, self.next, clock::now().0);
        self.next += 1;
        window
    }

    /// Runs the groups in a slice that has begun, each on the thread that it had in the slices before. Adds what the threads
    /// took and found.
    ///
    /// # Errors
    /// Fails if a flow breaks; the groups are gone then.
    pub(crate) fn run<G: Send + 'static>(
        &mut self,
        groups: Vec<G>,
        cores: &SideCores,
        task: &TrialTask,
        patience: &Arc<SharedDeadline>,
        work: impl Fn(&mut G, &SharedDeadline) -> io::Result<()> + Send + Sync + 'static,
    ) -> Result<Vec<G>, Error> {
        let threads = match &mut self.threads {
            Some(threads) => threads,
            None => self.threads.insert(WorkerThreads::start(groups.len(), cores, task)?),
        };
        let driven = threads.run(groups, patience, work)?;
        self.cpu = self.cpu + driven.cpu;
        for finding in driven.findings {
            if !self.findings.contains(&finding) {
                self.findings.push(finding);
            }
        }
        Ok(driven.lanes)
    }

    /// Returns what all slices took and found, with these flow groups.
    pub(crate) fn into_output<G>(self, groups: Vec<G>) -> WorkerOutput<G> {
        WorkerOutput { lanes: groups, cpu: self.cpu, findings: self.findings }
    }
}
