//! Controller of a search: chooses the next trial and reports the results.

use super::bounds::RelevantBounds;
use super::goal::{SearchError, SearchGoal};
use super::goal_level::GoalLevel;
use super::limits::SearchLimits;
use super::throughput::conditional_throughput;
use super::trial_history::TrialHistory;
use super::trial_result::TrialResult;
use std::time::Duration;

/// Trial to run next: a load for a duration (4.5.3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RequestedTrial {
    /// Datagrams per second.
    pub load: f64,
    /// Time for which the load is sent.
    pub duration: Duration,
}

/// Next step of a search.
#[derive(Clone, Debug, PartialEq)]
pub enum SearchStep {
    /// A trial is to be run.
    RunTrial(RequestedTrial),
    /// The search is over. The results are in the order of the goals.
    Done(Vec<SearchGoalResult>),
}

/// End of the search for a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchEnding {
    /// Both bounds are known and close enough: a regular result (4.8.4.1). The others are irregular (4.8.4.2).
    Regular,
    /// The largest load keeps the goal: there is no upper bound.
    NoUpper,
    /// The smallest load fails the goal: there is no lower bound.
    NoLower,
    /// The time was used up before the bounds were close enough.
    Unfinished,
}

/// Result of the search for a goal (4.8.4).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchGoalResult {
    /// Goal of the search.
    pub goal: SearchGoal,
    /// Relevant bounds of the goal.
    pub bounds: RelevantBounds,
    /// Conditional throughput at the lower bound, datagrams per second. `None` without a lower bound.
    pub conditional_throughput: Option<f64>,
    /// Reason why the search for the goal ended.
    pub ending: SearchEnding,
}

/// Search for several goals at once.
///
/// The search begins with short trials and wide bounds and proceeds to longer trials and closer bounds, level by level;
/// in each level the strictest goal comes first. The first trial is at the largest load; the rate that passes there
/// shows where to look (the forwarding rate at maximum offered load, RFC 2285, section 3.6.2). Each level starts at the
/// bounds of the level before it, the lower bound first; only full-length trials make a lower bound of the result. The
/// coarse levels may use half the time, whatever they have found, so that the rest is left for the trials that count.
///
/// Every call of [`Search::observe`] takes from the budget the time that the trial took, and at least its intended
/// duration: a search asks for at most `budget / shortest initial trial` trials.
#[derive(Clone, Debug)]
pub struct Search {
    goals: Vec<SearchGoal>,
    room: SearchLimits,
    measured: TrialHistory,
    spent: Duration,
    /// Coarse levels first, and in each level the strictest goal; the goals themselves last.
    targets: Vec<GoalLevel>,
    /// Index of the first target that is not reached yet.
    next_target: usize,
    pending: Option<RequestedTrial>,
}

impl Search {
    /// Creates a search for these goals within these limits.
    ///
    /// # Errors
    ///
    /// Returns an error if a goal is out of range, if there is no goal, or if the loads are not 0 < min ≤ max.
    pub fn new(goals: &[SearchGoal], room: SearchLimits) -> Result<Self, SearchError> {
        if goals.is_empty() {
            return Err(SearchError("a search needs at least one goal"));
        }
        if !(room.min > 0.0 && room.min <= room.max && room.max.is_finite()) {
            return Err(SearchError(
                "a search needs a smallest and a largest load with 0 < smallest ≤ largest",
            ));
        }
        let goals = goals.iter().map(|goal| goal.validate()).collect::<Result<Vec<_>, _>>()?;
        let targets = goal_levels(&goals);
        let measured = TrialHistory::default();
        Ok(Self {
            goals,
            room,
            measured,
            spent: Duration::ZERO,
            targets,
            next_target: 0,
            pending: None,
        })
    }

    /// Returns the next step. Until a trial is observed, it returns the same step again.
    pub fn next_step(&mut self) -> SearchStep {
        if self.pending.is_none() {
            self.pending = self.choose().filter(|ask| self.fits_budget(ask));
        }
        self.pending.map_or_else(|| SearchStep::Done(self.results()), SearchStep::RunTrial)
    }

    /// Records the result of a trial, requested or not, and the time that it took with all its overhead.
    pub fn observe(&mut self, trial: TrialResult, took: Duration) {
        let asked = self.pending.take().map_or(Duration::ZERO, |ask| ask.duration);
        self.spent += took.max(trial.duration).max(asked);
        self.measured.add(trial);
    }

    /// Returns the results so far, in the order of the goals.
    #[must_use]
    pub fn results(&self) -> Vec<SearchGoalResult> {
        self.goals.iter().map(|goal| self.result_for(goal)).collect()
    }

    fn result_for(&self, goal: &SearchGoal) -> SearchGoalResult {
        let bounds = RelevantBounds::from_trials(goal, &self.measured);
        let conditional = bounds
            .lower
            .and_then(|lower| conditional_throughput(goal, self.measured.trials_at(lower)));
        SearchGoalResult {
            goal: *goal,
            bounds,
            conditional_throughput: conditional,
            ending: self.ending(goal, bounds),
        }
    }

    fn ending(&self, goal: &SearchGoal, bounds: RelevantBounds) -> SearchEnding {
        match (bounds.lower, bounds.upper) {
            (_, Some(upper)) if upper <= self.room.min => SearchEnding::NoLower,
            (Some(lower), None) if lower >= self.room.max => SearchEnding::NoUpper,
            (Some(lower), Some(upper)) if goal.accepts_width(lower, upper) => SearchEnding::Regular,
            _ => SearchEnding::Unfinished,
        }
    }

    /// Chooses the next trial, whatever time is left.
    fn choose(&mut self) -> Option<RequestedTrial> {
        while let Some(target) = self.targets.get(self.next_target) {
            if target.level == 0 {
                break;
            }
            if self.spent.saturating_mul(2) < self.room.budget
                && let Some(ask) = self.request_for(self.next_target)
            {
                return Some(ask);
            }
            self.next_target += 1;
        }
        // A trial for one goal may overthrow a bound of another: the goals themselves are visited until all hold.
        (self.next_target..self.targets.len()).find_map(|at| self.request_for(at))
    }

    fn request_for(&mut self, at: usize) -> Option<RequestedTrial> {
        let before = self.bounds_before(at);
        let target = self.targets.get_mut(at)?;
        let load = target.choose_load(&self.measured, self.room, before)?;
        Some(RequestedTrial { load, duration: target.goal.final_trial_duration })
    }

    /// Returns the bounds of the same goal one level before.
    fn bounds_before(&self, at: usize) -> RelevantBounds {
        let GoalLevel { index, level, .. } = self.targets[at];
        let goal = &self.goals[index];
        if level >= goal.level_count() {
            return RelevantBounds::default();
        }
        RelevantBounds::from_trials(&goal.coarser(level + 1), &self.measured)
    }

    fn fits_budget(&self, ask: &RequestedTrial) -> bool {
        self.spent + ask.duration + self.room.pause <= self.room.budget
    }
}

/// Returns the goals and the coarser goals before them, in the order of the search.
fn goal_levels(goals: &[SearchGoal]) -> Vec<GoalLevel> {
    let mut targets: Vec<GoalLevel> = goals
        .iter()
        .enumerate()
        .flat_map(|(index, goal)| {
            (0..=goal.level_count()).map(move |level| GoalLevel::new(index, level, goal))
        })
        .collect();
    targets.sort_by(|one, other| {
        let by_level = other.level.cmp(&one.level);
        by_level.then(one.goal.loss_ratio.total_cmp(&other.goal.loss_ratio))
    });
    targets
}
