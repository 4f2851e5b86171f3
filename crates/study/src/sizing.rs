//! Number of blocks, fixed before the main phase, from a pilot that is not part of the result; and the largest number
//! of a group-sequential run, from its first blocks.
//!
//! The pilot's spread gives the number that the requested precision needs; the remaining time gives the number that
//! fits. Once the number is fixed, no measurement changes it: checking a verdict, a p-value or a width while measuring
//! inflates false alarms. The spread of the log ratio is pooled over networks (root mean square), metric by metric,
//! because two or three blocks say little about one network alone. Its upper 80 % confidence limit is used: otherwise a
//! pilot that happened to be quiet would promise too much. The metric that needs most blocks decides. Tails beyond the
//! median, jitter and CPU time never decide: they take the precision that results, and each ratio states what it could
//! have detected.

use std::collections::BTreeMap;
use tare_analysis::RatioSpread;
use tare_record::{BlockPolicy, Metric, Nanos, Plan, Sizing, StoppedBy};

/// Results of the pilot, and the time used.
#[derive(Clone, Debug, PartialEq)]
pub struct PilotResult {
    /// Spreads by `WORKLOAD/METRIC`.
    pub spreads: BTreeMap<String, RatioSpread>,
    /// Duration of a block.
    pub block_time: Nanos,
    /// Time that the run has taken so far.
    pub elapsed: Nanos,
}

/// Smallest number of blocks: a confidence interval needs two, whatever the budget.
const FEWEST: u32 = 2;

/// Returns the number of blocks, and the rule that decided it. A plan with a fixed number keeps it.
#[must_use]
pub fn decide(plan: &Plan, pilot: &PilotResult) -> Sizing {
    let sizing = |blocks, needed, decided_by| Sizing {
        blocks,
        needed,
        block_time: pilot.block_time,
        decided_by,
        spreads: pilot
            .spreads
            .iter()
            .map(|(key, spread)| (key.clone(), spread.log_ratio))
            .collect(),
    };
    match plan.blocks {
        BlockPolicy::Fixed { blocks } => sizing(blocks, blocks, StoppedBy::Blocks),
        // A sequence has no pilot, and its number is found during the measurement.
        BlockPolicy::Sequence { at_most, .. } => sizing(at_most, at_most, StoppedBy::Blocks),
        BlockPolicy::Precision { precision, at_least, at_most, .. }
        | BlockPolicy::GroupSequential { precision, at_least, at_most, .. } => {
            let needed = needed_blocks(plan, precision, &pilot.spreads);
            let wanted = needed.clamp(at_least, at_most);
            match affordable_blocks(plan, pilot) {
                Some(fit) if fit < wanted => sizing(fit.max(FEWEST), needed, StoppedBy::Budget),
                // The study's maximum is its author's decision, and the precision is not reached with it.
                _ if wanted < needed => sizing(wanted, needed, StoppedBy::Blocks),
                _ => sizing(wanted, needed, StoppedBy::Precision),
            }
        }
    }
}

/// Returns the number of blocks that the precision needs, for the metric that needs most.
fn needed_blocks(
    plan: &Plan,
    precision: Option<f64>,
    spreads: &BTreeMap<String, RatioSpread>,
) -> u32 {
    let half_width = |metric: Metric| {
        let margin = plan.margins.get(&metric).copied().unwrap_or_else(|| metric.default_margin());
        precision.unwrap_or(margin / 2.0)
    };
    spreads
        .values()
        .filter(|spread| spread.metric.decides_block_count())
        .map(|spread| {
            tare_stats::sample_size::blocks_for_half_width(spread.upper, half_width(spread.metric))
        })
        .max()
        .unwrap_or(FEWEST)
}

/// Returns the number of blocks of the result that fit into the budget, or `None` without a budget.
fn affordable_blocks(plan: &Plan, pilot: &PilotResult) -> Option<u32> {
    let budget = plan.budget?;
    let left = match plan.blocks {
        // The first blocks are part of the result.
        BlockPolicy::GroupSequential { .. } => budget,
        _ => budget.saturating_sub(pilot.elapsed),
    };
    let fit = left.0 / pilot.block_time.0.max(1);
    Some(u32::try_from(fit).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expand::tests::plan_of;

    fn pilot(sd: f64, block_time: u64) -> PilotResult {
        let of = |metric, log_ratio| RatioSpread { metric, log_ratio, upper: log_ratio };
        PilotResult {
            spreads: BTreeMap::from([
                ("tcp-stream/throughput".to_owned(), of(Metric::Throughput, sd)),
                ("tcp-rr/latency_p99".to_owned(), of(Metric::LatencyP99, 10.0)),
            ]),
            block_time: Nanos(block_time),
            elapsed: Nanos(100),
        }
    }

    fn plan(budget: Option<u64>) -> Plan {
        let blocks =
            BlockPolicy::Precision { precision: None, pilot: 3, at_least: 5, at_most: 500 };
        Plan { blocks, budget: budget.map(Nanos), ..plan_of(2) }
    }

    #[test]
    fn the_spread_decides_where_time_allows_and_tails_never_do() {
        let sizing = decide(&plan(None), &pilot(0.0283, 10));
        // Half a margin of 2 % at a spread of 2.83 %: (1.96 · 2.83)² ≈ 31, and a little more for Student's t.
        assert!((32..=36).contains(&sizing.blocks), "{sizing:?}");
        assert_eq!(sizing.decided_by, StoppedBy::Precision);
    }

    #[test]
    fn the_budget_caps_and_says_so() {
        let sizing = decide(&plan(Some(200)), &pilot(0.0283, 10));
        assert_eq!((sizing.blocks, sizing.decided_by), (10, StoppedBy::Budget));
        let sizing = decide(&plan(Some(1)), &pilot(0.0283, 10));
        assert_eq!((sizing.blocks, sizing.decided_by), (2, StoppedBy::Budget));
    }

    #[test]
    fn the_most_blocks_of_a_study_are_not_a_precision_that_was_reached() {
        let sizing = decide(&plan(None), &pilot(1.0, 10));
        assert_eq!((sizing.blocks, sizing.decided_by), (500, StoppedBy::Blocks));
        assert!(sizing.needed > 500);
    }

    #[test]
    fn a_quiet_machine_still_measures_the_least_number() {
        assert_eq!(decide(&plan(None), &pilot(0.0001, 10)).blocks, 5);
    }
}
