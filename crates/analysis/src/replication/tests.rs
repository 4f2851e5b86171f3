//! Tests of published figures and conclusions beside simulated runs of known truth.

use super::*;
use crate::document;
use crate::test_data::{journal, plan, trial, workload};
use tare_record::finding::SlowSender;
use tare_record::{
    AveragingUnit, CellRelation, Conclusion, ConclusionResult, ConclusionTest, DatagramCounts,
    Document, Finding, Metric, Shape, ShapePattern, Trial,
};

fn part(network: &str) -> CellPattern {
    CellPattern {
        network: network.to_owned(),
        workload: "iperf".to_owned(),
        metric: Metric::Throughput,
        shape: ShapePattern::default(),
        parameters: Default::default(),
        per: AveragingUnit::Run,
    }
}

fn figure(network: &str, value: f64) -> PublishedFigure {
    PublishedFigure {
        table: "then".to_owned(),
        cell: part(network),
        value: Some(value),
        row: None,
        unit: "Gbits/s".to_owned(),
        ratio: None,
        text: value.to_string(),
        printed: None,
        conflict: None,
        ambiguous: None,
    }
}

/// Returns a run of four blocks at 10, 8 and 6 Gbit/s, within one per cent, by a stand-in for iperf.
fn run_document(publication: Publication) -> Document {
    let networks = [("link", 10.0), ("bridge", 8.0), ("ovs", 6.0)];
    let mut stream = workload("tcp-stream", &[Metric::Throughput, Metric::LatencyP99]);
    stream.stands_for = Some("iperf".to_owned());
    let mut plan = plan(&networks.map(|(label, _)| label), vec![stream]);
    plan.publication = Some(publication);
    plan.skipped = vec![SkippedNetwork {
        network: "bridge/published".to_owned(),
        label: Some("iptables".to_owned()),
        reason: "this kernel has no nft_nat".to_owned(),
        remedy: "boot one that has".to_owned(),
    }];
    plan.shapes = vec![Shape { clients: 2, ..Shape::default() }];
    let mut trials: Vec<Trial> = Vec::new();
    for (label, level) in networks {
        for (block, wobble) in (0..).zip([0.99, 1.0, 1.01, 1.0]) {
            let bytes = (level * wobble * 1e9 / 80.0) as u64;
            let mut one = trial(label, block, &[bytes; 10]);
            one.shape.clients = 2;
            trials.push(one);
        }
    }
    document(&journal(plan, trials), None).unwrap()
}

#[test]
fn figures_stand_beside_figures_and_ratios_beside_ratios() {
    let mut figures = vec![figure("link", 12.0), figure("ovs", 13.2), figure("iptables", 10.0)];
    for figure in &mut figures {
        figure.cell.per = AveragingUnit::Container;
    }
    let rerun = run_document(Publication { figures, ..Publication::default() }).rerun.unwrap();
    let [link, ovs, iptables] = &rerun.figures[..] else { panic!("three figures") };
    assert_eq!(link.published_ratio, Some(1.0));
    assert!((ovs.published_ratio.unwrap() - 1.1).abs() < 1e-12);
    let measured = ovs.measured.unwrap();
    assert!((measured.value - 3.0).abs() < 0.01, "of two containers each: {measured:?}");
    assert!((measured.ratio.unwrap() - 0.6).abs() < 0.01);
    assert_eq!((link.measured.unwrap().ratio, iptables.measured), (Some(1.0), None));
    let absent = "iptables was not measured: this kernel has no nft_nat: boot one that has";
    assert_eq!(iptables.absent.as_deref(), Some(absent));
    assert!(rerun.ranks.is_empty(), "two networks have no order worth telling");
}

#[test]
fn a_cell_without_a_figure_says_why() {
    let mut withheld = figure("link", 12.0);
    withheld.cell.metric = Metric::LatencyP99;
    let mut unmeasured = figure("link", 12.0);
    unmeasured.cell.metric = Metric::Loss;
    let figures = vec![withheld, unmeasured];
    let rerun = run_document(Publication { figures, ..Publication::default() }).rerun.unwrap();
    let absent: Vec<&str> = rerun.figures.iter().filter_map(|one| one.absent.as_deref()).collect();
    assert_eq!(absent, ["no trial recorded a value of latency_p99", "the run has no such cell"]);
}

