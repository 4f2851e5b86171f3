//! What programs and issue trackers read.

use crate::fixture::{eventful, quick};
use tare_record::{Cell, Document};
use tare_report::{csv, json, markdown};

/// Rows of a CSV text by column name.
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
