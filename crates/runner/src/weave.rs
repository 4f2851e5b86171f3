//! Weaving: all networks of a block are up at once, and a workload runs over them in rounds of short slices, so that
//! drift of a shared machine falls on all of them alike.
//!
//! The block stays the unit of all statistics: a network's slices in a block are one trial, which becomes complete when
//! all rounds are done. When a network breaks for the first time it is raised anew, and the rounds of the workload begin
//! again for all networks: slices of one round belong together.

use crate::Error;
use crate::environment::{AttemptError, RunEnvironment, RunningNetwork, TrialMeasurement};
use crate::recorder::{BlockNumber, FailureOutcome, RunRecorder, TrialPosition, TurnFailure};
use crate::turn::TurnEnd;
use tare_record::{Nanos, SlicePlan, TrialSlices};
use tare_study::block_order::{self, PlannedTurn};

/// Network of a woven block. It is down if it has broken, or could not be raised.
struct WovenNetwork<'t> {
    turn: &'t PlannedTurn,
    running: Option<Box<dyn RunningNetwork>>,
    /// Beginning of the trial that is under way. `None` if the network has no part in it.
    trial: Option<WovenTrial>,
}

/// Trial that is under way.
struct WovenTrial {
    began: Nanos,
    slices: Vec<Nanos>,
}

/// Trial that is complete, and not recorded yet.
struct WovenResult {
    /// Index of its network.
    network: usize,
    trial: WovenTrial,
    took: Nanos,
    measured: TrialMeasurement,
}

/// End of a step, or of the rounds of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RoundsEnd {
    /// It is complete, even if a network was given up in it.
    Completed,
    /// A network broke for the first time: the rounds begin again.
    Again,
    /// The user asked the run to stop.
    Interrupted,
}

/// Block of networks that are woven.
struct WovenBlock<'w, 'a, 't> {
    stage: &'w mut dyn RunEnvironment,
    recorder: &'w mut RunRecorder<'a>,
    block: BlockNumber,
    networks: Vec<WovenNetwork<'t>>,
}

/// Runs the woven workloads of a block's turns in one shape.
pub(crate) fn run_woven(
    stage: &mut dyn RunEnvironment,
    recorder: &mut RunRecorder<'_>,
    block: BlockNumber,
    turns: &[PlannedTurn],
) -> Result<TurnEnd, Error> {
    let networks = turns.iter().map(|turn| WovenNetwork { turn, running: None, trial: None });
    let mut woven = WovenBlock { stage, recorder, block, networks: networks.collect() };
    let mut workloads: Vec<usize> = Vec::new();
    for workload in turns.iter().flat_map(|turn| &turn.workloads) {
        if !workloads.contains(workload) {
            workloads.push(*workload);
        }
    }
    for workload in workloads {
        let Some(slices) = woven.recorder.slices.plan_of(workload) else { continue };
        if woven.run_workload(workload, slices)? == TurnEnd::Interrupted {
            return Ok(TurnEnd::Interrupted);
        }
    }
    woven.tear_down()?;
    Ok(TurnEnd::Completed)
}

