//! Signals: what was measured is kept and reported, and whatever ends a run, nothing of it remains on the machine.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod recompute;
mod support;

use rustix::process::Signal;
use serde_json::Value;
use std::hash::{BuildHasher as _, RandomState};
use std::path::Path;
use std::time::Duration;
use support::program::{Outcome, Tare, User};
use support::scratch::Scratch;
use support::{list, machine, short_run};

/// Blocks of a run that a test ends before it would end by itself.
const ENDLESS: &str = "1000";

/// The records of a journal up to its last whole line; none where there is no journal.
fn records(directory: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(directory.join("journal.jsonl")).unwrap_or_default();
    text.split_inclusive('\n')
        .filter(|line| line.ends_with('\n'))
        .map(|line| serde_json::from_str(line).expect("a whole line is a record"))
        .collect()
}

#[test]
fn an_interrupted_run_keeps_and_prints_what_it_has() {
    for (signal, to_all) in [(Signal::INT, false), (Signal::TERM, false), (Signal::INT, true)] {
        let scratch = Scratch::new();
        let tare = Tare::copied(&scratch, User::Caller);
        let asked = ["--network", "host,bridge", "--blocks", ENDLESS, "--out", "out"];
        let mut running = tare.start(&short_run(&asked));
        running.wait_for("block 2 of");
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

fn check_interrupted(tare: &Tare, outcome: &Outcome) {
    let directory = tare.directory().join("out");
    let records = records(&directory);
    let end = records.last().expect("a journal");
    assert_eq!((&end["record"], &end["stopped_by"]), (&"end".into(), &"interrupted".into()));
    let document = tare.run(&["report", "out", "--json"]).expect(0).json();
    assert_eq!(document["stopped_by"], "interrupted");
    assert!(document["blocks"].as_u64() >= Some(2), "{document}");
    assert_eq!(list(&document, "failed"), [] as [Value; 0], "no network broke");
    assert_eq!(outcome.text(), tare.run(&["report", "out"]).expect(0).text());
    assert!(outcome.text().contains("\nbridge "), "{}", outcome.text());
    for file in ["result.json", "result.csv"] {
        assert!(directory.join(file).is_file(), "{file}");
    }
}

#[test]
fn a_run_that_was_interrupted_in_its_first_trial_says_so() {
    let scratch = Scratch::new();
    let tare = Tare::copied(&scratch, User::Caller);
    let asked = ["run", "--network", "host", "--duration", "60s", "--blocks", "2", "--out", "out"];
    let mut running = tare.start(&asked);
    running.wait_for("2 blocks");
    running.signal(Signal::INT);
    let outcome = running.wait().expect(130);
    assert_eq!(outcome.text(), tare.run(&["report", "out"]).expect(0).text());
    let document = tare.run(&["report", "out", "--json"]).expect(0).json();
    assert_eq!(document["stopped_by"], "interrupted");
    assert_eq!(list(&document, "cells"), [] as [Value; 0]);
}

/// How often a run is killed.
const KILLS: usize = 20;

/// A killed run is one of this many blocks: far more than are measured before it is killed.
const BLOCKS: &str = "5";

#[test]
fn a_killed_run_leaves_nothing_but_a_readable_journal() {
    let before = machine::Machine::now();
    for &user in User::all() {
        let scratch = Scratch::new();
        let tare = Tare::copied(&scratch, user);
        let mut longest = (0, String::new());
        for number in 0..KILLS / User::all().len() {
            let name = format!("run-{number}");
            kill_at_a_random_moment(&tare, &name);
            assert_eq!(machine::Machine::now(), before);
            let whole_lines = check_readable(&tare, &name);
            longest = longest.max((whole_lines, name));
        }
        let (whole_lines, name) = longest;
        assert!(whole_lines > 1, "a run of {KILLS} was killed after its first trial");
        check_resumed(&tare, &name);
    }
    assert_eq!(machine::Machine::now(), before);
}

fn kill_at_a_random_moment(tare: &Tare, name: &str) {
    let networks = "host,veth,bridge,published";
    let arguments = ["--network", networks, "--blocks", BLOCKS, "--seed", "3", "--out", name];
    let running = tare.start(&short_run(&arguments));
    let pid = running.pid();
    let moment = RandomState::new().hash_one(name) % 2_000;
    std::thread::sleep(Duration::from_millis(moment));
    running.signal(Signal::KILL);
    let outcome = running.wait();
    assert_eq!(outcome.signal, Some(9), "it was killed before its end: {}", outcome.stderr);
    machine::wait_for_the_end_of(tare.program());
    assert_eq!(machine::groups_of(pid), [] as [&Path; 0]);
}

/// How many whole lines there are in a killed run's journal, all of which can be shown.
fn check_readable(tare: &Tare, name: &str) -> usize {
    let directory = tare.directory().join(name);
    let records = records(&directory);
    let shown = tare.run(&["report", name, "--json"]);
    if records.is_empty() {
        shown.complains(2, &[name, "journal"]);
        return 0;
    }
    let document = shown.expect(0).json();
    assert_eq!(document["stopped_by"], Value::Null);
    let text = std::fs::read_to_string(directory.join("journal.jsonl")).expect("a journal");
    let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
    recompute::check(whole, &document);
    records.len()
}

/// A run that was cut off goes on, on its own plan and seed, to the planned number of blocks.
fn check_resumed(tare: &Tare, name: &str) {
    let directory = tare.directory().join(name);
    let head = records(&directory).swap_remove(0);
    let document = tare.run(&["resume", name, "--json"]).expect(0).json();
    assert_eq!(document["seed"], 3);
    assert_eq!(document["blocks"].to_string(), BLOCKS);
    assert_eq!(document["stopped_by"], "blocks");
    assert_eq!(records(&directory)[0], head, "the plan is the one that was begun with");
    let text = std::fs::read_to_string(directory.join("journal.jsonl")).expect("a journal");
    recompute::check(&text, &document);
    for cell in list(&document, "cells").iter().filter(|cell| cell["withheld"].is_null()) {
        assert_eq!(cell["n"].to_string(), BLOCKS, "{cell}");
    }
    tare.run(&["resume", name]).complains(2, &["finished", "tare report"]);
}

#[test]
fn two_runs_at_once_warn_and_do_not_touch_each_other() {
    let scratch = Scratch::new();
    let tare = Tare::copied(&scratch, User::Caller);
    let run = |name: &'static str, blocks: &'static str| {
        let asked = ["--network", "host,published", "--blocks", blocks, "--out", name];
        tare.start(&short_run(&asked))
    };
    let mut first = run("first", ENDLESS);
    first.wait_for("block 1 of");
    let mut second = run("second", "2");
    second.wait_for("other tare run(s) on this machine");
    second.wait().expect(0);
    first.wait_for("block 2 of");
    first.signal(Signal::INT);
    first.wait().expect(130);

    let document = |name: &str| tare.run(&["report", name, "--json"]).expect(0).json();
    for (name, blocks) in [("first", 2), ("second", 2)] {
        let document = document(name);
        assert!(document["blocks"].as_u64() >= Some(blocks), "{name}");
        assert_eq!(list(&document, "failed"), [] as [Value; 0], "{name}");
    }
    let of = |findings: &[Value]| findings.iter().any(|finding| finding["kind"] == "other-run");
    assert!(of(list(&document("second"), "findings")), "the second is told before it begins");
    let first = document("first");
    let told = list(&first, "cells").iter().any(|cell| of(list(cell, "findings")));
    assert!(told, "the first is told while it runs");
    machine::wait_for_the_end_of(tare.program());
}

#[test]
fn a_killed_up_takes_its_programs_along() {
    let scratch = Scratch::new();
    let tare = Tare::copied(&scratch, User::Caller);
    // Both programs have the path of this copy of tare among their arguments, by which they are found.
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
