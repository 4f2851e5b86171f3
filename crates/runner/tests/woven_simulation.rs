//! Simulation of whole woven runs over mock networks whose true costs are known: weaving, interim analyses, networks
//! that leave, budget, Holm's correction and verdicts, over five kinds of noise of a shared machine.
//!
//! Every slice is disturbed by the noise of its moment, which all networks of a round share as far as it lasts; every
//! raise of a network has a deviation of its own. The clock is virtual.

#![allow(clippy::unwrap_used, reason = "a simulation stops at what cannot happen")]
#![allow(clippy::print_stdout, reason = "the shares of each kind of noise are results")]

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use tare_dev::{made_up_plan, made_up_workload};
use tare_record::journal::{FORMAT, Journal, Record, RunHeader};
use tare_record::{
    BlockPolicy, Document, EndCounts, Environment, Hop, Interval, Metric, Nanos, Plan, Ratio,
    Series, Shape, SlicePlan, StoppedBy, Verdict, WarmUpPolicy, WorkloadPlan,
};
use tare_runner::{
    AttemptError, RunEnvironment, RunningNetwork, SilentProgress, StartPoint, TrialMeasurement,
    TurnSetup,
};
use tare_study::slice_choice::LENGTHS;

const SLICES: SlicePlan =
    SlicePlan { rounds: 12, warm_up: 2, length: Nanos(20_000_000), skip: Nanos(1_000_000) };

/// Standard deviation of a raise's own level, on the logarithmic scale.
const RAISE: f64 = 0.006;

/// Noise of a machine, from slice to slice.
#[derive(Clone, Copy, Debug)]
enum Noise {
    /// Every slice on its own.
    White,
    /// A random walk of the machine's speed.
    Drift,
    /// Levels that hold for some seconds.
    Steps,
    /// Stretches of a few slices in which the machine is taken away.
    Bursts,
    /// Slices on their own, some of them far off.
    HeavyTails,
}

const ALL: [Noise; 5] =
    [Noise::White, Noise::Drift, Noise::Steps, Noise::Bursts, Noise::HeavyTails];

/// Machine whose noise goes on from slice to slice.
struct NoisyMachine {
    random: ChaCha8Rng,
    noise: Noise,
    level: f64,
    in_burst: bool,
    clock: Nanos,
}

