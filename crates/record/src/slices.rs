//! Slices of a woven trial: short stretches of traffic over connections that last, while other networks have theirs.
//!
//! The counted parts of a trial's slices follow one another on an axis of their own, *slice time*, without gaps: the
//! interval record of slice k starts at k times the slice's length. Everything that is recorded over a trial's time
//! (intervals, CPU time, samples of the machine) is recorded over slice time, so that it is read as that of any other
//! trial.

use crate::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Kind of a workload's slices, from which their lengths and their uncounted beginnings follow. The server lasts from slice
/// to slice in all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SliceKind {
    /// Traffic that waits for nothing but room, over connections that last: bulk, or datagrams at a rate.
    Stream,
    /// Messages one after another: the threads of both ends sleep until the other end's message arrives. Their time depends
    /// on how an idle core wakes.
    Messages,
    /// A program that is run anew in each slice.
    Program {
        /// Time of which a slice is a multiple.
        unit: Nanos,
    },
}

/// Plan of a woven trial's slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlicePlan {
    /// Number of slices that count, each one interval record; one in every round.
    pub rounds: u32,
    /// Number of slices before those, which warm the connections up and do not count.
    pub warm_up: u32,
    /// Length of the counted part of a slice, ns.
    pub length: Nanos,
    /// Length of a slice's beginning, which does not count: caches are cold, ns.
    pub skip: Nanos,
}

impl SlicePlan {
    /// Returns the length of the trial on the axis of slice time, ns.
    #[must_use]
    pub fn duration(&self) -> Nanos {
        Nanos(self.length.0.saturating_mul(u64::from(self.rounds)))
    }

    /// Returns the number of all slices, those of the warm-up included.
    #[must_use]
    pub fn slice_count(&self) -> u32 {
        self.rounds.saturating_add(self.warm_up)
    }

    /// Returns the time for which traffic flows in one slice, ns.
    #[must_use]
    pub fn slice_time(&self) -> Nanos {
        self.skip + self.length
    }
}

/// Slices of a woven trial as they were.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrialSlices {
    /// Plan that they followed.
    pub plan: SlicePlan,
    /// Beginning of every counted slice after the beginning of the run, ns.
    pub began: Vec<Nanos>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slice_time_counts_only_what_is_counted() {
        let (length, skip) = (Nanos(20_000_000), Nanos(1_000_000));
        let plan = SlicePlan { rounds: 12, warm_up: 2, length, skip };
        assert_eq!(plan.duration(), Nanos(240_000_000));
        assert_eq!((plan.slice_count(), plan.slice_time()), (14, Nanos(21_000_000)));
    }
}
