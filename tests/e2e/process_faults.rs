//! Tests of processes of a run that are stopped, suspended or killed from outside: no more is lost than the trial in which
//! it happened, and the reason is said.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::Path;
use support::journal::{records, trials};
use support::program::{RunningProgram, Tare, User, tied_command};
use support::{ScratchDirectory, eventually, list, machine, short_run, text};

/// Bytes after which an agent is in the middle of its trial.
const UNDER_WAY: u64 = 1 << 20;

/// Starts a run of bridge with one trial of this duration in one piece.
fn start_run(tare: &Tare, duration: &str) -> RunningProgram {
    let network = ["run", "--network", "bridge", "--workload", "tcp-stream", "--slice", "off"];
    let method = ["--blocks", "1", "--interval", "10ms", "--duration", duration, "--out", "out"];
    tare.start(&[&network[..], &method].concat())
}

/// Returns the agents that carry traffic, once there are two of them.
fn busy_agents(running: &RunningProgram) -> Vec<Pid> {
    let agents = || machine::descendants(running.pid(), "internal agent");
    let busy = || agents().into_iter().filter(|agent| device_bytes(*agent) > UNDER_WAY);
    eventually("both agents carry traffic", || busy().count() == 2);
    busy().collect()
}

/// Returns the bytes that the devices in a process's network namespace have received and sent, without loopback.
fn device_bytes(pid: Pid) -> u64 {
    let path = format!("/proc/{}/net/dev", pid.as_raw_nonzero());
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let devices = text.lines().filter_map(|line| line.split_once(':'));
    let own = devices.filter(|(name, _)| name.trim() != "lo");
    let columns = own.flat_map(|(_, counters)| {
        let counters = counters.split_whitespace().map(|one| one.parse::<u64>().unwrap_or(0));
        counters.step_by(8).collect::<Vec<_>>()
    });
    columns.sum()
}

fn signal(pid: Pid, signal: Signal) {
    kill_process(pid, signal).expect("it runs");
}

/// Returns the reasons for which trials were run again.
fn first_failures(directory: &Path) -> Vec<String> {
    let trials = trials(directory);
    let findings = trials.iter().flat_map(|trial| list(trial, "findings"));
    let told = findings.filter(|finding| finding["kind"] == "second-attempt");
    told.map(|finding| text(finding, "reason").to_owned()).collect()
}

/// Checks that a run ended whole, and that its only trial was run again for one reason. Returns the reason.
fn check_repeated(tare: &Tare, running: RunningProgram) -> String {
    let outcome = running.wait().expect(0);
    assert!(outcome.stderr.contains("is tried once again"), "{}", outcome.stderr);
    let document = tare.run(&["report", "out", "--json"]).expect(0).json();
    assert_eq!(list(&document, "failed"), [] as [Value; 0]);
    assert_eq!(document["blocks"], 1);
    let [reason] = first_failures(&tare.directory().join("out")).try_into().expect("one reason");
    assert!(
        outcome.text().contains("run again over its network raised anew"),
        "{}",
        outcome.text()
    );
    machine::wait_for_the_end_of(tare.program());
    reason
}

#[test]
fn a_stopped_agent_is_noticed_long_before_its_trial_would_end() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::copied(&scratch, User::Caller);
    let mut running = start_run(&tare, "1h");
    for (agent, said) in [(0, "is tried once again"), (1, "is not measured on this network")] {
        signal(busy_agents(&running)[agent], Signal::STOP);
        running.wait_for(said);
        assert!(running.awaited_output().contains("(SIGSTOP, SIGTSTP) stopped the agent"));
    }
    running.wait().expect(1);
    machine::wait_for_the_end_of(tare.program());
}

#[test]
fn a_run_that_is_suspended_loses_nothing() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::copied(&scratch, User::Caller);
    let running = start_run(&tare, "2s");
    let agents = busy_agents(&running);
    running.signal(Signal::STOP);
    let bytes = || device_bytes(agents[0]);
    let mut last = 0;
    eventually("the trial ends without the run", || {
        bytes() == std::mem::replace(&mut last, bytes())
    });
    running.signal(Signal::CONT);
    running.wait().expect(0);
    let directory = tare.directory().join("out");
    assert_eq!(first_failures(&directory), [] as [&str; 0]);
    assert_eq!(trials(&directory).len(), 1);
}

