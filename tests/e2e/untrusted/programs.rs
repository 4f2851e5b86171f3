//! Tests of programs that files of others name: they run only by leave of the user.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use support::program::{ProgramOutcome, Tare};
use support::{ScratchDirectory, list, short_run};

/// Example program in the repository.
const EXAMPLE: &str = concat!("exec:", env!("CARGO_MANIFEST_DIR"), "/../examples/exec/bridge.py");

/// Study of one network that runs a payload, which leaves a file where it was run.
struct Payload {
    scratch: ScratchDirectory,
    ran: PathBuf,
}

impl Payload {
    fn new() -> Self {
        let scratch = ScratchDirectory::new();
        let ran = scratch.path("ran");
        let text = format!("#!/bin/sh\n: >{}\nexit 1\n", ran.display());
        let program = scratch.write_file("payload.sh", &text);
        fs::set_permissions(program, Permissions::from_mode(0o755)).expect("it is ours");
        let plugin = r#"{"cniVersion": "1.0.0", "name": "n", "type": "payload.sh"}"#;
        scratch.write_file("payload.conf", plugin);
        Self { scratch, ran }
    }

    /// Runs a study with these networks.
    fn run(&self, networks: &str, more: &[&str]) -> ProgramOutcome {
        let study = format!("networks = [{networks}]\nquick-networks = [{networks}]\n");
        self.scratch.write_file("study.toml", &study);
        let plugins = self.scratch.root().to_str().expect("a path in ASCII");
        let tare = Tare::in_directory(self.scratch.root()).with_variable("CNI_PATH", plugins);
        let limits = ["--workload", "tcp-rr", "--blocks", "1", "--out", "out"];
        tare.run(&short_run(&[&["study.toml"], &limits[..], more].concat()))
    }
}

#[test]
fn a_network_of_a_study_runs_its_program_by_leave_whatever_its_label_is() {
    let payload = Payload::new();
    for (networks, more) in [
        ("\"bridge=exec:./payload.sh\"", &["--network", "bridge"][..]),
        ("\"bridge=exec:./payload.sh\"", &["--network", "loopback,bridge"]),
        ("\"a=exec:./payload.sh\"", &["--network", "a", "--quick"]),
        ("\"exec:./payload.sh\"", &["--quick"]),
        ("\"loopback\", \"exec:././payload.sh\"", &["--baseline", "loopback"]),
        ("\"cni:./payload.conf\"", &[]),
        ("\"loopback\", \"pasta:./payload.sh\"", &["--quick"]),
        ("\"loopback\", \"rootlesskit:./payload.sh\"", &[]),
    ] {
        let refused = payload.run(networks, more);
        refused.assert_error(2, &["the study's network", "--allow-exec", "--network"]);
        assert!(!payload.ran.exists(), "{networks} {more:?}");
    }
    let told = payload.run("\"bridge=exec:./payload.sh\"", &["--network", "bridge", "--dry-run"]);
    let path = payload.scratch.path("payload.sh");
    let words = format!("needs --allow-exec: network exec:./payload.sh runs {}", path.display());
    assert!(told.text().contains(&words), "{}", told.text());
    assert!(!payload.ran.exists());
    // What a plan needs and has room for is found out without a question to the program.
    for name in ["pasta", "slirp4netns", "rootlesskit"] {
        let networks = format!("\"loopback\", \"{name}:./payload.sh\"");
        payload.run(&networks, &["--dry-run"]);
        assert!(!payload.ran.exists(), "{name}");
    }

    // By leave it runs, and the user is told what runs.
    let allowed = payload.run("\"bridge=exec:./payload.sh\"", &["--allow-exec"]);
    let words =
        format!("allowed by --allow-exec: network exec:./payload.sh runs {}", path.display());
    assert!(allowed.stderr.contains(&words), "{}", allowed.stderr);
    assert!(payload.ran.exists());
}

#[test]
fn weaker_confinement_in_a_study_needs_leave() {
    let payload = Payload::new();
    // Where there is no engine, the network is skipped before it could ask.
    let outcome = payload.run("\"loopback\", \"docker:bridge+unconfined\"", &["--dry-run"]);
    let text = outcome.text();
    let is_skipped = text.contains("skipped docker:bridge+unconfined");
    assert!(
        is_skipped || text.contains("needs --allow-exec: network docker:bridge+unconfined"),
        "{text}"
    );
}

