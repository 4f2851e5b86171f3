//! Sequence of a run: phases, blocks, turns and trials.

use crate::environment::{
    AttemptError, RunEnvironment, RunningNetwork, TrialMeasurement, TurnSetup,
};
use crate::{Error, Progress, RunEvent, StartPoint};
use std::collections::VecDeque;
use tare_record::journal::{Record, RecordSink, RunEnd};
use tare_record::{
    BlockPolicy, Nanos, NetworkFailure, Parameters, Phase, Plan, RemainingPlan, Sizing, StoppedBy,
    Trial,
};
use tare_study::block_order::{self, PlannedTurn};
use tare_study::sizing;

/// Runs the rest of a plan, and returns the reason why the run ended.
///
/// # Errors
/// Fails if the journal cannot be written, or if trials cannot be estimated from. A workload or network that breaks is
/// recorded as a failure, and the run goes on without it: without that workload over that network in that shape, or
/// without that network in that shape if it could not be raised.
pub fn run_plan(
    plan: &Plan,
    start: StartPoint,
    stage: &mut dyn RunEnvironment,
    sink: &mut dyn RecordSink,
    progress: &mut dyn Progress,
) -> Result<StoppedBy, Error> {
    let StartPoint { pilot: pilot_from, main: main_from, sizing, .. } = start;
    let StartPoint { failures, pilot_trials: pilot, main_trials: main, .. } = start;
    let standing = RemainingPlan::after_failures(plan, &failures);
    let mut walk = RunSequence { plan, stage, sink, progress, standing, pilot, main };
    let stopped_by = match walk.run_phases(sizing, pilot_from, main_from)? {
        PhaseEnd::Done(decided_by) => decided_by,
        PhaseEnd::Early(early) => early,
    };
    walk.sink.append(&Record::End(RunEnd { stopped_by }))?;
    Ok(stopped_by)
}

/// End of a phase or of a run.
enum PhaseEnd {
    /// All blocks are measured; holds the reason for their number.
    Done(StoppedBy),
    /// The run ended before that; holds the reason.
    Early(StoppedBy),
}

struct RunSequence<'a> {
    plan: &'a Plan,
    stage: &'a mut dyn RunEnvironment,
    sink: &'a mut dyn RecordSink,
    progress: &'a mut dyn Progress,
    /// The part of the plan that has not broken.
    standing: RemainingPlan,
    /// Trials of the pilot, from which the number of blocks is computed.
    pilot: Vec<Trial>,
    /// Trials of the main phase, kept if the run tests its precision as it goes on.
    main: Vec<Trial>,
}

