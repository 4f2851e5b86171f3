//! Documents with exact, made-up figures.

use std::collections::BTreeMap;
use tare_record::finding::{OtherWork, UnsettledTrials};
use tare_record::{
    Cell, Document, Environment, Finding, Metric, NetworkFailure, Ratio, Shape, SkippedNetwork,
    StoppedBy, Verdict,
};

/// Networks of a one-host run, with the factor of their figures for metrics that are better when larger.
pub(crate) const NETWORKS: [(&str, f64); 8] = [
    ("native", 1.004),
    ("loopback", 1.001),
    ("host", 1.0),
    ("shared", 0.998),
    ("veth", 0.915),
    ("bridge", 0.843),
    ("bridge-plain", 0.861),
    ("published", 0.792),
];

/// Metrics of the quick run: workload, metric, the figure of `host`, half the interval's width as a share.
const METRICS: [(&str, Metric, f64, f64); 4] = [
    ("tcp-stream", Metric::Throughput, 34.2131, 0.0104),
    ("tcp-rr", Metric::Transactions, 57_412.0, 0.019),
    ("tcp-rr", Metric::LatencyP50, 16.384, 0.021),
    ("tcp-rr", Metric::LatencyP99, 25.91, 0.064),
];

/// Derives a verdict from an interval of the ratio, roughly as the analysis does.
fn verdict(metric: Metric, value: f64, half: f64, margin: f64) -> Verdict {
    use Verdict::{Faster, FasterSlightly, Same, Slower, SlowerSlightly, Unclear};
    let good =
        if metric.better() == tare_record::Better::Higher { value - 1.0 } else { 1.0 - value };
    match (good.abs() - half > margin, good.abs() + half < margin, good.abs() > half) {
        (true, _, _) if good > 0.0 => Faster,
        (true, _, _) => Slower,
        (_, true, true) if good > 0.0 => FasterSlightly,
        (_, true, true) => SlowerSlightly,
        (_, true, false) => Same,
        _ => Unclear,
    }
}

/// Makes a cell without a ratio.
pub(crate) fn cell(network: &str, workload: &str, metric: Metric, mean: f64, half: f64) -> Cell {
    Cell {
        network: network.to_owned(),
        workload: workload.to_owned(),
        label: network.to_owned(),
        scope: "aggregate".to_owned(),
        shape: Shape::default(),
        parameters: BTreeMap::new(),
        hops: Vec::new(),
        findings: Vec::new(),
        metric,
        unit: metric.unit().to_owned(),
        better: metric.better(),
        samples: vec![mean - half, mean, mean + half],
        blocks: vec![0, 1, 2],
        n: 12,
        mean: Some(mean),
        median: Some(mean),
        median_ci95: None,
        ci95: Some([mean - half, mean + half]),
        uncut_mean: Some(mean),
        ratio: None,
        difference: None,
        withheld: None,
        best: false,
    }
}

/// Makes a ratio to `host`.
pub(crate) fn ratio(metric: Metric, value: f64, half: f64) -> Ratio {
    let margin = metric.default_margin();
    let verdict = verdict(metric, value, half, margin);
    Ratio {
        baseline: "host".to_owned(),
        value,
        plain: None,
        ci90: [value - half * 0.8, value + half * 0.8],
        ci95: [value - half, value + half],
        p: 0.0004,
        p_adjusted: 0.0028,
        family: "quick/tcp".to_owned(),
        margin,
        verdict,
        detectable: half * 1.4,
        blocks_to_decide: (verdict == Verdict::Unclear).then_some(40),
        pairs: 12,
    }
}

/// Makes a run of eight networks and four metrics.
pub(crate) fn quick() -> Document {
    let mut cells = Vec::new();
    for (workload, metric, host, share) in METRICS {
        for (network, factor) in NETWORKS {
            let higher = metric.better() == tare_record::Better::Higher;
            let factor = if higher { factor } else { 1.0 / factor };
            let mean = host * factor;
            let mut cell = cell(network, workload, metric, mean, mean * share);
            cell.ratio = (network != "host").then(|| ratio(metric, factor, share * 0.6));
            cell.best = NETWORKS[..4].iter().any(|(best, _)| *best == network);
            cells.push(cell);
        }
    }
    document(cells)
}

/// Makes a document of these cells.
pub(crate) fn document(cells: Vec<Cell>) -> Document {
    Document {
        tare: "0.1.0".to_owned(),
        study: "quick".to_owned(),
        seed: 42,
        environment: Environment {
            tare: "0.1.0".to_owned(),
            kernel: "6.1.0-13-amd64".to_owned(),
            cores: vec![0, 1],
            ..Environment::default()
        },
        cells,
        stands_for: BTreeMap::new(),
        skipped: Vec::new(),
        failed: Vec::new(),
        findings: Vec::new(),
        block_time: None,
        interim_analyses: Vec::new(),
        blocks: 12,
        stopped_by: Some(StoppedBy::Precision),
        rerun: None,
    }
}

/// Makes the quick run with findings, a skipped network and a failed one.
pub(crate) fn eventful() -> Document {
    let mut document = quick();
    for cell in &mut document.cells {
        if cell.label == "bridge" || cell.label == "veth" {
            let trials = if cell.label == "veth" { 3 } else { 1 };
            cell.findings.push(Finding::UnsettledTrials(UnsettledTrials { trials, of: 12 }));
        }
    }
    document.cells.retain(|cell| cell.label != "published");
    document.findings.push(Finding::OtherWork(OtherWork { share: 0.12 }));
    document.skipped.push(SkippedNetwork {
        network: "ovs".to_owned(),
        label: None,
        reason: "this kernel has no openvswitch".to_owned(),
        remedy: "sudo modprobe openvswitch".to_owned(),
    });
    document.failed.push(NetworkFailure {
        network: "published".to_owned(),
        workload: Some("tcp-rr".to_owned()),
        block: Some(3),
        reason: "the server did not answer\nwithin 5 s".to_owned(),
        remedy: "see the log in the run's directory".to_owned(),
        ..NetworkFailure::default()
    });
    document
}
