//! First failures: a trial that breaks is tried once again, over its network raised anew. A network is given up after
//! two failures in a row.

use std::collections::{BTreeMap, BTreeSet};
use tare_study::block_order::PlannedTurn;

/// Network, shape and workload, each by its index in the plan. Without a workload the network itself was to be raised.
type Attempt = (usize, usize, Option<usize>);

/// Attempts that have failed once, and have not been repeated.
#[derive(Debug, Default)]
pub(crate) struct FirstFailures {
    reasons: BTreeMap<Attempt, String>,
    /// Reasons of networks that were raised in the second attempt, by network and shape, until a trial tells of it.
    raised_anew: BTreeMap<(usize, usize), String>,
    /// Networks that are given up after their first failure.
    tried_once: BTreeSet<usize>,
}

impl FirstFailures {
    /// Returns no failures, of a run that gives up these networks, by their index in the plan, after their first.
    pub(crate) fn new(tried_once: BTreeSet<usize>) -> Self {
        Self { tried_once, ..Self::default() }
    }

    /// Notes that a workload of a turn failed, or that its network could not be raised. Returns true if the same is to
    /// be tried once again: if that was the first failure in a row of a network that can be raised anew.
    pub(crate) fn note(
        &mut self,
        turn: &PlannedTurn,
        workload: Option<usize>,
        reason: &str,
    ) -> bool {
        let attempt = (turn.network, turn.shape, workload);
        if self.tried_once.contains(&turn.network) || self.reasons.remove(&attempt).is_some() {
            return false;
        }
        self.reasons.insert(attempt, reason.to_owned());
        true
    }

    /// Notes that a turn's network was raised.
    pub(crate) fn note_raised(&mut self, turn: &PlannedTurn) {
        if let Some(reason) = self.reasons.remove(&(turn.network, turn.shape, None)) {
            self.raised_anew.insert((turn.network, turn.shape), reason);
        }
    }

    /// Returns the reason for which the first attempt of a trial failed that has now succeeded. Returns `None` if it
    /// succeeded at once.
    pub(crate) fn take(&mut self, turn: &PlannedTurn, workload: usize) -> Option<String> {
        let raised_anew = self.raised_anew.remove(&(turn.network, turn.shape));
        self.reasons.remove(&(turn.network, turn.shape, Some(workload))).or(raised_anew)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(network: usize) -> PlannedTurn {
        PlannedTurn { network, shape: 0, position: 0, workloads: vec![0, 1] }
    }

    #[test]
    fn a_network_that_cannot_be_raised_anew_is_tried_once() {
        let mut failures = FirstFailures::new(BTreeSet::from([1]));
        assert!(failures.note(&turn(0), None, "one"));
        assert!(!failures.note(&turn(1), None, "one"));
    }

    #[test]
    fn the_second_failure_in_a_row_is_the_last() {
        let mut failures = FirstFailures::default();
        assert!(failures.note(&turn(0), Some(0), "one"));
        assert!(failures.note(&turn(0), Some(1), "of another workload"));
        assert!(failures.note(&turn(1), Some(0), "of another network"));
        assert!(!failures.note(&turn(0), Some(0), "two"));
    }

    #[test]
    fn a_success_between_two_failures_makes_the_second_a_first_one() {
        let mut failures = FirstFailures::default();
        assert!(failures.note(&turn(0), Some(0), "one"));
        assert_eq!(failures.take(&turn(0), 0).as_deref(), Some("one"));
        assert_eq!(failures.take(&turn(0), 0), None);
        assert!(failures.note(&turn(0), Some(0), "two"));
        assert!(failures.note(&turn(0), None, "not raised"));
        failures.note_raised(&turn(0));
        assert!(failures.note(&turn(0), None, "not raised again"));
    }

    #[test]
    fn a_trial_tells_that_its_network_was_raised_in_the_second_attempt() {
        let mut failures = FirstFailures::default();
        assert!(failures.note(&turn(0), None, "not raised"));
        failures.note_raised(&turn(0));
        assert_eq!(failures.take(&turn(0), 1).as_deref(), Some("not raised"));
        assert_eq!(failures.take(&turn(0), 0), None);
    }
}
