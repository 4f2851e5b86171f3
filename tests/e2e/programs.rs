//! Tests of networks that programs set up or carry: the lab's own daemons, CNI plugins, and users' programs.

use rustix::fs::{Access, access};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::path::Path;
use support::journal::{counter, measured_blocks, records, trials};
use support::machine::descendants;
use support::program::{Tare, User};
use support::{ScratchDirectory, eventually, list, short_run, text};

/// Example program in the repository.
const EXAMPLE: &str = concat!("exec:", env!("CARGO_MANIFEST_DIR"), "/../examples/exec/bridge.py");

/// CNI configuration that all installations of plugins support.
const CNI: &str = r#"{"cniVersion": "1.0.0", "name": "test", "plugins": [
    {"type": "bridge", "bridge": "cni0", "isGateway": true,
     "ipam": {"type": "host-local", "subnet": "10.88.0.0/16"}}]}"#;

#[test]
fn programs_of_the_users_are_measured_like_any_network() {
    for &user in User::all() {
        let scratch = ScratchDirectory::new();
        let tare = Tare::copied(&scratch, user);
        let file = scratch.write_file("test.conflist", CNI);
        let cni = format!("cni:{}", file.display());
        let networks = format!("host,{cni},mine={EXAMPLE}");
        let arguments = ["--network", &networks, "--workload", "tcp-rr", "--blocks", "1", "--json"];
        let run = [short_run(&arguments), vec!["--out", "out"]].concat();
        let document = tare.run(&run).expect_measured().json();
        let trials = trials(&tare.directory().join("out"));
        for (label, network, bridge) in
            [(cni.as_str(), cni.as_str(), "cni0"), ("mine", EXAMPLE, "example0")]
        {
            let cells = list(&document, "cells");
            let cell = cells.iter().find(|cell| cell["label"] == label).expect("a cell");
            assert_eq!(cell["network"], network);
            // Every request passed a device of the client.
            let trial = trials.iter().find(|trial| trial["label"] == label).expect("a trial");
            let requests = trial["ends"]["completed"].as_u64().expect("a count");
            let packets = counter(trial, "client-0", "/devices/eth0/tx_packets");
            assert!((1..=packets).contains(&requests), "{requests} in {packets} packets");
            let hop = |hop: &Value| hop["kind"] == "bridge" && hop["name"] == bridge;
            assert!(list(cell, "hops").iter().any(hop), "{}", cell["hops"]);
        }
    }
}

#[test]
fn what_is_not_there_is_skipped_with_its_remedy() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let file = scratch
        .write_file("odd.conf", r#"{"cniVersion": "1.0.0", "name": "n", "type": "tare-none"}"#);
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

/// Returns the only run in a directory.
fn only_run(directory: &Path) -> std::path::PathBuf {
    let entries = std::fs::read_dir(directory).expect("it is there").flatten();
    let mut runs =
        entries.map(|entry| entry.path()).filter(|path| path.join("journal.jsonl").exists());
    runs.next().expect("a run's directory")
}

/// Returns the packets that a device has received, in the network namespace of a process. Returns `None` if there is no
/// such device.
fn received(pid: Pid, device: &str) -> Option<u64> {
    let path = format!("/proc/{}/net/dev", pid.as_raw_nonzero());
    let table = fs::read_to_string(path).ok()?;
    let row = table.lines().find_map(|line| line.trim().strip_prefix(device)?.strip_prefix(':'))?;
    row.split_whitespace().nth(1)?.parse().ok()
}

/// Number of packets received by a client's device that shows traffic: more than the set-up sends.
const TRAFFIC: u64 = 300;

#[test]
fn a_daemon_that_dies_in_a_trial_fails_its_network_alone() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let asked = ["--network", "loopback,ovs-user", "--workload", "tcp-rr", "--duration", "1s"];
    let how = ["--interval", "50ms", "--blocks", "8", "--out", "out", "--json"];
    let run = [&["run"], &asked[..], &how].concat();
    let has_tun = access("/dev/net/tun", Access::READ_OK | Access::WRITE_OK).is_ok();
    let (outcome, told_in, words) = if has_tun {
        let running = tare.start(&run);
        kill_daemons_until_noticed(running.pid(), &scratch.path("out"));
        (
            running.wait(),
            "failed",
            "ovs-vswitchd running in node-0: the program was ended by signal 9",
        )
    } else {
        (tare.run(&run), "skipped", "/dev/net/tun cannot be opened")
    };
    let document = outcome.expect(1).json();
    let told = &list(&document, told_in)[0];
    assert_eq!(text(told, "network"), "ovs-user");
    assert!(text(told, "reason").contains(words), "{told}");
    let kept = measured_blocks(&trials(&scratch.path("out")), "loopback", "tcp-rr");
    assert_eq!(kept, 8, "the other network is measured to the end");
}

/// Kills the daemon of each block while it carries traffic, until the run reports that its network has failed. A trial
/// that was over when the daemon died has not failed, and another one follows.
fn kill_daemons_until_noticed(run: u32, directory: &Path) {
    eventually("the network fails", || {
        for daemon in descendants(run, "ovs-vswitchd unix:") {
            if received(daemon, "veth-c0") > Some(TRAFFIC) {
                // The daemon may have ended by itself since.
                let _ = kill_process(daemon, Signal::KILL);
            }
        }
        records(directory).iter().any(|record| record["record"] == "failure")
    });
}
