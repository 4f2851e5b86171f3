//! Claims: outcomes of the comparison of one network with the baseline, in the metrics that a workload is about.

use super::phrase::{EFFORTS, MEDIANS, RATES, TAILS};
use super::subject::WorkloadCells;
use tare_record::{Better, Cell, Difference, Metric, Verdict};

/// Differences in points below which a network is said to differ in nothing.
const LEAST_POINTS: f64 = 0.01;

/// Largest distance from 0, in points, of an interval that is said to show no difference.
const NARROW_POINTS: f64 = 1.0;

/// Outcome of a comparison with the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Worse, by more than the margin.
    Worse,
    /// Worse, but within the margin.
    SlightlyWorse,
    /// Better, by more than the margin.
    Better,
    /// Better, but within the margin.
    SlightlyBetter,
    /// No difference beyond the margin.
    Same,
    /// Too few blocks to tell.
    Undecided,
}

impl Outcome {
    /// Returns true for a difference in either direction.
    pub(crate) fn is_difference(self) -> bool {
        !matches!(self, Self::Same | Self::Undecided)
    }

    /// Returns true for a difference beyond the margin.
    fn is_beyond_margin(self) -> bool {
        matches!(self, Self::Worse | Self::Better)
    }

    /// Returns true if the network is worse.
    pub(crate) fn is_worse(self) -> bool {
        matches!(self, Self::Worse | Self::SlightlyWorse)
    }

    /// Returns true for a difference within the margin.
    pub(crate) fn is_slight(self) -> bool {
        matches!(self, Self::SlightlyWorse | Self::SlightlyBetter)
    }
}

/// Claim about a network in one metric of one workload.
#[derive(Clone, Debug)]
pub(crate) struct Claim<'a> {
    /// Cell of the network.
    pub(crate) cell: &'a Cell,
    /// Metric and workload in words: `throughput`, `udp-rr round trips`.
    pub(crate) noun: String,
    /// Outcome of the comparison.
    pub(crate) outcome: Outcome,
}

impl Claim<'_> {
    /// Returns true if the network is like the baseline in a ratio. A difference close to 0, of the loss for example,
    /// says nothing about the figures that a workload is about.
    pub(crate) fn is_alike(&self) -> bool {
        self.outcome == Outcome::Same && self.cell.ratio.is_some()
    }
}

/// Returns the outcome of a cell. Returns `None` for a cell that is not compared with a baseline.
pub(crate) fn outcome(cell: &Cell) -> Option<Outcome> {
    if let Some(ratio) = &cell.ratio {
        return Some(match ratio.verdict {
            Verdict::Faster => Outcome::Better,
            Verdict::FasterSlightly => Outcome::SlightlyBetter,
            Verdict::Same => Outcome::Same,
            Verdict::SlowerSlightly => Outcome::SlightlyWorse,
            Verdict::Slower => Outcome::Worse,
            Verdict::Unclear => Outcome::Undecided,
        });
    }
    cell.difference.as_ref().map(|difference| outcome_of_difference(difference, cell.better))
}

/// Returns the outcome of a difference, which has no margin: its interval excludes 0, or lies close to it.
fn outcome_of_difference(difference: &Difference, better: Better) -> Outcome {
    let Difference { value, ci95: [low, high], .. } = *difference;
    if (low > 0.0 || high < 0.0) && value.abs() >= LEAST_POINTS {
        let is_worse = (value > 0.0) == (better == Better::Lower);
        return if is_worse { Outcome::Worse } else { Outcome::Better };
    }
    if low.abs().max(high.abs()) <= NARROW_POINTS { Outcome::Same } else { Outcome::Undecided }
}

/// Returns the claims about a network under a workload: its rate, its loss, the usual wait if the rate does not tell,
/// the tail and the CPU time if they differ. Metrics that the run cannot tell apart are `Undecided`.
pub(crate) fn claims<'a>(workload: &WorkloadCells<'a>, label: &str) -> Vec<Claim<'a>> {
    let claim = |metric: Metric| {
        let cell = workload.find(label, metric)?;
        Some(Claim { cell, noun: workload.noun(metric), outcome: outcome(cell)? })
    };
    let first = |metrics: &[Metric]| metrics.iter().find_map(|metric| claim(*metric));
    let mut claims: Vec<Claim<'a>> = Vec::new();
    let is_paced = first(&RATES).is_some_and(|rate| rate_is_given(rate.cell));
    // A workload that paces itself has the requested rate over every network that keeps up.
    claims.extend(first(&RATES).filter(|rate| !is_paced || rate.outcome.is_worse()));
    let rate_tells = claims.iter().any(|rate| rate.outcome != Outcome::Undecided);
    let loss = claim(Metric::Loss);
    claims.extend(loss.filter(|loss| is_paced || loss.outcome != Outcome::Undecided));
    if !rate_tells {
        claims.extend(first(&MEDIANS));
    }
    claims.extend(first(&TAILS).filter(|tail| tail.outcome.is_beyond_margin()));
    if !claims.iter().any(|claim| claim.outcome.is_beyond_margin()) {
        claims.extend(first(&EFFORTS).filter(|effort| effort.outcome.is_beyond_margin()));
    }
    if claims.is_empty() {
        claims.extend(first(&EFFORTS));
    }
    if claims.is_empty() {
        claims.extend(workload.metrics(label).into_iter().find_map(claim));
    }
    claims
}

/// Returns true if the rate is requested, and no property of the network as long as it keeps up.
fn rate_is_given(cell: &Cell) -> bool {
    matches!(cell.workload.as_str(), "udp-rate" | "iperf3-udp")
        || cell.parameters.contains_key("open_loop")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_told_by_its_interval() {
        let of = |low: f64, high: f64| {
            let value = f64::midpoint(low, high);
            let difference = Difference { baseline: "host".to_owned(), value, ci95: [low, high] };
            outcome_of_difference(&difference, Better::Lower)
        };
        assert_eq!(of(0.5, 0.9), Outcome::Worse);
        assert_eq!(of(-0.9, -0.5), Outcome::Better);
        assert_eq!(of(0.0001, 0.0002), Outcome::Same);
        assert_eq!(of(0.0, 0.0), Outcome::Same);
        assert_eq!(of(-0.2, 0.3), Outcome::Same);
        assert_eq!(of(-4.0, 6.0), Outcome::Undecided);
    }
}
