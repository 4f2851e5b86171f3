//! From what a search found to what is recorded of it.

use tare_record::{Bounds, Finding, Probe};
use tare_stats::mlrsearch::{Ending, Found};

/// What is recorded of one goal. Its rate is never more than what really came in the trials at the lower bound: a
/// sender may have been a little behind in them.
pub(super) fn bounds(found: &Found, probes: &[Probe]) -> Bounds {
    let lower = found.bounds.lower.unwrap_or(0.0);
    let mut carried: Vec<f64> = probes
        .iter()
        .filter(|probe| probe.asked == lower)
        .map(|probe| probe.received as f64 / probe.length.as_secs_f64())
        .collect();
    carried.sort_by(f64::total_cmp);
    let median = carried.get(carried.len() / 2).copied().unwrap_or(0.0);
    Bounds {
        loss: found.goal.loss_ratio,
        lower,
        upper: found.bounds.upper,
        conditional: found.conditional.unwrap_or(0.0).min(median),
        converged: matches!(found.ending, Ending::Regular | Ending::NoLower),
    }
}

/// What a reader should know of how the search for one goal ended, where the sender did at most so many datagrams per
/// second.
pub(super) fn finding(found: &Found, limit: f64) -> Option<Finding> {
    match found.ending {
        Ending::Regular | Ending::NoLower => None,
        Ending::NoUpper => Some(Finding::SearchAtSendersLimit { rate: limit }),
        Ending::Unfinished => {
            let upper = found.bounds.upper.unwrap_or(limit);
            let width = 1.0 - found.bounds.lower.unwrap_or(0.0) / upper;
            Some(Finding::SearchUnfinished { width: width.clamp(0.0, 1.0) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tare_record::Nanos;
    use tare_stats::mlrsearch::Goal;

    fn found(lower: Option<f64>, upper: Option<f64>, ending: Ending) -> Found {
        let goal = Goal {
            loss_ratio: 0.005,
            exceed_ratio: 0.5,
            initial_trial_duration: Duration::from_secs(1),
            final_trial_duration: Duration::from_secs(1),
            duration_sum: Duration::from_secs(1),
            width: 0.02,
        };
        let bounds = tare_stats::mlrsearch::Bounds { lower, upper };
        Found { goal, bounds, conditional: lower, ending }
    }

    #[test]
    fn each_ending_is_said_as_what_it_is() {
        let regular = found(Some(99.0), Some(100.0), Ending::Regular);
        assert_eq!(finding(&regular, 500.0), None);
        let probe = |received| Probe {
            began: Nanos(0),
            length: Nanos(1_000_000_000),
            asked: 99.0,
            offered: 99.0,
            sent: 99,
            received,
        };
        let recorded = bounds(&regular, &[probe(99), probe(90), probe(95)]);
        assert!(recorded.converged && recorded.lower == 99.0 && recorded.conditional == 95.0);
        let limited = found(Some(500.0), None, Ending::NoUpper);
        assert_eq!(finding(&limited, 500.0), Some(Finding::SearchAtSendersLimit { rate: 500.0 }));
        let late = found(Some(50.0), Some(100.0), Ending::Unfinished);
        assert_eq!(finding(&late, 500.0), Some(Finding::SearchUnfinished { width: 0.5 }));
        let nothing = found(None, None, Ending::Unfinished);
        assert_eq!(finding(&nothing, 500.0), Some(Finding::SearchUnfinished { width: 1.0 }));
        assert_eq!(bounds(&nothing, &[]).conditional, 0.0);
    }
}
