//! Random faults: whatever happens to a run at whatever moment, it does not hang, nothing of it is left behind, and
//! `tare resume` completes it to the document of a run to which nothing happened, but for what was measured.

use super::ended_within;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs::{self, File, OpenOptions};
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use support::journal::records;
use support::program::{RunningProgram, Tare, User};
use support::{ScratchDirectory, Seed, eventually, list, machine};
use tare_dev::{NetworkConfiguration, TestNamespace};

/// Variable that sets the number of faults, and the number without it.
const VARIABLE: &str = "TARE_SOAK_FAULTS";
const FAULTS: u64 = 200;

/// Longest time in which a run may end by itself, after a fault that does not end it: its own length on a busy machine,
/// and twenty seconds.
const PATIENCE: Duration = Duration::from_secs(60 + 20);

/// Plan of the runs to which something happens.
struct Scene {
    /// Networks, workloads and metrics.
    flags: &'static str,
    /// Words on the command lines of foreign programs that the run starts.
    programs: &'static [&'static str],
}

const SCENES: [Scene; 3] = [
    Scene {
        flags: "--network host,veth,bridge --workload tcp-rr,tcp-stream --metric transactions,throughput \
            --duration 300ms --slice off",
        programs: &[],
    },
    Scene {
        flags: "--network routed,calico,flannel-vxlan,ipsec-user --nodes 2 --workload tcp-rr \
            --metric transactions --duration 300ms --slice off",
        programs: &["etcd", "flanneld", "bird", "charon"],
    },
    Scene {
        flags: "--network host,bridge --workload mysql --duration 1s",
        programs: &["mariadbd", "sysbench"],
    },
];

/// What happens to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    KillRun,
    KillAgent,
    KillInit,
    StopAgent,
    SuspendRun,
    Interrupt,
    Terminate,
    HangUp,
    /// The run can open no file any more.
    ExhaustFiles,
    /// An agent can open no file and no socket any more.
    ExhaustAgentFiles,
    /// The memory of the run's control group is exhausted.
    ExhaustMemory,
    /// The device of a container goes down.
    TakeDeviceDown,
    /// A daemon, a database server or a load generator dies.
    KillProgram,
    /// One of these stops.
    StopProgram,
    /// The run is killed, and the end of its journal is lost.
    TruncateJournal,
    /// The run is killed, and one bit of its journal flips.
    FlipJournal,
    /// The run is killed, and two processes resume it.
    ResumeTwice,
}

const ALL: [Fault; 17] = [
    Fault::KillRun,
    Fault::KillAgent,
    Fault::KillInit,
    Fault::StopAgent,
    Fault::SuspendRun,
    Fault::Interrupt,
    Fault::Terminate,
    Fault::HangUp,
    Fault::ExhaustFiles,
    Fault::ExhaustAgentFiles,
    Fault::ExhaustMemory,
    Fault::TakeDeviceDown,
    Fault::KillProgram,
    Fault::StopProgram,
    Fault::TruncateJournal,
    Fault::FlipJournal,
    Fault::ResumeTwice,
];

/// Disturbed run.
struct Disturbed {
    running: RunningProgram,
    directory: PathBuf,
    /// Words on the command lines of the foreign programs that it starts.
    programs: &'static [&'static str],
}

impl Disturbed {
    fn signal(&self, signal: Signal) {
        self.running.signal(signal);
    }

    /// Sends a signal to a random one of the run's processes with these words, if there is one.
    fn signal_one(&self, words: &str, signal: Signal, seed: &mut Seed) {
        if let Some(pid) = self.random_process(words, seed) {
            // It may have ended since.
            let _ = kill_process(pid, signal);
        }
    }

    fn random_process(&self, words: &str, seed: &mut Seed) -> Option<Pid> {
        let found = machine::descendants(self.running.pid(), words);
        let count = found.len() as u64;
        (count > 0).then(|| found[seed.within(0..count) as usize])
    }

    /// Sends a signal to a random one of the foreign programs, if one of them runs.
    fn signal_program(&self, signal: Signal, seed: &mut Seed) {
        let of_word = |word: &&str| machine::descendants(self.running.pid(), word);
        let found: Vec<Pid> = self.programs.iter().flat_map(of_word).collect();
        if !found.is_empty() {
            // It may have ended since.
            let _ = kill_process(found[seed.within(0..found.len() as u64) as usize], signal);
        }
    }

