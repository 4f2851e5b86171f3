//! From two sides' figures of a cell to the change between them.

use super::session::Figures;
use crate::verdict::{LEVEL, read};
use tare_record::{Beside, Better, Change, ComparedCell, Metric, Regression, Side, Withheld};
use tare_stats::Contrast;
use tare_stats::holm::holm;

/// A cell of both sides that waits for the number of its neighbours.
pub(super) struct Draft {
    pub(super) cell: ComparedCell,
    contrast: Option<Contrast>,
}

impl Draft {
    /// The cell of these two sides.
    pub(super) fn of(figures: &Figures, base: Option<Side>, new: Option<Side>) -> Self {
        let scale = Scale::of(figures.key.metric, figures.better);
        let contrast = base
            .as_ref()
            .zip(new.as_ref())
            .and_then(|(base, new)| Contrast::of(&scale.all(base), &scale.all(new)));
        let withheld = withheld(base.as_ref(), new.as_ref(), contrast.is_some());
        let cell = ComparedCell {
            cell: figures.key.clone(),
            unit: figures.unit.clone(),
            better: figures.better,
            margin: figures.margin,
            base,
            new,
            change: None,
            withheld: withheld.map(|reason| Withheld { reason: reason.to_owned() }),
            outcome: None,
        };
        Self { cell, contrast }
    }
}

fn withheld(base: Option<&Side>, new: Option<&Side>, told: bool) -> Option<&'static str> {
    match (base, new) {
        (Some(_), Some(_)) if told => None,
        (Some(_), Some(_)) => {
            Some("one figure a side has no interval: measure more blocks, or more runs a side")
        }
        _ => Some("a figure is 0, and has no ratio"),
    }
}

/// On which scale a metric is compared: that of logarithms, or its own where nought is a usual figure.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    beside: Beside,
    better: Better,
}

impl Scale {
    pub(super) fn of(metric: Metric, better: Better) -> Self {
        Self { beside: metric.beside(), better }
    }

    fn all(self, side: &Side) -> Vec<f64> {
        let of = |sample: &f64| match self.beside {
            Beside::Ratio => sample.ln(),
            Beside::Difference => *sample,
        };
        side.samples.iter().map(of).collect()
    }

    /// A distance on the scale as users see it: a ratio, or a difference. JSON has no infinity.
    fn shown(self, distance: f64) -> f64 {
        match self.beside {
            Beside::Ratio => distance.exp().clamp(f64::MIN_POSITIVE, f64::MAX),
            Beside::Difference => distance,
        }
    }

    /// How much worse a distance is, as a share of the base side's figure, or in points.
    fn regression(self, distance: f64) -> f64 {
        match (self.beside, self.better) {
            (Beside::Ratio, Better::Higher) => -distance.exp_m1().min(f64::MAX),
            (Beside::Ratio, Better::Lower) => distance.exp_m1().min(f64::MAX),
            (Beside::Difference, Better::Higher) => -distance,
            (Beside::Difference, Better::Lower) => distance,
        }
    }

    /// The distance at which a regression is this limit (a share of 1; hundredths of it are points).
    fn limit(self, limit: f64) -> f64 {
        match (self.beside, self.better) {
            (Beside::Ratio, Better::Higher) => (-limit).ln_1p(),
            (Beside::Ratio, Better::Lower) => limit.ln_1p(),
            (Beside::Difference, Better::Higher) => -limit * 100.0,
            (Beside::Difference, Better::Lower) => limit * 100.0,
        }
    }

    /// The regression of a contrast, its lower bound of this confidence, and what could have been detected.
    fn judged(self, contrast: &Contrast, confidence: f64, limit: f64) -> Regression {
        let detectable = contrast.detectable(confidence);
        // Worse is to the left where more is better, so the bounds change places.
        let (lower, upper, detected) = match self.better {
            Better::Higher => (
                contrast.upper(confidence),
                contrast.lower(1.0 - LEVEL),
                self.limit(limit) - detectable,
            ),
            Better::Lower => (
                contrast.lower(confidence),
                contrast.upper(1.0 - LEVEL),
                self.limit(limit) + detectable,
            ),
        };
        Regression {
            value: self.regression(contrast.value),
            lower: self.regression(lower),
            upper: self.regression(upper),
            detectable: self.regression(detected),
        }
    }
}

/// The cells with their changes: p-values corrected over all of them, bounds adjusted for those that are judged.
pub(super) fn finish(drafts: Vec<Draft>, judged: &[bool], limit: Option<f64>) -> Vec<ComparedCell> {
    let told: Vec<Contrast> = drafts.iter().filter_map(|draft| draft.contrast).collect();
    let mut adjusted = holm(&told.iter().map(Contrast::p).collect::<Vec<_>>()).into_iter();
    let of_judged =
        drafts.iter().zip(judged).filter(|(draft, judged)| **judged && draft.contrast.is_some());
    let confidence = 1.0 - LEVEL / of_judged.count().max(1) as f64;
    let limit = limit.unwrap_or(0.0);
    drafts
        .into_iter()
        .map(|draft| {
            let mut cell = draft.cell;
            cell.change = draft.contrast.and_then(|contrast| {
                Some(change(&cell, &contrast, adjusted.next()?, confidence, limit))
            });
            cell
        })
        .collect()
}

fn change(
    cell: &ComparedCell,
    contrast: &Contrast,
    p_adjusted: f64,
    confidence: f64,
    limit: f64,
) -> Change {
    let scale = Scale::of(cell.cell.metric, cell.better);
    let shown = |interval: [f64; 2]| interval.map(|end| scale.shown(end));
    let (value, ci90) = (scale.shown(contrast.value), shown(contrast.interval(0.90)));
    let ratio = scale.beside == Beside::Ratio;
    Change {
        value,
        difference: !ratio,
        ci90,
        ci95: shown(contrast.interval(0.95)),
        p: contrast.p(),
        p_adjusted,
        verdict: ratio.then(|| read(value, ci90, cell.margin, p_adjusted, cell.better)),
        regression: scale.judged(contrast, confidence, limit),
    }
}
