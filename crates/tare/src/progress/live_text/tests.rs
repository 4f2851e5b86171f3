//! Tests of the table's text, at the widths of usual terminals.

use super::super::test_plan::{plan, transactions, trial};
use super::*;
use proptest::prelude::*;
use tare_record::{NetworkFailure, Phase, Shape};

const NETWORKS: [&str; 4] = ["host", "veth", "bridge-plain", "published"];

/// Returns a table after this many blocks, while `bridge-plain` is measured in round trips.
fn table(blocks: u32) -> LiveTable {
    let plan = plan(&NETWORKS);
    let mut table = LiveTable::new(&plan, true);
    for block in 0..blocks {
        let more = u64::from(block % 3);
        for (label, megabytes) in NETWORKS.into_iter().zip([500, 460, 410, 498]) {
            table.add_trial(&trial(label, block, Phase::Main, megabytes + more));
            table.add_trial(&transactions(label, block, megabytes * 10 + 60 * more));
        }
    }
    table.add_failure(&NetworkFailure {
        network: "published".to_owned(),
        shape: Some(Shape::default()),
        workload: Some("tcp-rr".to_owned()),
        ..NetworkFailure::default()
    });
    table.start_trial(&plan.networks[2], &plan.workloads[1], &plan.shapes[0]);
    table
}

const TITLE: &str = "tare live · block 4 of 10 · 24s of about 1m20s";
const KEYS: &str = "q stop and report   p pause";

fn text(table: &mut LiveTable, columns: usize, rows: usize) -> String {
    let lines = live_text(table, TITLE, KEYS, TerminalSize { columns, rows });
    lines.iter().map(|line| line.text() + "\n").collect()
}

#[test]
fn at_140_columns_verdicts_are_words() {
    assert_eq!(
        text(&mut table(3), 140, 40),
        "\
tare live · block 4 of 10 · 24s of about 1m20s
tcp-rr over published ██████████ 51000 1/s
                 tcp-stream                       ▶ tcp-rr
  network        throughput, Gbit/s               transactions, 1/s
  host           40.08 ± 0.5 % baseline           50600 ± 2.9 % baseline
  veth           0.920× ± 0.0 % slower            0.921× ± 0.3 % slower
▶ bridge-plain   0.820× ± 0.1 % slower            0.822× ± 0.6 % slower
  published      0.996× ± 0.0 % slower-slightly   failed

q stop and report   p pause
"
    );
}

#[test]
fn at_80_columns_verdicts_are_words_if_they_fit() {
    let shown = text(&mut table(3), 80, 24);
    assert!(shown.contains("▶ bridge-plain   0.820× ± 0.1 % slower"), "{shown}");
    let narrow = text(&mut table(3), 60, 24);
    assert!(narrow.contains("▶ bridge-plain   ▼ 0.820× ± 0.1 %   "), "{narrow}");
    assert!(narrow.contains(LEGEND.split(" =").next().unwrap()), "{narrow}");
}

#[test]
fn a_table_without_a_trial_has_all_networks() {
    assert_eq!(
        text(&mut table(0), 80, 24),
        "\
tare live · block 4 of 10 · 24s of about 1m20s

                 tcp-stream           ▶ tcp-rr
  network        throughput, Gbit/s   transactions, 1/s
  host           …                    …
  veth           …                    …
▶ bridge-plain   …                    …
  published      …                    failed

q stop and report   p pause
"
    );
}

#[test]
fn the_baseline_and_what_is_measured_are_shown_where_not_all_fit() {
    let shown = text(&mut table(3), 38, 9);
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[2].contains("▶ tcp-rr") && !shown.contains("tcp-stream  "), "{shown}");
    assert!(shown.contains("  host ") && shown.contains("▶ bridge-plain"), "{shown}");
    assert!(shown.contains("  and 2 networks, 1 workload"), "{shown}");
}

proptest! {
    #[test]
    fn no_line_is_as_wide_as_the_terminal_and_no_table_as_high(
        columns in 1usize..200,
        rows in 1usize..60,
        blocks in 0u32..4,
        labels in prop::collection::vec(".{1,40}", 1..30),
    ) {
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        let plan = plan(&labels);
        let mut table = LiveTable::new(&plan, true);
        for block in 0..blocks {
            labels.iter().for_each(|label| table.add_trial(&trial(label, block, Phase::Main, 7)));
        }
        table.start_trial(&plan.networks[plan.networks.len() - 1], &plan.workloads[1], &plan.shapes[0]);
        let lines = live_text(&mut table, TITLE, KEYS, TerminalSize { columns, rows });
        prop_assert!(lines.iter().all(|line| line.width() < columns));
        prop_assert!(lines.len() <= rows.saturating_sub(1).max(1));
    }
}
