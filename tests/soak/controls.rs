//! Long controls, for an otherwise idle machine: `make soak`. Their output is kept in
//! docs/METHOD-RATIONALE.md, section "Null control and planted differences".
//!
//! A network compared with itself must be called different as rarely as the method promises, and a known difference
//! must be found. Known differences are made by a shaper (`+rate=`). `TARE_SOAK_RUNS` sets the number of runs of each
//! comparison, `TARE_SOAK_FIRST` the first seed (to continue a series), `TARE_SOAK_MARGIN` and `TARE_SOAK_DURATION` the
//! margin and the duration of trials in the null control.

use serde_json::Value;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use support::ScratchDirectory;
use support::program::Tare;
use support::{list, text};

/// Promise of the method: the share of runs in which a ratio's 95 % interval misses the true value.
const MISSES: f64 = 0.05;
/// Share of runs that must find an existing difference.
const POWER: f64 = 0.80;
/// Accuracy with which two shapers keep the ratio of their rates.
const SHAPER: f64 = 0.005;
/// Probability that a control does not fail by chance.
const CONFIDENCE: f64 = 0.99;

/// Time between two samples of a run's memory.
const LOOK: Duration = Duration::from_millis(50);

/// Lock, so that each comparison has the machine alone.
static MACHINE: Mutex<()> = Mutex::new(());

#[test]
#[ignore = "takes a quarter of an hour on a machine that does nothing else: make soak"]
fn a_network_is_the_same_as_itself() {
    let _alone = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let control = RepeatedComparison {
        networks: "a=bridge,b=bridge",
        duration: setting("TARE_SOAK_DURATION", "100ms".to_owned()),
        margin: Some(setting("TARE_SOAK_MARGIN", "15%".to_owned())),
        truth: 1.0,
        runs: setting("TARE_SOAK_RUNS", 200),
    };
    let findings = control.run();
    let alarms = count(&findings, ComparisonResult::is_alarm);
    let bound = most_of(findings.len(), MISSES);
    assert!(alarms <= bound, "{alarms} false alarms in {} runs; {bound} may be", findings.len());
    let advised: Vec<_> = findings.iter().filter(|one| one.reached_the_advised_number).collect();
    let same = count(advised.iter().copied(), |one| one.verdict == "same");
    assert!(
        same as f64 >= POWER * advised.len() as f64,
        "`same` was said in {same} of {} runs with the advised number of blocks",
        advised.len()
    );
}

#[test]
#[ignore = "takes five minutes on a machine that does nothing else: make soak"]
fn a_difference_of_three_percent_is_found() {
    let _alone = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let findings = planted("base=bridge+rate=1gbit,other=bridge+rate=970mbit", 0.97);
    let found = count(&findings, ComparisonResult::is_found);
    assert!(found as f64 >= POWER * findings.len() as f64, "found in {found} of all runs");
}

#[test]
#[ignore = "takes five minutes on a machine that does nothing else: make soak"]
fn a_difference_of_twenty_percent_is_always_found() {
    let _alone = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let findings = planted("base=bridge+rate=1gbit,other=bridge+rate=800mbit", 0.80);
    assert_eq!(count(&findings, ComparisonResult::is_found), findings.len());
}

/// Runs a comparison between two shapers, and checks that the mean ratio is theirs. The coverage of intervals is tested
/// by the null control: there the ratio is exactly 1, while a shaper is accurate to a few tenths of a per cent.
fn planted(networks: &'static str, truth: f64) -> Vec<ComparisonResult> {
    let comparison = RepeatedComparison {
        networks,
        duration: "200ms".to_owned(),
        margin: None,
        truth,
        runs: setting("TARE_SOAK_RUNS", 25).min(25),
    };
    let findings = comparison.run();
    let mean = findings.iter().map(|one| one.ratio).sum::<f64>() / findings.len() as f64;
    assert!((mean / truth - 1.0).abs() < SHAPER, "{mean} instead of {truth}");
    findings
}

/// Returns a setting from the environment, or its default.
fn setting<T: FromStr>(name: &str, default: T) -> T {
    let given = std::env::var(name).ok();
    given.map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text}")))
}

/// Two networks that are compared again and again, each time with as many blocks as the pilot run recommends.
struct RepeatedComparison {
    /// Baseline and another network, in the syntax of `--network`.
    networks: &'static str,
    duration: String,
    /// Margin; `None` for the default.
    margin: Option<String>,
    /// True ratio.
    truth: f64,
    runs: usize,
}

impl RepeatedComparison {
    /// Runs the comparison, and prints the results as a row of a table.
    fn run(&self) -> Vec<ComparisonResult> {
        let first: usize = setting("TARE_SOAK_FIRST", 1);
        let findings: Vec<_> =
            (first..first + self.runs).filter_map(|seed| self.once(seed)).collect();
        self.print(&findings);
        findings
    }

    /// Runs once. Returns `None` if there is no ratio, because a trial received nothing.
    fn once(&self, seed: usize) -> Option<ComparisonResult> {
        let scratch = ScratchDirectory::new();
        let seed = seed.to_string();
        let baseline = self.networks.split('=').next().expect("a label");
        let mut arguments = vec!["run", "--network", self.networks, "--baseline", baseline];
        arguments.extend(["--workload", "tcp-stream", "--metric", "throughput"]);
        arguments.extend(["--duration", &self.duration, "--interval", "10ms"]);
        // Reno is the one congestion control in every kernel; some others take longer than these trials to find a rate.
        arguments.extend(["--congestion", "reno"]);
        arguments.extend(["--seed", &seed, "--out", "out", "--json"]);
        arguments.extend(self.margin.iter().flat_map(|margin| ["--margin", margin]));
        let begin = Instant::now();
        let outcome = Tare::in_directory(scratch.root()).run(&arguments).expect(0);
        let finding =
            ComparisonResult::from_document(&outcome.json(), begin.elapsed().as_secs_f64());
        println!("{} seed {seed}: {finding:?}", self.networks);
        finding
    }

