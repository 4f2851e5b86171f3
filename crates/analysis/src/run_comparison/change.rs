//! Change of a cell from the base side to the new side.

use super::comparison_input::CellFigures;
use crate::compare::verdict::{TEST_LEVEL, verdict_of_interval};
use tare_record::{
    Better, CellChange, ComparedBy, ComparedCell, ComparedSide, Metric, RegressionEstimate,
    WithheldReason,
};
use tare_stats::Contrast;
use tare_stats::holm::holm;

/// Cell of both sides that waits for the correction over all cells.
pub(super) struct ComparedCellDraft {
    pub(super) cell: ComparedCell,
    contrast: Option<Contrast>,
}

impl ComparedCellDraft {
    /// Creates the draft of these two sides.
    pub(super) fn new(
        figures: &CellFigures,
        base: Option<ComparedSide>,
        new: Option<ComparedSide>,
    ) -> Self {
        let scale = ComparisonScale::for_metric(figures.key.metric, figures.better);
        let contrast = base.as_ref().zip(new.as_ref()).and_then(|(base, new)| {
            Contrast::from_samples(&scale.to_scale(base), &scale.to_scale(new))
        });
        let withheld = withheld_reason(base.as_ref(), new.as_ref(), contrast.is_some());
        let cell = ComparedCell {
            cell: figures.key.clone(),
            unit: figures.unit.clone(),
            better: figures.better,
            margin: figures.margin,
            base,
            new,
            change: None,
            withheld: withheld.map(|reason| WithheldReason { reason: reason.to_owned() }),
            outcome: None,
        };
        Self { cell, contrast }
    }
}

fn withheld_reason(
    base: Option<&ComparedSide>,
    new: Option<&ComparedSide>,
    told: bool,
) -> Option<&'static str> {
    match (base, new) {
        (Some(_), Some(_)) if told => None,
        (Some(_), Some(_)) => Some(
            "one figure on each side gives no interval: measure more blocks, or more runs on each side",
        ),
        _ => Some("a figure is 0, and has no ratio"),
    }
}

/// Comparison scale: logarithmic, or linear for metrics that are often zero.
#[derive(Clone, Copy)]
pub(super) struct ComparisonScale {
    beside: ComparedBy,
    better: Better,
}

impl ComparisonScale {
    pub(super) fn for_metric(metric: Metric, better: Better) -> Self {
        Self { beside: metric.compared_by(), better }
    }

    fn to_scale(self, side: &ComparedSide) -> Vec<f64> {
        let of = |sample: &f64| match self.beside {
            ComparedBy::Ratio => sample.ln(),
            ComparedBy::Difference => *sample,
        };
        side.samples.iter().map(of).collect()
    }

    /// Converts a distance on the scale to what users see: a ratio, or a difference. JSON has no infinity.
    fn to_display(self, distance: f64) -> f64 {
        match self.beside {
            ComparedBy::Ratio => distance.exp().clamp(f64::MIN_POSITIVE, f64::MAX),
            ComparedBy::Difference => distance,
        }
    }

    /// Returns the regression at a distance, as a share of the base side's figure, or in points.
    fn regression(self, distance: f64) -> f64 {
        match (self.beside, self.better) {
            (ComparedBy::Ratio, Better::Higher) => -distance.exp_m1().min(f64::MAX),
            (ComparedBy::Ratio, Better::Lower) => distance.exp_m1().min(f64::MAX),
            (ComparedBy::Difference, Better::Higher) => -distance,
            (ComparedBy::Difference, Better::Lower) => distance,
        }
    }

    /// Returns the distance at which a regression reaches this limit (a share of 1; a hundredth is a point).
    fn to_distance(self, limit: f64) -> f64 {
        match (self.beside, self.better) {
            (ComparedBy::Ratio, Better::Higher) => (-limit).ln_1p(),
            (ComparedBy::Ratio, Better::Lower) => limit.ln_1p(),
            (ComparedBy::Difference, Better::Higher) => -limit * 100.0,
            (ComparedBy::Difference, Better::Lower) => limit * 100.0,
        }
    }

    /// Returns the regression of a contrast, its bounds (the lower one of this confidence), and the detectable
    /// regression.
    fn to_regression(self, contrast: &Contrast, confidence: f64, limit: f64) -> RegressionEstimate {
        let detectable = contrast.detectable(confidence);
        // If more is better, worse is to the left, so the bounds change places.
        let (lower, upper, detected) = match self.better {
            Better::Higher => (
                contrast.upper(confidence),
                contrast.lower(1.0 - TEST_LEVEL),
                self.to_distance(limit) - detectable,
            ),
            Better::Lower => (
                contrast.lower(confidence),
                contrast.upper(1.0 - TEST_LEVEL),
                self.to_distance(limit) + detectable,
            ),
        };
        RegressionEstimate {
            value: self.regression(contrast.value),
            lower: self.regression(lower),
            upper: self.regression(upper),
            detectable: self.regression(detected),
        }
    }
}

/// Returns the cells with their changes: p-values are corrected over all cells, bounds are adjusted for the number of
/// judged cells.
pub(super) fn apply_corrections(
    drafts: Vec<ComparedCellDraft>,
    judged: &[bool],
    limit: Option<f64>,
) -> Vec<ComparedCell> {
    let told: Vec<Contrast> = drafts.iter().filter_map(|draft| draft.contrast).collect();
    let mut adjusted = holm(&told.iter().map(Contrast::p).collect::<Vec<_>>()).into_iter();
    let of_judged =
        drafts.iter().zip(judged).filter(|(draft, judged)| **judged && draft.contrast.is_some());
    let confidence = 1.0 - TEST_LEVEL / of_judged.count().max(1) as f64;
    let limit = limit.unwrap_or(0.0);
    drafts
        .into_iter()
        .map(|draft| {
            let mut cell = draft.cell;
            cell.change = draft.contrast.and_then(|contrast| {
                Some(cell_change(&cell, &contrast, adjusted.next()?, confidence, limit))
            });
            cell
        })
        .collect()
}

fn cell_change(
    cell: &ComparedCell,
    contrast: &Contrast,
    p_adjusted: f64,
    confidence: f64,
    limit: f64,
) -> CellChange {
    let scale = ComparisonScale::for_metric(cell.cell.metric, cell.better);
    let shown = |interval: [f64; 2]| interval.map(|end| scale.to_display(end));
    let (value, ci90) = (scale.to_display(contrast.value), shown(contrast.interval(0.90)));
    let ratio = scale.beside == ComparedBy::Ratio;
    CellChange {
        value,
        difference: !ratio,
        ci90,
        ci95: shown(contrast.interval(0.95)),
        p: contrast.p(),
        p_adjusted,
        verdict: ratio
            .then(|| verdict_of_interval(value, ci90, cell.margin, p_adjusted, cell.better)),
        regression: scale.to_regression(contrast, confidence, limit),
    }
}
