//! Plan and trials for tests of the display.

use std::collections::BTreeMap;
use tare_record::{
    AgentsCpu, BlockPolicy, CorrectionFamily, EndCounts, HostActivity, Interval, Metric, Nanos,
    NetworkEntry, Parameters, Phase, Plan, Series, Shape, Trial, WarmUpPolicy, WorkloadPlan,
};

/// Returns a plan of these networks, the first of which is the baseline, in bulk and in round trips.
pub(super) fn plan(networks: &[&str]) -> Plan {
    let entry = |name: &&str| NetworkEntry { label: (*name).into(), network: (*name).into() };
    let workload = |name: &str, metric| WorkloadPlan {
        name: name.to_owned(),
        slices: None,
        stands_for: None,
        parameters: Parameters::new(),
        duration: Nanos(1_000_000_000),
        interval: Nanos(100_000_000),
        warm_up: WarmUpPolicy::Auto,
        metrics: vec![metric],
    };
    Plan {
        study: "live".to_owned(),
        seed: 1,
        networks: networks.iter().map(entry).collect(),
        stands_for: BTreeMap::new(),
        baseline: networks[0].to_owned(),
        workloads: vec![
            workload("tcp-stream", Metric::Throughput),
            workload("tcp-rr", Metric::Transactions),
        ],
        raising: Vec::new(),
        shapes: vec![Shape::default()],
        margins: BTreeMap::new(),
        family: CorrectionFamily::Metric,
        blocks: BlockPolicy::Fixed { blocks: 10 },
        budget: None,
        skipped: Vec::new(),
        refused: Vec::new(),
        ablations: Vec::new(),
        parts: Vec::new(),
        findings: Vec::new(),
        publication: None,
    }
}

/// Returns a trial of `tcp-stream` that carried this many megabytes in each tenth of a second.
pub(super) fn trial(label: &str, block: u32, phase: Phase, megabytes: u64) -> Trial {
    let carried = Interval { bytes: megabytes * 1_000_000, ..Interval::default() };
    steady_trial("tcp-stream", label, block, phase, &carried)
}

/// Returns a trial of `tcp-rr` with this many round trips in each tenth of a second.
pub(super) fn transactions(label: &str, block: u32, operations: u64) -> Trial {
    let carried = Interval { operations, ..Interval::default() };
    steady_trial("tcp-rr", label, block, Phase::Main, &carried)
}

fn steady_trial(
    workload: &str,
    label: &str,
    block: u32,
    phase: Phase,
    carried: &Interval,
) -> Trial {
    let interval = |at: u64| Interval {
        start: Nanos(at * 100_000_000),
        length: Nanos(100_000_000),
        ..carried.clone()
    };
    Trial {
        block,
        phase,
        position: 0,
        label: label.to_owned(),
        network: label.to_owned(),
        workload: workload.to_owned(),
        shape: Shape::default(),
        parameters: Parameters::new(),
        began: Nanos(0),
        took: Nanos(0),
        series: vec![Series::new(0, (0..10).map(interval).collect())],
        ends: EndCounts::default(),
        agents: AgentsCpu::default(),
        search: None,
        slices: None,
        hops: Vec::new(),
        findings: Vec::new(),
        meanwhile: HostActivity::default(),
    }
}
