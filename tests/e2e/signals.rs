//! Tests of signals: measured data are kept and reported, and nothing of a run remains on the machine, however it ends.

use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;
use support::journal::{measured_blocks, records, trials};
use support::program::{ProgramOutcome, Tare, User};
use support::{
    ScratchDirectory, Seed, check_shown_again, eventually, list, machine, short_run, text,
};
use tare_dev::{NetworkConfiguration, TestNamespace};

/// Number of blocks of a run that a test ends early.
const ENDLESS: &str = "1000";

#[test]
fn an_interrupted_run_keeps_and_prints_what_it_has() {
    for (signal, to_all) in [
        (Signal::INT, false),
        (Signal::TERM, false),
        (Signal::HUP, false),
        (Signal::INT, true),
        (Signal::HUP, true),
    ] {
        let scratch = ScratchDirectory::new();
        let tare = Tare::copied(&scratch, User::Caller);
        let asked = ["--network", "host,bridge", "--blocks", ENDLESS, "--out", "out"];
        let mut running = tare.start(&short_run(&asked));
        running.wait_for("block 2 ");
        if to_all {
            running.signal_group(signal);
        } else {
            running.signal(signal);
        }
        let outcome = running.wait().expect(130);
        check_interrupted(&tare, &outcome);
        machine::wait_for_the_end_of(tare.program());
    }
}

fn check_interrupted(tare: &Tare, outcome: &ProgramOutcome) {
    let directory = tare.directory().join("out");
    let records = records(&directory);
    let end = records.last().expect("a journal");
    assert_eq!((&end["record"], &end["stopped_by"]), (&"end".into(), &"interrupted".into()));
    let document = tare.run(&["report", "out", "--json"]).expect(0).json();
    assert_eq!(document["stopped_by"], "interrupted");
    assert!(document["blocks"].as_u64() >= Some(2), "{document}");
    assert_eq!(list(&document, "failed"), [] as [Value; 0], "no network broke");
    check_shown_again(&tare.run(&["report", "out"]).expect(0).text(), &outcome.text());
    assert!(outcome.text().contains("\nbridge "), "{}", outcome.text());
    for file in ["result.json", "result.csv"] {
        assert!(directory.join(file).is_file(), "{file}");
    }
}

#[test]
fn a_run_that_was_interrupted_in_its_first_trial_says_so() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::copied(&scratch, User::Caller);
    let asked = ["run", "--network", "host", "--duration", "60s", "--blocks", "2", "--out", "out"];
    let mut running = tare.start(&asked);
    running.wait_for("2 blocks");
    running.signal(Signal::INT);
    let outcome = running.wait().expect(130);
    check_shown_again(&tare.run(&["report", "out"]).expect(0).text(), &outcome.text());
    let document = tare.run(&["report", "out", "--json"]).expect(0).json();
    assert_eq!(document["stopped_by"], "interrupted");
    assert_eq!(list(&document, "cells"), [] as [Value; 0]);
}

/// Number of times that a run is killed.
const KILLS: u64 = 20;

/// Number of blocks of a killed run that is resumed.
const BLOCKS: &str = "4";

/// Records of a block: four networks, each with a trial of two workloads and a turn.
const BLOCK: u64 = 4 * 3;

#[test]
fn a_killed_run_leaves_nothing_but_a_readable_journal() {
    let mut seed = Seed::from_environment();
    let kills = KILLS / User::all().len() as u64;
    for &user in User::all() {
        let scratch = ScratchDirectory::new();
        let tare = Tare::copied(&scratch, user);
        let namespace = TestNamespace::new();
        let before = NetworkConfiguration::in_namespace(&namespace);
        for number in 0..kills {
            let name = format!("run-{number}");
            // The first is killed before it has a journal, the last in its second block, the others anywhere in their
            // first.
            let (records, blocks) = match number {
                0 => (0, ENDLESS),
                number if number + 1 == kills => (1 + BLOCK + seed.within(0..BLOCK), BLOCKS),
                _ => (seed.within(1..1 + BLOCK), ENDLESS),
            };
            kill_after_records(&tare, &namespace, &name, records, blocks);
            assert_eq!(NetworkConfiguration::in_namespace(&namespace), before);
            let whole_lines = check_readable(&tare, &name);
            assert!(whole_lines as u64 >= records, "{whole_lines} of {records}");
        }
        check_resumed(&tare, &format!("run-{}", kills - 1));
        assert_eq!(NetworkConfiguration::in_namespace(&namespace), before);
    }
}

/// Kills a run of this many blocks when its journal has `least` records.
fn kill_after_records(
    tare: &Tare,
    namespace: &TestNamespace,
    name: &str,
    least: u64,
    blocks: &str,
) {
    let networks = "host,veth,bridge,published";
    let asked = ["run", "--network", networks, "--blocks", blocks, "--seed", "3", "--out", name];
    let how = ["--duration", "100ms", "--interval", "10ms"];
    let running = tare.start_inside(namespace, &[&asked[..], &how].concat());
    let pid = running.pid();
    let directory = tare.directory().join(name);
    eventually("the journal has records", || records(&directory).len() as u64 >= least);
    running.signal(Signal::KILL);
    let outcome = running.wait();
    assert_eq!(outcome.signal, Some(9), "it was killed before its end: {}", outcome.stderr);
    machine::wait_for_the_end_of(tare.program());
    assert_eq!(machine::cgroups_of(pid), [] as [&Path; 0]);
}

