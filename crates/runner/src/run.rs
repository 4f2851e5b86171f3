//! Sequence of a run: phases, blocks, turns and trials.

use crate::block_slices::BlockSlices;
use crate::environment::RunEnvironment;
use crate::first_failures::FirstFailures;
use crate::recorder::{BlockNumber, RunRecorder};
use crate::turn::{TurnEnd, run_turn};
use crate::weave::run_woven;
use crate::{Error, Progress, RunEvent, StartPoint};
use tare_analysis::InterimComparison;
use tare_record::journal::{Record, RecordSink, RunEnd};
use tare_record::{
    BlockPolicy, InterimAnalysis, Nanos, Phase, Plan, RemainingPlan, Sizing, StoppedBy, Trial,
};
use tare_study::block_order::{self, PlannedTurn};
use tare_study::sizing;

/// Runs the rest of a plan, and returns the reason why the run ended.
///
/// # Errors
/// Fails if the journal cannot be written, or if trials cannot be estimated from. A trial that breaks is tried once
/// again, over its network raised anew. What breaks twice in a row is recorded as a failure, and the run goes on without
/// it: without that workload over that network in that shape, or without that network in that shape if it could not be
/// raised.
pub fn run_plan(
    plan: &Plan,
    start: StartPoint,
    stage: &mut dyn RunEnvironment,
    sink: &mut dyn RecordSink,
    progress: &mut dyn Progress,
) -> Result<StoppedBy, Error> {
    let StartPoint { pilot: pilot_from, main: main_from, sizing, .. } = start;
    let StartPoint { failures, analyses, pilot_trials: pilot, main_trials: main, .. } = start;
    let mut standing = RemainingPlan::after_failures(plan, &failures);
    for analysis in &analyses {
        standing.remove_decided(plan, analysis);
    }
    let interim = interim_comparison(plan, &main, analyses)?;
    let slices = BlockSlices::new(plan, &main);
    let tried_once =
        (0..plan.networks.len()).filter(|&network| !stage.can_raise_anew(&plan.networks[network]));
    let first_failures = FirstFailures::new(tried_once.collect());
    let recorder = RunRecorder {
        plan,
        sink,
        progress,
        standing,
        first_failures,
        pilot,
        main,
        slices,
        interim,
    };
    let mut walk = RunSequence { plan, stage, recorder, block_times: Vec::new() };
    let stopped_by = match walk.run_phases(sizing, pilot_from, main_from)? {
        PhaseEnd::Done(decided_by) => decided_by,
        PhaseEnd::Early(early) => early,
    };
    walk.recorder.sink.append(&Record::End(RunEnd { stopped_by }))?;
    Ok(stopped_by)
}

/// Returns the comparison of the trials so far, if the plan has interim analyses.
fn interim_comparison(
    plan: &Plan,
    trials: &[Trial],
    analyses: Vec<InterimAnalysis>,
) -> Result<Option<InterimComparison>, Error> {
    if !matches!(plan.blocks, BlockPolicy::GroupSequential { .. }) {
        return Ok(None);
    }
    let mut interim = InterimComparison::new(plan.clone());
    for trial in trials {
        interim.add(trial)?;
    }
    analyses.into_iter().for_each(|analysis| interim.add_analysis(analysis));
    Ok(Some(interim))
}

/// End of a phase or of a run.
pub(crate) enum PhaseEnd {
    /// All blocks are measured; holds the reason for their number.
    Done(StoppedBy),
    /// The run ended before that; holds the reason.
    Early(StoppedBy),
}

/// End of a block.
pub(crate) enum BlockEnd {
    /// The block is complete; holds its duration.
    Completed(Nanos),
    /// The run ended in the block; holds the reason.
    RunEnded(StoppedBy),
}