    fn print(&self, findings: &[ComparisonResult]) {
        let mean = |value: fn(&ComparisonResult) -> f64| {
            findings.iter().map(value).sum::<f64>() / findings.len() as f64
        };
        let verdict = |name| count(findings, |one| one.verdict == name);
        let rows = [
            ("networks", self.networks.to_owned()),
            ("true ratio", self.truth.to_string()),
            ("trials of", self.duration.clone()),
            ("margin", self.margin.clone().unwrap_or_else(|| "default".to_owned())),
            ("runs with a ratio", format!("{} of {}", findings.len(), self.runs)),
            ("seconds a run, mean", format!("{:.1}", mean(|one| one.seconds))),
            ("blocks, mean", format!("{:.1}", mean(|one| one.blocks))),
            (
                "reached the advised number",
                count(findings, |one| one.reached_the_advised_number).to_string(),
            ),
            ("ratio, mean", format!("{:.4}", mean(|one| one.ratio))),
            (
                "95 % intervals that miss the true ratio",
                count(findings, |one| !one.covers(self.truth)).to_string(),
            ),
            ("said `same`", verdict("same").to_string()),
            ("said `unclear`", verdict("unclear").to_string()),
            ("said anything else", count(findings, ComparisonResult::is_alarm).to_string()),
            (
                "verdict `slower`, or p (Holm) below 0.05",
                count(findings, ComparisonResult::is_found).to_string(),
            ),
        ];
        println!("\n| comparison | |\n|---|---|");
        rows.iter().for_each(|(what, value)| println!("| {what} | {value} |"));
        println!();
    }
}

/// Result of one run.
#[derive(Debug)]
struct ComparisonResult {
    verdict: String,
    ratio: f64,
    interval: [f64; 2],
    /// p-value of no difference, corrected by Holm's method over the run's family.
    p: f64,
    blocks: f64,
    seconds: f64,
    reached_the_advised_number: bool,
}

impl ComparisonResult {
    /// Reads the result from a run's document: that of its only ratio. Returns `None` if it has none.
    fn from_document(document: &Value, seconds: f64) -> Option<Self> {
        let ratios: Vec<_> = list(document, "cells")
            .iter()
            .map(|cell| &cell["ratio"])
            .filter(|one| !one.is_null())
            .collect();
        let [ratio] = ratios.as_slice() else { return None };
        let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{value} in {ratio}"));
        Some(Self {
            verdict: text(ratio, "verdict").to_owned(),
            ratio: number(&ratio["value"]),
            interval: [number(&ratio["ci95"][0]), number(&ratio["ci95"][1])],
            p: number(&ratio["p_adjusted"]),
            blocks: number(&document["blocks"]),
            seconds,
            reached_the_advised_number: text(document, "stopped_by") == "precision",
        })
    }

    /// Returns true if the verdict is a difference, however small.
    fn is_alarm(&self) -> bool {
        !["same", "unclear"].contains(&self.verdict.as_str())
    }

    /// Returns true if the result is that the second network is slower.
    fn is_found(&self) -> bool {
        self.verdict == "slower" || (self.p < 0.05 && self.ratio < 1.0)
    }

    fn covers(&self, truth: f64) -> bool {
        (self.interval[0]..=self.interval[1]).contains(&truth)
    }
}

fn count<'a>(
    findings: impl IntoIterator<Item = &'a ComparisonResult>,
    is: impl Fn(&ComparisonResult) -> bool,
) -> usize {
    findings.into_iter().filter(|one| is(one)).count()
}

/// Returns the largest acceptable number of events of this probability: more would occur in less than one of a hundred
/// such series (the 99 % quantile of the binomial distribution).
fn most_of(runs: usize, chance: f64) -> usize {
    let mut exactly = (1.0 - chance).powf(runs as f64);
    let mut at_most = exactly;
    let mut events = 0;
    while at_most < CONFIDENCE {
        exactly *= (runs - events) as f64 / (events + 1) as f64 * chance / (1.0 - chance);
        events += 1;
        at_most += exactly;
    }
    events
}

#[test]
fn the_bound_is_that_of_the_binomial_distribution() {
    // Expected values from exact binomial coefficients.
    assert_eq!([200, 25, 5].map(|runs| most_of(runs, MISSES)), [18, 4, 2]);
}

#[test]
#[ignore = "takes minutes and gigabytes: make soak"]
fn five_thousand_containers_stand_on_several_bridges() {
    let _alone = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let free = || support::machine::available_memory();
    let before = free();
    let began = Instant::now();
    // The first client pings the server from the first bridge, where both are: all other clients were tested when the
    // network was set up.
    let script = "ping -c 1 -w 5 server && echo up";
    let arguments = ["up", "bridge-plain", "--clients", "4999", "--", "sh", "-c", script];
    let running = tare.start(&arguments);
    let mut least = before;
    while !crate::ended_within(&running, LOOK) {
        least = least.min(free());
    }
    let outcome = running.wait().expect(0);
    assert!(outcome.text().lines().any(|line| line == "up"), "{}", outcome.text());
    println!(
        "5,000 containers on 5 bridges: {:.1} s up and down, {:.2} GB of memory ({:.0} kB a container)",
        began.elapsed().as_secs_f64(),
        (before - least) as f64 / 1e9,
        (before - least) as f64 / 5e6
    );
}