/// Returns the number of whole lines in a killed run's journal, all of which can be shown.
fn check_readable(tare: &Tare, name: &str) -> usize {
    let directory = tare.directory().join(name);
    let records = records(&directory);
    let shown = tare.run(&["report", name, "--json"]);
    if records.is_empty() {
        shown.assert_error(2, &[name, "journal"]);
        return 0;
    }
    let document = shown.expect(0).json();
    assert_eq!(document["stopped_by"], Value::Null);
    let text = std::fs::read_to_string(directory.join("journal.jsonl")).expect("a journal");
    let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
    crate::recompute::check(whole, &document);
    records.len()
}

/// Checks that a killed run is resumed with its own plan and seed, to the planned number of blocks.
fn check_resumed(tare: &Tare, name: &str) {
    let directory = tare.directory().join(name);
    let head = records(&directory).swap_remove(0);
    let document = tare.run(&["resume", name, "--json"]).expect(0).json();
    assert_eq!(document["seed"], 3);
    assert_eq!(document["blocks"].to_string(), BLOCKS);
    assert_eq!(document["stopped_by"], "blocks");
    assert_eq!(records(&directory)[0], head, "the plan is the one that was begun with");
    let journal = std::fs::read_to_string(directory.join("journal.jsonl")).expect("a journal");
    crate::recompute::check(&journal, &document);
    let trials = trials(&directory);
    for cell in list(&document, "cells") {
        let blocks = measured_blocks(&trials, text(cell, "label"), text(cell, "workload"));
        assert_eq!(blocks.to_string(), BLOCKS, "{cell}");
    }
    tare.run(&["resume", name]).assert_error(2, &["finished", "tare report"]);
}

#[test]
fn a_run_that_was_killed_between_its_last_trial_and_its_end_is_finished() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::copied(&scratch, User::Caller);
    tare.run(&short_run(&["--network", "host", "--blocks", "1", "--out", "out"])).expect(0);
    let journal = tare.directory().join("out/journal.jsonl");
    let whole = std::fs::read_to_string(&journal).expect("a journal");
    let (cut, end) = whole.trim_end().rsplit_once('\n').expect("several lines");
    assert!(end.contains("\"record\":\"end\""), "{end}");
    std::fs::write(&journal, format!("{cut}\n")).expect("it is ours");
    let document = tare.run(&["resume", "out", "--json"]).expect(0).json();
    assert_eq!((&document["stopped_by"], &document["blocks"]), (&"blocks".into(), &1.into()));
    tare.run(&["resume", "out"]).assert_error(2, &["finished", "tare report"]);
}

#[test]
fn a_run_that_is_under_way_is_not_gone_on_with() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::copied(&scratch, User::Caller);
    let asked = ["--network", "host,bridge", "--blocks", ENDLESS, "--out", "out"];
    let mut running = tare.start(&short_run(&asked));
    running.wait_for("block 1 ");
    for _ in 0..2 {
        tare.run(&["resume", "out"])
            .assert_error(2, &["another tare measures this run", "stop it"]);
    }
    tare.run(&["report", "out", "--json"]).expect(0);
    running.wait_for("block 3 ");
    running.signal(Signal::INT);
    let outcome = running.wait().expect(130);
    check_interrupted(&tare, &outcome);
    let resumed = |record: &Value| record["record"] == "resumed";
    assert!(!records(&tare.directory().join("out")).iter().any(resumed), "nobody else wrote");
    machine::wait_for_the_end_of(tare.program());
}

#[test]
fn two_runs_at_once_warn_and_do_not_touch_each_other() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::copied(&scratch, User::Caller);
    let run = |name: &'static str| {
        let asked = ["--network", "host,published", "--blocks", ENDLESS, "--out", name];
        tare.start(&short_run(&asked))
    };
    let is_told = |value: &Value| {
        list(value, "findings").iter().any(|finding| finding["kind"] == "other-run")
    };
    let mut first = run("first");
    first.wait_for("block 1 ");
    let mut second = run("second");
    second.wait_for("other tare run");
    first.wait_for("block 2 ");
    second.wait_for("block 2 ");
    eventually("a trial of the first is told of the second", || {
        trials(&tare.directory().join("first")).iter().any(is_told)
    });
    for running in [first, second] {
        running.signal(Signal::INT);
        running.wait().expect(130);
    }
    let document = |name: &str| tare.run(&["report", name, "--json"]).expect(0).json();
    let (first, second) = (document("first"), document("second"));
    for document in [&first, &second] {
        assert!(document["blocks"].as_u64() >= Some(2), "{document}");
        assert_eq!(list(document, "failed"), [] as [Value; 0]);
    }
    assert!(is_told(&second), "the second is told before it begins");
    assert!(list(&first, "cells").iter().any(is_told), "the first is told while it runs");
    machine::wait_for_the_end_of(tare.program());
}

#[test]
fn a_killed_up_takes_its_programs_along() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::copied(&scratch, User::Caller);
    // Both programs have the path of this copy of tare among their arguments, which identifies them.
    let mark = tare.program().to_str().expect("a plain path");
    let serve = format!("exec sh -c 'echo serving >&2; sleep 1000; :' {mark}");
    let client = ["--", "sh", "-c", "echo asking >&2; sleep 1000; :", mark];
    let mut up = tare.start(&[&["up", "bridge", "--serve", &serve], &client[..]].concat());
    up.wait_for("serving");
    up.wait_for("asking");
    assert!(machine::processes_of(tare.program()).len() >= 4, "tare, its keeper, two programs");
    up.signal(Signal::KILL);
    assert_eq!(up.wait().signal, Some(9));
    machine::wait_for_the_end_of(tare.program());
}