#[test]
fn orders_agree_or_do_not() {
    let tau = |figures: Vec<PublishedFigure>| {
        let rerun = run_document(Publication { figures, ..Publication::default() }).rerun.unwrap();
        assert_eq!(rerun.ranks.len(), 1);
        rerun.ranks[0].clone()
    };
    let same = tau(vec![figure("link", 3.0), figure("bridge", 2.0), figure("ovs", 1.0)]);
    assert_eq!(
        (same.tau, same.networks),
        (1.0, ["link", "bridge", "ovs"].map(str::to_owned).to_vec())
    );
    assert!((same.chance - 1.0 / 6.0).abs() < 1e-12);
    assert_eq!(tau(vec![figure("link", 1.0), figure("bridge", 2.0), figure("ovs", 3.0)]).tau, -1.0);
}

#[test]
fn a_row_that_two_networks_share_is_in_an_order_once() {
    let mut figures = vec![figure("link", 3.0), figure("bridge", 2.0), figure("ovs", 2.0)];
    for shared in &mut figures[1..] {
        shared.row = Some("Docker bridge".to_owned());
    }
    let rerun = run_document(Publication { figures, ..Publication::default() }).rerun.unwrap();
    assert!(rerun.ranks.is_empty(), "two rows have no order: {:?}", rerun.ranks);
    assert!(rerun.figures.iter().all(|figure| figure.measured.is_some()), "each has its figure");
}

#[test]
fn a_ratio_that_was_printed_without_a_figure_has_its_place_among_ratios() {
    let mut figures = vec![figure("link", 300.0), figure("bridge", 200.0), figure("ovs", 100.0)];
    for (one, ratio) in figures.iter_mut().zip([1.0, 0.7, 0.3]) {
        one.ratio = Some(ratio);
    }
    figures[0].value = None;
    let rerun = run_document(Publication { figures, ..Publication::default() }).rerun.unwrap();
    assert_eq!(rerun.ranks[0].tau, 1.0, "{:?}", rerun.ranks);
}

#[test]
fn conclusions_hold_fail_or_cannot_be_decided() {
    let test = |network: &str, is, right: Option<&str>, times, value| ConclusionTest {
        left: part(network),
        is,
        right: right.map(part),
        times,
        value,
        margin: None,
    };
    let result = |tests: Vec<ConclusionTest>| {
        let claim = "as they said".to_owned();
        let conclusions = vec![Conclusion { claim, by: None, tests, note: None }];
        let rerun =
            run_document(Publication { conclusions, ..Publication::default() }).rerun.unwrap();
        rerun.conclusions[0].clone()
    };
    use CellRelation::{Above, Below, Within};
    let holds = |tests| result(tests).result;
    assert_eq!(holds(vec![test("link", Above, Some("ovs"), None, None)]), ConclusionResult::Holds);
    assert_eq!(holds(vec![test("link", Below, Some("ovs"), None, None)]), ConclusionResult::Fails);
    assert_eq!(
        holds(vec![test("ovs", Within, Some("link"), Some(0.6), None)]),
        ConclusionResult::Holds
    );
    assert_eq!(holds(vec![test("ovs", Within, Some("link"), None, None)]), ConclusionResult::Fails);
    assert_eq!(holds(vec![test("bridge", Above, None, None, Some(7.0))]), ConclusionResult::Holds);
    // Right at the border nothing is beyond doubt.
    assert_eq!(
        holds(vec![test("bridge", Above, None, None, Some(8.0))]),
        ConclusionResult::Undecidable
    );
    // But what is the same in every block is not above: two networks that lose nothing lose alike.
    assert_eq!(holds(vec![test("link", Above, Some("link"), None, None)]), ConclusionResult::Fails);
    let missing = result(vec![
        test("link", Above, Some("ovs"), None, None),
        test("weave", Below, Some("ovs"), None, None),
    ]);
    assert_eq!(missing.result, ConclusionResult::Undecidable);
    assert!(missing.evidence[1].contains("weave was not measured"), "{missing:?}");
    assert_eq!(holds(Vec::new()), ConclusionResult::Undecidable);
}

