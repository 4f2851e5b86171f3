//! OpenMetrics text of a run, which Prometheus reads, e.g. from a file by node_exporter's textfile collector.
//!
//! Every metric of the run is a gauge in base units (bits per second, seconds, ratios from 0 to 1), as
//! <https://prometheus.io/docs/practices/naming/> recommends. The format is
//! <https://prometheus.io/docs/specs/om/open_metrics_spec/>.

use std::fmt::Write as _;
use tare_record::{Cell, Document, Metric, Verdict, visible_text};

/// Returns the base unit of a metric, as part of its name, and the factor from the document's unit.
fn base_unit(metric: Metric) -> (&'static str, f64) {
    match metric.unit() {
        "Gbit/s" => ("bits_per_second", 1e9),
        "µs" => ("seconds", 1e-6),
        "ms" => ("seconds", 1e-3),
        "%" => ("ratio", 1e-2),
        "s/GB" => ("seconds_per_byte", 1e-9),
        // Counts have no base unit: the metric's name already ends in the thing that is counted.
        "cycles" | "instructions" | "ports" => (metric.name(), 1.0),
        _ => ("per_second", 1.0),
    }
}

/// Verdicts, the states of the state set.
const VERDICTS: [Verdict; 6] = [
    Verdict::Faster,
    Verdict::FasterSlightly,
    Verdict::Same,
    Verdict::SlowerSlightly,
    Verdict::Slower,
    Verdict::Unclear,
];

/// Formats the document as OpenMetrics text: means and ratios with their confidence intervals, verdicts, and
/// information on the run.
#[must_use]
pub fn openmetrics(document: &Document) -> String {
    let mut out = String::new();
    info(document, &mut out);
    for metric in Metric::ALL {
        let cells = document.cells.iter().filter(|cell| cell.metric == metric);
        let cells: Vec<&Cell> = cells.filter(|cell| cell.mean.is_some()).collect();
        if !cells.is_empty() {
            figures(metric, &cells, &mut out);
        }
    }
    ratios(document, &mut out);
    verdicts(document, &mut out);
    let _ = writeln!(out, "# TYPE tare_blocks gauge\n# HELP tare_blocks Whole blocks measured.");
    let _ = writeln!(out, "tare_blocks {}", document.blocks);
    out.push_str("# EOF\n");
    out
}

/// Writes the study, the seed, the version and the kernel as an info metric.
fn info(document: &Document, out: &mut String) {
    let environment = &document.environment;
    let labels = labels(&[
        ("study", &document.study),
        ("seed", &document.seed.to_string()),
        ("version", &document.tare),
        ("kernel", &environment.kernel),
        ("architecture", &environment.architecture),
    ]);
    let _ =
        writeln!(out, "# TYPE tare_run info\n# HELP tare_run Study, seed and machine of the run.");
    let _ = writeln!(out, "tare_run_info{labels} 1");
}

fn figures(metric: Metric, cells: &[&Cell], out: &mut String) {
    let (unit, factor) = base_unit(metric);
    let stem = metric.name().replace('.', "_");
    let stem =
        ["_per_second", "_ms"].iter().find_map(|own| stem.strip_suffix(own)).unwrap_or(&stem);
    let name = if stem == unit { format!("tare_{unit}") } else { format!("tare_{stem}_{unit}") };
    let _ = writeln!(out, "# TYPE {name} gauge\n# UNIT {name} {unit}");
    let _ =
        writeln!(out, "# HELP {name} {metric}: mean over blocks, and bounds of its 95 % interval.");
    for cell in cells {
        let ends = cell.ci95.map_or([None, None], |[low, high]| [Some(low), Some(high)]);
        for (estimate, value) in [("mean", cell.mean), ("low", ends[0]), ("high", ends[1])] {
            if let Some(value) = value {
                let _ = writeln!(
                    out,
                    "{name}{} {}",
                    of_cell(cell, &[("estimate", estimate)]),
                    value * factor
                );
            }
        }
    }
}

fn ratios(document: &Document, out: &mut String) {
    let name = "tare_beside_baseline_ratio";
    let _ = writeln!(out, "# TYPE {name} gauge\n# UNIT {name} ratio");
    let _ = writeln!(
        out,
        "# HELP {name} Ratio of a network’s figure to the baseline’s, and bounds of its 95 % interval."
    );
    for cell in &document.cells {
        let Some(ratio) = &cell.ratio else { continue };
        let [low, high] = ratio.ci95;
        for (estimate, value) in [("mean", ratio.value), ("low", low), ("high", high)] {
            let more = [
                ("metric", cell.metric.name()),
                ("baseline", &ratio.baseline),
                ("estimate", estimate),
            ];
            let _ = writeln!(out, "{name}{} {value}", of_cell(cell, &more));
        }
    }
}

fn verdicts(document: &Document, out: &mut String) {
    let name = "tare_verdict";
    let _ = writeln!(out, "# TYPE {name} stateset");
    let _ = writeln!(out, "# HELP {name} Verdict on a network compared with the baseline.");
    for cell in &document.cells {
        let Some(ratio) = &cell.ratio else { continue };
        for verdict in VERDICTS {
            let state = verdict.to_string();
            let more = [("metric", cell.metric.name()), (name, state.as_str())];
            let set = u8::from(verdict == ratio.verdict);
            let _ = writeln!(out, "{name}{} {set}", of_cell(cell, &more));
        }
    }
}

/// Formats the labels of a cell, with more labels after them.
fn of_cell(cell: &Cell, more: &[(&str, &str)]) -> String {
    let shape = &cell.shape;
    let numbers = [
        ("nodes", shape.nodes),
        ("servers", shape.servers),
        ("clients", shape.clients),
        ("processes", shape.processes),
        ("flows", shape.flows),
        ("mtu", shape.mtu),
    ]
    .map(|(name, value)| (name, value.to_string()));
    let (family, cpus) = (shape.family.to_string(), shape.cpus.to_string());
    let parameters = serde_json::to_string(&cell.parameters).unwrap_or_default();
    let mut all: Vec<(&str, &str)> = vec![
        ("network", &cell.label),
        ("workload", &cell.workload),
        ("scope", &cell.scope),
        ("family", &family),
        ("cpus", &cpus),
        ("parameters", &parameters),
    ];
    all.extend(numbers.iter().map(|(name, value)| (*name, value.as_str())));
    all.extend(more);
    labels(&all)
}

/// Formats labels, with escaped values.
fn labels(all: &[(&str, &str)]) -> String {
    let one = |(name, value): &(&str, &str)| {
        // The format has no escape for control characters.
        let value = visible_text(value);
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        format!("{name}=\"{value}\"")
    };
    format!("{{{}}}", all.iter().map(one).collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped() {
        assert_eq!(labels(&[("a", "x\"y\\z\n")]), r#"{a="x\"y\\z\n"}"#);
        assert_eq!(labels(&[("a", "\u{1b}[2J")]), r#"{a="\\u001b[2J"}"#);
    }

    #[test]
    fn every_unit_has_a_base_unit() {
        for metric in Metric::ALL {
            let (unit, _) = base_unit(metric);
            assert_eq!(unit == "per_second", metric.unit() == "1/s", "{metric}: {}", metric.unit());
        }
    }
}
