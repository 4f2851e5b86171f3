//! Tests with journals, studies and directories of others: nothing in them is obeyed by a terminal or a spreadsheet, and
//! they lead to no other file.

use serde_json::Value;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use support::program::Tare;
use support::pseudo_terminal::PtyScript;
use support::{ScratchDirectory, short_run};

/// Text that clears a terminal, sets its title and colour, turns the direction of writing, and begins a formula.
const HOSTILE: &str = "=1+2\u{1b}[2J\u{1b}]0;owned\u{7}\u{1b}[31m\u{9b}1A\u{202e}\u{7f}";

/// Replaces every text of a journal that is free in its words by a hostile one.
fn poison(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(poison),
        Value::Object(entries) => {
            for (key, value) in entries {
                match value {
                    Value::String(text) if FREE.contains(&key.as_str()) => {
                        *text = format!("{HOSTILE}{text}");
                    }
                    other => poison(other),
                }
            }
        }
        _ => {}
    }
}

/// Keys of texts that a journal may fill with anything.
const FREE: [&str; 16] = [
    "reason",
    "remedy",
    "detail",
    "kernel",
    "architecture",
    "cpu",
    "hostname",
    "host",
    "tare",
    "binary",
    "clocksource",
    "virtualization",
    "name",
    "time",
    "place",
    "at",
];

/// Writes a golden journal with hostile texts to a directory.
fn write_poisoned(scratch: &ScratchDirectory, run: &str) {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(run);
    let journal = fs::read_to_string(golden.join("journal.jsonl")).expect("it is in the sources");
    let mut lines: Vec<Value> =
        journal.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    poison(&mut lines[0]["environment"]);
    lines[1..].iter_mut().for_each(|line| {
        for part in ["hops", "findings", "reason", "remedy"] {
            if let Some(value) = line.get_mut(part) {
                poison(value);
            }
        }
        if let Value::String(reason) = &mut line["reason"] {
            reason.push_str(HOSTILE);
        }
    });
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    scratch.write_file("run/journal.jsonl", &text);
}

/// Returns the first character that a terminal would obey, other than the end of a line.
fn obeyed(text: &str) -> Option<char> {
    let is_bidi = |c: char| matches!(c, '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().find(|&c| is_bidi(c) || c.is_control() && !matches!(c, '\n' | '\t'))
}

#[test]
fn no_report_of_a_foreign_journal_is_obeyed() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    scratch.create_directory("run", None);
    for run in ["failed", "links", "connections"] {
        write_poisoned(&scratch, run);
        let formats: [&[&str]; 8] = [
            &[],
            &["--pairs"],
            &["--json"],
            &["--markdown"],
            &["--csv", "-"],
            &["--samples", "-"],
            &["--openmetrics", "-"],
            &["--html", "-"],
        ];
        for format in formats {
            let outcome = tare.run(&[&["report", "run"], format].concat()).expect(0);
            assert_eq!(obeyed(&outcome.text()), None, "{run} {format:?}");
            assert_eq!(obeyed(&outcome.stderr), None, "{run} {format:?}");
        }
        let shown = tare.run(&["report", "run", "--json"]).expect(0).text();
        assert!(shown.contains("u001b[2J"), "what was said is shown: {shown}");
    }
}

#[test]
fn a_terminal_gets_the_colours_of_the_report_alone() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    scratch.create_directory("run", None);
    write_poisoned(&scratch, "failed");
    let variables = [("tare", tare.program().to_str().expect("a path in ASCII"))];
    let shown = PtyScript::start(scratch.root(), &variables, "\"$tare\" report run", 100).wait();
    for sequence in shown.split('\u{1b}').skip(1) {
        let end = sequence.find(|c: char| c.is_ascii_alphabetic()).map(|at| &sequence[..=at]);
        // The words carry the colours' meaning, so there are few of them.
        assert!(
            matches!(end, Some("[0m" | "[1m" | "[2m" | "[31m" | "[32m" | "[33m")),
            "{sequence:?}"
        );
    }
    assert!(!shown.contains("\u{1b}[31m\\u009b"), "a colour of the journal's: {shown}");
}

