//! Networks that programs raise or carry: daemons of the lab's own, CNI plugins, and programs of the user's.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod support;

use rustix::fs::{Access, access};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::Path;
use support::program::{Tare, User};
use support::scratch::Scratch;
use support::{list, short_run, text};

/// The example in the repository.
const EXAMPLE: &str =
    concat!("exec:", env!("CARGO_MANIFEST_DIR"), "/../../examples/exec/bridge.py");

/// A CNI configuration that everybody's plugins can carry out.
const CNI: &str = r#"{"cniVersion": "1.0.0", "name": "test", "plugins": [
    {"type": "bridge", "bridge": "cni0", "isGateway": true,
     "ipam": {"type": "host-local", "subnet": "10.88.0.0/16"}}]}"#;

#[test]
fn programs_of_the_users_are_measured_like_any_network() {
    for &user in User::all() {
        let scratch = Scratch::new();
        let tare = Tare::copied(&scratch, user);
        let file = scratch.write("test.conflist", CNI);
        let cni = format!("cni:{}", file.display());
        let networks = format!("host,{cni},mine={EXAMPLE}");
        let arguments = ["--network", &networks, "--workload", "tcp-rr", "--blocks", "1", "--json"];
        let document = tare.run(&short_run(&arguments)).expect(0).json();
        for (label, network, bridge) in
            [(cni.as_str(), cni.as_str(), "cni0"), ("mine", EXAMPLE, "example0")]
        {
            let cells = list(&document, "cells");
            let cell = cells.iter().find(|cell| cell["label"] == label).expect("a cell");
            assert_eq!(cell["network"], network);
            assert!(cell["mean"].as_f64().is_some_and(|mean| mean > 0.0), "{cell}");
            let hop = |hop: &Value| hop["kind"] == "bridge" && hop["name"] == bridge;
            assert!(list(cell, "hops").iter().any(hop), "{}", cell["hops"]);
        }
    }
}

#[test]
fn what_a_study_names_runs_only_with_leave() {
    let scratch = Scratch::new();
    let tare = Tare::in_directory(scratch.root());
    let study = format!(
        "networks = [\"loopback\", {EXAMPLE:?}]\n[[workload]]\nname = \"tcp-rr\"\n[method]\nblocks = 1\n"
    );
    let file = scratch.write("study.toml", &study);
    let file = file.to_str().expect("a path in ASCII");
    let run = |more: &[&str]| tare.run(&short_run(&[&[file, "--json"], more].concat()));
    run(&[]).complains(2, &["the study names exec:", "--allow-exec", "--network"]);
    // Planning runs nothing, and what the command line names is the user's own wish.
    run(&["--dry-run"]).expect(0);
    run(&["--network", &format!("loopback,{EXAMPLE}"), "--out", "named"]).expect(0);
    let document = run(&["--allow-exec", "--out", "allowed"]).expect(0).json();
    assert!(list(&document, "cells").iter().any(|cell| cell["network"] == EXAMPLE));
    // The journal of a run may come from anywhere.
    let journal = scratch.path("allowed/journal.jsonl");
    let lines = std::fs::read_to_string(&journal).expect("it was kept");
    let first: String = lines.lines().take(1).map(|line| format!("{line}\n")).collect();
    std::fs::write(&journal, first).expect("it is ours");
    tare.run(&["resume", "allowed"]).complains(2, &["the run has exec:", "--allow-exec"]);
    tare.run(&["resume", "allowed", "--allow-exec"]).expect(0);
}