impl WovenBlock<'_, '_, '_> {
    /// Runs all rounds of one workload, and begins again when a network breaks for the first time.
    fn run_workload(&mut self, workload: usize, slices: SlicePlan) -> Result<TurnEnd, Error> {
        loop {
            match self.run_rounds(workload, slices)? {
                RoundsEnd::Completed => return Ok(TurnEnd::Completed),
                RoundsEnd::Interrupted => return Ok(TurnEnd::Interrupted),
                RoundsEnd::Again => self.abandon_trials(),
            }
        }
    }

    fn run_rounds(&mut self, workload: usize, slices: SlicePlan) -> Result<RoundsEnd, Error> {
        let count = self.networks.len();
        for at in 0..count {
            let end = self.connect(at, workload, slices)?;
            if end != RoundsEnd::Completed {
                return Ok(end);
            }
        }
        let RunRecorder { plan, .. } = self.recorder;
        let (phase, number) = (self.block.phase, self.block.number);
        let rounds = slices.slice_count();
        let orders = block_order::order_rounds(plan, phase, number, workload, count, rounds);
        for (round, order) in (0..).zip(orders) {
            for at in order {
                let end = self.run_slice(at, workload, round >= slices.warm_up)?;
                if end != RoundsEnd::Completed {
                    return Ok(end);
                }
            }
        }
        let mut results = Vec::new();
        for at in 0..count {
            let end = self.finish(at, workload, &mut results)?;
            if end != RoundsEnd::Completed {
                return Ok(end);
            }
        }
        results.into_iter().try_for_each(|result| self.record(result, workload, slices))?;
        Ok(RoundsEnd::Completed)
    }

    /// Ends all trials that are under way, without their results. A network whose trial cannot be ended is taken down.
    fn abandon_trials(&mut self) {
        for one in &mut self.networks {
            if one.trial.take().is_some()
                && one.running.as_mut().is_some_and(|running| running.finish_slices().is_err())
            {
                one.running = None;
            }
        }
    }

    /// Raises a network that is down, and connects the flows of a workload.
    fn connect(
        &mut self,
        at: usize,
        workload: usize,
        slices: SlicePlan,
    ) -> Result<RoundsEnd, Error> {
        if self.stage.is_interrupted() {
            return Ok(RoundsEnd::Interrupted);
        }
        let one = &mut self.networks[at];
        let turn = one.turn;
        one.trial = None;
        let measured = turn.workloads.contains(&workload) && self.recorder.stands(turn, workload);
        if !measured || !self.recorder.standing.has_turn(turn.network, turn.shape) {
            return Ok(RoundsEnd::Completed);
        }
        if one.running.is_none() {
            match self.stage.set_up(&self.recorder.setup_of(turn)) {
                Ok(raised) => one.running = Some(raised),
                Err(broken) => return self.handle_failure(at, None, broken),
            }
            self.recorder.first_failures.note_raised(turn);
        }
        self.recorder.announce(turn, workload, self.block);
        let began = self.stage.elapsed();
        let Some(running) = &mut one.running else { return Ok(RoundsEnd::Completed) };
        match running.begin_slices(workload, slices) {
            Ok(()) => {
                one.trial = Some(WovenTrial { began, slices: Vec::new() });
                Ok(RoundsEnd::Completed)
            }
            Err(broken) => self.handle_failure(at, Some(workload), broken),
        }
    }

    /// Runs a network's slice of a round, if it has a part in the trial.
    fn run_slice(&mut self, at: usize, workload: usize, counted: bool) -> Result<RoundsEnd, Error> {
        if self.stage.is_interrupted() {
            return Ok(RoundsEnd::Interrupted);
        }
        let one = &mut self.networks[at];
        let Some((trial, running)) = one.trial.as_mut().zip(one.running.as_mut()) else {
            return Ok(RoundsEnd::Completed);
        };
        let began = self.stage.elapsed();
        match running.run_slice(counted) {
            Ok(()) => {
                trial.slices.extend(counted.then_some(began));
                Ok(RoundsEnd::Completed)
            }
            Err(broken) => self.handle_failure(at, Some(workload), broken),
        }
    }

    /// Ends a network's trial, and adds its result.
    fn finish(
        &mut self,
        at: usize,
        workload: usize,
        results: &mut Vec<WovenResult>,
    ) -> Result<RoundsEnd, Error> {
        let one = &mut self.networks[at];
        let Some((trial, running)) = one.trial.take().zip(one.running.as_mut()) else {
            return Ok(RoundsEnd::Completed);
        };
        match running.finish_slices() {
            Ok(measured) => {
                let took = self.stage.elapsed() - trial.began;
                results.push(WovenResult { network: at, trial, took, measured });
                Ok(RoundsEnd::Completed)
            }
            Err(broken) => self.handle_failure(at, Some(workload), broken),
        }
    }

    /// Records a trial.
    fn record(
        &mut self,
        result: WovenResult,
        workload: usize,
        plan: SlicePlan,
    ) -> Result<(), Error> {
        let WovenResult { network, trial, took, measured } = result;
        let one = &self.networks[network];
        let Some(running) = &one.running else { return Ok(()) };
        let position = TrialPosition {
            block: self.block,
            turn: one.turn,
            began: trial.began,
            took,
            slices: Some(TrialSlices { plan, began: trial.slices }),
        };
        self.recorder.record_trial(position, workload, running.as_ref(), measured)
    }

    /// Handles that a network broke, in this workload or when it was raised. It is taken down, and has no more part in
    /// the present trial.
    fn handle_failure(
        &mut self,
        at: usize,
        workload: Option<usize>,
        broken: AttemptError,
    ) -> Result<RoundsEnd, Error> {
        let one = &mut self.networks[at];
        (one.running, one.trial) = (None, None);
        let failure = TurnFailure { workload, broken };
        Ok(match self.recorder.handle_failure(failure, one.turn, self.block)? {
            FailureOutcome::TryAgain => RoundsEnd::Again,
            FailureOutcome::GivenUp => RoundsEnd::Completed,
            FailureOutcome::Interrupted => RoundsEnd::Interrupted,
        })
    }

    fn tear_down(self) -> Result<(), Error> {
        let Self { recorder, block, networks, .. } = self;
        for WovenNetwork { turn, running, .. } in networks {
            if let Some(running) = running {
                recorder.tear_down(block, turn, running)?;
            }
        }
        Ok(())
    }
}