#[test]
fn a_lab_whose_init_process_is_killed_is_raised_anew() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::copied(&scratch, User::Caller);
    let running = start_run(&tare, "3s");
    let pid = running.pid();
    busy_agents(&running);
    let [init] = machine::descendants(pid, "internal init").try_into().expect("one init process");
    signal(init, Signal::KILL);
    let reason = check_repeated(&tare, running);
    assert!(reason.contains("with the lab's init process, which was killed"), "{reason}");
    assert_eq!(machine::cgroups_of(pid), [] as [&Path; 0]);
}

#[test]
fn woven_networks_are_raised_anew_when_the_init_process_is_killed() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::copied(&scratch, User::Caller);
    let networks = ["run", "--network", "host,veth,bridge", "--workload", "tcp-stream"];
    let method = ["--blocks", "2", "--slice", "100ms", "--duration", "2s", "--out", "out"];
    let running = tare.start(&[&networks[..], &method].concat());
    let agents = || machine::descendants(running.pid(), "internal agent");
    eventually("all networks are up", || agents().len() == 2 * 3);
    let inits = machine::descendants(running.pid(), "internal init");
    let [init] = inits.try_into().expect("one init process");
    signal(init, Signal::KILL);
    let outcome = running.wait().expect(0);
    assert!(outcome.stderr.contains("is tried once again"), "{}", outcome.stderr);
    let document = tare.run(&["report", "out", "--json"]).expect(0).json();
    assert_eq!(list(&document, "failed"), [] as [Value; 0]);
    assert_eq!(document["blocks"], 2);
    machine::wait_for_the_end_of(tare.program());
}

#[test]
fn a_run_under_nohup_survives_a_hangup() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::copied(&scratch, User::Caller);
    let mut command = tied_command(User::Caller, "nohup");
    let asked = ["--network", "host,bridge", "--blocks", "1000", "--out", "out"];
    command.arg(tare.program()).args(short_run(&asked)).current_dir(tare.directory());
    let mut running = RunningProgram::spawn(&mut command);
    running.wait_for("block 1 ");
    running.signal(Signal::HUP);
    running.wait_for("block 3 ");
    running.signal(Signal::INT);
    running.wait().expect(130);
}

#[test]
fn a_network_that_was_given_up_is_completed_by_resume() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::copied(&scratch, User::Caller);
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/exec/bridge.py");
    let broken = scratch.path("broken");
    std::fs::write(&broken, "").expect("room for a file");
    let script = format!(
        "#!/bin/sh -e\n[ \"$1\" != up ] || [ ! -e {broken} ] || exit 1\nexec {example} \"$1\"\n",
        broken = broken.display(),
        example = example.canonicalize().expect("the example is there").display(),
    );
    let own = format!("own=exec:{}", scratch.write_program("own.sh", &script).display());
    let networks = format!("host,{own}");
    let asked = ["--network", &networks, "--allow-exec", "--blocks", "2", "--out", "out"];
    let outcome = tare.run(&short_run(&asked)).expect(1);
    assert!(outcome.stderr.contains("own failed, and is tried once again"), "{}", outcome.stderr);
    let failures = |document: &Value| list(document, "failed").len();
    let before = tare.run(&["report", "out", "--json"]).expect(0).json();
    assert_eq!((failures(&before), &before["blocks"]), (1, &2.into()));
    std::fs::remove_file(&broken).expect("it was there");
    let outcome = tare.run(&["resume", "out", "--allow-exec", "--json"]).expect(0);
    assert!(outcome.stderr.contains("own failed: the blocks from block 0 on are measured again"));
    let after = outcome.json();
    assert_eq!((failures(&after), &after["blocks"]), (0, &2.into()));
    let figures =
        |label: &str| list(&after, "cells").iter().filter(|cell| cell["label"] == label).count();
    assert!(figures("own") > 0 && figures("own") == figures("host"), "{after}");
    let directory = tare.directory().join("out");
    let written = std::fs::read_to_string(directory.join("journal.jsonl")).expect("a journal");
    crate::recompute::check(&written, &after);
    assert!(records(&directory).iter().any(|record| record["record"] == "failure"), "it is kept");
    tare.run(&["resume", "out", "--allow-exec"]).assert_error(2, &["finished", "tare report"]);
}
