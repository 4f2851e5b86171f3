//! A client whose own link is slower than those of the others shows in what each got, and in Jain's index.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

#[path = "../crates/traffic/tests/common/mod.rs"]
mod common;
mod support;

use common::job;
use common::namespaces::Star;
use support::program::binary;
use tare_analysis::{Figure, estimate};
use tare_record::{Metric, Nanos, Phase, Trial, WarmUp, WorkloadPlan};
use tare_traffic::{Job, Outcome, Session};

/// A trial of this job's, as a journal would keep it.
fn trial(job: &Job, outcome: Outcome) -> Trial {
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
        hops: Vec::new(),
        findings: outcome.findings,
        meanwhile: tare_record::Meanwhile::default(),
    }
}

#[test]
fn a_limited_client_gets_less_and_fairness_says_so() {
    const MEGABITS: f64 = 10.0;
    let star =
        Star::new(4).expect("namespaces of one's own: root, or unprivileged user namespaces");
    star.in_client(2, "tc qdisc add dev eth0 root tbf rate 10mbit burst 15000 limit 300000");
    let topology = star.topology(&binary(), 5201);
    let mut session = Session::open(&topology).unwrap();
    let job = Job {
        duration: Nanos(1_000_000_000),
        interval: Nanos(50_000_000),
        ..job("tcp-stream", &topology, &[])
    };
    let outcome = session.trial(&job, &|| false).unwrap();
    let plan = WorkloadPlan {
        name: job.workload.clone(),
        parameters: job.parameters.clone(),
        duration: job.duration,
        interval: job.interval,
        warm_up: WarmUp::Fixed(Nanos(300_000_000)),
        metrics: vec![Metric::Throughput],
        stands_for: None,
    };
    let found = estimate(&trial(&job, outcome), &plan).unwrap();
    let value = |figure: &Figure| match figure {
        Figure::Value { value, .. } => *value,
        other => panic!("{other:?}"),
    };
    let clients = found.clients.expect("there were several");
    let each: Vec<f64> = clients
        .figures
        .values()
        .map(|figures| value(&figures[&Metric::Throughput]) * 1e3)
        .collect();
    // A queue lets no more through than its rate, but for what it had saved up; the others have a veth pair each.
    assert!(each[2] > 0.0 && each[2] < 1.2 * MEGABITS, "{each:?}");
    let others = [each[0], each[1], each[3]];
    assert!(others.iter().all(|rate| *rate > 2.0 * MEGABITS), "{each:?}");
    let (rate, index) = clients.fairness.expect("somebody got something");
    let sum: f64 = each.iter().sum();
    let jain = sum * sum / (4.0 * each.iter().map(|rate| rate * rate).sum::<f64>());
    assert_eq!(rate, Metric::Throughput);
    assert!((value(&index) - jain).abs() < 1e-9 && jain < 0.95, "{jain}: {each:?}");
}
