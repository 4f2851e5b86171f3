//! Tests of captions, footnotes, the grouping of figures into tables, and the order.

use super::*;
use tare_record::{
    CellPattern, FigureProvenance, Metric, Nanos, Parameters, ProtocolScale, PublishedFigure,
    ShapePattern, Verdict,
};

/// Returns a published figure of a network with so many clients, measured in three blocks.
fn pair(network: &str, clients: u32) -> FigurePair {
    FigurePair {
        published: PublishedFigure {
            table: "Results".to_owned(),
            cell: CellPattern {
                network: network.to_owned(),
                workload: "iperf".to_owned(),
                metric: Metric::Throughput,
                shape: ShapePattern {
                    nodes: Some(1),
                    clients: Some(clients),
                    ..Default::default()
                },
                parameters: Parameters::new(),
                per: AveragingUnit::Run,
            },
            value: Some(4.0),
            row: None,
            unit: "Gb/s".to_owned(),
            ratio: None,
            text: "~4 Gb/s".to_owned(),
            printed: Some("~4".to_owned()),
            conflict: None,
            ambiguous: None,
        },
        published_ratio: Some(0.5),
        measured: Some(MeasuredFigure {
            value: 8.0,
            ci95: Some([7.9, 8.1]),
            n: 3,
            ratio: Some(0.75),
            ratio_ci95: Some([0.74, 0.76]),
            verdict: Some(Verdict::Slower),
        }),
        provenance: Some(FigureProvenance {
            workload: "iperf".to_owned(),
            duration: Nanos(2_000_000_000),
            slice: None,
        }),
        unit: "Gbit/s".to_owned(),
        absent: None,
    }
}

fn rerun(figures: Vec<FigurePair>) -> Replication {
    Replication {
        question: None,
        scale: ProtocolScale::Scaled,
        protocol: Vec::new(),
        figures,
        ranks: Vec::new(),
        conclusions: Vec::new(),
    }
}

fn only_table(figures: Vec<FigurePair>) -> FigureComparison {
    let mut tables = comparisons(&rerun(figures));
    assert_eq!(tables.len(), 1);
    tables.remove(0)
}

/// Returns the texts of the first column.
fn names(table: &FigureComparison) -> Vec<String> {
    let cells = table.grid.names.cells.iter();
    cells.map(|pieces| pieces.iter().map(|piece| piece.text.as_str()).collect()).collect()
}

#[test]
fn figures_of_one_table_workload_and_unit_are_together() {
    let mut other_table = pair("ovs", 1);
    other_table.published.table = "More results".to_owned();
    let mut other_unit = pair("bridge", 1);
    other_unit.published.unit = "Mb/s".to_owned();
    // The figures of a table need not follow one another.
    let all = vec![pair("bridge", 1), other_table, other_unit, pair("ovs", 1)];
    let tables = comparisons(&rerun(all));
    let of = |table: &FigureComparison| (table.heading.clone(), names(table));
    let words = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        tables.iter().map(of).collect::<Vec<_>>(),
        [
            ("Results".to_owned(), words(&["bridge", "ovs"])),
            ("More results".to_owned(), words(&["ovs"])),
            ("Results".to_owned(), words(&["bridge"])),
        ]
    );
}

#[test]
fn a_caption_says_what_all_rows_share_and_a_row_the_rest() {
    let table = only_table(vec![pair("bridge", 1), pair("bridge", 4)]);
    assert_eq!(table.caption, "iperf · throughput · nodes=1 · here: trials of 2s · 3 blocks");
    assert_eq!(names(&table), ["bridge clients=1", "bridge clients=4"]);
    let mut alone = pair("bridge", 1);
    alone.published.cell.per = AveragingUnit::Process;
    alone.provenance.as_mut().unwrap().workload = "tcp-stream".to_owned();
    let table = only_table(vec![alone]);
    assert_eq!(
        table.caption,
        "iperf · throughput · nodes=1 · clients=1 · average of a client process · \
         here: tcp-stream in its place, trials of 2s · 3 blocks"
    );
}

#[test]
fn a_caption_says_nothing_of_a_run_that_rows_do_not_share() {
    let mut longer = pair("ovs", 1);
    longer.provenance.as_mut().unwrap().duration = Nanos(5_000_000_000);
    longer.measured.as_mut().unwrap().n = 5;
    let table = only_table(vec![pair("bridge", 1), longer]);
    assert_eq!(table.caption, "iperf · throughput · nodes=1 · clients=1");
}

#[test]
fn two_blocks_have_no_interval_and_the_caption_says_so() {
    let mut few = pair("bridge", 1);
    few.measured.as_mut().unwrap().n = 2;
    let table = only_table(vec![few]);
    assert!(table.caption.ends_with("2 blocks: no interval"), "{}", table.caption);
}

#[test]
fn a_remark_is_a_footnote_once_and_its_rows_have_its_mark() {
    let with_conflict = |network: &str, text: &str| {
        let mut one = pair(network, 1);
        one.published.conflict = Some(text.to_owned());
        one
    };
    let mut both = with_conflict("ovs", "9 elsewhere");
    (both.measured, both.absent) = (None, Some("ovs was not measured".to_owned()));
    let rows = vec![with_conflict("bridge", "9 elsewhere"), pair("link", 1), both];
    let table = only_table(rows);
    assert_eq!(table.footnotes, ["[1] conflict: 9 elsewhere", "[2] ovs was not measured"]);
    assert_eq!(names(&table), ["bridge [1]", "link", "ovs [1] [2]"]);
    assert!(table.is_measured);
}

#[test]
fn a_doubt_of_all_rows_is_in_the_caption_and_one_of_some_is_a_footnote() {
    let doubtful = |network: &str| {
        let mut one = pair(network, 1);
        one.published.ambiguous = Some("GB or Gb".to_owned());
        one
    };
    let shared = only_table(vec![doubtful("bridge"), doubtful("ovs")]);
    assert!(shared.caption.ends_with("in doubt: GB or Gb"), "{}", shared.caption);
    assert!(shared.footnotes.is_empty());
    let single = only_table(vec![doubtful("bridge"), pair("ovs", 1)]);
    assert!(!single.caption.contains("in doubt"), "{}", single.caption);
    assert_eq!(single.footnotes, ["[1] in doubt: GB or Gb"]);
}

#[test]
fn the_order_names_a_column_by_what_the_others_have_not() {
    let rank = |column: &str, tau| RankAgreement {
        table: "Results".to_owned(),
        column: column.to_owned(),
        networks: Vec::new(),
        tau,
        chance: 0.25,
    };
    let mut replication = rerun(vec![pair("bridge", 1)]);
    replication.ranks = vec![
        rank("iperf throughput, clients=1", 1.0),
        rank("iperf throughput, clients=4", 0.5),
        rank("ping latency_p50, clients=4", 0.0),
    ];
    let order = comparisons(&replication)[0].order.clone().unwrap();
    assert!(order.ends_with("clients=1 1.00 (25 %); clients=4 0.50 (25 %)"), "{order}");
}