    fn exhaust_memory(&self) {
        for group in machine::cgroups_of(self.running.pid()) {
            let _ = fs::write(group.join("memory.max"), "1M");
        }
    }

    fn take_device_down(&self, seed: &mut Seed) {
        if let Some(pid) = self.random_process("internal agent", seed) {
            let target = pid.as_raw_nonzero().to_string();
            let down = ["--target", &target, "--net", "ip", "link", "set", "eth0", "down"];
            let _ = std::process::Command::new("nsenter").args(down).status();
        }
    }

    fn truncate_journal(&self, seed: &mut Seed) {
        let Some((file, beyond)) = self.journal() else { return };
        if beyond.is_empty() {
            return;
        }
        let kept = seed.within(beyond);
        file.set_len(kept).expect("it is ours");
        // What a file system that lost power leaves.
        file.write_all_at(&[0; 64], kept).expect("it is ours");
    }

    fn flip_journal(&self, seed: &mut Seed) {
        let Some((file, beyond)) = self.journal() else { return };
        if beyond.is_empty() {
            return;
        }
        let (at, bit) = (seed.within(beyond), seed.within(0..8));
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).expect("it is ours");
        file.write_all_at(&[byte[0] ^ 1 << bit], at).expect("it is ours");
    }

    /// Returns the journal and the part of it beyond its first line, without which there is no run.
    fn journal(&self) -> Option<(File, Range<u64>)> {
        let path = self.directory.join("journal.jsonl");
        let text = fs::read(&path).ok()?;
        let header = text.iter().position(|&byte| byte == b'\n')? as u64 + 1;
        let file = OpenOptions::new().read(true).write(true).open(path).ok()?;
        Some((file, header..text.len() as u64))
    }

    /// Lets the fault happen, and waits for the end of the run.
    fn disturb(self, fault: Fault, seed: &mut Seed) {
        match fault {
            Fault::KillRun | Fault::TruncateJournal | Fault::FlipJournal | Fault::ResumeTwice => {
                self.signal(Signal::KILL);
            }
            Fault::KillAgent => self.signal_one("internal agent", Signal::KILL, seed),
            Fault::KillInit => self.signal_one("internal init", Signal::KILL, seed),
            Fault::StopAgent => self.signal_one("internal agent", Signal::STOP, seed),
            Fault::SuspendRun => {
                self.signal(Signal::STOP);
                std::thread::sleep(Duration::from_millis(seed.within(0..3_000)));
                self.signal(Signal::CONT);
            }
            Fault::Interrupt => self.signal(Signal::INT),
            Fault::Terminate => self.signal(Signal::TERM),
            Fault::HangUp => self.signal(Signal::HUP),
            Fault::ExhaustFiles => limit_files(self.running.pid(), 16),
            Fault::ExhaustAgentFiles => {
                if let Some(agent) = self.random_process("internal agent", seed) {
                    limit_files(agent.as_raw_nonzero().get().unsigned_abs(), 4);
                }
            }
            Fault::ExhaustMemory => self.exhaust_memory(),
            Fault::TakeDeviceDown => self.take_device_down(seed),
            Fault::KillProgram => self.signal_program(Signal::KILL, seed),
            Fault::StopProgram => self.signal_program(Signal::STOP, seed),
        }
        assert!(ended_within(&self.running, PATIENCE), "{fault:?}: the run hangs");
        match fault {
            Fault::TruncateJournal => self.truncate_journal(seed),
            Fault::FlipJournal => self.flip_journal(seed),
            _ => {}
        }
        drop(self.running.wait());
    }
}

/// Limits the number of a process's open files.
fn limit_files(pid: u32, limit: u32) {
    let (pid, limit) = (pid.to_string(), format!("--nofile={limit}:"));
    // It may have ended since.
    let _ = std::process::Command::new("prlimit").args(["--pid", &pid, &limit]).status();
}

/// Returns what a document says, without what was measured.
fn outline(document: &Value) -> Value {
    let cells = list(document, "cells").iter();
    let mut cells: Vec<String> = cells
        .map(|cell| {
            json!([cell["label"], cell["workload"], cell["metric"], cell["scope"], cell["shape"]])
                .to_string()
        })
        .collect();
    cells.sort();
    cells.dedup();
    json!({
        "blocks": document["blocks"], "stopped_by": document["stopped_by"], "cells": cells,
        "failed": document["failed"], "seed": document["seed"],
    })
}

/// Returns whether a run has measured all that was planned.
fn is_complete(document: &Value) -> bool {
    document["stopped_by"] == "blocks" && list(document, "failed").is_empty()
}

