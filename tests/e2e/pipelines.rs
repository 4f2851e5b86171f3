//! Tests of what runs in pipelines: the steps of the GitHub Action in their order, as scripts, and the collector for Prometheus.

use std::path::{Path, PathBuf};
use support::journal::{rewrite, set_rate};
use support::program::{ProgramOutcome, RunningProgram, User, binary, tied_command};
use support::{ScratchDirectory, schema};

/// Study of two shapers in `veth`, as fast as `rate` says.
fn study(rate: &str) -> String {
    format!(
        "networks = [\"host\", \"limited=veth+rate={rate}\"]\n[[workload]]\nname = \"tcp-stream\"\n\
         [method]\nduration = \"100ms\"\ninterval = \"10ms\"\nwarm-up = \"auto\"\nblocks = 6\nslice = \"off\"\n"
    )
}

/// Runner of a pipeline: a checkout with a study, and a `PATH` with this build's tare and a `gh` that keeps what it is told.
struct Runner {
    scratch: ScratchDirectory,
}

impl Runner {
    fn with_study(rate: &str) -> Self {
        let scratch = ScratchDirectory::new();
        std::fs::create_dir(scratch.path("bin")).expect("a directory");
        std::os::unix::fs::symlink(binary(), scratch.path("bin/tare")).expect("a link");
        let gh = "#!/bin/sh\necho \"$@\" >gh.arguments\n";
        std::fs::write(scratch.path("bin/gh"), gh).expect("a script");
        make_executable(&scratch.path("bin/gh"));
        std::fs::write(scratch.path("study.toml"), study(rate)).expect("a study");
        Self { scratch }
    }

    /// Runs a script of the project with these variables.
    fn run(&self, script: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> ProgramOutcome {
        let path = format!(
            "{}:{}",
            self.scratch.path("bin").display(),
            std::env::var("PATH").unwrap_or_default()
        );
        let mut command = tied_command(User::Caller, script);
        command
            .args(arguments)
            .current_dir(self.scratch.root())
            .env("PATH", path)
            .env("GITHUB_OUTPUT", self.scratch.path("outputs"))
            .env("GITHUB_STEP_SUMMARY", self.scratch.path("summary.md"))
            .env("TARE_STUDY", "./study.toml")
            .env("TARE_OUT", "kept")
            .env("TARE_FAIL_ON", "5%")
            .env("TARE_OF", "figures")
            .envs(variables.iter().copied());
        RunningProgram::spawn(&mut command).wait()
    }

    /// Runs all steps of the action as it does, up to the last, whose outcome it returns.
    fn run_action(&self, variables: &[(&str, &str)]) -> ProgramOutcome {
        self.run_steps(&steps(), variables)
    }

    /// Runs these steps up to the last, which judges, and whose outcome it returns.
    fn run_steps(&self, steps: &[PathBuf], variables: &[(&str, &str)]) -> ProgramOutcome {
        let (judge, before) = steps.split_last().expect("steps");
        for step in before {
            self.run(step, &[], variables).expect(0);
        }
        let (code, compared) = (self.output("code"), self.output("compared"));
        let judged = [("TARE_CODE", &*code), ("TARE_COMPARED", &*compared)];
        self.run(judge, &[], &[&judged, variables].concat())
    }

    /// Returns the last value of an output of the steps.
    fn output(&self, name: &str) -> String {
        let outputs = std::fs::read_to_string(self.scratch.path("outputs")).expect("outputs");
        let of = |line: &str| line.strip_prefix(name)?.strip_prefix('=').map(str::to_owned);
        outputs.lines().rev().find_map(of).expect("the output")
    }

    /// Gives every trial of a run this rate, bit/s, and 0.1 % more in each further block.
    fn set_rates(&self, directory: &str, rate: f64) {
        rewrite(&self.scratch.path(directory), |trial| {
            let block = trial["block"].as_f64().expect("a number");
            set_rate(trial, rate * (1.0 + block / 1000.0));
        });
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.scratch.path(name)).expect(name)
    }
}

fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("permissions");
}