impl RunSequence<'_> {
    /// Runs the pilot, the decision and the main phase, each from where the run was cut off.
    fn run_phases(
        &mut self,
        decided: Option<Sizing>,
        pilot_from: u32,
        main_from: u32,
    ) -> Result<PhaseEnd, Error> {
        let (blocks, decided_by) = match (self.plan.blocks, decided) {
            (BlockPolicy::Fixed { blocks }, _) => (blocks, StoppedBy::Blocks),
            (BlockPolicy::Sequence { at_most, .. }, _) => {
                return self.run_phase(Phase::Main, main_from, at_most);
            }
            (BlockPolicy::Precision { .. }, Some(sizing)) => (sizing.blocks, sizing.decided_by),
            (BlockPolicy::Precision { pilot, .. }, None) => {
                if let PhaseEnd::Early(early) = self.run_phase(Phase::Pilot, pilot_from, pilot)? {
                    return Ok(PhaseEnd::Early(early));
                }
                let sizing = self.decide_blocks(pilot)?;
                (sizing.blocks, sizing.decided_by)
            }
        };
        match self.run_phase(Phase::Main, main_from, blocks)? {
            PhaseEnd::Done(_) => Ok(PhaseEnd::Done(decided_by)),
            early @ PhaseEnd::Early(_) => Ok(early),
        }
    }

    /// Fixes the number of blocks. From here on no result is looked at.
    fn decide_blocks(&mut self, blocks: u32) -> Result<Sizing, Error> {
        let trials: Vec<&Trial> = self.pilot.iter().collect();
        let elapsed = self.stage.elapsed();
        let sizing = sizing::decide(
            self.plan,
            &sizing::PilotResult {
                spreads: tare_analysis::estimate_spreads(self.plan, &trials)?,
                block_time: Nanos(elapsed.0 / u64::from(blocks.max(1))),
                elapsed,
            },
        );
        self.sink.append(&Record::Sizing(sizing.clone()))?;
        self.progress.handle_event(RunEvent::Sized { plan: self.plan, sizing: &sizing });
        Ok(sizing)
    }

    fn run_phase(&mut self, phase: Phase, from: u32, blocks: u32) -> Result<PhaseEnd, Error> {
        self.progress.handle_event(RunEvent::Phase {
            phase,
            from,
            blocks,
            trials: self.trials_per_block(),
        });
        for number in from..blocks {
            if self.is_over_budget(phase, number) {
                return Ok(PhaseEnd::Early(StoppedBy::Budget));
            }
            if let Some(early) = self.run_block(phase, number)? {
                return Ok(PhaseEnd::Early(early));
            }
            self.progress.handle_event(RunEvent::Block { phase, block: number });
            if self.is_narrow_enough(number + 1)? {
                return Ok(PhaseEnd::Done(StoppedBy::Sequence));
            }
        }
        Ok(PhaseEnd::Done(StoppedBy::Blocks))
    }

    /// Returns whether a run that ends at its precision has reached it after this many blocks. The test may be repeated
    /// any number of times; it is repeated after a tenth more blocks, so that it stays cheap.
    fn is_narrow_enough(&self, blocks: u32) -> Result<bool, Error> {
        let BlockPolicy::Sequence { precision, at_least, .. } = self.plan.blocks else {
            return Ok(false);
        };
        let every = (blocks / 10).max(1);
        if blocks < at_least || !blocks.is_multiple_of(every) {
            return Ok(false);
        }
        let trials: Vec<&Trial> = self.main.iter().collect();
        Ok(tare_analysis::is_narrow_enough(self.plan, &trials, precision)?)
    }

    fn trials_per_block(&self) -> u32 {
        u32::try_from(self.standing.trial_count()).unwrap_or(u32::MAX)
    }

    /// Returns whether the budget of time is used up. It is tested between blocks only, and never before two blocks are
    /// done.
    fn is_over_budget(&self, phase: Phase, number: u32) -> bool {
        phase == Phase::Main
            && number >= 2
            && self.plan.budget.is_some_and(|budget| self.stage.elapsed() >= budget)
    }

    /// Runs one block. Returns the reason if the run ended in it.
    fn run_block(&mut self, phase: Phase, number: u32) -> Result<Option<StoppedBy>, Error> {
        for turn in block_order::order_block(self.plan, phase, number) {
            if self.stage.is_interrupted()
                || self.run_turn(phase, number, &turn)? == TurnEnd::Interrupted
            {
                return Ok(Some(StoppedBy::Interrupted));
            }
        }
        Ok(self.standing.is_empty().then_some(StoppedBy::Failed))
    }

    /// Runs one network's turn. A workload that breaks in it is left out from here on; the network is raised anew for
    /// the remaining workloads.
    fn run_turn(
        &mut self,
        phase: Phase,
        number: u32,
        turn: &PlannedTurn,
    ) -> Result<TurnEnd, Error> {
        let stands =
            |&workload: &usize| self.standing.has_trial(turn.network, workload, turn.shape);
        let mut left: VecDeque<usize> = turn.workloads.iter().copied().filter(stands).collect();
        while self.standing.has_turn(turn.network, turn.shape) {
            let Err(trouble) = self.run_workloads(phase, number, turn, &mut left)? else { break };
            let Some(failure) = trouble.into_failure(self.plan, turn, number) else {
                return Ok(TurnEnd::Interrupted);
            };
            self.record_failure(&failure)?;
            if left.is_empty() {
                break;
            }
        }
        Ok(TurnEnd::Completed)
    }

    /// Records a failure, and leaves the broken part out of the rest of the run.
    fn record_failure(&mut self, failure: &NetworkFailure) -> Result<(), Error> {
        self.sink.append(&Record::Failure(failure.clone()))?;
        self.progress.handle_event(RunEvent::Failed(failure));
        self.standing.remove_failed(self.plan, failure);
        Ok(())
    }

    /// Raises a network and runs workloads over it until none is left or one breaks. A workload that breaks is no
    /// longer among those left.
    fn run_workloads(
        &mut self,
        phase: Phase,
        number: u32,
        turn: &PlannedTurn,
        left: &mut VecDeque<usize>,
    ) -> Result<Result<(), TurnFailure>, Error> {
        let scene = TurnSetup {
            entry: &self.plan.networks[turn.network],
            shape: &self.plan.shapes[turn.shape],
            workloads: &self.plan.workloads,
        };
        let mut raised = match self.stage.set_up(&scene) {
            Ok(raised) => raised,
            Err(broken) => return Ok(Err(TurnFailure { workload: None, broken })),
        };
        while let Some(workload) = left.pop_front() {
            self.progress.handle_event(RunEvent::Trial {
                entry: scene.entry,
                workload: &self.plan.workloads[workload],
                shape: scene.shape,
                block: number,
            });
            let began = self.stage.elapsed();
            match raised.run_trial(workload) {
                Ok(measured) => {
                    let took = self.stage.elapsed() - began;
                    let at = TrialPosition { phase, number, turn, began, took };
                    let trial = at.build_trial(&scene, workload, raised.as_ref(), measured);
                    self.record_trial(trial)?;
                }
                Err(broken) => return Ok(Err(TurnFailure { workload: Some(workload), broken })),
            }
        }
        self.tear_down(phase, number, &scene, raised)?;
        Ok(Ok(()))
    }

    /// Takes a network down, and records how long it took to raise and to remove.
    fn tear_down(
        &mut self,
        phase: Phase,
        number: u32,
        scene: &TurnSetup<'_>,
        network: Box<dyn RunningNetwork>,
    ) -> Result<(), Error> {
        let raised = network.setup_time();
        let Some((raised, removed)) = raised.zip(network.tear_down()) else { return Ok(()) };
        self.sink.append(&Record::Turn(tare_record::NetworkTurn {
            block: number,
            phase,
            label: scene.entry.label.clone(),
            shape: scene.shape.clone(),
            raised,
            removed,
        }))?;
        Ok(())
    }

    fn record_trial(&mut self, trial: Trial) -> Result<(), Error> {
        let record = Record::Trial(Box::new(trial));
        self.sink.append(&record)?;
        if let Record::Trial(trial) = record {
            self.progress.handle_event(RunEvent::Measured(&trial));
            match (trial.phase, self.plan.blocks) {
                (Phase::Pilot, _) => self.pilot.push(*trial),
                (Phase::Main, BlockPolicy::Sequence { .. }) => self.main.push(*trial),
                (Phase::Main, _) => {}
            }
        }
        Ok(())
    }
}

