//! Conversion of a search's result to the recorded bounds and findings.

use tare_record::finding::{SearchLimitedBySender, UnfinishedSearch};
use tare_record::{Finding, GoalResult, SearchTrial};
use tare_stats::mlrsearch::{SearchEnding, SearchGoalResult};

/// Returns the recorded bounds of one goal. The rate never exceeds the rate that the path carried in the trials at the
/// lower bound: the sender may have been a little behind, and a queue may have been filling.
pub(super) fn recorded_bounds(found: &SearchGoalResult, probes: &[SearchTrial]) -> GoalResult {
    let lower = found.bounds.lower.unwrap_or(0.0);
    let mut carried: Vec<f64> = probes
        .iter()
        .filter(|probe| probe.asked == lower)
        .map(|probe| probe.received.saturating_sub(probe.late) as f64 / probe.length.as_secs_f64())
        .collect();
    carried.sort_by(f64::total_cmp);
    let median = carried.get(carried.len() / 2).copied().unwrap_or(0.0);
    GoalResult {
        loss: found.goal.loss_ratio,
        lower,
        upper: found.bounds.upper,
        conditional: found.conditional_throughput.unwrap_or(0.0).min(median),
        converged: matches!(found.ending, SearchEnding::Regular | SearchEnding::NoLower),
    }
}

/// Returns a finding on the end of the search for one goal, where `limit` is the highest rate of the search, datagrams
/// per second. Returns `None` for a regular end.
pub(super) fn ending_finding(found: &SearchGoalResult, limit: f64) -> Option<Finding> {
    match found.ending {
        SearchEnding::Regular | SearchEnding::NoLower => None,
        SearchEnding::NoUpper => {
            Some(Finding::SearchLimitedBySender(SearchLimitedBySender { rate: limit }))
        }
        SearchEnding::Unfinished => {
            let upper = found.bounds.upper.unwrap_or(limit);
            let width = 1.0 - found.bounds.lower.unwrap_or(0.0) / upper;
            Some(Finding::UnfinishedSearch(UnfinishedSearch { width: width.clamp(0.0, 1.0) }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tare_record::Nanos;
    use tare_stats::mlrsearch::SearchGoal;

    fn found(lower: Option<f64>, upper: Option<f64>, ending: SearchEnding) -> SearchGoalResult {
        let goal = SearchGoal {
            loss_ratio: 0.005,
            exceed_ratio: 0.5,
            initial_trial_duration: Duration::from_secs(1),
            final_trial_duration: Duration::from_secs(1),
            duration_sum: Duration::from_secs(1),
            width: 0.02,
        };
        let bounds = tare_stats::mlrsearch::RelevantBounds { lower, upper };
        SearchGoalResult { goal, bounds, conditional_throughput: lower, ending }
    }

    #[test]
    fn each_ending_is_said_as_what_it_is() {
        let regular = found(Some(99.0), Some(100.0), SearchEnding::Regular);
        assert_eq!(ending_finding(&regular, 500.0), None);
        let probe = |received| SearchTrial {
            began: Nanos(0),
            length: Nanos(1_000_000_000),
            asked: 99.0,
            offered: 99.0,
            sent: 99,
            received,
            late: 0,
        };
        let recorded = recorded_bounds(&regular, &[probe(99), probe(90), probe(95)]);
        assert!(recorded.converged && recorded.lower == 99.0 && recorded.conditional == 95.0);
        let filling = SearchTrial { late: 2, ..probe(99) };
        assert_eq!(recorded_bounds(&regular, &[filling; 3]).conditional, 97.0);
        let limited = found(Some(500.0), None, SearchEnding::NoUpper);
        assert_eq!(
            ending_finding(&limited, 500.0),
            Some(Finding::SearchLimitedBySender(SearchLimitedBySender { rate: 500.0 }))
        );
        let late = found(Some(50.0), Some(100.0), SearchEnding::Unfinished);
        assert_eq!(
            ending_finding(&late, 500.0),
            Some(Finding::UnfinishedSearch(UnfinishedSearch { width: 0.5 }))
        );
        let nothing = found(None, None, SearchEnding::Unfinished);
        assert_eq!(
            ending_finding(&nothing, 500.0),
            Some(Finding::UnfinishedSearch(UnfinishedSearch { width: 1.0 }))
        );
        assert_eq!(recorded_bounds(&nothing, &[]).conditional, 0.0);
    }
}
