//! Tables at several widths, of successful and failed runs.

use crate::fixture::{cell, document, eventful, quick, ratio};
use tare_record::finding::{FewSamples, OtherWork, WarmUpInfluence};
use tare_record::{
    Difference, Document, Family, Finding, Metric, Shape, StoppedBy, WithheldReason,
};
use tare_report::{NoteExtent, Style, table};

fn plain(document: &Document, width: u16) -> String {
    table(document, &Style { width, colour: false }, NoteExtent::All)
}

/// Returns the text without the headline and the notes below the tables.
fn tables_only(document: &Document, width: u16) -> String {
    let text = plain(document, width);
    let body: Vec<&str> = text.lines().skip(1).take_while(|line| !line.starts_with('±')).collect();
    body.join("\n")
}

#[test]
fn eight_networks_fit_eighty_columns() {
    insta::assert_snapshot!(plain(&quick(), 80));
}

#[test]
fn a_wide_terminal_shows_a_line_a_network() {
    insta::assert_snapshot!(plain(&quick(), 150));
}

#[test]
fn a_narrow_terminal_continues_columns_below() {
    insta::assert_snapshot!(plain(&quick(), 50));
}

/// Returns the median client's figure in a table of clients with these figures.
fn median_client(figures: &[f64]) -> String {
    let scoped = |scope: String, figure: f64| {
        let mut cell = cell("host", "tcp-stream", Metric::Throughput, figure, 0.0);
        cell.shape.clients = figures.len() as u32;
        cell.scope = scope;
        cell
    };
    let mut cells = vec![scoped("aggregate".to_owned(), 10.0), scoped("fairness".to_owned(), 0.9)];
    cells.extend((0..).zip(figures).map(|(at, &figure)| scoped(format!("client:{at}"), figure)));
    let text = tare_report::markdown(&document(cells));
    let rows: Vec<Vec<&str>> =
        text.lines().map(|line| line.split('|').map(str::trim).collect()).collect();
    let place = |row: &Vec<&str>| row.iter().position(|name| name.contains("median client"));
    let head = rows.iter().position(|row| place(row).is_some()).expect("a table of clients");
    let column = place(&rows[head]).expect("a column of the median");
    rows[head + 2][column].to_owned()
}

#[test]
fn median_of_an_even_number_of_clients_is_between_the_middle_two() {
    assert_eq!(median_client(&[1.0, 2.0, 4.0, 9.0]), "3.000");
    assert_eq!(median_client(&[1.0, 2.0, 9.0]), "2.000");
}

#[test]
fn no_table_is_wider_than_the_paper() {
    for width in 45..160 {
        let text = plain(&eventful(), width);
        for line in text.lines().take_while(|line| !line.starts_with("failed")) {
            assert!(line.chars().count() <= usize::from(width), "{width}: {line}");
            assert_eq!(line, line.trim_end());
        }
    }
}

#[test]
fn colours_add_nothing_but_colours() {
    let coloured = table(&eventful(), &Style { colour: true, ..Style::PLAIN }, NoteExtent::All);
    insta::assert_snapshot!(coloured.replace('\u{1b}', "␛"));
    let mut without = String::new();
    for (at, part) in coloured.split('\u{1b}').enumerate() {
        let words = if at == 0 { part } else { part.split_once('m').unwrap().1 };
        without.push_str(words);
    }
    assert_eq!(without, plain(&eventful(), Style::PLAIN.width));
}

#[test]
fn what_was_noticed_skipped_and_broken_is_said_once() {
    insta::assert_snapshot!(plain(&eventful(), 100));
}

#[test]
fn the_same_document_gives_the_same_bytes() {
    assert_eq!(plain(&eventful(), 100), plain(&eventful(), 100));
}