/// Run that is under way.
pub(crate) struct RunSequence<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) stage: &'a mut dyn RunEnvironment,
    pub(crate) recorder: RunRecorder<'a>,
    /// Durations of the main phase's blocks so far; those before a run was cut off are missing.
    pub(crate) block_times: Vec<Nanos>,
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
            (BlockPolicy::GroupSequential { pilot, at_least, .. }, decided) => {
                return self.run_group_sequential(main_from, pilot, at_least, decided);
            }
            (BlockPolicy::Precision { .. }, Some(sizing)) => (sizing.blocks, sizing.decided_by),
            (BlockPolicy::Precision { pilot, .. }, None) => {
                if let PhaseEnd::Early(early) = self.run_phase(Phase::Pilot, pilot_from, pilot)? {
                    return Ok(PhaseEnd::Early(early));
                }
                let trials = std::mem::take(&mut self.recorder.pilot);
                let sizing = self.decide_blocks(&trials, pilot)?;
                (sizing.blocks, sizing.decided_by)
            }
        };
        match self.run_phase(Phase::Main, main_from, blocks)? {
            PhaseEnd::Done(_) => Ok(PhaseEnd::Done(decided_by)),
            early @ PhaseEnd::Early(_) => Ok(early),
        }
    }

    /// Fixes the number of blocks from the trials of the first blocks.
    pub(crate) fn decide_blocks(&mut self, trials: &[Trial], blocks: u32) -> Result<Sizing, Error> {
        let trials: Vec<&Trial> = trials.iter().collect();
        let elapsed = self.stage.elapsed();
        let sizing = sizing::decide(
            self.plan,
            &sizing::PilotResult {
                spreads: tare_analysis::estimate_spreads(self.plan, &trials)?,
                block_time: Nanos(elapsed.0 / u64::from(blocks.max(1))),
                elapsed,
            },
        );
        self.recorder.sink.append(&Record::Sizing(sizing.clone()))?;
        self.recorder.progress.handle_event(RunEvent::Sized { plan: self.plan, sizing: &sizing });
        Ok(sizing)
    }

    fn run_phase(&mut self, phase: Phase, from: u32, blocks: u32) -> Result<PhaseEnd, Error> {
        self.announce_phase(phase, from, blocks);
        let mut last_block = Nanos(0);
        for number in from..blocks {
            if self.is_over_budget(phase, number, last_block) {
                return Ok(PhaseEnd::Early(StoppedBy::Budget));
            }
            match self.run_timed_block(phase, number)? {
                BlockEnd::Completed(took) => last_block = took,
                BlockEnd::RunEnded(early) => return Ok(PhaseEnd::Early(early)),
            }
            if self.is_narrow_enough(number + 1)? {
                return Ok(PhaseEnd::Done(StoppedBy::Sequence));
            }
        }
        Ok(PhaseEnd::Done(StoppedBy::Blocks))
    }

    /// Reports that a phase begins.
    pub(crate) fn announce_phase(&mut self, phase: Phase, from: u32, blocks: u32) {
        let trials = self.trials_per_block();
        self.recorder.progress.handle_event(RunEvent::Phase { phase, from, blocks, trials });
    }

    /// Runs one block, and waits as long as the user pauses the run after it.
    pub(crate) fn run_timed_block(&mut self, phase: Phase, number: u32) -> Result<BlockEnd, Error> {
        let began = self.stage.elapsed();
        if let Some(early) = self.run_block(phase, number)? {
            return Ok(BlockEnd::RunEnded(early));
        }
        let took = self.stage.elapsed() - began;
        if phase == Phase::Main {
            self.block_times.push(took);
        }
        self.recorder.progress.handle_event(RunEvent::Block { phase, block: number });
        self.stage.exclude_pause(self.recorder.progress.wait_while_paused());
        Ok(BlockEnd::Completed(took))
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
        let trials: Vec<&Trial> = self.recorder.main.iter().collect();
        Ok(tare_analysis::is_narrow_enough(self.plan, &trials, precision)?)
    }

    fn trials_per_block(&self) -> u32 {
        u32::try_from(self.recorder.standing.trial_count()).unwrap_or(u32::MAX)
    }

    /// Returns whether the budget of time is used up, or would be before another block like the last one were done. It
    /// is tested between blocks only, and never before two blocks are done.
    pub(crate) fn is_over_budget(&self, phase: Phase, number: u32, last_block: Nanos) -> bool {
        phase == Phase::Main
            && number >= 2
            && self.plan.budget.is_some_and(|budget| self.stage.elapsed() + last_block > budget)
    }

    /// Runs one block. Returns the reason if the run ended in it.
    fn run_block(&mut self, phase: Phase, number: u32) -> Result<Option<StoppedBy>, Error> {
        let block = BlockNumber { phase, number };
        self.prepare_slices(number);
        let turns = block_order::order_block(self.plan, phase, number);
        for together in turns.chunk_by(|one, next| one.shape == next.shape) {
            if self.run_shape(block, together)? == TurnEnd::Interrupted {
                return Ok(Some(StoppedBy::Interrupted));
            }
        }
        Ok(self.recorder.standing.is_empty().then_some(StoppedBy::Failed))
    }

    /// Runs the turns of one shape: first the workloads that are woven, over all networks at once, then the others,
    /// network by network.
    fn run_shape(&mut self, block: BlockNumber, turns: &[PlannedTurn]) -> Result<TurnEnd, Error> {
        let woven = self.part_of_turns(turns, true);
        if woven.iter().any(|turn| !turn.workloads.is_empty())
            && run_woven(self.stage, &mut self.recorder, block, &woven)? == TurnEnd::Interrupted
        {
            return Ok(TurnEnd::Interrupted);
        }
        let singly = self.part_of_turns(turns, false);
        let has_work =
            |turn: &&PlannedTurn| !turn.workloads.is_empty() || self.plan.workloads.is_empty();
        for turn in singly.iter().filter(has_work) {
            if self.stage.is_interrupted()
                || run_turn(self.stage, &mut self.recorder, block, turn)? == TurnEnd::Interrupted
            {
                return Ok(TurnEnd::Interrupted);
            }
        }
        Ok(TurnEnd::Completed)
    }

    /// Returns the turns with those of their workloads that are woven, or with the others.
    fn part_of_turns(&self, turns: &[PlannedTurn], woven: bool) -> Vec<PlannedTurn> {
        let is_woven = |workload: usize| self.plan.workloads[workload].slices.is_some();
        let part = |turn: &PlannedTurn| PlannedTurn {
            workloads: turn
                .workloads
                .iter()
                .copied()
                .filter(|&one| is_woven(one) == woven)
                .collect(),
            ..turn.clone()
        };
        turns.iter().map(part).collect()
    }
}
