//! Weaving: all networks of a block are up at once, and a workload runs over them in rounds of short slices, so that
//! drift of a shared machine falls on all of them alike.
//!
//! The block stays the unit of all statistics: a network's slices in a block are one trial, which becomes complete when
//! all rounds are done.

use crate::Error;
use crate::environment::{AttemptError, RunEnvironment, RunningNetwork};
use crate::recorder::{BlockNumber, RunRecorder, TrialPosition, TurnFailure};
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
    /// Runs all rounds of one workload.
    fn run_workload(&mut self, workload: usize, slices: SlicePlan) -> Result<TurnEnd, Error> {
        for at in 0..self.networks.len() {
            if self.stage.is_interrupted()
                || self.connect(at, workload, slices)? == TurnEnd::Interrupted
            {
                return Ok(TurnEnd::Interrupted);
            }
        }
        let count = self.networks.len();
        let orders = block_order::order_rounds(
            self.recorder.plan,
            self.block.phase,
            self.block.number,
            workload,
            count,
            slices.slice_count(),
        );
        for (round, order) in (0..).zip(orders) {
            let counted = round >= slices.warm_up;
            for at in order {
                if self.stage.is_interrupted()
                    || self.run_slice(at, workload, counted)? == TurnEnd::Interrupted
                {
                    return Ok(TurnEnd::Interrupted);
                }
            }
        }
        for at in 0..count {
            if self.finish(at, workload, slices)? == TurnEnd::Interrupted {
                return Ok(TurnEnd::Interrupted);
            }
        }
        Ok(TurnEnd::Completed)
    }

    /// Raises a network that is down, and connects the flows of a workload.
    fn connect(&mut self, at: usize, workload: usize, slices: SlicePlan) -> Result<TurnEnd, Error> {
        let one = &mut self.networks[at];
        let turn = one.turn;
        one.trial = None;
        let measured = turn.workloads.contains(&workload) && self.recorder.stands(turn, workload);
        if !measured || !self.recorder.standing.has_turn(turn.network, turn.shape) {
            return Ok(TurnEnd::Completed);
        }
        if one.running.is_none() {
            match self.stage.set_up(&self.recorder.setup_of(turn)) {
                Ok(raised) => one.running = Some(raised),
                Err(broken) => return self.record_failure(at, None, broken),
            }
        }
        self.recorder.announce(turn, workload, self.block);
        let began = self.stage.elapsed();
        let Some(running) = &mut one.running else { return Ok(TurnEnd::Completed) };
        match running.begin_slices(workload, slices) {
            Ok(()) => {
                one.trial = Some(WovenTrial { began, slices: Vec::new() });
                Ok(TurnEnd::Completed)
            }
            Err(broken) => self.record_failure(at, Some(workload), broken),
        }
    }

    /// Runs a network's slice of a round, if it has a part in the trial.
    fn run_slice(&mut self, at: usize, workload: usize, counted: bool) -> Result<TurnEnd, Error> {
        let one = &mut self.networks[at];
        let Some((trial, running)) = one.trial.as_mut().zip(one.running.as_mut()) else {
            return Ok(TurnEnd::Completed);
        };
        let began = self.stage.elapsed();
        match running.run_slice(counted) {
            Ok(()) => {
                trial.slices.extend(counted.then_some(began));
                Ok(TurnEnd::Completed)
            }
            Err(broken) => self.record_failure(at, Some(workload), broken),
        }
    }

    /// Ends a network's trial, and records it.
    fn finish(&mut self, at: usize, workload: usize, plan: SlicePlan) -> Result<TurnEnd, Error> {
        let one = &mut self.networks[at];
        let Some((trial, running)) = one.trial.take().zip(one.running.as_mut()) else {
            return Ok(TurnEnd::Completed);
        };
        match running.finish_slices() {
            Ok(measured) => {
                let position = TrialPosition {
                    block: self.block,
                    turn: one.turn,
                    began: trial.began,
                    took: self.stage.elapsed() - trial.began,
                    slices: Some(TrialSlices { plan, began: trial.slices }),
                };
                self.recorder.record_trial(position, workload, running.as_ref(), measured)?;
                Ok(TurnEnd::Completed)
            }
            Err(broken) => self.record_failure(at, Some(workload), broken),
        }
    }

    /// Records that a network broke, in this workload or when it was raised. It is taken down, and has no more part in
    /// the present trial.
    fn record_failure(
        &mut self,
        at: usize,
        workload: Option<usize>,
        broken: AttemptError,
    ) -> Result<TurnEnd, Error> {
        let one = &mut self.networks[at];
        (one.running, one.trial) = (None, None);
        let failure = TurnFailure { workload, broken };
        let recorded = self.recorder.record_failure(failure, one.turn, self.block)?;
        Ok(if recorded { TurnEnd::Completed } else { TurnEnd::Interrupted })
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
