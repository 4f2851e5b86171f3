//! How many blocks there will be: fixed before the main phase, from a pilot that is not part of the result.
//!
//! The pilot's spread gives the number that the asked precision needs; the time left gives the number that fits. Once
//! fixed, nothing that is measured changes it: looking at a verdict, a p-value or a width while measuring inflates false alarms.
//! The spread of the log ratio is pooled over networks (the root mean square), metric by metric, because two or three
//! blocks say little about one network alone, and its upper 80 % confidence limit is taken: a pilot that happened to be
//! quiet would else promise too much. The metric that needs most decides. Tails beyond the median,
//! jitter and CPU time never decide: they take what precision they get, and each ratio says what it could have detected.

use std::collections::BTreeMap;
use tare_analysis::Spread;
use tare_record::{Blocks, Metric, Nanos, Plan, Sizing, StoppedBy};

/// What the pilot learnt, and how much time there is.
#[derive(Clone, Debug, PartialEq)]
pub struct Pilot {
    /// The spreads, by `WORKLOAD/METRIC`.
    pub spreads: BTreeMap<String, Spread>,
    /// How long a block took.
    pub block_time: Nanos,
    /// How long the run has taken so far.
    pub elapsed: Nanos,
}

/// An interval wants two blocks, whatever the budget.
const FEWEST: u32 = 2;

/// The number of blocks, and what decided it. A plan that fixes the number keeps it.
#[must_use]
pub fn decide(plan: &Plan, pilot: &Pilot) -> Sizing {
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
        Blocks::Fixed { blocks } => sizing(blocks, blocks, StoppedBy::Blocks),
        // It has no pilot, and its number is found while it is measured.
        Blocks::Sequence { at_most, .. } => sizing(at_most, at_most, StoppedBy::Blocks),
        Blocks::Precision { precision, at_least, at_most, .. } => {
            let needed = needed(plan, precision, &pilot.spreads);
            let wanted = needed.clamp(at_least, at_most);
            match affordable(plan, pilot) {
                Some(fit) if fit < wanted => sizing(fit.max(FEWEST), needed, StoppedBy::Budget),
                // A study's own most is its author's decision, and no precision was reached by it.
                _ if wanted < needed => sizing(wanted, needed, StoppedBy::Blocks),
                _ => sizing(wanted, needed, StoppedBy::Precision),
            }
        }
    }
}

/// How many blocks the precision needs: that of the metric that needs most.
fn needed(plan: &Plan, precision: Option<f64>, spreads: &BTreeMap<String, Spread>) -> u32 {
    let half_width = |metric: Metric| {
        let margin = plan.margins.get(&metric).copied().unwrap_or_else(|| metric.default_margin());
        precision.unwrap_or(margin / 2.0)
    };
    spreads
        .values()
        .filter(|spread| spread.metric.sizes_runs())
        .map(|spread| {
            tare_stats::size::blocks_for_half_width(spread.upper, half_width(spread.metric))
        })
        .max()
        .unwrap_or(FEWEST)
}

/// How many blocks fit into what is left of the budget.
fn affordable(plan: &Plan, pilot: &Pilot) -> Option<u32> {
    let left = plan.budget?.saturating_sub(pilot.elapsed);
    let fit = left.0 / pilot.block_time.0.max(1);
    Some(u32::try_from(fit).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expand::tests::plan_of;

    fn pilot(sd: f64, block_time: u64) -> Pilot {
        let of = |metric, log_ratio| Spread { metric, log_ratio, upper: log_ratio };
        Pilot {
            spreads: BTreeMap::from([
                ("tcp-stream/throughput".to_owned(), of(Metric::Throughput, sd)),
                ("tcp-rr/latency_p99".to_owned(), of(Metric::LatencyP99, 10.0)),
            ]),
            block_time: Nanos(block_time),
            elapsed: Nanos(100),
        }
    }

    fn plan(budget: Option<u64>) -> Plan {
        let blocks = Blocks::Precision { precision: None, pilot: 3, at_least: 5, at_most: 500 };
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