impl NoisyMachine {
    /// Draws a standard normal number (Box and Muller, 1958).
    fn normal(&mut self) -> f64 {
        let (u, v): (f64, f64) = (1.0 - self.random.random::<f64>(), self.random.random());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    /// Draws the noise of the next slice, on the logarithmic scale.
    fn next_slice(&mut self, slices: SlicePlan) -> f64 {
        self.clock = self.clock + slices.length;
        match self.noise {
            Noise::White => 0.08 * self.normal(),
            Noise::Drift => {
                self.level += 0.02 * self.normal();
                self.level + 0.03 * self.normal()
            }
            Noise::Steps => {
                if self.random.random::<f64>() < 1.0 / 60.0 {
                    self.level = 0.25 * self.normal();
                }
                self.level + 0.03 * self.normal()
            }
            Noise::Bursts => {
                let turns = if self.in_burst { 0.2 } else { 0.01 };
                self.in_burst ^= self.random.random::<f64>() < turns;
                (if self.in_burst { -1.2 } else { 0.0 }) + 0.03 * self.normal()
            }
            Noise::HeavyTails => {
                // Student's t with three degrees of freedom.
                let squares: f64 = (0..3).map(|_| self.normal().powi(2)).sum();
                0.04 * self.normal() / (squares / 3.0).sqrt()
            }
        }
    }
}

/// Machine and the true level of each network, by its label.
#[derive(Clone)]
struct Simulation {
    machine: Rc<RefCell<NoisyMachine>>,
    truth: Vec<(&'static str, f64)>,
}

/// Network that is up.
struct SimulatedNetwork {
    machine: Rc<RefCell<NoisyMachine>>,
    level: f64,
    /// Slices of the trial that is under way.
    slices: SlicePlan,
    intervals: Vec<Interval>,
}

impl Simulation {
    fn new(seed: u64, truth: &[(&'static str, f64)], noise: Noise) -> Self {
        let machine = NoisyMachine {
            random: ChaCha8Rng::seed_from_u64(seed),
            noise,
            level: 0.0,
            in_burst: false,
            clock: Nanos(0),
        };
        Self { machine: Rc::new(RefCell::new(machine)), truth: truth.to_vec() }
    }
}

impl RunEnvironment for Simulation {
    fn set_up(&mut self, scene: &TurnSetup<'_>) -> Result<Box<dyn RunningNetwork>, AttemptError> {
        let truth = self.truth.iter().find(|(label, _)| *label == scene.entry.label).unwrap().1;
        let level = truth * (RAISE * self.machine.borrow_mut().normal()).exp();
        let machine = Rc::clone(&self.machine);
        Ok(Box::new(SimulatedNetwork { machine, level, slices: SLICES, intervals: Vec::new() }))
    }

    fn elapsed(&self) -> Nanos {
        self.machine.borrow().clock
    }

    fn is_interrupted(&self) -> bool {
        false
    }
}

impl RunningNetwork for SimulatedNetwork {
    fn hops(&self) -> Vec<Hop> {
        Vec::new()
    }

    fn run_trial(&mut self, _: usize) -> Result<TrialMeasurement, AttemptError> {
        unreachable!("all workloads are woven")
    }

    fn begin_slices(&mut self, _: usize, slices: SlicePlan) -> Result<(), AttemptError> {
        self.slices = slices;
        self.intervals.clear();
        Ok(())
    }

    fn run_slice(&mut self, counted: bool) -> Result<(), AttemptError> {
        let noise = self.machine.borrow_mut().next_slice(self.slices);
        if counted {
            self.intervals.push(Interval {
                start: Nanos(self.intervals.len() as u64 * self.slices.length.0),
                length: self.slices.length,
                bytes: (self.level * noise.exp() * 1e8) as u64,
                ..Interval::default()
            });
        }
        Ok(())
    }

    fn finish_slices(&mut self) -> Result<TrialMeasurement, AttemptError> {
        let received = self.intervals.iter().map(|interval| interval.bytes).sum();
        Ok(TrialMeasurement {
            series: vec![Series::new(0, std::mem::take(&mut self.intervals))],
            ends: EndCounts { sent: received, received, ..EndCounts::default() },
            ..TrialMeasurement::default()
        })
    }
}

/// Returns a plan of these networks; every other seed has a budget of ten blocks, every third tries lengths of slices.
fn plan(seed: u64, truth: &[(&'static str, f64)], precision: Option<f64>) -> Plan {
    let block = SLICES.length.0 * u64::from(SLICES.slice_count()) * truth.len() as u64;
    let networks: Vec<&str> = truth.iter().map(|(label, _)| *label).collect();
    let workload = WorkloadPlan {
        duration: SLICES.duration(),
        interval: SLICES.length,
        warm_up: WarmUpPolicy::Fixed(Nanos(0)),
        slices: Some(SLICES),
        slice_lengths: if seed.is_multiple_of(3) { LENGTHS.to_vec() } else { Vec::new() },
        ..made_up_workload("tcp-stream", &[Metric::Throughput])
    };
    Plan {
        seed,
        margins: [(Metric::Throughput, 0.03)].into(),
        blocks: BlockPolicy::GroupSequential { precision, pilot: 3, at_least: 5, at_most: 60 },
        budget: seed.is_multiple_of(2).then_some(Nanos(10 * block)),
        ..made_up_plan(&networks, vec![workload])
    }
}

fn simulate(plan: Plan, truth: &[(&'static str, f64)], noise: Noise) -> (Journal, Document) {
    let mut simulation = Simulation::new(plan.seed, truth, noise);
    let mut records: Vec<Record> = Vec::new();
    let start = StartPoint::default();
    tare_runner::run_plan(&plan, start, &mut simulation, &mut records, &mut SilentProgress)
        .unwrap();
    let environment = Environment::default();
    let run = RunHeader { format: FORMAT, plan, environment, findings: Vec::new() };
    let journal = Journal { run, records };
    let document = tare_analysis::document(&journal, None).unwrap();
    (journal, document)
}

fn ratios(document: &Document) -> Vec<&Ratio> {
    document.cells.iter().filter_map(|cell| cell.ratio.as_ref()).collect()
}

fn covers(ratio: &Ratio, truth: f64) -> bool {
    ratio.ci95[0] <= truth && truth <= ratio.ci95[1]
}

fn differs(ratio: &Ratio) -> bool {
    !matches!(ratio.verdict, Verdict::Same | Verdict::Unclear)
}

/// Shares of many simulated runs without any difference.
struct NullShares {
    /// Ratios whose interval holds the truth.
    coverage: f64,
    /// Families in which a difference is called.
    errors: f64,
}

/// Simulates runs of four networks that are alike, over all kinds of noise.
fn null_shares(runs: u64, precision: Option<f64>) -> NullShares {
    let truth = [("a", 1.0), ("b", 1.0), ("c", 1.0), ("d", 1.0)];
    let (mut all_covered, mut all_families) = (0, 0);
    for noise in ALL {
        let (mut covered, mut families, mut decided, mut blocks) = (0u32, 0u32, 0u32, 0u32);
        for seed in 0..runs {
            let (journal, document) = simulate(plan(seed, &truth, precision), &truth, noise);
            let ratios = ratios(&document);
            assert_eq!(ratios.len(), 3);
            covered += ratios.iter().filter(|ratio| covers(ratio, 1.0)).count() as u32;
            families += u32::from(ratios.iter().any(|ratio| differs(ratio)));
            decided += u32::from(journal.stopped_by() == Some(StoppedBy::Decided));
            blocks += document.blocks;
        }
        let share = |count: u32, of: u64| f64::from(count) / of as f64;
        println!(
            "{noise:?}: coverage {:.4}, families {:.4}, all decided in {decided} of {runs} runs, {:.1} blocks",
            share(covered, 3 * runs),
            share(families, runs),
            share(blocks, runs)
        );
        (all_covered, all_families) = (all_covered + covered, all_families + families);
    }
    let runs = (runs * ALL.len() as u64) as f64;
    let coverage = f64::from(all_covered) / (3.0 * runs);
    let errors = f64::from(all_families) / runs;
    println!("coverage {coverage:.4}, family-wise errors {errors:.4}");
    NullShares { coverage, errors }
}

#[test]
fn with_interim_analyses_intervals_cover_and_families_err_in_five_per_cent_at_most() {
    // A precision that no run reaches: there are analyses, and all networks stay to the end.
    let NullShares { coverage, errors } = null_shares(200, Some(1e-6));
    assert!((0.93..=0.97).contains(&coverage), "coverage {coverage}");
    assert!(errors <= 0.05, "family-wise errors {errors}");
}

#[test]
fn where_decided_networks_leave_intervals_cover_more_often_than_promised() {
    // An interval of an early analysis is wide: it holds together with those of all later ones, which are not made.
    let NullShares { coverage, errors } = null_shares(300, None);
    assert!((0.95..=0.985).contains(&coverage), "coverage {coverage}");
    assert!(errors <= 0.05, "family-wise errors {errors}");
}

#[test]
fn planted_differences_are_covered_and_what_is_decided_leaves() {
    const RUNS: u64 = 60;
    let truth = [("base", 1.0), ("near", 0.95), ("like", 1.0), ("far", 0.7)];
    let (mut covered, mut found, mut total, mut saved) = (0u32, [0u32; 2], 0u32, 0u32);
    for noise in ALL {
        for seed in 0..RUNS {
            let (journal, document) = simulate(plan(2 * seed + 1, &truth, None), &truth, noise);
            let of = |label: &str| document.cells.iter().find(|cell| cell.label == label).unwrap();
            for (label, level) in &truth[1..] {
                covered += u32::from(covers(of(label).ratio.as_ref().unwrap(), *level));
            }
            found[0] += u32::from(differs(of("near").ratio.as_ref().unwrap()));
            found[1] += u32::from(of("far").ratio.as_ref().unwrap().verdict == Verdict::Slower);
            assert_leaves_when_decided(&journal, &document);
            saved += document.blocks - of("far").n;
            total += document.blocks;
        }
    }
    let runs = RUNS as u32 * ALL.len() as u32;
    let coverage = f64::from(covered) / f64::from(3 * runs);
    println!("coverage {coverage:.4}; 5 % found in {} of {runs}, 30 % in {}", found[0], found[1]);
    println!("the far network was spared {saved} of {total} blocks");
    assert!((0.93..=0.98).contains(&coverage), "coverage {coverage}");
    assert!(found[0] * 10 >= runs * 8, "5 % was found in {} of {runs} runs", found[0]);
    assert_eq!(found[1], runs);
    assert!(saved * 5 > total, "{saved} of {total}");
}

/// Fails unless every network has its trials until it was decided, and none after that.
fn assert_leaves_when_decided(journal: &Journal, document: &Document) {
    let shape = Shape::default();
    for cell in &document.cells {
        let decides =
            |analysis: &&tare_record::InterimAnalysis| analysis.decides(&cell.label, &shape);
        let decided = document.interim_analyses.iter().find(decides);
        let last = decided.map_or(document.blocks, |analysis| analysis.blocks);
        assert_eq!(cell.blocks, (0..last).collect::<Vec<_>>(), "{}", cell.label);
        assert!(cell.label != journal.run.plan.baseline || last == document.blocks);
    }
}

/// Returns the slices of every block of a run.
fn slices_of_blocks(journal: &Journal) -> Vec<SlicePlan> {
    let mut all = BTreeMap::new();
    for trial in journal.trials() {
        let slices = trial.slices.as_ref().unwrap();
        assert_eq!(slices.began.len(), slices.plan.rounds as usize);
        assert_eq!(*all.entry(trial.block).or_insert(slices.plan), slices.plan, "one plan a block");
    }
    all.into_values().collect()
}

#[test]
fn the_first_blocks_try_lengths_and_the_others_have_one_of_them() {
    let truth = [("base", 1.0), ("like", 1.0), ("far", 0.7)];
    let (journal, document) = simulate(plan(3, &truth, Some(1e-6)), &truth, Noise::White);
    let slices = slices_of_blocks(&journal);
    let lengths: Vec<Nanos> = slices.iter().map(|one| one.length).collect();
    assert_eq!(lengths[..3], LENGTHS);
    assert!(slices.len() > 5 && LENGTHS.contains(&lengths[3]));
    assert!(slices[3..].iter().all(|one| *one == slices[3]), "{slices:?}");
    assert_eq!(document.blocks as usize, slices.len());
    // A run that is cut off after the choice keeps it, whatever the machine is like by then.
    let of_block = |block| {
        journal
            .records
            .iter()
            .filter(move |record| matches!(record, Record::Trial(trial) if trial.block < block))
    };
    let mut cut = journal.clone();
    cut.records = of_block(4).cloned().collect();
    let start = StartPoint::resume(&mut cut, String::new()).0;
    assert_eq!(start.main, 4);
    let mut machine = Simulation::new(7, &truth, Noise::Bursts);
    let (plan, rest) = (&cut.run.plan, &mut cut.records);
    tare_runner::run_plan(plan, start, &mut machine, rest, &mut SilentProgress).unwrap();
    let resumed = slices_of_blocks(&cut);
    assert!(resumed.len() > 5 && resumed[3..].iter().all(|one| *one == slices[3]), "{resumed:?}");
}

#[test]
fn a_run_that_was_cut_off_goes_on_as_if_it_had_not_been() {
    let truth = [("base", 1.0), ("like", 1.0), ("far", 0.7)];
    let mut planned = plan(3, &truth, None);
    planned.workloads[0].slice_lengths.clear();
    let (journal, document) = simulate(planned, &truth, Noise::White);
    let decides = |record: &Record| matches!(record, Record::InterimAnalysis(analysis) if !analysis.decided.is_empty());
    let at = journal.records.iter().position(decides).unwrap();
    let analyses: Vec<_> =
        document.interim_analyses.iter().take_while(|one| one.decided.is_empty()).collect();
    let deciding = &document.interim_analyses[analyses.len()];
    let mut cut = journal.clone();
    // The analysis is the last line, or the block after it has one trial.
    for records in [at + 1, at + 2] {
        cut.records = journal.records[..records].to_vec();
        let start = StartPoint::resume(&mut cut, String::new()).0;
        assert_eq!((start.main, start.analyses.last()), (deciding.blocks, Some(deciding)));
        assert_eq!(start.main_trials.len(), truth.len() * deciding.blocks as usize);
        assert!(start.sizing.is_some());
        let mut machine = Simulation::new(4, &truth, Noise::White);
        let (plan, rest) = (&cut.run.plan, &mut cut.records);
        tare_runner::run_plan(plan, start, &mut machine, rest, &mut SilentProgress).unwrap();
        let resumed = tare_analysis::document(&cut, None).unwrap();
        assert_leaves_when_decided(&cut, &resumed);
        assert_eq!(&resumed.interim_analyses[analyses.len()], deciding);
        assert!(resumed.blocks > deciding.blocks && resumed.stopped_by.is_some());
    }
}
