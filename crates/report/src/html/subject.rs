//! Subject of a set of figures: one workload in one shape.

use crate::shape_facts::SharedFacts;
use crate::{columns, number};
use tare_record::{Cell, Document, Metric, Plan, Shape, Verdict, WorkloadPlan};

/// Workload in one shape, with the cells of all networks.
pub(crate) struct Subject<'a> {
    /// Suffix of identifiers: `s1`.
    pub(crate) id: String,
    /// Workload, with the parameters that distinguish it from others of its name.
    pub(crate) workload: String,
    pub(crate) shape: &'a Shape,
    /// Workload and the facts that distinguish the shape from others, in words.
    pub(crate) heading: String,
    /// Cells, in the document's order.
    pub(crate) cells: Vec<&'a Cell>,
}

/// Collects the subjects of a document, in its order.
pub(crate) fn subjects<'a>(document: &'a Document, plan: &Plan) -> Vec<Subject<'a>> {
    let shared =
        SharedFacts::find(document.cells.iter().map(|cell| &cell.shape)).naming_nodes(document);
    let mut all: Vec<Subject<'a>> = Vec::new();
    for cell in document.cells.iter().filter(|cell| cell.scope == "aggregate") {
        let workload = WorkloadPlan::find(&plan.workloads, &cell.workload, &cell.parameters)
            .map_or_else(
                || cell.workload.clone(),
                |at| WorkloadPlan::distinct_name(&plan.workloads, at),
            );
        let known = all.iter_mut().find(|one| one.workload == workload && *one.shape == cell.shape);
        match known {
            Some(subject) => subject.cells.push(cell),
            None => all.push(Subject {
                id: format!("s{}", all.len() + 1),
                heading: heading(&workload, shared.differing(&cell.shape)),
                workload,
                shape: &cell.shape,
                cells: vec![cell],
            }),
        }
    }
    all
}

fn heading(workload: &str, facts: Vec<String>) -> String {
    let mut words = vec![workload.replace(',', ", ")];
    words.extend(facts);
    words.join(" · ")
}

impl<'a> Subject<'a> {
    /// Returns the metrics of the subject, in the document's order.
    pub(crate) fn metrics(&self) -> Vec<Metric> {
        let mut metrics = Vec::new();
        for cell in &self.cells {
            if !metrics.contains(&cell.metric) {
                metrics.push(cell.metric);
            }
        }
        metrics
    }

    /// Returns the cells of a metric.
    pub(crate) fn cells_of(&self, metric: Metric) -> Vec<&'a Cell> {
        self.cells.iter().filter(|cell| cell.metric == metric).copied().collect()
    }

    /// Returns true if this is the subject of the workload and the shape.
    pub(crate) fn matches(&self, workload: &str, shape: &Shape) -> bool {
        self.workload == workload && self.shape == shape
    }
}

/// Formats a figure with its interval: `26 ± 6`. A missing figure is a dash.
pub(crate) fn figure(cell: &Cell) -> String {
    let Some(mean) = cell.mean else {
        return columns::NOTHING.to_owned();
    };
    match number::figure(mean, cell.ci95, cell.n) {
        (mean, Some(half)) => format!("{} ± {}", group_thousands(&mean), group_thousands(&half)),
        (mean, None) => group_thousands(&mean),
    }
}

/// Formats a figure without its interval, but rounded by it: `26`. A missing figure is a dash.
pub(crate) fn mean(cell: &Cell) -> String {
    let mean = cell.mean.map(|mean| group_thousands(&number::figure(mean, cell.ci95, cell.n).0));
    mean.unwrap_or_else(|| columns::NOTHING.to_owned())
}

/// Formats a figure with its interval and its unit.
pub(crate) fn with_unit(cell: &Cell) -> String {
    match unit(cell) {
        "" => figure(cell),
        unit => format!("{} {unit}", figure(cell)),
    }
}

/// Returns the unit in words.
pub(crate) fn unit(cell: &Cell) -> &str {
    if cell.unit == "1/s" { "per second" } else { &cell.unit }
}

/// Formats the ratio or the difference to the baseline: `0.65×`, `+0.2`. Returns `None` if there is neither.
pub(crate) fn baseline_change(cell: &Cell) -> Option<String> {
    if let Some(ratio) = &cell.ratio {
        return Some(format!("{}×", number::ratio(ratio.value, ratio.ci95)));
    }
    cell.difference.as_ref().map(|difference| {
        let sign = if difference.value > 0.0 { "+" } else { "" };
        format!("{sign}{}", number::ratio(difference.value, difference.ci95)).replace('-', "−")
    })
}

/// Returns a verdict in words.
pub(crate) fn verdict_words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster",
        Verdict::FasterSlightly => "slightly faster",
        Verdict::Same => "same",
        Verdict::SlowerSlightly => "slightly slower",
        Verdict::Slower => "slower",
        Verdict::Unclear => "unclear",
    }
}

/// Groups the thousands of a number with narrow no-break spaces.
pub(crate) fn group_thousands(number: &str) -> String {
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

/// Returns the text of a figure's tooltip.
pub(crate) fn tooltip_text(cell: &Cell) -> String {
    let mut words = format!("{}: {} {}", cell.label, cell.metric, with_unit(cell));
    if let Some(beside) = baseline_change(cell) {
        words.push_str(&format!(", {beside}"));
    }
    if let Some(ratio) = &cell.ratio {
        let [low, high] = number::round_ends(ratio.ci95);
        words.push_str(&format!(
            " {} ({low}–{high}), {}",
            ratio.baseline,
            verdict_words(ratio.verdict)
        ));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart() {
        let of = |number: &str| group_thousands(number).replace('\u{202f}', " ");
        assert_eq!(
            [of("1234"), of("57412"), of("-1234567.25")],
            ["1234", "57 412", "−1 234 567.25"]
        );
    }
}
