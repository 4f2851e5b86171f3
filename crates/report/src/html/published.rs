//! Figures that somebody published, beside the same measured here.

use super::data::{Datum, Table};
use super::element::Element;
use super::subject::grouped;
use crate::number;

/// A published figure with the one that was measured here.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// Who published it, where and when.
    pub source: String,
    /// What it is of: the network, the workload, the metric.
    pub what: String,
    /// The unit of both.
    pub unit: String,
    /// As it was published.
    pub published: f64,
    /// As it was measured here.
    pub measured: f64,
    /// The 95 % interval of what was measured.
    pub ci95: Option<[f64; 2]>,
}

/// The table of both; nothing where there is nothing to be beside.
pub(crate) fn table(rows: &[Published]) -> Option<Element> {
    if rows.is_empty() {
        return None;
    }
    let mut table = Table::new(["what", "published", "measured here", "unit", "source"]);
    for row in rows {
        let (mean, half) = number::measured(row.measured, row.ci95);
        let shown =
            half.map_or_else(|| grouped(&mean), |half| format!("{} ± {half}", grouped(&mean)));
        table.add(vec![
            row.what.as_str().into(),
            Datum::number(row.published, grouped(&number::measured(row.published, None).0)),
            Datum::number(row.measured, shown),
            row.unit.as_str().into(),
            row.source.as_str().into(),
        ]);
    }
    Some(
        Element::new("div")
            .class("scroll")
            .with("tabindex", 0)
            .push(table.render("Published and measured")),
    )
}