#[test]
fn nothing_measured_is_said() {
    let mut empty = document(Vec::new());
    empty.blocks = 0;
    empty.stopped_by = Some(StoppedBy::Failed);
    insta::assert_snapshot!(plain(&empty, 80), @r"
    quick · 0 blocks (ended: every network failed) · seed 42 · Linux
      6.1.0-13-amd64 · 2 cores

    Nothing was measured.
    ");
}

#[test]
fn one_network_alone_has_no_ratios() {
    let alone = document(vec![cell("veth", "tcp-stream", Metric::Throughput, 31.3, 0.33)]);
    insta::assert_snapshot!(plain(&alone, 80));
}

#[test]
fn an_interrupted_run_shows_what_it_has() {
    let mut interrupted = quick();
    interrupted.stopped_by = Some(StoppedBy::Interrupted);
    interrupted.blocks = 1;
    interrupted.cells.truncate(8);
    for cell in &mut interrupted.cells {
        (cell.n, cell.ci95, cell.ratio, cell.best) = (1, None, None, false);
    }
    insta::assert_snapshot!(plain(&interrupted, 80));
}

#[test]
fn an_unfinished_run_says_so() {
    let mut unfinished = quick();
    unfinished.stopped_by = None;
    assert!(plain(&unfinished, 100).starts_with("quick · 12 blocks (unfinished) ·"));
}

#[test]
fn withheld_percentiles_are_dashes_with_a_remedy_below() {
    let tail = |network: &str, beyond: u64| {
        let metric = Metric::LatencyP999;
        let mut cell = cell(network, "tcp-rr", metric, 0.0, 0.0);
        (cell.mean, cell.ci95, cell.n) = (None, None, 0);
        cell.withheld = Some(WithheldReason { reason: format!("only {beyond} samples beyond it") });
        cell.findings.push(Finding::FewSamples(FewSamples { metric, beyond, needed: 100 }));
        cell
    };
    let median = |network: &str| cell(network, "tcp-rr", Metric::LatencyP50, 16.384, 0.31);
    let cells = vec![median("host"), median("veth"), tail("host", 60), tail("veth", 41)];
    insta::assert_snapshot!(plain(&document(cells), 100));
}

#[test]
fn a_figure_that_no_trial_gave_is_explained() {
    let mut cells = vec![
        cell("host", "tcp-rr", Metric::LatencyP50, 16.384, 0.31),
        cell("veth", "tcp-rr", Metric::LatencyP50, 0.0, 0.0),
    ];
    (cells[1].mean, cells[1].ci95, cells[1].n) = (None, None, 0);
    cells[1].withheld = Some(WithheldReason { reason: "no trial recorded a value".to_owned() });
    let text = plain(&document(cells), 100);
    assert!(text.contains("\nveth      –\n"), "{text}");
    let note = "note: tcp-rr latency_p50 is withheld: no trial recorded a value (veth)\n";
    assert!(text.contains(note), "{text}");
}

#[test]
fn several_shapes_are_told_apart_by_what_differs() {
    let mut cells = Vec::new();
    for family in [Family::Ipv4, Family::Ipv6] {
        for (network, mean) in [("host", 34.2), ("veth", 31.3)] {
            let mut cell = cell(network, "tcp-stream", Metric::Throughput, mean, 0.33);
            (cell.shape.family, cell.shape.flows) = (family, 8);
            cells.push(cell);
        }
    }
    let document = document(cells);
    insta::assert_snapshot!(tables_only(&document, 80));
    assert!(
        plain(&document, 120).lines().next().unwrap().ends_with("2 cores · 8 flows · cpus spread")
    );
}

#[test]
fn several_sets_of_parameters_are_told_apart_by_what_differs() {
    let mut cells = Vec::new();
    for size in [1, 1400] {
        for (network, mean) in [("host", 57_412.0), ("veth", 52_500.0)] {
            let mut cell = cell(network, "tcp-rr", Metric::Transactions, mean, 900.0);
            cell.parameters.insert("size".to_owned(), size.into());
            cell.parameters.insert("nodelay".to_owned(), true.into());
            cells.push(cell);
        }
    }
    cells.push(cell("host", "tcp-stream", Metric::Throughput, 34.2, 0.33));
    insta::assert_snapshot!(tables_only(&document(cells), 80));
}

#[test]
fn a_label_that_is_no_network_shows_its_network() {
    let mut cells = vec![cell("bridge", "tcp-stream", Metric::Throughput, 28.8, 0.3)];
    cells[0].label = "a".to_owned();
    let text = plain(&document(cells), 80);
    assert!(text.contains("\na (bridge)  28.80 ± 0.30  "), "{text}");
}

#[test]
fn the_first_metric_orders_the_rows_and_what_has_no_figure_comes_last() {
    let figure = |network: &str, mean| cell(network, "tcp-rr", Metric::LatencyP50, mean, 0.5);
    let mut cells = vec![figure("gone", 1.0), figure("slow", 30.0), figure("quick", 10.0)];
    (cells[0].mean, cells[0].ci95) = (None, None);
    let text = plain(&document(cells), 80);
    let at = |network: &str| text.find(&format!("\n{network} ")).unwrap();
    assert!(at("quick") < at("slow") && at("slow") < at("gone"), "{text}");
}

#[test]
fn fewer_figures_than_blocks_are_noted() {
    let mut short = quick();
    short.cells[4].n = 7;
    assert!(plain(&short, 100).contains("note: fewer figures than 12 blocks: veth 7\n"));
}

#[test]
fn verdicts_within_the_margin_are_explained_where_they_occur() {
    let mut cells = vec![
        cell("host", "tcp-stream", Metric::Throughput, 34.2, 0.3),
        cell("shared", "tcp-stream", Metric::Throughput, 33.8, 0.3),
    ];
    cells[1].ratio = Some(ratio(Metric::Throughput, 0.988, 0.006));
    let text = plain(&document(cells), 100);
    assert!(text.contains("0.988× slower-slightly █"), "{text}");
    assert!(
        text.contains("…-slightly: by less than the margin · margins: 2 % for throughput\n"),
        "{text}"
    );
    assert!(!text.contains("unclear"), "{text}");
}

#[test]
fn a_difference_stands_where_a_ratio_has_no_meaning() {
    let mut cells = vec![
        cell("host", "udp-rate", Metric::Throughput, 1.0, 0.01),
        cell("veth", "udp-rate", Metric::Throughput, 1.2, 0.01),
    ];
    let baseline = "host".to_owned();
    cells[1].difference = Some(Difference { baseline, value: 0.2, ci95: [0.18, 0.22] });
    let text = plain(&document(cells), 100);
    assert!(text.contains("\nveth     1.200 ± 0.010   +0.200   "), "{text}");
    assert!(text.contains("+/- the difference to host, in points"), "{text}");
}

#[test]
fn a_figure_without_a_ratio_says_so() {
    let mut document = quick();
    let veth = document.cells.iter_mut().find(|cell| cell.label == "veth").unwrap();
    veth.ratio = None;
    assert!(plain(&document, 150).contains("\nveth          31.30 ± 0.33   no ratio"));
}

#[test]
fn findings_of_one_kind_are_told_once_at_their_worst() {
    let mut document = quick();
    for cell in &mut document.cells {
        if cell.metric == Metric::Throughput && cell.label.starts_with("bridge") {
            let uncut = if cell.label == "bridge" { 27.5 } else { 28.8 };
            cell.findings.push(Finding::WarmUpInfluence(WarmUpInfluence { uncut, cut: 28.9 }));
        }
        if cell.label == "shared" {
            cell.findings.push(Finding::OtherWork(OtherWork { share: 0.05 }));
        }
    }
    let text = plain(&document, 100);
    let notes: Vec<&str> = text.lines().filter(|line| line.starts_with("note: tcp")).collect();
    assert_eq!(
        notes,
        [
            "note: tcp-stream, tcp-rr over shared: other programs took 5 % of the CPU",
            "note: tcp-stream throughput over bridge, bridge-plain: at worst, the warm-up changes the figure: \
             27.5000 with the warm-up, 28.9000 without",
        ]
    );
}

#[test]
fn long_names_of_workloads_do_not_run_into_each_other() {
    let cells = ["a-workload-with-a-long-name", "another"]
        .map(|workload| cell("host", workload, Metric::Throughput, 34.2, 0.3));
    let text = plain(&document(cells.to_vec()), 100);
    assert!(text.contains("         a-workload-with-a-long-name  another\n"), "{text}");
}

#[test]
fn curves_of_one_workload_with_different_parameters_are_told_apart() {
    let mut cells = Vec::new();
    for size in [1, 1400] {
        for clients in [1, 8] {
            let mut one = cell("bridge", "tcp-rr", Metric::Transactions, 1000.0, 10.0);
            one.shape = Shape { clients, ..Shape::default() };
            one.parameters.insert("size".to_owned(), size.into());
            one.parameters.insert("mode".to_owned(), "poll".into());
            cells.push(one);
        }
    }
    let text = plain(&document(cells), 100);
    for heading in ["by clients, size 1\n", "by clients, size 1400\n"] {
        assert!(text.contains(heading), "{heading}: {text}");
    }
}
