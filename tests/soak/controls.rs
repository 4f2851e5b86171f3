//! The long controls, for a machine that does nothing else: `make soak`. What they print is kept in docs/METHOD.md.
//!
//! A network compared with itself must be called different as seldom as the method promises, and a known difference
//! must be found. Known differences are made by a shaper (`+rate=`). `TARE_SOAK_RUNS` sets how often each comparison
//! is run, `TARE_SOAK_FIRST` the first seed (to go on with a series), `TARE_SOAK_MARGIN` and `TARE_SOAK_DURATION` how wide the null control's margin and how long its trials are.

use serde_json::Value;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use support::Scratch;
use support::program::Tare;
use support::{list, text};

/// What the method promises: a ratio's 95 % interval misses the truth in so many of all runs.
const MISSES: f64 = 0.05;
/// The share of runs in which what is there must be found.
const POWER: f64 = 0.80;
/// How exactly two shapers keep the ratio of their rates.
const SHAPER: f64 = 0.005;
/// How sure a control is that it does not itself fail by chance.
const CONFIDENCE: f64 = 0.99;

/// Time between two looks at the memory of a run.
const LOOK: Duration = Duration::from_millis(50);

/// One comparison has the machine for itself.
static MACHINE: Mutex<()> = Mutex::new(());

#[test]
#[ignore = "takes a quarter of an hour on a machine that does nothing else: make soak"]
fn a_network_is_the_same_as_itself() {
    let _alone = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let control = Comparison {
        networks: "a=bridge,b=bridge",
        duration: setting("TARE_SOAK_DURATION", "100ms".to_owned()),
        margin: Some(setting("TARE_SOAK_MARGIN", "15%".to_owned())),
        truth: 1.0,
        runs: setting("TARE_SOAK_RUNS", 200),
    };
    let findings = control.run();
    let alarms = count(&findings, Finding::is_alarm);
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
    let found = count(&findings, Finding::is_found);
    assert!(found as f64 >= POWER * findings.len() as f64, "found in {found} of all runs");
}

#[test]
#[ignore = "takes five minutes on a machine that does nothing else: make soak"]
fn a_difference_of_twenty_percent_is_always_found() {
    let _alone = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let findings = planted("base=bridge+rate=1gbit,other=bridge+rate=800mbit", 0.80);
    assert_eq!(count(&findings, Finding::is_found), findings.len());
}

/// Runs a comparison between two shapers, and sees that the ratio is theirs on the mean. How often intervals cover the
/// truth is the null control's to say: there it is exactly 1, while a shaper keeps its rate to some tenths of a per cent.
fn planted(networks: &'static str, truth: f64) -> Vec<Finding> {
    let comparison = Comparison {
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

/// A setting from the environment, or else its default.
fn setting<T: FromStr>(name: &str, default: T) -> T {
    let given = std::env::var(name).ok();
    given.map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text}")))
}

/// Two networks, run against one another again and again, each time with as many blocks as the pilot advises.
struct Comparison {
    /// The baseline and another, as `--network` takes them.
    networks: &'static str,
    duration: String,
    /// Nothing for the default.
    margin: Option<String>,
    /// The true ratio.
    truth: f64,
    runs: usize,
}

impl Comparison {
    /// Runs it, and prints what came out as a row of a table.
    fn run(&self) -> Vec<Finding> {
        let first: usize = setting("TARE_SOAK_FIRST", 1);
        let findings: Vec<_> =
            (first..first + self.runs).filter_map(|seed| self.once(seed)).collect();
        self.print(&findings);
        findings
    }

    /// One run; nothing where it has no ratio, because nothing arrived in one of its trials.
    fn once(&self, seed: usize) -> Option<Finding> {
        let scratch = Scratch::new();
        let seed = seed.to_string();
        let baseline = self.networks.split('=').next().expect("a label");
        let mut arguments = vec!["run", "--network", self.networks, "--baseline", baseline];
        arguments.extend(["--workload", "tcp-stream", "--metric", "throughput"]);
        arguments.extend(["--duration", &self.duration, "--interval", "10ms"]);
        // The one congestion control that every kernel has; some others take longer than these trials to find a rate.
        arguments.extend(["--congestion", "reno"]);
        arguments.extend(["--seed", &seed, "--out", "out", "--json"]);
        arguments.extend(self.margin.iter().flat_map(|margin| ["--margin", margin]));
        let begin = Instant::now();
        let outcome = Tare::in_directory(scratch.root()).run(&arguments).expect(0);
        let finding = Finding::of(&outcome.json(), begin.elapsed().as_secs_f64());
        println!("{} seed {seed}: {finding:?}", self.networks);
        finding
    }

    fn print(&self, findings: &[Finding]) {
        let mean = |value: fn(&Finding) -> f64| {
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
            ("said anything else", count(findings, Finding::is_alarm).to_string()),
            (
                "verdict `slower`, or p (Holm) below 0.05",
                count(findings, Finding::is_found).to_string(),
            ),
        ];
        println!("\n| comparison | |\n|---|---|");
        rows.iter().for_each(|(what, value)| println!("| {what} | {value} |"));
        println!();
    }
}

/// What one run found.
#[derive(Debug)]
struct Finding {
    verdict: String,
    ratio: f64,
    interval: [f64; 2],
    /// The p-value of no difference, corrected by Holm's method over the run's family.
    p: f64,
    blocks: f64,
    seconds: f64,
    reached_the_advised_number: bool,
}

impl Finding {
    /// Of a run's document: that of its one ratio, if it has one.
    fn of(document: &Value, seconds: f64) -> Option<Self> {
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

    /// Whether it says that there is a difference, however small.
    fn is_alarm(&self) -> bool {
        !["same", "unclear"].contains(&self.verdict.as_str())
    }

    /// Whether it says that the second network is slower.
    fn is_found(&self) -> bool {
        self.verdict == "slower" || (self.p < 0.05 && self.ratio < 1.0)
    }

    fn covers(&self, truth: f64) -> bool {
        (self.interval[0]..=self.interval[1]).contains(&truth)
    }
}

fn count<'a>(
    findings: impl IntoIterator<Item = &'a Finding>,
    is: impl Fn(&Finding) -> bool,
) -> usize {
    findings.into_iter().filter(|one| is(one)).count()
}

/// The most events of this chance that may occur in so many runs: more would occur in less than one of a hundred
/// such series (the binomial distribution's 99 % quantile).
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
    // Summed elsewhere, from exact binomial coefficients.
    assert_eq!([200, 25, 5].map(|runs| most_of(runs, MISSES)), [18, 4, 2]);
}

#[test]
#[ignore = "takes minutes and gigabytes: make soak"]
fn five_thousand_containers_stand_on_several_bridges() {
    let _alone = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let scratch = Scratch::new();
    let tare = Tare::in_directory(scratch.root());
    let free = || support::machine::available_memory();
    let before = free();
    let began = Instant::now();
    // The first client looks for the server, which stands on the first bridge, from the first one, too: that all others
    // reach it was tried when they were raised.
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
