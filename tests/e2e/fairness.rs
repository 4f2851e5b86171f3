//! Test of fairness: a client whose own link is slower than the others shows in the clients' rates and in Jain's index.

use serde_json::Value;
use support::program::binary;
use tare_agent::AgentSession;
use tare_analysis::{MetricFigure, estimate};
use tare_dev::{NamespaceStar, TestNamespace, eventually};
use tare_record::{
    Metric, Nanos, Parameters, Phase, Placement, Shape, Trial, WarmUpPolicy, WorkloadPlan,
};
use tare_traffic::{TrialJob, TrialOutcome, WorkloadRegistry, workloads};

/// Makes a trial of this job, in the format of a journal.
fn trial(job: &TrialJob, outcome: TrialOutcome) -> Trial {
    Trial {
        block: 0,
        phase: Phase::Main,
        position: 0,
        label: "star".to_owned(),
        network: "star".to_owned(),
        workload: job.workload.clone(),
        shape: job.shape.clone(),
        parameters: outcome.parameters,
        began: Nanos(0),
        took: job.duration,
        series: outcome.series,
        ends: outcome.ends,
        agents: outcome.agents,
        search: None,
        slices: None,
        hops: Vec::new(),
        findings: outcome.findings,
        meanwhile: tare_record::HostActivity::default(),
    }
}

/// Returns a number in the JSON that a command in a namespace prints.
fn count(namespace: &TestNamespace, command: &str, pointer: &str) -> u64 {
    let document: Value = serde_json::from_str(&namespace.output(command)).expect("JSON");
    let number = document.pointer(pointer).and_then(Value::as_u64);
    number.unwrap_or_else(|| panic!("{pointer} in {document}"))
}

#[test]
fn a_limited_client_gets_less_and_fairness_says_so() {
    let star = NamespaceStar::new(4);
    star.clients[2].run("tc qdisc add dev eth0 root tbf rate 1mbit burst 15000 limit 300000");
    let topology = star.topology(&binary(), 5201);
    let registry: WorkloadRegistry = workloads().into_iter().collect();
    let mut session = AgentSession::open(&topology, &registry).unwrap();
    let job = TrialJob {
        workload: "tcp-stream".to_owned(),
        parameters: registry.find("tcp-stream").unwrap().resolve(&Parameters::new()).unwrap(),
        shape: Shape { clients: 4, cpus: Placement::Spread, ..Shape::default() },
        ports: vec![5201],
        duration: Nanos(1_000_000_000),
        interval: Nanos(50_000_000),
        slices: None,
    };
    let plan = WorkloadPlan {
        name: job.workload.clone(),
        parameters: job.parameters.clone(),
        duration: job.duration,
        interval: job.interval,
        warm_up: WarmUpPolicy::Fixed(Nanos(300_000_000)),
        metrics: vec![Metric::Throughput],
        slices: None,
        slice_lengths: Vec::new(),
        stands_for: None,
    };
    // A busy machine may leave the receiver of another client without a turn in a whole trial.
    eventually("each of the other clients has had a turn", || {
        let outcome = session.run_trial(&job, &|| false).unwrap();
        let carried: Vec<u64> = outcome
            .series
            .iter()
            .map(|series| series.intervals.iter().map(|interval| interval.bytes).sum())
            .collect();
        assert_kernel_counters(&star, &carried);
        let Some((each, jain)) = rates_and_fairness(&trial(&job, outcome), &plan) else {
            return false;
        };
        let others = [each[0], each[1], each[3]];
        // If three clients share evenly and the fourth gets less than half as much, the index is below 0.95.
        others.iter().all(|rate| *rate > each[2]) && jain < 0.95
    });
}

/// Returns the rates of all clients, and the fairness of a trial, which must be Jain's index of these rates. Returns `None` if
/// a busy machine left no interval to all of them.
fn rates_and_fairness(trial: &Trial, plan: &WorkloadPlan) -> Option<(Vec<f64>, f64)> {
    let found = estimate(trial, plan).unwrap();
    let value = |figure: &MetricFigure| match figure {
        MetricFigure::Value { value, .. } => Some(*value),
        MetricFigure::Absent | MetricFigure::Withheld { .. } => None,
    };
    let clients = found.clients.expect("there were several");
    let each: Vec<f64> = clients
        .figures
        .values()
        .map(|figures| Some(value(&figures[&Metric::Throughput])? * 1e3))
        .collect::<Option<_>>()?;
    let (rate, index) = clients.fairness?;
    let index = value(&index)?;
    let sum: f64 = each.iter().sum();
    let jain = sum * sum / (4.0 * each.iter().map(|rate| rate * rate).sum::<f64>());
    assert_eq!(rate, Metric::Throughput);
    assert!((index - jain).abs() < 1e-9, "{index}, not {jain}: {each:?}");
    Some((each, jain))
}

/// Fails unless each client's traffic has passed its device, and the limited client's traffic the queue that limits it.
fn assert_kernel_counters(star: &NamespaceStar, carried: &[u64]) {
    for (number, bytes) in carried.iter().enumerate() {
        let show = format!("ip -s -j link show dev c{number}");
        let received = count(&star.server, &show, "/0/stats64/rx/bytes");
        assert!(*bytes <= received, "client {number}: {bytes} of {received}");
    }
    let queue = |number| count(&star.clients[2], "tc -s -j qdisc show dev eth0", number);
    assert!(carried[2] <= queue("/0/bytes"), "{carried:?}");
    assert!(queue("/0/overlimits") > 0, "the queue held packets back");
}
