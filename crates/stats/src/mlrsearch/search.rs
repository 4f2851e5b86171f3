//! The controller: what to try next, and what was found.

use super::bounds::Bounds;
use super::goal::{Goal, Refused};
use super::measured::Measured;
use super::target::Target;
use super::throughput::conditional_throughput;
use super::trial::Trial;
use std::time::Duration;

/// What a search may use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Room {
    /// The least load (RFC 9971, section 4.6.8.2), datagrams per second. It should send several datagrams even in
    /// the shortest trial.
    pub min: f64,
    /// The largest load (4.6.8.1), datagrams per second: what the sender can do.
    pub max: f64,
    /// The time for all trials together with their pauses.
    pub budget: Duration,
    /// What a trial takes beyond its duration at most: waiting for the last datagrams, and for the network to calm down.
    pub pause: Duration,
}

/// A trial that is to be run: the load for the duration (4.5.3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ask {
    /// Datagrams per second.
    pub load: f64,
    /// How long to send them.
    pub duration: Duration,
}

/// What comes next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A trial.
    Ask(Ask),
    /// Nothing: what was found for every goal, in the order of the goals.
    Done(Vec<Found>),
}

/// How the search for a goal ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Both bounds are known and as close as was asked: a regular result (4.8.4.1). The others are irregular (4.8.4.2).
    Regular,
    /// The largest load keeps the goal: there is no upper bound.
    NoUpper,
    /// The least load fails the goal: there is no lower bound.
    NoLower,
    /// The time was used up before.
    Unfinished,
}

/// What was found for a goal (4.8.4).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// What was searched for.
    pub goal: Goal,
    /// The relevant bounds.
    pub bounds: Bounds,
    /// The conditional throughput at the lower bound, datagrams per second.
    pub conditional: Option<f64>,
    /// How the search for it ended.
    pub ending: Ending,
}

/// A search for several goals at once.
///
/// It begins with short trials and wide bounds and goes over to longer trials and closer bounds, level by level, the
/// strictest goal first in each. The first trial is at the largest load; what passes there says where to look (the
/// forwarding rate at maximum offered load, RFC 2285, section 3.6.2). Each level starts at the bounds of the one
/// before it, the lower one first; only trials of the full length make a lower bound of the result. The coarse levels
/// may use half the time, whatever they have found, so that some is left for the trials that count.
///
/// Every call of [`Search::observe`] takes from the budget what the trial took, and at least what it was asked to last:
/// a search asks for at most `budget / shortest initial trial` trials.
#[derive(Clone, Debug)]
pub struct Search {
    goals: Vec<Goal>,
    room: Room,
    measured: Measured,
    spent: Duration,
    /// Coarse levels first, and in each the strictest goal; the goals themselves last.
    targets: Vec<Target>,
    /// Targets before this one are reached.
    at: usize,
    asked: Option<Ask>,
}

impl Search {
    /// A search for these goals with this room.
    ///
    /// # Errors
    ///
    /// A goal is out of range, there is none, or the loads are not 0 < min ≤ max.
    pub fn new(goals: &[Goal], room: Room) -> Result<Self, Refused> {
        if goals.is_empty() {
            return Err(Refused("a search needs at least one goal"));
        }
        if !(room.min > 0.0 && room.min <= room.max && room.max.is_finite()) {
            return Err(Refused("a search needs loads with 0 < minimum ≤ maximum"));
        }
        let goals = goals.iter().map(|goal| goal.checked()).collect::<Result<Vec<_>, _>>()?;
        let targets = targets(&goals);
        let measured = Measured::default();
        Ok(Self { goals, room, measured, spent: Duration::ZERO, targets, at: 0, asked: None })
    }

    /// What comes next. Without a trial observed in between, it says the same again.
    pub fn step(&mut self) -> Step {
        if self.asked.is_none() {
            self.asked = self.choose().filter(|ask| self.fits(ask));
        }
        self.asked.map_or_else(|| Step::Done(self.found()), Step::Ask)
    }

    /// Takes in what came of a trial, the one that was asked for or any other, and how long it took with all that
    /// belongs to it.
    pub fn observe(&mut self, trial: Trial, took: Duration) {
        let asked = self.asked.take().map_or(Duration::ZERO, |ask| ask.duration);
        self.spent += took.max(trial.duration).max(asked);
        self.measured.add(trial);
    }

    /// What is known now, in the order of the goals.
    #[must_use]
    pub fn found(&self) -> Vec<Found> {
        self.goals.iter().map(|goal| self.found_for(goal)).collect()
    }

    fn found_for(&self, goal: &Goal) -> Found {
        let bounds = Bounds::of(goal, &self.measured);
        let conditional =
            bounds.lower.and_then(|lower| conditional_throughput(goal, self.measured.at(lower)));
        Found { goal: *goal, bounds, conditional, ending: self.ending(goal, bounds) }
    }

    fn ending(&self, goal: &Goal, bounds: Bounds) -> Ending {
        match (bounds.lower, bounds.upper) {
            (_, Some(upper)) if upper <= self.room.min => Ending::NoLower,
            (Some(lower), None) if lower >= self.room.max => Ending::NoUpper,
            (Some(lower), Some(upper)) if goal.fits(lower, upper) => Ending::Regular,
            _ => Ending::Unfinished,
        }
    }

    /// The next trial, whatever time is left.
    fn choose(&mut self) -> Option<Ask> {
        while let Some(target) = self.targets.get(self.at) {
            if target.level == 0 {
                break;
            }
            if self.spent.saturating_mul(2) < self.room.budget
                && let Some(ask) = self.ask_for(self.at)
            {
                return Some(ask);
            }
            self.at += 1;
        }
        // A trial for one goal may overthrow a bound of another: the goals themselves are looked at until all hold.
        (self.at..self.targets.len()).find_map(|at| self.ask_for(at))
    }

    fn ask_for(&mut self, at: usize) -> Option<Ask> {
        let before = self.bounds_before(at);
        let target = self.targets.get_mut(at)?;
        let load = target.choose(&self.measured, self.room, before)?;
        Some(Ask { load, duration: target.goal.final_trial_duration })
    }

    /// The bounds of the same goal one level before.
    fn bounds_before(&self, at: usize) -> Bounds {
        let Target { index, level, .. } = self.targets[at];
        let goal = &self.goals[index];
        if level >= goal.levels() {
            return Bounds::default();
        }
        Bounds::of(&goal.coarser(level + 1), &self.measured)
    }

    fn fits(&self, ask: &Ask) -> bool {
        self.spent + ask.duration + self.room.pause <= self.room.budget
    }
}

/// The goals and those that lead up to them, in the order in which they are gone for.
fn targets(goals: &[Goal]) -> Vec<Target> {
    let mut targets: Vec<Target> = goals
        .iter()
        .enumerate()
        .flat_map(|(index, goal)| {
            (0..=goal.levels()).map(move |level| Target::new(index, level, goal))
        })
        .collect();
    targets.sort_by(|one, other| {
        let by_level = other.level.cmp(&one.level);
        by_level.then(one.goal.loss_ratio.total_cmp(&other.goal.loss_ratio))
    });
    targets
}