#[test]
fn a_spreadsheet_computes_nothing() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let study = "networks = [\"=1+2=loopback\"]\n";
    scratch.write_file("study.toml", study);
    tare.run(&["run", "study.toml"]).assert_error(2, &["has no label"]);
    let run = ["--network", "@SUM(A1)=loopback", "--workload", "tcp-rr", "--blocks", "1"];
    tare.run(&short_run(&[&run[..], &["--out", "out"]].concat())).expect(0);
    let csv = fs::read_to_string(scratch.path("out/result.csv")).expect("it was kept");
    let row = csv.lines().nth(1).expect("a row");
    assert!(row.starts_with("loopback,'@SUM(A1),"), "{row}");
}

#[test]
fn a_name_is_a_name() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    scratch.create_directory("inside", None);
    for name in ["x/../../../y", "..", "/etc/x", "-rf", "a\\u001b[2Jb", "a\\nb"] {
        scratch.write_file("study.toml", &format!("name = \"{name}\"\nnetworks = [\"host\"]\n"));
        let outcome = tare.run(&["run", "study.toml", "--quick"]);
        outcome.assert_error(2, &["for name", "expected"]);
        assert_eq!(obeyed(&outcome.stderr), None);
    }
    scratch.write_file("study.toml", "networks = [\"a\\u001b[31m=host\"]\n");
    tare.run(&["run", "study.toml"]).assert_error(2, &["`a\\u001b[31m` for label"]);
    assert_eq!(scratch.names(), ["inside", "study.toml"]);
}

#[test]
fn a_run_is_written_to_a_directory_of_its_own() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    for directory in ["real", "full"] {
        scratch.create_directory(directory, None);
    }
    scratch.write_file("full/notes.txt", "precious");
    symlink("real", scratch.path("link")).expect("a link");
    symlink("/etc/nosuch", scratch.path("dangling")).expect("a link");
    let run =
        |out: &str| tare.run(&short_run(&["--network", "host", "--blocks", "1", "--out", out]));
    for (out, words) in [
        ("link", "link is a symbolic link"),
        ("link/below", "link is a symbolic link"),
        ("dangling", "dangling is a symbolic link"),
        ("full", "it has files of others"),
    ] {
        run(out).assert_error(1, &[out, words, "--out"]);
    }
    assert_eq!(fs::read_dir(scratch.path("real")).expect("a directory").count(), 0);
    run("real").expect(0);
    run("new/deep").expect(0);
    for made in ["real", "new", "new/deep"] {
        let mode = scratch.path(made).metadata().expect("a directory").mode();
        assert_eq!(mode & 0o7777, 0o700, "{made}");
    }
}

#[test]
fn no_link_in_a_run_is_written_through() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let run = ["--network", "host,loopback", "--workload", "tcp-rr", "--blocks", "2", "--json"];
    tare.run(&short_run(&[&run[..], &["--out", "out"]].concat())).expect(0);
    let journal = fs::read_to_string(scratch.path("out/journal.jsonl")).expect("a journal");
    let first = journal.lines().next().expect("a line").to_owned() + "\n";
    let foreign = scratch.write_file("foreign.jsonl", &first);
    scratch.write_file("precious", "precious");
    // A run from an archive of others: links in the place of its files.
    for result in ["result.json", "result.csv"] {
        fs::remove_file(scratch.path("out").join(result)).expect("it was kept");
        symlink("../precious", scratch.path("out").join(result)).expect("a link");
    }
    fs::remove_file(scratch.path("out/journal.jsonl")).expect("it was kept");
    symlink(&foreign, scratch.path("out/journal.jsonl")).expect("a link");
    tare.run(&["resume", "out"]).assert_error(2, &["out/journal.jsonl"]);
    assert_eq!(fs::read_to_string(&foreign).expect("a file"), first);

    fs::remove_file(scratch.path("out/journal.jsonl")).expect("a link");
    scratch.write_file("out/journal.jsonl", &first);
    symlink("out", scratch.path("link")).expect("a link");
    tare.run(&["resume", "link"]).assert_error(2, &["link is a symbolic link"]);
    tare.run(&["resume", "out"]).expect(0);
    assert_eq!(fs::read_to_string(scratch.path("precious")).expect("a file"), "precious");
    assert!(scratch.path("out/result.json").symlink_metadata().expect("a file").is_file());
}

#[test]
fn a_results_file_has_the_users_mode() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/failed");
    let script = format!("umask 027; \"$tare\" report {} --html page.html", golden.display());
    tare.in_private_mounts(&script).expect(0);
    let mode = fs::metadata(scratch.path("page.html")).expect("a page").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    assert_eq!(scratch.names(), ["page.html"]);
}
