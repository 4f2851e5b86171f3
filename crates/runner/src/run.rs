//! The walk through the blocks.

use crate::stage::{Broken, Measured, Raised, Scene, Stage};
use crate::{Error, Event, Progress, Start};
use std::collections::VecDeque;
use tare_record::journal::{End, Record, Sink};
use tare_record::{
    Blocks, Failure, Nanos, Parameters, Phase, Plan, Sizing, Standing, StoppedBy, Trial,
};
use tare_study::order::{self, Turn};
use tare_study::sizing;

/// Measures what is left of a plan, and says what ended the measuring.
///
/// # Errors
/// When the journal cannot be written. What breaks is kept as a failure, and the run goes on without it: without that workload
/// over that network in that shape, or without the network in that shape where it could not be raised.
pub fn run(
    plan: &Plan,
    start: Start,
    stage: &mut dyn Stage,
    sink: &mut dyn Sink,
    progress: &mut dyn Progress,
) -> Result<StoppedBy, Error> {
    let Start { pilot: pilot_from, main: main_from, sizing, .. } = start;
    let Start { failures, pilot_trials: pilot, main_trials: main, .. } = start;
    let standing = Standing::after(plan, &failures);
    let mut walk = Walk { plan, stage, sink, progress, standing, pilot, main };
    let stopped_by = match walk.all(sizing, pilot_from, main_from)? {
        Ended::Done(decided_by) => decided_by,
        Ended::Early(early) => early,
    };
    walk.sink.append(&Record::End(End { stopped_by }))?;
    Ok(stopped_by)
}

/// How a phase, or a run, ended.
enum Ended {
    /// All its blocks are measured; what decided their number.
    Done(StoppedBy),
    /// Before that, and by this.
    Early(StoppedBy),
}

struct Walk<'a> {
    plan: &'a Plan,
    stage: &'a mut dyn Stage,
    sink: &'a mut dyn Sink,
    progress: &'a mut dyn Progress,
    /// What has not broken.
    standing: Standing,
    /// The pilot's trials, from which the number of blocks is found.
    pilot: Vec<Trial>,
    /// The main phase's trials, where its end is looked for while it goes on.
    main: Vec<Trial>,
}

