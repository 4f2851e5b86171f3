//! Plans, trials and journals for tests.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tare_dev::{made_up_plan, made_up_workload};
use tare_record::journal::{FORMAT, Journal, Record, RunHeader};
use tare_record::{
    AgentsCpu, EndCounts, Environment, HostActivity, Interval, LatencyHistogram, Metric, Nanos,
    NetworkInspection, NetworkTurn, Parameters, Phase, Plan, Series, Shape, Trial, WorkloadPlan,
};

/// Length of an interval, ns.
const INTERVAL: u64 = 100_000_000;

/// Seeded random generator.
pub(crate) struct SeededRandom(ChaCha8Rng);

impl SeededRandom {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Returns a value from 0 to 1.
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0.random()
    }

    /// Returns one standard normal value (Box and Muller, 1958).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.0.random::<f64>()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.0.random::<f64>()).cos()
    }
}

pub(crate) fn workload(name: &str, metrics: &[Metric]) -> WorkloadPlan {
    made_up_workload(name, metrics)
}

/// Returns a plan of these networks, the first of which is the baseline.
pub(crate) fn plan(networks: &[&str], workloads: Vec<WorkloadPlan>) -> Plan {
    made_up_plan(networks, workloads)
}

/// Returns the turn of a network in a block, which took a millisecond to set up and half of one to remove.
pub(crate) fn turn(label: &str, block: u32, inspection: NetworkInspection) -> NetworkTurn {
    NetworkTurn {
        block,
        phase: Phase::Main,
        label: label.to_owned(),
        shape: Shape::default(),
        raised: Nanos(1_000_000),
        removed: Nanos(500_000),
        inspection,
    }
}

/// Returns a trial of `tcp-stream` by one client whose intervals carried these bytes.
pub(crate) fn trial(label: &str, block: u32, bytes: &[u64]) -> Trial {
    let intervals = (0..).zip(bytes).map(|(at, &bytes)| Interval { bytes, ..interval(at) });
    trial_of_intervals("tcp-stream", label, block, intervals.collect())
}

/// Returns a trial of `tcp-rr` by one client whose intervals had transactions of these latencies, ns.
pub(crate) fn transactions(label: &str, block: u32, latencies: &[Vec<u64>]) -> Trial {
    let intervals = (0..).zip(latencies).map(|(at, latencies)| Interval {
        operations: latencies.len() as u64,
        latency: Some(LatencyHistogram::from_nanos(latencies.iter().copied()).unwrap()),
        ..interval(at)
    });
    trial_of_intervals("tcp-rr", label, block, intervals.collect())
}

fn interval(at: u64) -> Interval {
    Interval { start: Nanos(at * INTERVAL), length: Nanos(INTERVAL), ..Interval::default() }
}

fn trial_of_intervals(workload: &str, label: &str, block: u32, intervals: Vec<Interval>) -> Trial {
    let series = if intervals.is_empty() { Vec::new() } else { vec![Series::new(0, intervals)] };
    Trial {
        block,
        phase: Phase::Main,
        position: 0,
        label: label.to_owned(),
        network: label.to_owned(),
        workload: workload.to_owned(),
        shape: Shape::default(),
        parameters: Parameters::new(),
        began: Nanos(0),
        took: Nanos(INTERVAL),
        series,
        ends: EndCounts::default(),
        agents: AgentsCpu::default(),
        search: None,
        slices: None,
        hops: Vec::new(),
        findings: Vec::new(),
        meanwhile: HostActivity::default(),
    }
}

/// Returns a journal of this plan with these trials.
pub(crate) fn journal(plan: Plan, trials: Vec<Trial>) -> Journal {
    Journal {
        run: RunHeader {
            format: FORMAT,
            plan,
            environment: Environment::default(),
            findings: Vec::new(),
        },
        records: trials.into_iter().map(|trial| Record::Trial(Box::new(trial))).collect(),
    }
}
