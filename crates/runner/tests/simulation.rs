//! Simulation of whole runs over mock networks whose true costs are known, thousands of times: pilot, sizing, budget,
//! Holm's correction, verdicts.
//!
//! Results of trials are drawn from a model of a shared machine: every block has its own level that all its networks
//! share (drift), every trial its own deviation, every interval noise, and the beginning of a trial a warm-up. The
//! clock is virtual, so that budgets bind without any waiting.

#![allow(clippy::unwrap_used, reason = "a simulation stops at what cannot happen")]

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use tare_dev::{made_up_plan, made_up_workload};
use tare_network::Network as _;
use tare_network::mock::MockNetwork;
use tare_record::journal::{FORMAT, Journal, Record, RunHeader};
use tare_record::{
    BlockPolicy, CorrectionFamily, Document, EndCounts, Environment, Hop, Interval, Metric, Nanos,
    Plan, Series, Verdict, WorkloadPlan,
};
use tare_runner::{
    AttemptError, RunEnvironment, RunningNetwork, SilentProgress, StartPoint, TrialMeasurement,
    TurnSetup,
};

const RUNS: u64 = 2000;
const INTERVAL: Nanos = Nanos(10_000_000);
const INTERVALS: u64 = 24;

/// A machine, and the true cost of each network on it.
struct SimulatedMachine {
    random: ChaCha8Rng,
    /// True level of each network relative to the first, by its label.
    truth: Vec<(String, f64)>,
    /// Standard deviation of a trial's level, on the logarithmic scale.
    spread: f64,
    level: f64,
    block_turns: usize,
    clock: Nanos,
}

