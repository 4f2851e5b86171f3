//! What a set of figures is about: one workload in one shape.

use crate::sections::telling_facts;
use crate::{columns, number};
use tare_record::{Cell, Document, Metric, Plan, Shape, Verdict, WorkloadPlan};

/// One workload in one shape, with the figures of all networks together.
pub(crate) struct Subject<'a> {
    /// Stands in identifiers: `s1`.
    pub(crate) id: String,
    /// The workload, with the parameters that tell it from others of its name.
    pub(crate) workload: String,
    pub(crate) shape: &'a Shape,
    /// The workload, and what tells the shape from others, in words.
    pub(crate) heading: String,
    /// Its cells, in the document's order.
    pub(crate) cells: Vec<&'a Cell>,
}

/// The subjects of a document, in its order.
pub(crate) fn subjects<'a>(document: &'a Document, plan: &Plan) -> Vec<Subject<'a>> {
    let mut all: Vec<Subject<'a>> = Vec::new();
    for cell in document.cells.iter().filter(|cell| cell.scope == "aggregate") {
        let workload = WorkloadPlan::find(&plan.workloads, &cell.workload, &cell.parameters)
            .map_or_else(|| cell.workload.clone(), |at| WorkloadPlan::variant(&plan.workloads, at));
        let known = all.iter_mut().find(|one| one.workload == workload && *one.shape == cell.shape);
        match known {
            Some(subject) => subject.cells.push(cell),
            None => all.push(Subject {
                id: format!("s{}", all.len() + 1),
                heading: heading(&workload, &cell.shape, document),
                workload,
                shape: &cell.shape,
                cells: vec![cell],
            }),
        }
    }
    all
}

fn heading(workload: &str, shape: &Shape, document: &Document) -> String {
    let mut words = vec![workload.replace(',', ", ")];
    words.extend(telling_facts(shape, || document.cells.iter().map(|cell| &cell.shape)));
    words.join(" · ")
}

impl<'a> Subject<'a> {
    /// Its metrics, in the document's order.
    pub(crate) fn metrics(&self) -> Vec<Metric> {
        let mut metrics = Vec::new();
        for cell in &self.cells {
            if !metrics.contains(&cell.metric) {
                metrics.push(cell.metric);
            }
        }
        metrics
    }

    /// The cells of a metric.
    pub(crate) fn of(&self, metric: Metric) -> Vec<&'a Cell> {
        self.cells.iter().filter(|cell| cell.metric == metric).copied().collect()
    }

    /// Whether something of this workload in this shape is meant.
    pub(crate) fn is(&self, workload: &str, shape: &Shape) -> bool {
        self.workload == workload && self.shape == shape
    }
}

/// A figure with its interval: `26 ± 6`; a dash where there is none.
pub(crate) fn figure(cell: &Cell) -> String {
    let Some(mean) = cell.mean else {
        return columns::NOTHING.to_owned();
    };
    match number::measured(mean, cell.ci95) {
        (mean, Some(half)) => format!("{} ± {}", grouped(&mean), grouped(&half)),
        (mean, None) => grouped(&mean),
    }
}

/// A figure as it is rounded beside its interval: `26`; a dash where there is none.
pub(crate) fn mean(cell: &Cell) -> String {
    let mean = cell.mean.map(|mean| grouped(&number::measured(mean, cell.ci95).0));
    mean.unwrap_or_else(|| columns::NOTHING.to_owned())
}

/// A figure with its interval and its unit.
pub(crate) fn with_unit(cell: &Cell) -> String {
    match unit(cell) {
        "" => figure(cell),
        unit => format!("{} {unit}", figure(cell)),
    }
}

/// The unit as it is read aloud.
pub(crate) fn unit(cell: &Cell) -> &str {
    if cell.unit == "1/s" { "per second" } else { &cell.unit }
}

/// What is said of a figure beside the baseline: `0.65×`, `+0.2`; nothing where nothing is.
pub(crate) fn beside(cell: &Cell) -> Option<String> {
    if let Some(ratio) = &cell.ratio {
        return Some(format!("{}×", number::ratio(ratio.value, ratio.ci95)));
    }
    cell.difference.as_ref().map(|difference| {
        let sign = if difference.value > 0.0 { "+" } else { "" };
        format!("{sign}{}", number::ratio(difference.value, difference.ci95)).replace('-', "−")
    })
}

/// A verdict in few words.
pub(crate) fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster",
        Verdict::FasterSlightly => "slightly faster",
        Verdict::Same => "same",
        Verdict::SlowerSlightly => "slightly slower",
        Verdict::Slower => "slower",
        Verdict::Unclear => "unclear",
    }
}

/// A number with its thousands apart, by a narrow blank that does not break.
pub(crate) fn grouped(number: &str) -> String {
    let (whole, rest) = number.split_once('.').map_or((number, None), |(w, r)| (w, Some(r)));
    let digits = whole.trim_start_matches('-');
    let mut out = String::new();
    if digits.len() < whole.len() {
        out.push('−');
    }
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && digits.len() > 4 && (digits.len() - at) % 3 == 0 {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    if let Some(rest) = rest {
        out.push('.');
        out.push_str(rest);
    }
    out
}

/// All that a reader is told who points at a figure.
pub(crate) fn told(cell: &Cell) -> String {
    let mut words = format!("{}: {} {}", cell.label, cell.metric, with_unit(cell));
    if let Some(beside) = beside(cell) {
        words.push_str(&format!(", {beside}"));
    }
    if let Some(ratio) = &cell.ratio {
        let [low, high] = number::ends(ratio.ci95);
        words.push_str(&format!(" {} ({low}–{high}), {}", ratio.baseline, verdict(ratio.verdict)));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart() {
        let of = |number: &str| grouped(number).replace('\u{202f}', " ");
        assert_eq!(
            [of("1234"), of("57412"), of("-1234567.25")],
            ["1234", "57 412", "−1 234 567.25"]
        );
    }
}
