//! HTML page of made-up runs.

use crate::fixture::{NETWORKS, eventful, quick};
use crate::markup::read;
use std::collections::BTreeSet;
use tare_dev::{made_up_plan, made_up_workload};
use tare_record::journal::{FORMAT, RunHeader};
use tare_record::{
    BlockPolicy, CellPattern, ChartData, ConclusionResult, CpuCost, Document, Environment,
    FigurePair, Hop, HopKind, LatencyDistribution, LatencyHistogram, LatencyKind, Metric, Nanos,
    Parameters, Plan, ProtocolScale, PublishedFigure, Replication, Shape, TestedConclusion,
    TrialTimeline, WorkUnit, WorkloadPlan,
};
use tare_report::{Page, bundle, html};

fn plan(document: &Document) -> Plan {
    let workload = |name: &str| WorkloadPlan {
        interval: Nanos(10_000_000),
        ..made_up_workload(name, &[Metric::Throughput])
    };
    let networks: Vec<&str> = NETWORKS.iter().map(|(name, _)| *name).collect();
    Plan {
        study: document.study.clone(),
        seed: document.seed,
        baseline: "host".to_owned(),
        blocks: BlockPolicy::Fixed { blocks: 12 },
        ..made_up_plan(&networks, vec![workload("tcp-stream"), workload("tcp-rr")])
    }
}

fn run(document: &Document) -> RunHeader {
    let environment = Environment {
        command: vec!["run".to_owned(), "--quick".to_owned()],
        time: "2026-11-21T18:00:00Z".to_owned(),
        ..document.environment.clone()
    };
    RunHeader { format: FORMAT, plan: plan(document), environment, findings: Vec::new() }
}

/// Makes latencies, time series and CPU time of every network.
pub(crate) fn picture() -> ChartData {
    let mut picture = ChartData::default();
    for (at, (label, factor)) in (0u64..).zip(NETWORKS) {
        let nanos = (0..5_000u64).map(|n| 20_000 + at * 500 + n * n % 9_973);
        picture.distributions.push(LatencyDistribution {
            label: label.to_owned(),
            workload: "tcp-rr".to_owned(),
            shape: Shape::default(),
            which: LatencyKind::RoundTrip,
            latencies: LatencyHistogram::from_nanos(nanos).expect("few enough"),
        });
        for block in 0..12 {
            picture.courses.push(TrialTimeline {
                label: label.to_owned(),
                workload: "tcp-stream".to_owned(),
                shape: Shape::default(),
                block,
                metric: Metric::Throughput,
                points: (0..100).map(|n| (Nanos(n * 10_000_000), 34.0 * factor)).collect(),
                cut: 7,
                settled: block != 3,
            });
        }
        picture.costs.push(CpuCost {
            label: label.to_owned(),
            workload: "tcp-stream".to_owned(),
            shape: Shape::default(),
            work: WorkUnit::Gigabyte,
            user: 0.01,
            system: 0.3 / factor,
            softirq: 0.1,
            irq: 0.0,
            clients: Some(0.15),
            servers: Some(0.2),
            blocks: 12,
        });
    }
    picture
}

/// Renders the page of a document, with all sections.
pub(crate) fn page(document: &Document, picture: &ChartData) -> String {
    html(&Page { document, run: &run(document), picture }).expect("it can be written")
}

fn whole() -> Document {
    let mut document = eventful();
    for cell in &mut document.cells {
        cell.hops = vec![
            Hop::new(HopKind::Veth, "eth0", "client-0").with_mtu(1500),
            Hop::new(HopKind::Nat, "nat/DOCKER", "node-0")
                .with_detail("tcp dport 5201 dnat to <x>"),
            Hop::new(HopKind::Veth, "eth0", "server-0").with_mtu(1500),
        ];
    }
    document.environment.command = run(&document).environment.command;
    document.rerun = Some(rerun());
    document
}

/// Makes a published figure next to a measured one, with a conclusion of its source.
fn rerun() -> Replication {
    Replication {
        question: None,
        scale: ProtocolScale::Scaled,
        protocol: Vec::new(),
        figures: vec![FigurePair {
            published: PublishedFigure {
                table: "IPv4 and IPv6".to_owned(),
                cell: CellPattern {
                    network: "bridge".to_owned(),
                    workload: "tcp-stream".to_owned(),
                    metric: Metric::Throughput,
                    shape: Default::default(),
                    parameters: Parameters::new(),
                    per: Default::default(),
                },
                value: Some(2.23),
                row: None,
                unit: "GB/sec".to_owned(),
                ratio: None,
                text: "2.23 GB/sec".to_owned(),
                printed: Some("2.23".to_owned()),
                conflict: None,
                ambiguous: None,
            },
            published_ratio: Some(0.09),
            measured: None,
            provenance: None,
            unit: "Gbit/s".to_owned(),
            absent: Some("not measured".to_owned()),
        }],
        ranks: Vec::new(),
        conclusions: vec![TestedConclusion {
            claim: "stock docker has a negligible impact".to_owned(),
            by: None,
            result: ConclusionResult::Fails,
            reason: Some("0.65×".to_owned()),
            note: Some("within the margin".to_owned()),
            evidence: vec!["0.65×: fails".to_owned()],
        }],
    }
}

