//! Test of a published conclusion against the measured cells.
//!
//! A test is read off the 90 % interval, paired within blocks if two cells are compared: it holds if the interval lies
//! wholly on the claimed side, fails if it lies wholly elsewhere, and is undecidable otherwise. On the border itself lies
//! nothing that a claim of more or of less could mean: where both lose nothing, neither loses more. There is no correction
//! for the number of conclusions.

use super::MeasuredRun;
use super::evidence::{self, Observation, describe_cell};
use tare_record::{
    Cell, CellPattern, CellRelation, ComparedBy, Conclusion, ConclusionResult, ConclusionTest,
    Metric, TestedConclusion,
};
use tare_stats::PairedRatio;
use tare_stats::describe::{mean, mean_interval};

/// Confidence of the interval of a test: both one-sided tests at 5 %.
const CONFIDENCE: f64 = 0.90;

/// Returns the conclusion with its result and evidence.
pub(super) fn conclude(here: &MeasuredRun<'_>, conclusion: &Conclusion) -> TestedConclusion {
    let seen: Vec<(ConclusionResult, String)> =
        conclusion.tests.iter().map(|test| evaluate_test(here, test)).collect();
    let first = |wanted| seen.iter().find(|(result, _)| *result == wanted);
    let result = if first(ConclusionResult::Fails).is_some() {
        ConclusionResult::Fails
    } else if seen.is_empty() || first(ConclusionResult::Undecidable).is_some() {
        ConclusionResult::Undecidable
    } else {
        ConclusionResult::Holds
    };
    let reason = match (first(result), seen.len()) {
        (Some((_, words)), 2..) if result == ConclusionResult::Holds => {
            Some(format!("{words}; the other tests hold, too ({} in all)", seen.len()))
        }
        (decisive, _) => {
            decisive.map(|(_, words)| words.clone()).or_else(|| conclusion.note.clone())
        }
    };
    let is_tested = !seen.is_empty();
    let evidence = match conclusion.note.clone() {
        Some(note) if !is_tested => vec![note],
        _ => seen.into_iter().map(|(result, words)| format!("{words}: {result}")).collect(),
    };
    TestedConclusion {
        claim: conclusion.claim.clone(),
        by: conclusion.by.clone(),
        result,
        reason,
        note: conclusion.note.clone().filter(|_| is_tested),
        evidence,
    }
}

/// Returns the result of one test, with its evidence.
fn evaluate_test(here: &MeasuredRun<'_>, test: &ConclusionTest) -> (ConclusionResult, String) {
    let name = describe_cell(&test.left);
    let Some(left) = here.find(&test.left) else {
        return (
            ConclusionResult::Undecidable,
            format!("{name}: {}", here.absence_reason(&test.left)),
        );
    };
    let beside = match (&test.right, test.value) {
        (Some(right), _) => match here.find(right) {
            Some(cell) => {
                TestReference::Cell { cell, part: right, times: test.times.unwrap_or(1.0) }
            }
            None => {
                let words = format!("{}: {}", describe_cell(right), here.absence_reason(right));
                return (ConclusionResult::Undecidable, words);
            }
        },
        (None, Some(value)) => TestReference::Value(value),
        (None, None) => {
            return (
                ConclusionResult::Undecidable,
                format!("{name}: the study names no cell and no value to compare with"),
            );
        }
    };
    let margin = test.margin.unwrap_or_else(|| here.margin(test.left.metric));
    let Some(measured) = beside.interval(left, &test.left, margin) else {
        return (ConclusionResult::Undecidable, format!("{name}: too few blocks for an interval"));
    };
    let result = measured.result(test.is);
    let observed = evidence::observation(&measured.observed, result);
    let claimed = evidence::claim(test, margin, left.metric);
    let words = format!("{name} is {observed}; claimed: {claimed}");
    match here.find_shortage(test, result) {
        Some(shortage) => (ConclusionResult::Undecidable, format!("{words}; but {shortage}")),
        None => (result, words),
    }
}