/// Returns the results of these tests on a run in which the network `link` loses 1 % of its datagrams and `ovs` 4 %,
/// within a tenth of a point. The senders offer this share of the rate.
fn loss_results(offered: f64, tests: Vec<ConclusionTest>) -> Vec<ConclusionResult> {
    let conclusion = |test| Conclusion {
        claim: "as they said".to_owned(),
        by: None,
        tests: vec![test],
        note: None,
    };
    let conclusions = tests.into_iter().map(conclusion).collect();
    let mut plan = plan(&["link", "ovs"], vec![workload("udp-rate", &[Metric::Loss])]);
    plan.publication = Some(Publication { conclusions, ..Publication::default() });
    let mut trials: Vec<Trial> = Vec::new();
    for (label, lost) in [("link", 10), ("ovs", 40)] {
        for (block, wobble) in (0..).zip([0, 1, 0, 1]) {
            let mut one = trial(label, block, &[125_000; 10]);
            one.workload = "udp-rate".to_owned();
            if offered < 1.0 {
                one.findings
                    .push(Finding::SlowSender(SlowSender { asked: 1e4, offered: offered * 1e4 }));
            }
            for interval in &mut one.series[0].intervals {
                interval.datagrams = Some(DatagramCounts {
                    sent: 1000,
                    sent_bytes: 125_000,
                    received: 1000 - lost - wobble,
                    ..DatagramCounts::default()
                });
            }
            trials.push(one);
        }
    }
    let rerun = document(&journal(plan, trials), None).unwrap().rerun.unwrap();
    rerun.conclusions.iter().map(|conclusion| conclusion.result).collect()
}

#[test]
fn default_margin_of_a_share_in_percent_is_in_points() {
    let cell = |network: &str| CellPattern {
        workload: "udp-rate".to_owned(),
        metric: Metric::Loss,
        ..part(network)
    };
    let test = |right: Option<&str>, value, margin| ConclusionTest {
        left: cell("ovs"),
        is: CellRelation::Within,
        right: right.map(cell),
        times: None,
        value,
        margin,
    };
    let results = loss_results(
        1.0,
        vec![
            test(Some("link"), None, None),
            test(None, Some(1.0), None),
            // A margin of the conclusion itself is in points already.
            test(Some("link"), None, Some(2.0)),
            test(Some("link"), None, Some(5.0)),
            test(None, Some(12.0), None),
        ],
    );
    use ConclusionResult::{Fails, Holds};
    assert_eq!(results, [Holds, Holds, Fails, Holds, Fails]);
}

#[test]
fn a_loss_at_less_than_the_rate_is_at_most_the_loss_at_the_rate() {
    let test = |network, is, right: Option<&str>, value| ConclusionTest {
        left: CellPattern {
            workload: "udp-rate".to_owned(),
            metric: Metric::Loss,
            ..part(network)
        },
        is,
        right: right.map(|network| CellPattern {
            workload: "udp-rate".to_owned(),
            metric: Metric::Loss,
            ..part(network)
        }),
        times: None,
        value,
        margin: None,
    };
    use CellRelation::{Above, Below};
    use ConclusionResult::{Fails, Holds, Undecidable};
    let tests = || {
        vec![
            test("ovs", Above, None, Some(2.0)),
            test("ovs", Above, None, Some(9.0)),
            test("ovs", Below, None, Some(9.0)),
            test("ovs", Below, None, Some(2.0)),
            test("ovs", Above, Some("link"), None),
            test("link", Above, Some("ovs"), None),
        ]
    };
    assert_eq!(loss_results(1.0, tests()), [Holds, Fails, Holds, Fails, Holds, Fails]);
    let [slightly, far] = [0.97, 0.6].map(|offered| loss_results(offered, tests()));
    assert_eq!(slightly, [Holds, Undecidable, Holds, Fails, Holds, Undecidable]);
    assert_eq!(far, [Holds, Undecidable, Undecidable, Fails, Undecidable, Undecidable]);
}
