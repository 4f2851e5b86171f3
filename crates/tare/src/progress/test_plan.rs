//! Plan and trials for tests of the display.

use tare_dev::{made_up_plan, made_up_workload};
use tare_record::{
    AgentsCpu, EndCounts, HostActivity, Interval, Metric, Nanos, Parameters, Phase, Plan, Series,
    Shape, Trial,
};

/// Returns a plan of these networks, the first of which is the baseline, in bulk and in round trips.
pub(super) fn plan(networks: &[&str]) -> Plan {
    let bulk = made_up_workload("tcp-stream", &[Metric::Throughput]);
    let round_trips = made_up_workload("tcp-rr", &[Metric::Transactions]);
    Plan { study: "live".to_owned(), ..made_up_plan(networks, vec![bulk, round_trips]) }
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