/// Returns the scripts that the action runs, in its order.
fn steps() -> Vec<PathBuf> {
    let repository = schema::repository();
    let action = std::fs::read_to_string(repository.join("action.yml")).expect("the action");
    let script = |line: &str| {
        let script = line.trim().strip_prefix("run: '\"$GITHUB_ACTION_PATH/")?;
        Some(repository.join(script.strip_suffix("\"'")?))
    };
    let steps: Vec<PathBuf> = action.lines().filter_map(script).collect();
    assert_eq!(steps.len(), action.matches("shell: sh").count(), "every step is a script");
    steps
}

#[test]
fn without_a_baseline_the_run_is_shown_and_kept() {
    let runner = Runner::with_study("100mbit");
    runner.run_action(&[]).expect(0);
    assert_eq!((&*runner.output("code"), &*runner.output("compared")), ("0", ""));
    let summary = runner.read("summary.md");
    assert!(summary.contains("| limited (veth+rate=100mbit) |"), "{summary}");
    assert!(runner.read("kept/page.html").starts_with("<!DOCTYPE html>"));
    assert!(runner.read("kept/tare.prom").contains("tare_throughput_bits_per_second"));
}

#[test]
fn a_network_slower_than_in_the_second_checkout_fails_and_is_commented_on() {
    let runner = Runner::with_study("50mbit");
    std::fs::create_dir(runner.scratch.path("before")).expect("a directory");
    std::fs::write(runner.scratch.path("before/study.toml"), study("100mbit")).expect("a study");
    let steps = steps();
    let at = |name: &str| steps.iter().position(|step| step.ends_with(name)).expect("the step");
    let (compare, judge) = (at("compare.sh"), at("judge.sh"));
    for step in &steps[..=compare] {
        runner.run(step, &[], &[("TARE_BASELINE", "before")]).expect(0);
    }
    // A busy machine decides nothing: from here on both runs have known rates.
    runner.set_rates("kept/base", 100e6);
    runner.set_rates("kept/run", 50e6);
    let variables = [("TARE_BASELINE", "kept/base"), ("TARE_COMMENT", "7")];
    let judged = runner.run_steps(&steps[compare..=judge], &variables).expect(3);
    assert!(judged.stderr.contains("a regression: see the table"), "{}", judged.stderr);
    let summary = runner.read("summary.md");
    assert!(summary.contains("limited") && summary.contains("<details>"), "{summary}");
    assert!(runner.read("kept/compare.xml").contains("<failure"));
    let comment = runner.read("gh.arguments");
    assert!(comment.starts_with("pr comment 7 --edit-last --create-if-none"), "{comment}");
}

#[test]
fn what_fails_a_pipeline_is_for_its_author_to_say() {
    let runner = Runner::with_study("100mbit");
    let steps = steps();
    let judge = steps.last().expect("steps");
    for (code, compared, strict, expected) in [
        ("0", "", "false", 0),
        ("0", "4", "false", 0),
        ("0", "4", "true", 4),
        ("0", "3", "false", 3),
        ("1", "0", "false", 0),
        ("1", "0", "true", 1),
        ("130", "0", "false", 130),
    ] {
        let variables = [
            ("TARE_CODE", code),
            ("TARE_COMPARED", compared),
            ("TARE_FAIL_UNDECIDED", strict),
            ("TARE_FAIL_MISSING", strict),
        ];
        runner.run(judge, &[], &variables).expect(expected);
    }
    let missing = [("TARE_BASELINE", "absent")];
    let compare = schema::repository().join("packaging/ci/compare.sh");
    let refused = runner.run(&compare, &[], &missing).expect(1);
    assert!(refused.stderr.contains("the baseline absent is no directory"), "{}", refused.stderr);
}

#[test]
fn the_collector_for_prometheus_has_the_figures_of_a_whole_file() {
    let runner = Runner::with_study("100mbit");
    std::fs::create_dir(runner.scratch.path("collected")).expect("a directory");
    let script = schema::repository().join("packaging/prometheus/tare-textfile.sh");
    runner.run(&script, &["collected", "./study.toml"], &[]).expect(0);
    let entries = std::fs::read_dir(runner.scratch.path("collected")).expect("a directory");
    let names: Vec<_> = entries.map(|entry| entry.expect("an entry").file_name()).collect();
    assert_eq!(names, ["tare.prom"]);
    assert!(runner.read("collected/tare.prom").ends_with("# EOF\n"));
}
