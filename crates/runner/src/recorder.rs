//! Recorder of a run: writes what happened to the journal, reports it as progress, and keeps what later decisions need.

use crate::block_slices::BlockSlices;
use crate::environment::{AttemptError, RunningNetwork, TrialMeasurement, TurnSetup};
use crate::first_failures::FirstFailures;
use crate::{Error, Progress, RunEvent};
use tare_analysis::InterimComparison;
use tare_record::finding::SecondAttempt;
use tare_record::journal::{Record, RecordSink};
use tare_record::{
    BlockPolicy, Finding, InterimAnalysis, Nanos, NetworkFailure, NetworkTurn, Parameters, Phase,
    Plan, RemainingPlan, Trial, TrialSlices,
};
use tare_study::block_order::PlannedTurn;

/// Recorder of a run.
pub(crate) struct RunRecorder<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) sink: &'a mut dyn RecordSink,
    pub(crate) progress: &'a mut dyn Progress,
    /// The part of the plan that has not been given up.
    pub(crate) standing: RemainingPlan,
    /// Attempts that have failed once.
    pub(crate) first_failures: FirstFailures,
    /// Trials of the pilot, from which the number of blocks is computed.
    pub(crate) pilot: Vec<Trial>,
    /// Trials of the main phase, kept if the run tests its precision as it goes on, or until they have determined its
    /// number of blocks.
    pub(crate) main: Vec<Trial>,
    /// Slices of the woven workloads in the block that is under way.
    pub(crate) slices: BlockSlices,
    /// Comparison of the trials of the main phase, with the analyses so far, if the run has interim analyses.
    pub(crate) interim: Option<InterimComparison>,
}

/// Block that is under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockNumber {
    pub(crate) phase: Phase,
    pub(crate) number: u32,
}

/// Position of a trial in the run.
#[derive(Clone, Debug)]
pub(crate) struct TrialPosition<'a> {
    pub(crate) block: BlockNumber,
    pub(crate) turn: &'a PlannedTurn,
    pub(crate) began: Nanos,
    pub(crate) took: Nanos,
    /// Slices as they were, if the trial was woven.
    pub(crate) slices: Option<TrialSlices>,
}

/// Consequence of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureOutcome {
    /// It was the first in a row: the same is tried once again, over the network raised anew.
    TryAgain,
    /// It was the second in a row, and is recorded: what failed is left out of the rest of the run.
    GivenUp,
    /// The user asked the run to stop.
    Interrupted,
}

/// Failure of a turn, and the plan's workload in which it occurred; `None` if the network could not be raised.
pub(crate) struct TurnFailure {
    pub(crate) workload: Option<usize>,
    pub(crate) broken: AttemptError,
}

impl TurnFailure {
    /// Converts it to the failure to record. Returns `None` if the run was interrupted.
    pub(crate) fn into_failure(
        self,
        plan: &Plan,
        turn: &PlannedTurn,
        block: BlockNumber,
    ) -> Option<NetworkFailure> {
        let AttemptError::Failed { reason, remedy } = self.broken else { return None };
        let workload = self.workload.map(|workload| &plan.workloads[workload]);
        Some(NetworkFailure {
            network: plan.networks[turn.network].label.clone(),
            shape: Some(plan.shapes[turn.shape].clone()),
            workload: workload.map(|workload| workload.name.clone()),
            parameters: workload.map_or_else(Parameters::new, |one| one.parameters.clone()),
            phase: Some(block.phase),
            block: Some(block.number),
            reason,
            remedy,
        })
    }
}

