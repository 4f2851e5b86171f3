//! What came of a published conclusion here.
//!
//! A test is read off the 90 % interval, paired within blocks where two cells are compared: it holds where the interval
//! lies wholly where the claim says, fails where it lies wholly elsewhere, and is undecidable otherwise. No correction is
//! made for the number of conclusions.

use super::Here;
use tare_record::{
    Beside, Cell, CellPart, Concluded, Conclusion, Holding, Metric, Relation, Test, bare,
};
use tare_stats::PairedRatio;
use tare_stats::describe::{mean, mean_interval};

/// The confidence of the interval that a test is read off: both one-sided tests at 5 %.
const CONFIDENCE: f64 = 0.90;

/// The conclusion with what came of it.
pub(super) fn conclude(here: &Here<'_>, conclusion: &Conclusion) -> Concluded {
    let seen: Vec<(Holding, String)> =
        conclusion.tests.iter().map(|test| decide(here, test)).collect();
    let any = |wanted| seen.iter().any(|(holding, _)| *holding == wanted);
    let result = if any(Holding::Fails) {
        Holding::Fails
    } else if seen.is_empty() || any(Holding::Undecidable) {
        Holding::Undecidable
    } else {
        Holding::Holds
    };
    let evidence = match conclusion.note.clone() {
        Some(note) if seen.is_empty() => vec![note],
        _ => seen.into_iter().map(|(_, words)| words).collect(),
    };
    Concluded { claim: conclusion.claim.clone(), by: conclusion.by.clone(), result, evidence }
}

/// What came of one test, with what was seen.
fn decide(here: &Here<'_>, test: &Test) -> (Holding, String) {
    let name = described(&test.left);
    let Some(left) = here.find(&test.left) else {
        return (Holding::Undecidable, format!("{name}: {}", here.why_absent(&test.left)));
    };
    let beside = match (&test.right, test.value) {
        (Some(right), _) => match here.find(right) {
            Some(cell) => Reference::Cell { cell, part: right, times: test.times.unwrap_or(1.0) },
            None => {
                let words = format!("{}: {}", described(right), here.why_absent(right));
                return (Holding::Undecidable, words);
            }
        },
        (None, Some(value)) => Reference::Value(value),
        (None, None) => {
            return (Holding::Undecidable, format!("{name}: the study compares it with nothing"));
        }
    };
    let margin = test.margin.unwrap_or_else(|| here.margin(test.left.metric));
    let Some(measured) = beside.measure(left, &test.left, margin) else {
        return (Holding::Undecidable, format!("{name}: too few blocks for an interval"));
    };
    let holding = measured.read(test.is);
    (holding, format!("{name} is {}: {} {}: {holding}", measured.words, test.is, beside.words()))
}

impl Here<'_> {
    fn margin(&self, metric: Metric) -> f64 {
        self.plan.margins.get(&metric).copied().unwrap_or_else(|| metric.default_margin())
    }
}

/// What a cell is compared with.
enum Reference<'a> {
    Cell { cell: &'a Cell, part: &'a CellPart, times: f64 },
    Value(f64),
}

/// An interval, where on its scale the claim's border lies, and how far the margin reaches to either side.
struct Interval {
    ends: [f64; 2],
    border: [f64; 3],
    words: String,
}

impl Interval {
    fn read(&self, relation: Relation) -> Holding {
        let ([low, high], [least, border, most]) = (self.ends, self.border);
        let (holds, fails) = match relation {
            Relation::Above => (low > border, high < border),
            Relation::Below => (high < border, low > border),
            Relation::Within => (least <= low && high <= most, high < least || low > most),
        };
        match (holds, fails) {
            (true, _) => Holding::Holds,
            (_, true) => Holding::Fails,
            _ => Holding::Undecidable,
        }
    }
}

impl Reference<'_> {
    fn measure(&self, left: &Cell, of: &CellPart, margin: f64) -> Option<Interval> {
        let scale = of.per.parts(&left.shape);
        let by_ratio = left.metric.beside() == Beside::Ratio;
        match self {
            Self::Cell { cell, part, times } => {
                let pairs = pairs(left, cell, scale, part.per.parts(&cell.shape));
                if by_ratio {
                    let ratio = PairedRatio::of(&pairs)?;
                    let border = [times / (1.0 + margin), *times, times * (1.0 + margin)];
                    let words =
                        format!("{:.3} times (90 % interval {})", ratio.value, range(ratio.ci90));
                    Some(Interval { ends: ratio.ci90, border, words })
                } else {
                    let apart: Vec<f64> =
                        pairs.iter().map(|(left, right)| left - times * right).collect();
                    points(&apart, 0.0, margin)
                }
            }
            Self::Value(value) => {
                let samples: Vec<f64> = left.samples.iter().map(|sample| sample / scale).collect();
                if by_ratio {
                    let ends = mean_interval(&samples, CONFIDENCE)?;
                    let border = [value / (1.0 + margin), *value, value * (1.0 + margin)];
                    let words = format!("{:.4} {} ({})", mean(&samples)?, left.unit, range(ends));
                    Some(Interval { ends, border, words })
                } else {
                    points(&samples, *value, margin)
                }
            }
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Cell { part, times, .. } if *times == 1.0 => described(part),
            Self::Cell { part, times, .. } => format!("{times} times {}", described(part)),
            Self::Value(value) => format!("{value}"),
        }
    }
}

/// Where a mean lies beside a border, both in points.
fn points(values: &[f64], border: f64, margin: f64) -> Option<Interval> {
    let ends = mean_interval(values, CONFIDENCE)?;
    let words = format!("{:+.3} points ({})", mean(values)?, range(ends));
    Some(Interval { ends, border: [border - margin, border, border + margin], words })
}

fn range([low, high]: [f64; 2]) -> String {
    format!("{low:.3} to {high:.3}")
}

/// The figures of two cells in the same blocks, each divided by its parts.
fn pairs(left: &Cell, right: &Cell, of_left: f64, of_right: f64) -> Vec<(f64, f64)> {
    left.blocks
        .iter()
        .zip(&left.samples)
        .filter_map(|(block, figure)| {
            let at = right.blocks.iter().position(|other| other == block)?;
            Some((figure / of_left, right.samples.get(at)? / of_right))
        })
        .collect()
}

/// A cell in a few words.
fn described(part: &CellPart) -> String {
    let mut words = format!("{} {} {}", part.network, part.workload, part.metric);
    let shape = part.shape.to_string();
    let parameters = part.parameters.iter().map(|(name, value)| format!("{name}={}", bare(value)));
    let telling: Vec<String> =
        std::iter::once(shape).chain(parameters).filter(|text| !text.is_empty()).collect();
    if !telling.is_empty() {
        words.push_str(&format!(" ({})", telling.join(",")));
    }
    words
}