#[test]
fn what_a_journal_asks_of_an_engine_needs_leave() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let run = ["--network", "loopback", "--workload", "tcp-rr", "--blocks", "2", "--out", "out"];
    tare.run(&short_run(&run)).expect(0);
    let journal = scratch.path("out/journal.jsonl");
    let lines = fs::read_to_string(&journal).expect("it was kept");
    let header = lines.lines().next().expect("a line");
    let mut header: serde_json::Value = serde_json::from_str(header).expect("JSON");
    let cases = [
        ("image_asked", serde_json::json!("evil:latest"), "run the image evil:latest"),
        ("security_asked", serde_json::json!(["seccomp=unconfined"]), "seccomp=unconfined"),
        ("engines_asked", serde_json::json!(["tcp://10.0.0.1:2375"]), "tcp://10.0.0.1:2375"),
        ("parent_asked", serde_json::json!("eth0"), "the host's device eth0"),
        ("context_asked", serde_json::json!("far"), "the context far"),
    ];
    for (key, value, words) in cases {
        let mut engine = serde_json::json!({
            "address": "", "name": null, "version": "", "api": "", "kernel": null, "system": null,
            "components": {}, "storage": null, "cgroups": null, "security": [], "drivers": [],
            "swarm": null, "image": null, "image_asked": null, "security_asked": [],
            "parent_asked": null, "engines_asked": [], "same_node_asked": false,
            "context_asked": null,
        });
        engine[key] = value;
        header["environment"]["engines"] = serde_json::json!([engine]);
        fs::write(&journal, format!("{header}\n")).expect("it is ours");
        tare.run(&["resume", "out"]).assert_error(2, &["cannot resume", words, "--allow-exec"]);
    }
}

#[test]
fn a_plan_that_this_build_cannot_measure_is_refused() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let run = ["--network", "loopback", "--workload", "tcp-rr", "--blocks", "2", "--out", "out"];
    tare.run(&short_run(&run)).expect(0);
    let journal = scratch.path("out/journal.jsonl");
    let lines = fs::read_to_string(&journal).expect("it was kept");
    let header = lines.lines().next().expect("a line");
    let header: serde_json::Value = serde_json::from_str(header).expect("JSON");
    for (place, value, words) in [
        ("/plan/networks/0/network", serde_json::json!("moon"), "unknown network `moon`"),
        ("/plan/networks/0/network", serde_json::json!("veth+rate=1"), "rate"),
        ("/plan/workloads/0/name", serde_json::json!("smtp"), "unknown workload `smtp`"),
        ("/plan/workloads/0/parameters/request", serde_json::json!(u64::MAX), "request"),
        ("/plan/workloads/0/duration", serde_json::json!(u64::MAX), "duration of tcp-rr"),
        ("/plan/shapes/0/link", serde_json::json!("rate=fast"), "link"),
    ] {
        let mut header = header.clone();
        *header.pointer_mut(place).expect(place) = value;
        fs::write(&journal, format!("{header}\n")).expect("it is ours");
        tare.run(&["resume", "out"]).assert_error(2, &[words]);
    }
}

#[test]
fn a_program_that_the_user_names_runs_without_further_leave() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let study = format!(
        "networks = [\"loopback\", {EXAMPLE:?}]\n[[workload]]\nname = \"tcp-rr\"\n[method]\nblocks = 1\n"
    );
    let file = scratch.write_file("study.toml", &study);
    let file = file.to_str().expect("a path in ASCII");
    let run = |more: &[&str]| tare.run(&short_run(&[&[file, "--json"], more].concat()));
    run(&[]).assert_error(2, &["the study's network exec:", "--allow-exec", "--network"]);
    // Planning runs no programs, and programs named on the command line are allowed by the user.
    run(&["--dry-run"]).expect(0);
    run(&["--network", &format!("loopback,{EXAMPLE}"), "--out", "named"]).expect(0);
    let document = run(&["--allow-exec", "--out", "allowed"]).expect(0).json();
    assert!(list(&document, "cells").iter().any(|cell| cell["network"] == EXAMPLE));
    // The journal of a run may be from an untrusted source.
    let journal = scratch.path("allowed/journal.jsonl");
    let lines = std::fs::read_to_string(&journal).expect("it was kept");
    let first: String = lines.lines().take(1).map(|line| format!("{line}\n")).collect();
    std::fs::write(&journal, first).expect("it is ours");
    tare.run(&["resume", "allowed"]).assert_error(2, &["the run's network exec:", "--allow-exec"]);
    tare.run(&["resume", "allowed", "--allow-exec"]).expect(0);
}