/// Draws a standard normal number (Box and Muller, 1958).
fn normal(random: &mut ChaCha8Rng) -> f64 {
    let (u, v): (f64, f64) = (1.0 - random.random::<f64>(), random.random());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

impl SimulatedMachine {
    fn new(seed: u64, truth: &[(&str, f64)], spread: f64) -> Self {
        Self {
            random: ChaCha8Rng::seed_from_u64(seed),
            truth: truth.iter().map(|&(label, level)| (label.to_owned(), level)).collect(),
            spread,
            level: 1.0,
            block_turns: 0,
            clock: Nanos(0),
        }
    }
}

/// Turn of one network; its intervals were drawn when it was raised.
struct SimulatedTurn {
    hops: Vec<Hop>,
    measured: TrialMeasurement,
}

impl RunEnvironment for SimulatedMachine {
    fn set_up(&mut self, scene: &TurnSetup<'_>) -> Result<Box<dyn RunningNetwork>, AttemptError> {
        if self.block_turns.is_multiple_of(self.truth.len()) {
            // The machine drifts from block to block by more than any two networks differ.
            self.level = (0.1 * normal(&mut self.random)).exp();
        }
        self.block_turns += 1;
        let topology = MockNetwork::new("mock").set_up(scene.shape, &Default::default()).unwrap();
        let truth = self.truth.iter().find(|(label, _)| *label == scene.entry.label).unwrap().1;
        let level = truth * self.level * (self.spread * normal(&mut self.random)).exp();
        let intervals: Vec<Interval> = (0..INTERVALS)
            .map(|index| {
                let warm = if index < 3 { 0.5 } else { 1.0 };
                let rate = level * warm * (1.0 + 0.01 * normal(&mut self.random));
                Interval {
                    start: Nanos(index * INTERVAL.0),
                    length: INTERVAL,
                    bytes: (rate * 1e7) as u64,
                    ..Interval::default()
                }
            })
            .collect();
        self.clock = self.clock + Nanos(INTERVALS * INTERVAL.0);
        let received = intervals.iter().map(|interval| interval.bytes).sum();
        Ok(Box::new(SimulatedTurn {
            hops: topology.hops,
            measured: TrialMeasurement {
                series: vec![Series::new(0, intervals)],
                ends: EndCounts { sent: received, received, ..EndCounts::default() },
                ..TrialMeasurement::default()
            },
        }))
    }

    fn elapsed(&self) -> Nanos {
        self.clock
    }

    fn is_interrupted(&self) -> bool {
        false
    }
}

impl RunningNetwork for SimulatedTurn {
    fn hops(&self) -> Vec<Hop> {
        self.hops.clone()
    }

    fn run_trial(&mut self, _: usize) -> Result<TrialMeasurement, AttemptError> {
        Ok(self.measured.clone())
    }
}

/// Builds a plan of these networks with one workload and a margin of two per cent; every other seed has a budget that
/// binds.
fn plan(seed: u64, labels: &[(&str, f64)]) -> Plan {
    let block = INTERVAL.0 * INTERVALS * labels.len() as u64;
    let networks: Vec<&str> = labels.iter().map(|(label, _)| *label).collect();
    let workload = WorkloadPlan {
        duration: Nanos(INTERVALS * INTERVAL.0),
        interval: INTERVAL,
        ..made_up_workload("tcp-stream", &[Metric::Throughput])
    };
    Plan {
        seed,
        margins: [(Metric::Throughput, 0.02)].into(),
        family: CorrectionFamily::Study,
        blocks: BlockPolicy::Precision { precision: None, pilot: 3, at_least: 5, at_most: 60 },
        budget: seed.is_multiple_of(2).then_some(Nanos(15 * block)),
        ..made_up_plan(&networks, vec![workload])
    }
}

fn simulate(seed: u64, truth: &[(&str, f64)], spread: f64) -> Document {
    let plan = plan(seed, truth);
    let mut records: Vec<Record> = Vec::new();
    let mut machine = SimulatedMachine::new(seed, truth, spread);
    tare_runner::run_plan(
        &plan,
        StartPoint::default(),
        &mut machine,
        &mut records,
        &mut SilentProgress,
    )
    .unwrap();
    let run = RunHeader {
        format: FORMAT,
        plan,
        environment: Environment::default(),
        findings: Vec::new(),
    };
    tare_analysis::document(&Journal { run, records }, None).unwrap()
}

fn differs(verdict: Verdict) -> bool {
    !matches!(verdict, Verdict::Same | Verdict::Unclear)
}

#[test]
fn under_the_null_intervals_cover_and_families_err_in_five_per_cent_at_most() {
    let truth = [("a", 1.0), ("b", 1.0), ("c", 1.0), ("d", 1.0)];
    let (mut covered, mut ratios, mut families) = (0u32, 0u32, 0u32);
    for seed in 0..RUNS {
        let document = simulate(seed, &truth, 0.015);
        let of_run: Vec<_> = document.cells.iter().filter_map(|cell| cell.ratio.as_ref()).collect();
        assert_eq!(of_run.len(), 3);
        ratios += 3;
        covered +=
            of_run.iter().filter(|ratio| ratio.ci95[0] <= 1.0 && 1.0 <= ratio.ci95[1]).count()
                as u32;
        families += u32::from(of_run.iter().any(|ratio| differs(ratio.verdict)));
    }
    let coverage = f64::from(covered) / f64::from(ratios);
    let errors = f64::from(families) / RUNS as f64;
    println!("coverage {coverage:.4}, family-wise errors {errors:.4}");
    assert!((0.93..=0.97).contains(&coverage), "coverage {coverage}");
    assert!(errors <= 0.05, "family-wise errors {errors}");
}

#[test]
fn planted_differences_are_covered_and_found() {
    let truth = [("base", 1.0), ("near", 0.97), ("far", 0.8)];
    let runs = 300;
    let (mut covered, mut near, mut far) = (0u32, 0u32, 0u32);
    for seed in 0..runs {
        // Odd seeds have no budget: the sizing is free to ask for as many blocks as it needs.
        let document = simulate(2 * seed + 1, &truth, 0.015);
        for (cell, value) in document.cells[1..].iter().zip([0.97, 0.8]) {
            let ratio = cell.ratio.as_ref().unwrap();
            covered += u32::from(ratio.ci95[0] <= value && value <= ratio.ci95[1]);
        }
        let verdict = |index: usize| document.cells[index].ratio.as_ref().unwrap().verdict;
        let p_adjusted = |index: usize| document.cells[index].ratio.as_ref().unwrap().p_adjusted;
        near += u32::from(p_adjusted(1) < 0.05);
        far += u32::from(verdict(2) == Verdict::Slower);
    }
    let coverage = f64::from(covered) / (2 * runs) as f64;
    println!("coverage {coverage:.4}; 3 % found in {near} of {runs}, 20 % in {far}");
    assert!((0.92..=0.98).contains(&coverage), "coverage {coverage}");
    assert!(u64::from(near) * 10 >= runs * 8, "3 % was found in {near} of {runs} runs");
    assert_eq!(u64::from(far), runs);
}