impl Walk<'_> {
    /// The pilot, the decision, the main phase: each from where the run stands.
    fn all(
        &mut self,
        decided: Option<Sizing>,
        pilot_from: u32,
        main_from: u32,
    ) -> Result<Ended, Error> {
        let (blocks, decided_by) = match (self.plan.blocks, decided) {
            (Blocks::Fixed { blocks }, _) => (blocks, StoppedBy::Blocks),
            (Blocks::Sequence { at_most, .. }, _) => {
                return self.phase(Phase::Main, main_from, at_most);
            }
            (Blocks::Precision { .. }, Some(sizing)) => (sizing.blocks, sizing.decided_by),
            (Blocks::Precision { pilot, .. }, None) => {
                if let Ended::Early(early) = self.phase(Phase::Pilot, pilot_from, pilot)? {
                    return Ok(Ended::Early(early));
                }
                let sizing = self.decide(pilot)?;
                (sizing.blocks, sizing.decided_by)
            }
        };
        match self.phase(Phase::Main, main_from, blocks)? {
            Ended::Done(_) => Ok(Ended::Done(decided_by)),
            early @ Ended::Early(_) => Ok(early),
        }
    }

    /// Fixes the number of blocks. From here on no result is looked at.
    fn decide(&mut self, blocks: u32) -> Result<Sizing, Error> {
        let trials: Vec<&Trial> = self.pilot.iter().collect();
        let elapsed = self.stage.elapsed();
        let sizing = sizing::decide(
            self.plan,
            &sizing::Pilot {
                spreads: tare_analysis::spreads(self.plan, &trials)?,
                block_time: Nanos(elapsed.0 / u64::from(blocks.max(1))),
                elapsed,
            },
        );
        self.sink.append(&Record::Sizing(sizing.clone()))?;
        self.progress.event(Event::Sized { plan: self.plan, sizing: &sizing });
        Ok(sizing)
    }

    fn phase(&mut self, phase: Phase, from: u32, blocks: u32) -> Result<Ended, Error> {
        self.progress.event(Event::Phase { phase, from, blocks, trials: self.trials_in_block() });
        for number in from..blocks {
            if self.over_budget(phase, number) {
                return Ok(Ended::Early(StoppedBy::Budget));
            }
            if let Some(early) = self.block(phase, number)? {
                return Ok(Ended::Early(early));
            }
            self.progress.event(Event::Block { phase, block: number });
            if self.narrow_enough(number + 1)? {
                return Ok(Ended::Done(StoppedBy::Sequence));
            }
        }
        Ok(Ended::Done(StoppedBy::Blocks))
    }

    /// Whether a run that ends with its precision has reached it after so many blocks. It may be looked at as often as one likes;
    /// a tenth more blocks between looks keep the looking cheap.
    fn narrow_enough(&self, blocks: u32) -> Result<bool, Error> {
        let Blocks::Sequence { precision, at_least, .. } = self.plan.blocks else {
            return Ok(false);
        };
        let every = (blocks / 10).max(1);
        if blocks < at_least || !blocks.is_multiple_of(every) {
            return Ok(false);
        }
        let trials: Vec<&Trial> = self.main.iter().collect();
        Ok(tare_analysis::narrow_enough(self.plan, &trials, precision)?)
    }

    fn trials_in_block(&self) -> u32 {
        u32::try_from(self.standing.trials()).unwrap_or(u32::MAX)
    }

    /// Whether the time allowed has run out: looked at between blocks only, and never before there are two.
    fn over_budget(&self, phase: Phase, number: u32) -> bool {
        phase == Phase::Main
            && number >= 2
            && self.plan.budget.is_some_and(|budget| self.stage.elapsed() >= budget)
    }

    /// One block; says what ended the run, where something did.
    fn block(&mut self, phase: Phase, number: u32) -> Result<Option<StoppedBy>, Error> {
        for turn in order::block(self.plan, phase, number) {
            if self.stage.interrupted() || self.turn(phase, number, &turn)? == Went::Interrupted {
                return Ok(Some(StoppedBy::Interrupted));
            }
        }
        Ok(self.standing.is_empty().then_some(StoppedBy::Failed))
    }

    /// One network's turn. What breaks in it is left out from here on; for what is left of it the network is raised anew.
    fn turn(&mut self, phase: Phase, number: u32, turn: &Turn) -> Result<Went, Error> {
        let stands =
            |&workload: &usize| self.standing.has_trial(turn.network, workload, turn.shape);
        let mut left: VecDeque<usize> = turn.workloads.iter().copied().filter(stands).collect();
        while self.standing.has_turn(turn.network, turn.shape) {
            let Err(trouble) = self.raised(phase, number, turn, &mut left)? else { break };
            let Some(failure) = trouble.into_failure(self.plan, turn, number) else {
                return Ok(Went::Interrupted);
            };
            self.give_up(&failure)?;
            if left.is_empty() {
                break;
            }
        }
        Ok(Went::On)
    }

    /// Leaves what broke out of the rest of the run.
    fn give_up(&mut self, failure: &Failure) -> Result<(), Error> {
        self.sink.append(&Record::Failure(failure.clone()))?;
        self.progress.event(Event::Failed(failure));
        self.standing.lose(self.plan, failure);
        Ok(())
    }

    /// Raises a network and runs workloads over it until none is left or one breaks, which is not among those left.
    fn raised(
        &mut self,
        phase: Phase,
        number: u32,
        turn: &Turn,
        left: &mut VecDeque<usize>,
    ) -> Result<Result<(), Trouble>, Error> {
        let scene = Scene {
            entry: &self.plan.networks[turn.network],
            shape: &self.plan.shapes[turn.shape],
            workloads: &self.plan.workloads,
        };
        let mut raised = match self.stage.raise(&scene) {
            Ok(raised) => raised,
            Err(broken) => return Ok(Err(Trouble { workload: None, broken })),
        };
        while let Some(workload) = left.pop_front() {
            self.progress.event(Event::Trial {
                entry: scene.entry,
                workload: &self.plan.workloads[workload],
                shape: scene.shape,
                block: number,
            });
            let began = self.stage.elapsed();
            match raised.trial(workload) {
                Ok(measured) => {
                    let took = self.stage.elapsed() - began;
                    let at = At { phase, number, turn, began, took };
                    let trial = at.trial(&scene, workload, raised.as_ref(), measured);
                    self.keep(trial)?;
                }
                Err(broken) => return Ok(Err(Trouble { workload: Some(workload), broken })),
            }
        }
        self.end(phase, number, &scene, raised)?;
        Ok(Ok(()))
    }

    /// Takes a network down, and keeps how long it took to come and to go.
    fn end(
        &mut self,
        phase: Phase,
        number: u32,
        scene: &Scene<'_>,
        network: Box<dyn Raised>,
    ) -> Result<(), Error> {
        let raised = network.raised_in();
        let Some((raised, removed)) = raised.zip(network.lower()) else { return Ok(()) };
        self.sink.append(&Record::Turn(tare_record::Turn {
            block: number,
            phase,
            label: scene.entry.label.clone(),
            shape: scene.shape.clone(),
            raised,
            removed,
        }))?;
        Ok(())
    }

    fn keep(&mut self, trial: Trial) -> Result<(), Error> {
        let record = Record::Trial(Box::new(trial));
        self.sink.append(&record)?;
        if let Record::Trial(trial) = record {
            self.progress.event(Event::Measured(&trial));
            match (trial.phase, self.plan.blocks) {
                (Phase::Pilot, _) => self.pilot.push(*trial),
                (Phase::Main, Blocks::Sequence { .. }) => self.main.push(*trial),
                (Phase::Main, _) => {}
            }
        }
        Ok(())
    }
}

/// How a turn went.
#[derive(PartialEq, Eq)]
enum Went {
    /// To its end, whatever broke in it.
    On,
    /// Somebody asked the run to stop.
    Interrupted,
}

/// Something that broke, and in which of the plan's workloads.
struct Trouble {
    workload: Option<usize>,
    broken: Broken,
}

impl Trouble {
    /// The failure to keep; nothing for an interruption.
    fn into_failure(self, plan: &Plan, turn: &Turn, block: u32) -> Option<Failure> {
        let Broken::Failed { reason, remedy } = self.broken else { return None };
        let workload = self.workload.map(|workload| &plan.workloads[workload]);
        Some(Failure {
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

/// Where in the run a trial stands.
struct At<'a> {
    phase: Phase,
    number: u32,
    turn: &'a Turn,
    began: Nanos,
    took: Nanos,
}

impl At<'_> {
    fn trial(
        &self,
        scene: &Scene<'_>,
        workload: usize,
        raised: &dyn Raised,
        measured: Measured,
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