#[test]
fn what_is_not_there_is_skipped_with_its_remedy() {
    let scratch = Scratch::new();
    let tare = Tare::in_directory(scratch.root());
    let file =
        scratch.write("odd.conf", r#"{"cniVersion": "1.0.0", "name": "n", "type": "tare-none"}"#);
    let odd = format!("cni:{}", file.display());
    for (network, reason, remedy) in [
        (odd.as_str(), "the CNI plugin tare-none is not in", "CNI_PATH"),
        ("cni:/no/such/file", "read the CNI configuration /no/such/file", "name a file"),
        ("exec:/no/such/program", "/no/such/program cannot be run", "executable"),
    ] {
        let networks = format!("loopback,{network}");
        let arguments = ["--network", &networks, "--workload", "tcp-rr", "--blocks", "1", "--json"];
        let document = tare.run(&short_run(&arguments)).expect(1).json();
        let skipped = &list(&document, "skipped")[0];
        assert_eq!(text(skipped, "network"), network);
        assert!(text(skipped, "reason").contains(reason), "{skipped}");
        assert!(text(skipped, "remedy").contains(remedy), "{skipped}");
        std::fs::remove_dir_all(only_run(scratch.root())).expect("its results");
    }
}

/// The directory of the one run in a directory.
fn only_run(directory: &Path) -> std::path::PathBuf {
    let entries = std::fs::read_dir(directory).expect("it is there").flatten();
    let mut runs =
        entries.map(|entry| entry.path()).filter(|path| path.join("journal.jsonl").exists());
    runs.next().expect("a run's directory")
}

/// Daemons of this name that a process has started, by way of its own.
fn daemons_of(ancestor: u32, name: &str) -> Vec<Pid> {
    let parent = |pid: u32| -> Option<u32> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit(") ").next()?.split(' ').nth(1)?.parse().ok()
    };
    let is_below = |mut pid: u32| loop {
        match parent(pid) {
            Some(above) if above == ancestor => break true,
            Some(above) if above > 1 => pid = above,
            _ => break false,
        }
    };
    let entries = std::fs::read_dir("/proc").expect("/proc is there").flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers
        .filter(|pid| {
            let comm = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            comm.trim() == name && is_below(*pid)
        })
        .filter_map(|pid| Pid::from_raw(i32::try_from(pid).ok()?))
        .collect()
}

#[test]
fn a_daemon_that_dies_in_a_trial_fails_its_network_alone() {
    let scratch = Scratch::new();
    let tare = Tare::in_directory(scratch.root());
    let run = |duration: &'static str| {
        ["run", "--network", "loopback,ovs-user", "--workload", "tcp-rr", "--duration", duration]
            .into_iter()
            .chain(["--interval", "10ms", "--seed", "1", "--blocks", "1", "--out", "out", "--json"])
            .collect::<Vec<_>>()
    };
    if access("/dev/net/tun", Access::READ_OK | Access::WRITE_OK).is_err() {
        let document = tare.run(&run("100ms")).expect(1).json();
        let reason = text(&list(&document, "skipped")[0], "reason").to_owned();
        assert!(reason.contains("/dev/net/tun may not be used"), "{reason}");
        return;
    }
    let running = tare.start(&run("3s"));
    let until = std::time::Instant::now() + std::time::Duration::from_secs(120);
    // Once traffic flows through it, its log says that the client's port is there.
    let log = scratch.path("out/logs/ovs-user/node-0-ovs-vswitchd.log");
    let is_up =
        || std::fs::read_to_string(&log).is_ok_and(|log| log.contains("added interface veth-c0"));
    while !is_up() {
        assert!(std::time::Instant::now() < until, "no daemon was seen");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    std::thread::sleep(std::time::Duration::from_millis(500));
    for daemon in daemons_of(running.pid(), "ovs-vswitchd") {
        kill_process(daemon, Signal::KILL).expect("it runs");
    }
    let outcome = running.wait().expect(1);
    let document = outcome.json();
    let failed = &list(&document, "failed")[0];
    assert_eq!(text(failed, "network"), "ovs-user");
    assert!(
        text(failed, "reason").contains("ovs-vswitchd in node-0: it was ended by signal 9"),
        "{failed}"
    );
    let kept = list(&document, "cells").iter().any(|cell| cell["network"] == "loopback");
    assert!(kept, "what else was measured is kept");
}