#[test]
fn a_page_is_well_formed_and_has_every_part() {
    let text = page(&whole(), &picture());
    let elements = read(&text).unwrap();
    let has = |part: &str| elements.iter().any(|element| element.contains(part));
    let sections = [
        "glance",
        "figures",
        "latency",
        "cpu",
        "courses",
        "paths",
        "published",
        "findings",
        "machine",
        "again",
    ];
    for id in sections {
        assert!(has(&format!("section#{id}")), "{id}");
    }
    for id in [
        "heat",
        "bars-s1",
        "bars-s2",
        "cdf-latency-s2",
        "density-latency-s2",
        "percentiles-latency-s2",
        "cpu-s1",
        "course-s1",
        "path-1",
    ] {
        assert!(has(&format!("figure#{id}")), "{id}");
    }
    let identifiers: Vec<&str> =
        elements.iter().filter_map(|element| element.split_once('#').map(|(_, id)| id)).collect();
    let distinct: BTreeSet<&str> = identifiers.iter().copied().collect();
    assert_eq!(identifiers.len(), distinct.len(), "an identifier stands twice");
    assert!(text.contains("tare run --quick --seed 42"));
    assert!(text.len() < 1_400_000, "{}", text.len());
}

#[test]
fn nothing_outside_is_referred_to() {
    let text = page(&whole(), &picture());
    for scheme in ["http://", "https://", "//"] {
        let allowed = [
            "http://www.w3.org/2000/svg",
            "http://www.w3.org/1999/xhtml",
            "//<![CDATA[",
            "//]]>",
            "// ",
        ];
        for (at, _) in text.match_indices(scheme) {
            let before = &text[..at];
            let from = if before.ends_with(':') { before.rfind("http").unwrap_or(at) } else { at };
            let known = allowed.iter().any(|known| text[from..].starts_with(known));
            assert!(known, "{}", &text[from..(from + 60).min(text.len())]);
        }
    }
}

#[test]
fn the_same_run_gives_the_same_page() {
    assert!(page(&whole(), &picture()) == page(&whole(), &picture()));
}

#[test]
fn the_answer_heads_the_page() {
    let text = page(&quick(), &ChartData::default());
    let (_, answer) = text.split_once("aria-label=\"The answer\">").unwrap();
    let (answer, _) = answer.split_once("</section>").unwrap();
    insta::assert_snapshot!(answer.replace("</p>", "</p>\n"));
}

#[test]
fn a_run_of_nothing_is_a_page() {
    let mut document = quick();
    document.cells.clear();
    let text = page(&document, &ChartData::default());
    assert!(read(&text).is_ok() && text.contains("Nothing was measured."));
}

#[test]
fn a_large_study_keeps_to_the_size() {
    let mut document = quick();
    let one = document.cells.clone();
    let (mut pictured, base) = (picture(), picture());
    for clients in 2..60 {
        let shape = Shape { clients, ..Shape::default() };
        document.cells.extend(one.iter().cloned().map(|mut cell| {
            cell.shape = shape.clone();
            cell
        }));
        pictured.distributions.extend(base.distributions.iter().cloned().map(|mut one| {
            one.shape = shape.clone();
            one
        }));
        pictured.courses.extend(base.courses.iter().cloned().map(|mut one| {
            one.shape = shape.clone();
            one
        }));
    }
    let text = page(&document, &pictured);
    assert!(text.len() < 1_500_000, "{}", text.len());
    assert!(read(&text).is_ok());
    assert!(text.contains("to keep the page small"));
    assert!(text.contains("figure id=\"clients-throughput-s1\""), "the sweep is told all the same");
}

#[test]
fn nothing_in_a_name_is_obeyed() {
    let mut document = quick();
    for cell in &mut document.cells {
        if cell.label == "veth" {
            cell.label = "<script>alert(\"1\")</script>&amp;".to_owned();
        }
    }
    let text = page(&document, &ChartData::default());
    assert!(!text.contains("<script>alert") && read(&text).is_ok());
}

#[test]
fn a_bundle_is_the_same_every_time() {
    let (document, picture) = (whole(), picture());
    let run = run(&document);
    let page = Page { document: &document, run: &run, picture: &picture };
    let pack = || bundle(&page, "{}\n", "tare-quick-42").unwrap();
    assert!(pack() == pack());
}