impl<'a> RunRecorder<'a> {
    /// Returns what an environment needs to raise the network of a turn.
    pub(crate) fn setup_of(&self, turn: &PlannedTurn) -> TurnSetup<'a> {
        TurnSetup {
            entry: &self.plan.networks[turn.network],
            shape: &self.plan.shapes[turn.shape],
            workloads: &self.plan.workloads,
        }
    }

    /// Returns true if a workload of a turn has not broken.
    pub(crate) fn stands(&self, turn: &PlannedTurn, workload: usize) -> bool {
        self.standing.has_trial(turn.network, workload, turn.shape)
    }

    /// Reports that a workload begins on a network.
    pub(crate) fn announce(&mut self, turn: &PlannedTurn, workload: usize, block: BlockNumber) {
        self.progress.handle_event(RunEvent::Trial {
            entry: &self.plan.networks[turn.network],
            workload: &self.plan.workloads[workload],
            shape: &self.plan.shapes[turn.shape],
            block: block.number,
        });
    }

    /// Handles the failure of a turn. The second in a row is recorded, and what failed is left out of the rest of the
    /// run.
    pub(crate) fn handle_failure(
        &mut self,
        trouble: TurnFailure,
        turn: &PlannedTurn,
        block: BlockNumber,
    ) -> Result<FailureOutcome, Error> {
        let workload = trouble.workload;
        let Some(failure) = trouble.into_failure(self.plan, turn, block) else {
            return Ok(FailureOutcome::Interrupted);
        };
        if self.first_failures.note(turn, workload, &failure.reason) {
            self.progress.handle_event(RunEvent::FailedOnce(&failure));
            return Ok(FailureOutcome::TryAgain);
        }
        self.sink.append(&Record::Failure(failure.clone()))?;
        self.progress.handle_event(RunEvent::Failed(&failure));
        self.standing.remove_failed(self.plan, &failure);
        Ok(FailureOutcome::GivenUp)
    }

    /// Records an interim analysis, and leaves the decided networks out of the rest of the run.
    pub(crate) fn record_analysis(&mut self, analysis: InterimAnalysis) -> Result<(), Error> {
        self.standing.remove_decided(self.plan, &analysis);
        self.sink.append(&Record::InterimAnalysis(analysis.clone()))?;
        self.progress.handle_event(RunEvent::Analysed(&analysis));
        if let Some(interim) = &mut self.interim {
            interim.add_analysis(analysis);
        }
        Ok(())
    }

    /// Records a trial of a running network.
    pub(crate) fn record_trial(
        &mut self,
        at: TrialPosition<'_>,
        workload: usize,
        running: &dyn RunningNetwork,
        mut measured: TrialMeasurement,
    ) -> Result<(), Error> {
        let first_failure = self.first_failures.take(at.turn, workload);
        measured
            .findings
            .extend(first_failure.map(|reason| Finding::SecondAttempt(SecondAttempt { reason })));
        let setup = self.setup_of(at.turn);
        let record = Record::Trial(Box::new(build_trial(at, &setup, workload, running, measured)));
        self.sink.append(&record)?;
        if let Record::Trial(trial) = record {
            self.progress.handle_event(RunEvent::Measured(&trial));
            if let Some(interim) = &mut self.interim {
                interim.add(&trial)?;
            }
            match (trial.phase, self.plan.blocks) {
                (Phase::Pilot, _) => self.pilot.push(*trial),
                (Phase::Main, BlockPolicy::Sequence { .. }) => self.main.push(*trial),
                (Phase::Main, BlockPolicy::GroupSequential { pilot, .. })
                    if trial.block < pilot =>
                {
                    self.main.push(*trial);
                }
                (Phase::Main, _) => {}
            }
        }
        Ok(())
    }

    /// Takes a network down, and records how long it took to raise and to remove, and the figures of the network itself
    /// that the plan asks for.
    pub(crate) fn tear_down(
        &mut self,
        block: BlockNumber,
        turn: &PlannedTurn,
        mut network: Box<dyn RunningNetwork>,
    ) -> Result<(), Error> {
        let inspection = network.inspect(&self.plan.raising);
        let raised = network.setup_time();
        let Some((raised, removed)) = raised.zip(network.tear_down()) else { return Ok(()) };
        let setup = self.setup_of(turn);
        self.sink.append(&Record::Turn(NetworkTurn {
            block: block.number,
            phase: block.phase,
            label: setup.entry.label.clone(),
            shape: setup.shape.clone(),
            raised,
            removed,
            inspection,
        }))?;
        Ok(())
    }
}

fn build_trial(
    at: TrialPosition<'_>,
    setup: &TurnSetup<'_>,
    workload: usize,
    running: &dyn RunningNetwork,
    measured: TrialMeasurement,
) -> Trial {
    Trial {
        block: at.block.number,
        phase: at.block.phase,
        position: at.turn.position,
        label: setup.entry.label.clone(),
        network: setup.entry.network.clone(),
        workload: setup.workloads[workload].name.clone(),
        shape: setup.shape.clone(),
        parameters: measured.parameters,
        began: at.began,
        took: at.took,
        slices: at.slices,
        series: measured.series,
        ends: measured.ends,
        agents: measured.agents,
        search: measured.search,
        hops: running.hops(),
        findings: measured.findings,
        meanwhile: measured.meanwhile,
    }
}
