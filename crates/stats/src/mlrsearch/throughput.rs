//! Conditional throughput: rate that a network passes at a load where some loss is allowed.

use super::goal::SearchGoal;
use super::trial_result::TrialResult;

/// Returns the conditional throughput of a load for a goal, datagrams per second (RFC 9971, section 4.8.3 and appendix
/// B): the load times the forwarding ratio that the goal's share of the full-length trials' time reaches, a quantile
/// over trials weighted by their duration. Time of the duration sum that was never measured counts as lost wholly; at a
/// lower bound there is never so much of it that it matters.
///
/// Returns `None` if no full-length trial was run at that load.
#[must_use]
pub fn conditional_throughput<'a>(
    goal: &SearchGoal,
    trials: impl IntoIterator<Item = &'a TrialResult>,
) -> Option<f64> {
    let mut full: Vec<&TrialResult> =
        trials.into_iter().filter(|trial| trial.duration >= goal.final_trial_duration).collect();
    full.sort_by(|one, other| one.loss_ratio().total_cmp(&other.loss_ratio()));
    full.first()?;
    let measured: f64 = full.iter().map(|trial| trial.duration.as_secs_f64()).sum();
    let mut remaining = measured.max(goal.duration_sum.as_secs_f64()) * (1.0 - goal.exceed_ratio);
    for trial in full {
        remaining -= trial.duration.as_secs_f64();
        // Tolerance for rounding of the products: less than a nanosecond counts as 0.
        if remaining <= 1e-9 {
            return Some(trial.forwarding_rate());
        }
    }
    Some(0.0)
}

#[cfg(test)]
mod tests {
    use super::super::classify::tests::{goals_of_the_example, points_of_the_example, trials};
    use super::super::goal::goal;
    use super::*;

    /// Reference: appendix C.4.
    #[test]
    fn the_example_of_the_rfc() {
        let all: Vec<TrialResult> = points_of_the_example().concat();
        let [_, tst009, one_second, exceed20] =
            goals_of_the_example().map(|goal| conditional_throughput(&goal, &all));
        assert_eq!(tst009, Some(1_000_000.0));
        assert_eq!(one_second, Some(1_000_000.0));
        assert_eq!(exceed20, Some(999_000.0));
    }

    #[test]
    fn only_full_length_trials_count() {
        let goal = goal(0.0, 0.0, 60, 60);
        assert_eq!(conditional_throughput(&goal, &trials(80, 1, 0)), None);
        assert_eq!(conditional_throughput(&goal, &[]), None);
    }

    #[test]
    fn time_that_is_not_measured_counts_as_lost() {
        let goal = goal(0.0, 0.0, 1, 3);
        assert_eq!(conditional_throughput(&goal, &trials(2, 1, 0)), Some(0.0));
        assert_eq!(conditional_throughput(&goal, &trials(3, 1, 0)), Some(1e6));
    }
}
