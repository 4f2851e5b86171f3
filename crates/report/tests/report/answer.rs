//! Sentences above the tables: what costs what, how sure, why.

use crate::fixture::{cell, document, eventful, quick, ratio};
use tare_record::finding::{
    AblationEffects, SoftirqConcentration, UnsettledTrials, UserspaceForwarding,
};
use tare_record::{
    AblationEffect, AblationFactor, Cell, Difference, Document, Finding, Hop, HopKind, Metric,
    UnaccountedGap, Verdict,
};
use tare_report::{NoteExtent, Style, markdown, table};

/// Returns the sentences of a document, in their order.
pub(crate) fn sentences(document: &Document) -> Vec<String> {
    let text = table(document, &Style { width: u16::MAX, colour: false }, NoteExtent::All);
    let is_sentence = |line: &&str| line.starts_with('`') || line.starts_with("The path");
    text.lines().filter(is_sentence).map(str::to_owned).collect()
}

/// Makes a baseline cell of `host` and a cell of a network with this ratio to it, half the interval's width and the
/// verdict.
fn pair(network: &str, workload: &str, metric: Metric, value: f64, half: f64) -> Vec<Cell> {
    vec![
        cell("host", workload, metric, 100.0, 1.0),
        beside_host(network, workload, metric, value, half),
    ]
}

/// Makes a cell of a network with this ratio to `host` and half the interval's width.
pub(crate) fn beside_host(
    network: &str,
    workload: &str,
    metric: Metric,
    value: f64,
    half: f64,
) -> Cell {
    let mut cell = cell(network, workload, metric, 100.0 * value, 1.0);
    cell.ratio = Some(ratio(metric, value, half));
    cell
}

/// Makes a cell with a difference from `host` in points.
pub(crate) fn difference(network: &str, workload: &str, metric: Metric, ci95: [f64; 2]) -> Cell {
    let mut cell = cell(network, workload, metric, 1.0, 0.1);
    let (baseline, value) = ("host".to_owned(), f64::midpoint(ci95[0], ci95[1]));
    cell.difference = Some(Difference { baseline, value, ci95 });
    cell
}

fn effect(factor: AblationFactor, ratio: f64, half: f64) -> AblationEffect {
    AblationEffect { factor, ratio, ci95: [ratio - half, ratio + half], n: 12 }
}