/// Scene in which faults happen: a namespace, and a run in it to which nothing happened.
struct Stage {
    tare: Tare,
    namespace: TestNamespace,
    scene: &'static Scene,
    before: NetworkConfiguration,
    /// Number of records of an undisturbed run, and the outline of its document.
    records: u64,
    expected: Value,
}

impl Stage {
    fn new(scratch: &ScratchDirectory, scene: &'static Scene) -> Self {
        let tare = Tare::copied(scratch, User::Caller).with_cache_of_its_own();
        let namespace = TestNamespace::new();
        let before = NetworkConfiguration::in_namespace(&namespace);
        let mut stage = Self { tare, namespace, scene, before, records: 0, expected: Value::Null };
        stage.start("undisturbed").wait().expect(0);
        stage.records = records(&stage.tare.directory().join("undisturbed")).len() as u64;
        stage.expected = outline(&stage.document("undisturbed"));
        stage
    }

    fn start(&self, name: &str) -> RunningProgram {
        let fixed = "run --blocks 2 --seed 7 --interval 10ms --out";
        let words = fixed.split_whitespace().chain([name]);
        let words: Vec<&str> = words.chain(self.scene.flags.split_whitespace()).collect();
        self.tare.start_inside(&self.namespace, &words)
    }

    fn document(&self, name: &str) -> Value {
        self.tare.run(&["report", name, "--json"]).expect(0).json()
    }

    /// Resumes a run until it is complete. Returns its document.
    fn complete(&self, name: &str, fault: Fault) -> Value {
        for _ in 0..3 {
            let document = self.document(name);
            if is_complete(&document) {
                return document;
            }
            if fault == Fault::ResumeTwice {
                let twice = [(); 2].map(|()| self.tare.start(&["resume", name]));
                let codes = twice.map(|running| running.wait().code);
                assert!(codes.contains(&Some(0)), "one of two goes on: {codes:?}");
            } else {
                self.tare.run(&["resume", name]).expect(0);
            }
        }
        panic!("{fault:?}: the run is not complete after three resumes");
    }

    /// Lets a fault happen to a run of this name, at a random moment, and asserts that it cost no more than the trial.
    fn play(&self, name: &str, fault: Fault, seed: &mut Seed) {
        let moment = seed.within(1..self.records);
        let fault_at = format!("{fault:?} at record {moment} of {}", self.records);
        println!("{name}: {fault_at}: {}", self.scene.flags);
        let directory = self.tare.directory().join(name);
        let running = self.start(name);
        let pid = running.pid();
        eventually("the run comes so far", || records(&directory).len() as u64 >= moment);
        // Anywhere between two records.
        std::thread::sleep(Duration::from_millis(seed.within(0..400)));
        let programs = self.scene.programs;
        Disturbed { running, directory: directory.clone(), programs }.disturb(fault, seed);
        machine::wait_for_the_end_of(self.tare.program());
        assert_eq!(machine::cgroups_of(pid), [] as [&Path; 0], "{fault_at}");
        let mut outline = outline(&self.complete(name, fault));
        if fault == Fault::FlipJournal && outline["blocks"] == 1 {
            // A damaged line before the last whole block costs what it held, and is not measured again.
            outline["blocks"] = self.expected["blocks"].clone();
        }
        assert_eq!(outline, self.expected, "{fault_at}");
        let after = NetworkConfiguration::in_namespace(&self.namespace);
        assert_eq!(after, self.before, "{fault_at}");
        machine::wait_for_the_end_of(self.tare.program());
        fs::remove_dir_all(directory).expect("it is ours");
    }
}

#[test]
#[ignore = "takes an hour: make soak"]
fn random_faults_cost_no_more_than_the_trial_in_which_they_happen() {
    let mut seed = Seed::from_environment();
    let count = std::env::var(VARIABLE).map_or(FAULTS, |text| text.parse().expect("a number"));
    let scratches = [(); SCENES.len()].map(|()| ScratchDirectory::new());
    let stages: Vec<Stage> =
        scratches.iter().zip(&SCENES).map(|(scratch, scene)| Stage::new(scratch, scene)).collect();
    for number in 0..count {
        let fault = ALL[seed.within(0..ALL.len() as u64) as usize];
        let stage = &stages[seed.within(0..stages.len() as u64) as usize];
        stage.play(&format!("run-{number}"), fault, &mut seed);
    }
}
