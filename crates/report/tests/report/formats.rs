//! Output for programs and issue trackers.

use crate::fixture::{eventful, quick};
use tare_record::{Cell, Document, Metric};
use tare_report::{csv, json, markdown, openmetrics};

/// Parses the rows of a CSV text, by column name.
fn parsed(text: &str) -> Vec<std::collections::HashMap<String, String>> {
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    reader.deserialize().map(Result::unwrap).collect()
}

#[test]
fn json_reads_back_as_the_same_document() {
    let document = eventful();
    let text = json(&document).unwrap();
    assert_eq!(serde_json::from_str::<Document>(&text).unwrap(), document);
    assert!(text.starts_with("{\n  \"tare\": \"0.1.0\",\n  \"study\": \"quick\","));
    assert!(text.ends_with("}\n"));
}

#[test]
fn csv_has_every_cell_in_full_precision() {
    let document = eventful();
    let rows = parsed(&csv(&document).unwrap());
    assert_eq!(rows.len(), document.cells.len());
    for (row, cell) in rows.iter().zip(&document.cells) {
        assert_eq!(row["label"], cell.label);
        assert_eq!(row["metric"], cell.metric.name());
        assert_eq!(row["mean"].parse::<f64>().ok(), cell.mean);
        assert_eq!(row["ci95_high"].parse::<f64>().ok(), cell.ci95.map(|ci| ci[1]));
        assert_eq!(row["ratio"].parse::<f64>().ok(), cell.ratio.as_ref().map(|ratio| ratio.value));
        assert_eq!(row["findings"].is_empty(), cell.findings.is_empty());
        let samples: Vec<f64> =
            row["samples"].split("; ").map(|one| one.parse().unwrap()).collect();
        assert_eq!(samples, cell.samples);
    }
}

#[test]
fn every_figure_stands_under_its_name_in_csv() {
    let mut document = quick();
    document.cells.retain(|cell| cell.ratio.is_some());
    let cell = &mut document.cells[0];
    let means = (Some(10.0), Some(11.0), Some(12.0));
    (cell.mean, cell.median, cell.uncut_mean) = means;
    (cell.ci95, cell.n) = (Some([8.0, 9.0]), 7);
    let ratio = cell.ratio.as_mut().unwrap();
    (ratio.value, ratio.ci90, ratio.ci95) = (1.5, [1.3, 1.7], [1.2, 1.8]);
    (ratio.p, ratio.p_adjusted, ratio.margin) = (0.01, 0.02, 0.03);
    let row = parsed(&csv(&document).unwrap()).remove(0);
    for (column, expected) in [
        ("n", 7.0),
        ("mean", 10.0),
        ("median", 11.0),
        ("uncut_mean", 12.0),
        ("ci95_low", 8.0),
        ("ci95_high", 9.0),
        ("ratio", 1.5),
        ("ratio_ci90_low", 1.3),
        ("ratio_ci90_high", 1.7),
        ("ratio_ci95_low", 1.2),
        ("ratio_ci95_high", 1.8),
        ("p", 0.01),
        ("p_adjusted", 0.02),
        ("margin", 0.03),
    ] {
        assert_eq!(row[column].parse(), Ok(expected), "{column}");
    }
}

/// Figures of the export are the document's in base units: bits per second and seconds.
#[test]
fn openmetrics_are_in_base_units() {
    let document = quick();
    let text = openmetrics(&document);
    assert!(text.ends_with("# EOF\n"));
    for (metric, name, divisor) in [
        (Metric::Throughput, "tare_throughput_bits_per_second{", 1e-9),
        (Metric::Transactions, "tare_transactions_per_second{", 1.0),
        (Metric::LatencyP99, "tare_latency_p99_seconds{", 1e6),
    ] {
        let of_metric = document.cells.iter().filter(|cell| cell.metric == metric);
        let expected: Vec<f64> = of_metric.filter_map(|cell| cell.mean).collect();
        let lines = text.lines().filter(|line| line.starts_with(name));
        let means = lines.filter(|line| line.contains("estimate=\"mean\""));
        let found: Vec<f64> =
            means.map(|line| line.rsplit_once(' ').unwrap().1.parse().unwrap()).collect();
        assert!(!expected.is_empty() && found.len() == expected.len(), "{metric}: {text}");
        for (found, expected) in found.iter().zip(&expected) {
            assert!((found * divisor / expected - 1.0).abs() < 1e-9, "{metric}: {found}");
        }
    }
}

#[test]
fn csv_keeps_parameters_and_awkward_text_whole() {
    let mut document = quick();
    document.cells.truncate(1);
    let cell: &mut Cell = &mut document.cells[0];
    cell.label = "a, \"b\"\nc".to_owned();
    cell.parameters.insert("size".to_owned(), 131_072.into());
    let rows = parsed(&csv(&document).unwrap());
    assert_eq!(rows[0]["label"], "a, \"b\"\nc");
    assert_eq!(rows[0]["parameters"], r#"{"size":131072}"#);
}

#[test]
fn csv_of_nothing_is_its_heading() {
    let mut document = quick();
    document.cells.clear();
    let text = csv(&document).unwrap();
    assert_eq!(text.lines().count(), 1);
    assert!(text.starts_with("network,label,workload,scope,nodes,"));
}

#[test]
fn markdown_is_the_table_with_pipes() {
    insta::assert_snapshot!(markdown(&eventful()));
}

#[test]
fn markdown_obeys_nothing_in_a_reason() {
    let mut document = quick();
    document.skipped = eventful().skipped;
    document.skipped[0].reason = "<img src=x> a|b *c* `d`".to_owned();
    let line = "- skipped ovs: &lt;img src=x&gt; a\\|b \\*c\\* \\`d\\`; sudo modprobe openvswitch";
    assert!(markdown(&document).contains(line));
}