/// End of a turn.
#[derive(PartialEq, Eq)]
enum TurnEnd {
    /// The turn is complete, even if something broke in it.
    Completed,
    /// The user asked the run to stop.
    Interrupted,
}

/// Failure of a turn, and the plan's workload in which it occurred; `None` if the network could not be raised.
struct TurnFailure {
    workload: Option<usize>,
    broken: AttemptError,
}

impl TurnFailure {
    /// Converts it to the failure to record. Returns `None` if the run was interrupted.
    fn into_failure(self, plan: &Plan, turn: &PlannedTurn, block: u32) -> Option<NetworkFailure> {
        let AttemptError::Failed { reason, remedy } = self.broken else { return None };
        let workload = self.workload.map(|workload| &plan.workloads[workload]);
        Some(NetworkFailure {
            network: plan.networks[turn.network].label.clone(),
            shape: Some(plan.shapes[turn.shape].clone()),
            workload: workload.map(|workload| workload.name.clone()),
            parameters: workload.map_or_else(Parameters::new, |one| one.parameters.clone()),
            block: Some(block),
            reason,
            remedy,
        })
    }
}

/// Position of a trial in the run.
struct TrialPosition<'a> {
    phase: Phase,
    number: u32,
    turn: &'a PlannedTurn,
    began: Nanos,
    took: Nanos,
}

impl TrialPosition<'_> {
    fn build_trial(
        &self,
        scene: &TurnSetup<'_>,
        workload: usize,
        raised: &dyn RunningNetwork,
        measured: TrialMeasurement,
    ) -> Trial {
        Trial {
            block: self.number,
            phase: self.phase,
            position: self.turn.position,
            label: scene.entry.label.clone(),
            network: scene.entry.network.clone(),
            workload: scene.workloads[workload].name.clone(),
            shape: scene.shape.clone(),
            parameters: measured.parameters,
            began: self.began,
            took: self.took,
            series: measured.series,
            ends: measured.ends,
            agents: measured.agents,
            search: measured.search,
            hops: raised.hops(),
            findings: measured.findings,
            meanwhile: measured.meanwhile,
        }
    }
}