#[test]
fn costs_come_first_and_alike_networks_share_a_sentence() {
    insta::assert_snapshot!(sentences(&quick()).join("\n"), @"
    `published` costs 20.8 ± 0.6 % of throughput and 21 ± 1 % of round trips, and adds 26 ± 4 % to the 99th percentile of round trips against `host`.
    `bridge` costs 15.7 ± 0.6 % of throughput and 16 ± 1 % of round trips, and adds 19 ± 4 % to the 99th percentile of round trips against `host`.
    `bridge-plain` costs 13.9 ± 0.6 % of throughput and 14 ± 1 % of round trips, and adds 16 ± 4 % to the 99th percentile of round trips against `host`.
    `veth` costs 8.5 ± 0.6 % of throughput and 8 ± 1 % of round trips against `host`.
    `native`, `loopback` and `shared` cost nothing against `host` that this run could see (throughput within ± 1.1 %, round trips within ± 1.6 %).
    ");
}

#[test]
fn the_terminal_markdown_and_the_page_begin_alike() {
    let document = quick();
    let text = markdown(&document);
    let page = crate::page::page(&document, &crate::page::picture());
    for sentence in sentences(&document) {
        assert!(text.contains(&format!("- {sentence}\n")), "{text}");
        let (mut marked, mut is_open) = (String::new(), false);
        for c in sentence.chars() {
            match c {
                '`' => {
                    marked.push_str(if is_open { "</strong>" } else { "<strong>" });
                    is_open = !is_open;
                }
                c => marked.push(c),
            }
        }
        let marked = marked.replace(" %", "\u{a0}%").replace(" ± ", "\u{a0}±\u{a0}");
        assert!(page.contains(&format!("<p>{marked}</p>")), "{marked}");
    }
}

#[test]
fn each_verdict_has_its_words() {
    let told = |metric: Metric, value: f64, half: f64| {
        let sentences = sentences(&document(pair("veth", "tcp-rr", metric, value, half)));
        assert_eq!(sentences.len(), 1, "{sentences:?}");
        sentences[0].clone()
    };
    let rate = Metric::Transactions;
    assert_eq!(told(rate, 0.785, 0.021), "`veth` costs 21 ± 2 % of round trips against `host`.");
    assert_eq!(told(rate, 1.2, 0.02), "`veth` gains 20 ± 2 % in round trips against `host`.");
    assert_eq!(
        told(rate, 0.98, 0.005),
        "`veth` costs a slight 2.0 ± 0.5 % of round trips against `host`."
    );
    assert_eq!(
        told(rate, 1.0, 0.01),
        "`veth` costs nothing against `host` that this run could see (round trips within ± 1.0 %)."
    );
    assert_eq!(told(rate, 1.0, 0.12), "`veth` could not be told from `host` (round trips ± 12 %).");
    assert_eq!(told(rate, 3.5, 0.2), "`veth` multiplies round trips by 3.5 ± 0.2 against `host`.");
    assert_eq!(
        told(Metric::LatencyP50, 1.12, 0.011),
        "`veth` adds 12 ± 1 % to the median round trip against `host`."
    );
    assert_eq!(
        told(Metric::LatencyP50, 0.8, 0.011),
        "`veth` takes 20 ± 1 % off the median round trip against `host`."
    );
    assert_eq!(
        told(Metric::LatencyP99, 3.5, 0.2),
        "`veth` multiplies the 99th percentile of round trips by 3.5 ± 0.2 against `host`."
    );
    assert_eq!(
        told(Metric::CpuPerOp, 1.5, 0.05),
        "`veth` needs 50 ± 5 % more CPU time per round trip against `host`."
    );
}

#[test]
fn a_wide_interval_is_told_as_a_range() {
    let mut cells = pair("veth", "tcp-stream", Metric::Throughput, 0.7, 0.2);
    let ratio = cells[1].ratio.as_mut().unwrap();
    (ratio.verdict, ratio.ci95) = (Verdict::Slower, [0.5, 0.93]);
    assert_eq!(
        sentences(&document(cells)),
        ["`veth` costs 7 to 50 % of throughput against `host`."]
    );
}

#[test]
fn loss_is_told_in_points() {
    let told = |ci95: [f64; 2]| {
        let cells = vec![
            cell("host", "udp-rate", Metric::Throughput, 1.0, 0.01),
            beside_host("veth", "udp-rate", Metric::Throughput, 1.0, 0.001),
            cell("host", "udp-rate", Metric::Loss, 0.0, 0.0),
            difference("veth", "udp-rate", Metric::Loss, ci95),
        ];
        sentences(&document(cells)).join("\n")
    };
    assert_eq!(
        told([0.9, 1.5]),
        "`veth` loses 1.2 ± 0.3 points more of its datagrams against `host`."
    );
    assert_eq!(
        told([-1.5, -0.9]),
        "`veth` loses 1.2 ± 0.3 points fewer of its datagrams against `host`."
    );
    assert_eq!(
        told([-0.1, 0.2]),
        "`veth` costs nothing against `host` that this run could see (loss within ± 0.2 points)."
    );
    assert_eq!(
        told([0.0, 0.0]),
        "`veth` costs nothing against `host` that this run could see (loss within ± 0.1 points)."
    );
    assert_eq!(told([-3.0, 4.0]), "`veth` could not be told from `host` (loss ± 4 points).");
}

#[test]
fn a_rate_that_was_requested_is_no_result() {
    let mut cells = pair("veth", "tcp-rr", Metric::Transactions, 1.0, 0.001);
    cells.extend(pair("veth", "tcp-rr", Metric::LatencyP50, 1.2, 0.02));
    for cell in &mut cells {
        cell.parameters.insert("open_loop".to_owned(), 500.into());
    }
    assert_eq!(
        sentences(&document(cells)),
        ["`veth` adds 20 ± 2 % to the median round trip against `host`."]
    );
}

#[test]
fn the_tail_and_the_cpu_time_are_told_where_they_differ() {
    let mut cells = pair("veth", "tcp-rr", Metric::Transactions, 1.0, 0.001);
    cells.extend(pair("veth", "tcp-rr", Metric::LatencyP99, 1.5, 0.05));
    cells.extend(pair("veth", "tcp-rr", Metric::CpuPerOp, 1.5, 0.05));
    assert_eq!(
        sentences(&document(cells.clone())),
        [
            "`veth` adds 50 ± 5 % to the 99th percentile of round trips and costs nothing in round trips (within ± 0.1 %) against `host`."
        ]
    );
    cells.retain(|cell| cell.metric != Metric::LatencyP99);
    assert_eq!(
        sentences(&document(cells)),
        [
            "`veth` needs 50 ± 5 % more CPU time per round trip and costs nothing in round trips (within ± 0.1 %) against `host`."
        ]
    );
}

#[test]
fn workloads_with_one_metric_are_named() {
    let mut cells = pair("veth", "tcp-rr", Metric::Transactions, 0.8, 0.01);
    cells.extend(pair("veth", "udp-rr", Metric::Transactions, 0.9, 0.01));
    assert_eq!(
        sentences(&document(cells)),
        [
            "`veth` costs 20 ± 1 % of tcp-rr round trips and 10 ± 1 % of udp-rr round trips against `host`."
        ]
    );
    let mut cells = Vec::new();
    for (size, value) in [(1, 0.8), (1400, 0.9)] {
        let mut pair = pair("veth", "tcp-rr", Metric::LatencyP50, 1.0 / value, 0.01);
        for cell in &mut pair {
            cell.parameters.insert("size".to_owned(), size.into());
        }
        cells.extend(pair);
    }
    assert_eq!(
        sentences(&document(cells)),
        [
            "`veth` adds 25 ± 1 % to the median round trip (size 1) and 11 ± 1 % to the median round trip (size 1400) against `host`."
        ]
    );
}

#[test]
fn effects_of_single_changes_are_reasons_if_they_exclude_0() {
    let mut cells = pair("bridge", "tcp-stream", Metric::Throughput, 0.79, 0.02);
    cells[0].hops = vec![Hop::new(HopKind::Loopback, "lo", "node-0")];
    cells[1].hops = vec![
        Hop::new(HopKind::Veth, "eth0", "client-0"),
        Hop::new(HopKind::Bridge, "docker0", "node-0"),
        Hop::new(HopKind::Nat, "nat/DOCKER", "node-0"),
        Hop::new(HopKind::Veth, "eth0", "server-0"),
    ];
    let ablated = Finding::AblationEffects(AblationEffects {
        effects: vec![
            effect(AblationFactor::Netfilter, 1.10, 0.02),
            effect(AblationFactor::Conntrack, 1.05, 0.01),
            effect(AblationFactor::Tso, 0.4, 0.1),
            effect(AblationFactor::Rps, 1.1, 0.2),
        ],
        unaccounted: Some(UnaccountedGap {
            baseline: "host".to_owned(),
            gap: 1.0 / 0.79,
            counted: vec![AblationFactor::Netfilter],
            ratio: 1.15,
            ci95: [1.13, 1.17],
            n: 12,
        }),
    });
    cells[1].findings.push(ablated);
    // The variant explains the network, and is none under comparison.
    cells.push(beside_host("bridge+plain", "tcp-stream", Metric::Throughput, 0.87, 0.02));
    let told = sentences(&document(cells.clone()));
    assert_eq!(
        told,
        [
            "`bridge` costs 21 ± 2 % of throughput against `host`: its netfilter rules 8 ± 2 points, of which connection tracking 4.0 ± 0.8 points, the rest of its path (veth pair, bridge) 13 ± 2 points."
        ]
    );
    let Some(Finding::AblationEffects(AblationEffects { effects, .. })) =
        cells[1].findings.first_mut()
    else {
        panic!()
    };
    effects[0].ci95 = [0.99, 1.21];
    assert_eq!(
        sentences(&document(cells)),
        [
            "`bridge` costs 21 ± 2 % of throughput against `host`: connection tracking 4.0 ± 0.8 points."
        ]
    );
}

#[test]
fn a_cause_of_two_costs_is_named_once() {
    let mut cells = pair("bridge", "tcp-stream", Metric::Throughput, 0.8, 0.01);
    cells.extend(pair("bridge", "tcp-rr", Metric::LatencyP50, 1.25, 0.01));
    for (at, ratio) in [(1, 1.1), (3, 0.9)] {
        let effects = vec![effect(AblationFactor::Netfilter, ratio, 0.01)];
        cells[at]
            .findings
            .push(Finding::AblationEffects(AblationEffects { effects, unaccounted: None }));
    }
    assert_eq!(
        sentences(&document(cells)),
        [
            "`bridge` costs 20 ± 1 % of throughput and adds 25 ± 1 % to the median round trip against `host`: its \
             netfilter rules 8.0 ± 0.8 points of throughput and 12 ± 1 points of the median round trip."
        ]
    );
}

#[test]
fn a_sentence_keeps_the_six_largest_differences() {
    let workload = |at: u32| {
        let value = 0.5 + 0.05 * f64::from(at);
        pair("veth", &format!("{at}-rr"), Metric::Transactions, value, 0.005)
    };
    let told = sentences(&document((0..8).flat_map(workload).collect()));
    assert!(told[0].contains("50.0 ± 0.5 % of 0-rr round trips"), "{told:?}");
    assert!(!told[0].contains("6-rr") && told[0].contains("5-rr"), "{told:?}");
    assert!(told[0].ends_with(" (2 more differences are in the table)."), "{told:?}");
}

#[test]
fn conditions_are_reasons_unless_the_baseline_has_them_too() {
    let mut cells = pair("ovs-user", "tcp-stream", Metric::Throughput, 0.4, 0.02);
    let userspace = Finding::UserspaceForwarding(UserspaceForwarding {
        program: "ovs-vswitchd".to_owned(),
        cores: 0.9,
    });
    let one_core =
        Finding::SoftirqConcentration(SoftirqConcentration { core: 1, share: 0.95, others: 0.02 });
    cells[0].findings.push(one_core.clone());
    cells[1].findings =
        vec![one_core, userspace, Finding::UnsettledTrials(UnsettledTrials { trials: 1, of: 12 })];
    assert_eq!(
        sentences(&document(cells)),
        [
            "`ovs-user` costs 60 ± 2 % of throughput against `host`: its packets pass through user space (ovs-vswitchd)."
        ]
    );
}

#[test]
fn a_network_without_a_baseline_is_told_in_figures() {
    let alone = vec![
        cell("veth", "tcp-stream", Metric::Throughput, 31.3, 0.33),
        cell("veth", "tcp-rr", Metric::Transactions, 15_000.0, 500.0),
        cell("veth", "tcp-rr", Metric::LatencyP50, 35.0, 1.8),
    ];
    assert_eq!(
        sentences(&document(alone)),
        [
            "`veth` carries 31.30 ± 0.33 Gbit/s, completes 15000 ± 500 round trips per second and takes 35.0 ± 1.8 µs for the median round trip."
        ]
    );
    let mut path = vec![cell("probe", "tcp-stream", Metric::Throughput, 9.4, 0.02)];
    path[0].label = "192.0.2.7".to_owned();
    assert_eq!(
        sentences(&document(path)),
        ["The path to `192.0.2.7` carries 9.400 ± 0.020 Gbit/s."]
    );
    let two = ["veth", "bridge"].map(|name| cell(name, "tcp-rr", Metric::LatencyP50, 35.0, 1.0));
    assert_eq!(
        sentences(&document(two.to_vec())),
        [
            "`veth` takes 35.0 ± 1.0 µs for the median round trip; `bridge` takes 35.0 ± 1.0 µs for the median round trip."
        ]
    );
}

#[test]
fn failed_networks_and_those_without_a_ratio_are_named() {
    let mut document = eventful();
    document.cells.retain(|cell| cell.workload == "tcp-stream");
    document.cells.iter_mut().find(|cell| cell.label == "veth").unwrap().ratio = None;
    let told = sentences(&document);
    let last = &told[told.len() - 2..];
    assert_eq!(
        last,
        [
            "`veth` has no figure that can be compared with that of `host`.",
            "`published` failed: the reason is below."
        ]
    );
}

#[test]
fn each_shape_has_its_heading_and_its_answer() {
    let mut all = quick();
    let more = all.cells.clone().into_iter().map(|mut cell| {
        cell.shape.clients = 2;
        cell
    });
    all.cells.extend(more.collect::<Vec<_>>());
    let text = table(&all, &Style { width: 120, colour: false }, NoteExtent::All);
    for clients in ["1 client", "2 clients"] {
        assert_eq!(text.matches(&format!("\n{clients}\n\n`published` costs")).count(), 1, "{text}");
    }
}