impl MeasuredRun<'_> {
    /// Returns the margin of a metric: a share of 1, or points if the metric is compared by difference (5 % are 5
    /// points).
    fn margin(&self, metric: Metric) -> f64 {
        let share =
            self.plan.margins.get(&metric).copied().unwrap_or_else(|| metric.default_margin());
        match metric.compared_by() {
            ComparedBy::Ratio => share,
            ComparedBy::Difference => share * 100.0,
        }
    }
}

/// Reference that a cell is compared with.
enum TestReference<'a> {
    Cell { cell: &'a Cell, part: &'a CellPattern, times: f64 },
    Value(f64),
}

/// Measured interval, the claim's border on its scale, and the margin on either side of the border.
struct TestInterval {
    ends: [f64; 2],
    border: [f64; 3],
    observed: Observation,
}

impl TestInterval {
    fn result(&self, relation: CellRelation) -> ConclusionResult {
        let ([low, high], [least, border, most]) = (self.ends, self.border);
        let (holds, fails) = match relation {
            CellRelation::Above => (low > border, high <= border),
            CellRelation::Below => (high < border, low >= border),
            CellRelation::Within => (least <= low && high <= most, high < least || low > most),
        };
        match (holds, fails) {
            (true, _) => ConclusionResult::Holds,
            (_, true) => ConclusionResult::Fails,
            _ => ConclusionResult::Undecidable,
        }
    }
}

impl TestReference<'_> {
    fn interval(&self, left: &Cell, of: &CellPattern, margin: f64) -> Option<TestInterval> {
        let scale = of.per.divisor(&left.shape);
        let by_ratio = left.metric.compared_by() == ComparedBy::Ratio;
        match self {
            Self::Cell { cell, part, times } => {
                let pairs = paired_figures(left, cell, scale, part.per.divisor(&cell.shape));
                let n = pairs.len();
                let reference = Some(evidence::describe_difference(part, of));
                if by_ratio {
                    let ratio = PairedRatio::from_pairs(&pairs)?;
                    let border = [times / (1.0 + margin), *times, times * (1.0 + margin)];
                    let observed = Observation {
                        value: ratio.value,
                        unit: "×".to_owned(),
                        ends: ratio.ci90,
                        n,
                        reference,
                    };
                    Some(TestInterval { ends: ratio.ci90, border, observed })
                } else {
                    let apart: Vec<f64> =
                        pairs.iter().map(|(left, right)| left - times * right).collect();
                    interval_in_points(&apart, 0.0, margin, "points", reference)
                }
            }
            Self::Value(value) => {
                let samples: Vec<f64> = left.samples.iter().map(|sample| sample / scale).collect();
                if by_ratio {
                    let ends = mean_interval(&samples, CONFIDENCE)?;
                    let border = [value / (1.0 + margin), *value, value * (1.0 + margin)];
                    let observed = Observation {
                        value: mean(&samples)?,
                        unit: left.unit.clone(),
                        ends,
                        n: samples.len(),
                        reference: None,
                    };
                    Some(TestInterval { ends, border, observed })
                } else {
                    interval_in_points(&samples, *value, margin, &left.unit, None)
                }
            }
        }
    }
}

/// Returns the interval of a mean and a border, both in points.
fn interval_in_points(
    values: &[f64],
    border: f64,
    margin: f64,
    unit: &str,
    reference: Option<String>,
) -> Option<TestInterval> {
    let ends = mean_interval(values, CONFIDENCE)?;
    let observed = Observation {
        value: mean(values)?,
        unit: unit.to_owned(),
        ends,
        n: values.len(),
        reference,
    };
    Some(TestInterval { ends, border: [border - margin, border, border + margin], observed })
}

/// Returns the figures of two cells in the same blocks, each divided by its number of parts.
fn paired_figures(left: &Cell, right: &Cell, of_left: f64, of_right: f64) -> Vec<(f64, f64)> {
    left.blocks
        .iter()
        .zip(&left.samples)
        .filter_map(|(block, figure)| {
            let at = right.blocks.iter().position(|other| other == block)?;
            Some((figure / of_left, right.samples.get(at)? / of_right))
        })
        .collect()
}
