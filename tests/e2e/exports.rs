//! Tests of exports: samples, OpenMetrics, a drawing in the terminal, an archive.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use support::ScratchDirectory;
use support::program::{ProgramOutcome, Tare};
use support::{list, short_run, text};

/// Runs a short measurement into the directory `out`.
fn measured(scratch: &ScratchDirectory, arguments: &[&str]) -> (Tare, ProgramOutcome) {
    let tare = Tare::in_directory(scratch.root());
    let outcome = tare.run(&[short_run(arguments), vec!["--out", "out"]].concat()).expect(0);
    (tare, outcome)
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_sample_has_a_row() {
    let scratch = ScratchDirectory::new();
    let (tare, run) = measured(&scratch, &["--network", "host,veth", "--blocks", "3", "--json"]);
    let document = run.json();
    let rows = tare.run(&["report", "out", "--samples", "-"]).expect(0).text();
    let head: Vec<&str> = rows.lines().next().expect("a heading").split(',').collect();
    assert_eq!(head[head.len() - 2..], ["block", "value"]);
    let samples: usize =
        list(&document, "cells").iter().map(|cell| list(cell, "samples").len()).sum();
    assert!(samples > 10);
    assert_eq!(rows.lines().count(), samples + 1);
    let cell = &list(&document, "cells")[0];
    let last = rows.lines().nth(3).expect("three blocks").rsplit(',').next().expect("a value");
    assert_eq!(last.parse::<f64>().ok(), list(cell, "samples")[2].as_f64());
}

/// Parses the samples of an OpenMetrics text by name and labels. Fails if the text violates the format.
fn scraped(text: &str) -> BTreeMap<String, f64> {
    assert!(text.ends_with("# EOF\n"), "it has no end");
    let (mut family, mut seen) = (String::new(), BTreeMap::new());
    for line in text.lines().take_while(|line| *line != "# EOF") {
        if let Some(meta) = line.strip_prefix("# ") {
            let (kind, rest) = meta.split_once(' ').expect("a kind");
            let (name, what) = rest.split_once(' ').expect("a name");
            if kind == "TYPE" {
                assert!(["gauge", "info", "stateset"].contains(&what), "{line}");
                family = name.to_owned();
            } else {
                assert!(["HELP", "UNIT"].contains(&kind) && name == family, "{line}");
                assert!(kind != "UNIT" || family.ends_with(&format!("_{what}")), "{line}");
            }
            continue;
        }
        let (name, value) = line.rsplit_once(' ').expect("a value");
        assert!(name.starts_with(&family), "{line} is not of {family}");
        let value = value.parse::<f64>().unwrap_or_else(|_| panic!("{line}"));
        assert!(seen.insert(name.to_owned(), value).is_none(), "{name} stands twice");
    }
    seen
}

#[test]
fn prometheus_gets_base_units_and_verdicts() {
    let scratch = ScratchDirectory::new();
    let (tare, run) = measured(&scratch, &["--network", "host,veth", "--blocks", "3", "--json"]);
    let document = run.json();
    let seen = scraped(&tare.run(&["report", "out", "--openmetrics", "-"]).expect(0).text());
    let find = |name: &str, labels: &[&str]| {
        let mut found = seen.iter().filter(|(key, _)| {
            key.starts_with(&format!("{name}{{")) && labels.iter().all(|label| key.contains(label))
        });
        let value = found.next().map(|(_, value)| *value);
        assert!(found.next().is_none(), "{name} {labels:?} is not one");
        value.unwrap_or_else(|| panic!("{name} {labels:?} is missing"))
    };
    for cell in list(&document, "cells") {
        let network = format!("network=\"{}\"", text(cell, "label"));
        let Some(mean) = cell["mean"].as_f64() else {
            // A few round trips have no tail, and a withheld cell has no sample here.
            let metric = text(cell, "metric");
            assert!(metric.starts_with("latency_") && cell["withheld"].is_object(), "{cell}");
            let name = format!("tare_{metric}_seconds{{");
            let mut keys = seen.keys().filter(|key| key.starts_with(&name));
            assert!(keys.all(|key| !key.contains(&network)), "{metric}");
            continue;
        };
        match text(cell, "metric") {
            "throughput" => {
                let workload = format!("workload=\"{}\"", text(cell, "workload"));
                let labels = [network.as_str(), &workload, "estimate=\"mean\""];
                let told = find("tare_throughput_bits_per_second", &labels);
                assert!((told / 1e9 / mean - 1.0).abs() < 1e-9);
            }
            "latency_p50" => {
                let told = find("tare_latency_p50_seconds", &[&network, "estimate=\"mean\""]);
                assert!((told * 1e6 / mean - 1.0).abs() < 1e-9);
                if let Some(verdict) = cell["ratio"]["verdict"].as_str() {
                    let state = format!("tare_verdict=\"{verdict}\"");
                    let labels = [network.as_str(), "metric=\"latency_p50\"", &state];
                    assert_eq!(find("tare_verdict", &labels), 1.0);
                }
            }
            _ => {}
        }
    }
}

#[test]
fn latencies_are_drawn_in_the_terminal() {
    let scratch = ScratchDirectory::new();
    let (tare, _) = measured(&scratch, &["--network", "host,bridge", "--blocks", "2"]);
    let drawn = tare.run(&["report", "out", "--plot", "latency"]).expect(0).text();
    assert!(drawn.starts_with("tcp-rr · round trips, µs\n"), "{drawn}");
    for network in ["host", "bridge"] {
        let row = drawn.lines().find(|line| line.starts_with(network)).expect("a row a network");
        assert!(row.contains('█') && row.split_whitespace().count() >= 4, "{row}");
    }
    assert!(drawn.lines().all(|line| line.chars().count() <= 100), "{drawn}");
}

/// Unpacks an archive with the system's tar.
fn unpacked(scratch: &ScratchDirectory, archive: &str, directory: &str) -> std::path::PathBuf {
    std::fs::create_dir(scratch.path(directory)).expect("a directory");
    let tar = Command::new("tar")
        .arg("-xzf")
        .arg(scratch.path(archive))
        .arg("-C")
        .arg(scratch.path(directory))
        .status();
    assert!(tar.expect("tar is there").success());
    let mut inside = std::fs::read_dir(scratch.path(directory)).expect("it is there");
    inside.next().expect("one directory").expect("an entry").path()
}

#[test]
fn an_archive_is_whole_and_shows_the_same_elsewhere() {
    let scratch = ScratchDirectory::new();
    let (tare, _) =
        measured(&scratch, &["--network", "host,bridge", "--blocks", "2", "--seed", "9"]);
    let packed = tare.run(&["bundle", "out"]).expect(0);
    assert_eq!(packed.text(), "tare-tour-9.tar.gz\n");
    let inside = unpacked(&scratch, "tare-tour-9.tar.gz", "elsewhere");
    let check = Command::new("sha256sum")
        .args(["--check", "--strict", "SHA256SUMS"])
        .current_dir(&inside)
        .output()
        .expect("sha256sum is there");
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stdout));
    assert_eq!(read(&inside.join("journal.jsonl")), read(&scratch.path("out/journal.jsonl")));
    let there = Tare::in_directory(&inside);
    for arguments in [&["--json"][..], &["--html", "-"], &["--csv", "-"], &[]] {
        let of = |tare: &Tare, directory| {
            tare.run(&[&["report", directory][..], arguments].concat()).expect(0).stdout
        };
        assert!(of(&there, ".") == of(&tare, "out"), "{arguments:?}");
    }
    assert_eq!(
        read(&inside.join("report.html")),
        there.run(&["report", ".", "--html", "-"]).text()
    );
    let citation = read(&inside.join("CITATION.cff"));
    for key in ["cff-version: 1.2.0", "title: \"", "authors:", "type: dataset", "date-released: 20"]
    {
        assert!(citation.contains(key), "{citation}");
    }
    tare.run(&["bundle", "out"])
        .assert_error(2, &["cannot write tare-tour-9.tar.gz: the path already exists", "--out"]);
}

#[test]
fn an_archive_comes_back_from_a_log() {
    let scratch = ScratchDirectory::new();
    let (tare, _) = measured(&scratch, &["--network", "host", "--blocks", "2"]);
    tare.run(&["bundle", "out", "--out", "x.tar.gz"]).expect(0);
    let logged = tare.run(&["bundle", "out", "--base64"]).expect(0).text();
    assert!(logged.lines().all(|line| line.len() <= 76), "lines are short");
    let file = scratch.write_file("logged", &logged);
    let decoded = Command::new("base64").arg("--decode").arg(file).output().expect("base64");
    assert!(decoded.status.success());
    assert!(decoded.stdout == std::fs::read(scratch.path("x.tar.gz")).expect("an archive"));
    let both = tare.run(&["bundle", "out", "--base64", "--out", "y"]).expect(2);
    assert!(both.stderr.contains("cannot be used with"), "{}", both.stderr);
}

#[test]
fn an_archive_opens_as_it_was_sealed_or_not_at_all() {
    let scratch = ScratchDirectory::new();
    let (tare, _) = measured(&scratch, &["--network", "host,bridge", "--blocks", "2"]);
    tare.run(&["bundle", "out", "--out", "x.tar.gz"]).expect(0);
    let shown = tare.run(&["report", "out"]).expect(0).stdout;
    assert!(tare.run(&["show", "x.tar.gz"]).expect(0).stdout == shown);
    assert!(tare.run(&["report", "x.tar.gz"]).expect(0).stdout == shown);
    tare.run(&["compare", "x.tar.gz", "x.tar.gz", "--json"]).expect(0);

    let inside = unpacked(&scratch, "x.tar.gz", "changed");
    std::fs::write(inside.join("result.csv"), "better\n").expect("written");
    let packed = Command::new("tar")
        .arg("-czf")
        .arg(scratch.path("changed.tar.gz"))
        .arg("-C")
        .arg(scratch.path("changed"))
        .arg(".")
        .status();
    assert!(packed.expect("tar is there").success());
    tare.run(&["show", "changed.tar.gz"])
        .assert_error(2, &["cannot open changed.tar.gz", "result.csv is not what was packed"]);
    std::fs::write(
        scratch.path("cut.tar.gz"),
        &std::fs::read(scratch.path("x.tar.gz")).expect("it is there")[..999],
    )
    .expect("written");
    tare.run(&["show", "cut.tar.gz"]).assert_error(2, &["cannot open cut.tar.gz", "cut off"]);
}

#[test]
fn an_archive_names_the_program_that_measured() {
    let scratch = ScratchDirectory::new();
    let (tare, _) = measured(&scratch, &["--network", "host", "--blocks", "2"]);
    tare.run(&["bundle", "out", "--out", "x.tar.gz"]).expect(0);
    let inside = unpacked(&scratch, "x.tar.gz", "elsewhere");
    let environment: serde_json::Value =
        serde_json::from_str(&read(&inside.join("environment.json"))).expect("JSON");
    let hashed =
        Command::new("sha256sum").arg(tare.program()).output().expect("sha256sum is there");
    let told = String::from_utf8_lossy(&hashed.stdout).into_owned();
    assert_eq!(text(&environment, "binary"), told.split_whitespace().next().expect("a hash"));
}

/// Returns what a command says of this machine, word by word.
fn words_of(command: &str) -> Vec<String> {
    let output = Command::new("sh").args(["-c", command]).output().expect("a shell is there");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    said.split_whitespace().map(str::to_owned).collect()
}

/// Returns facts by which this machine, its user or its location could be found out: names, addresses, paths, the
/// build of its kernel. A name that every machine has is none, and no shorter one can be told from a word.
fn identifying_facts(scratch: &ScratchDirectory, tare: &Tare) -> Vec<String> {
    let commands = [
        "uname -n",
        "ip -o -4 addr show scope global | sed 's/.*inet \\([0-9.]*\\).*/\\1/'",
        "ip -o -6 addr show | sed 's/.*inet6 \\([0-9a-f:]*\\).*/\\1/'",
        "cat /sys/class/net/*/address",
        "ls /sys/class/net",
        "cat /etc/machine-id /proc/sys/kernel/random/boot_id",
        "id -un",
    ];
    let common = ["::1", "00:00:00:00:00:00", "lo", "eth0", "docker0", "root", "localhost"];
    let build = words_of("uname -v").join(" ");
    let paths = [scratch.root(), tare.program(), Path::new("/var/run/docker.sock")];
    let private = ["secret-study", "secret-tool", "alice", "corporate.example", "198.51.100.7"];
    let told = commands.iter().flat_map(|command| words_of(command));
    let facts = told.filter(|word| !common.contains(&word.as_str())).chain([build]);
    facts
        .chain(paths.map(|path| path.display().to_string()))
        .chain(private.map(str::to_owned))
        .filter(|fact| fact.len() > 3)
        .collect()
}

/// Returns true if a text has a word with nothing of the same kind beside it.
fn has_whole(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part)
    })
}

#[test]
fn a_redacted_archive_keeps_every_figure_and_no_fact_of_its_machine() {
    let scratch = ScratchDirectory::new();
    scratch.write_file(
        "secret-study.toml",
        "networks = [\"host\", \"of-alice=veth\", \"exec:./secret-tool.sh\"]\n[[workload]]\nname = \"tcp-rr\"\n",
    );
    let tool = "#!/bin/sh\necho \"alice@corporate.example: no way from $(uname -n) to 198.51.100.7\" >&2\nexit 1\n";
    let tool = scratch.write_file("secret-tool.sh", tool);
    std::fs::set_permissions(tool, Permissions::from_mode(0o755)).expect("it is ours");
    let tare = Tare::in_directory(scratch.root());
    let study = scratch.path("secret-study.toml").display().to_string();
    let arguments = [study.as_str(), "--allow-exec", "--blocks", "2", "--out", "out"];
    tare.run(&short_run(&arguments));
    tare.run(&["bundle", "out", "--redact", "--out", "x.tar.gz"]).expect(0);
    let inside = unpacked(&scratch, "x.tar.gz", "elsewhere");
    let before = tare.run(&["report", "out", "--json"]).expect(0).json();
    let after = Tare::in_directory(&inside).run(&["report", ".", "--json"]).expect(0).json();
    let figures = |document: &serde_json::Value| -> Vec<serde_json::Value> {
        let cells = list(document, "cells").iter().cloned();
        cells.map(|mut cell| std::mem::take(&mut cell["samples"])).collect()
    };
    assert_eq!(figures(&before), figures(&after));
    assert!(figures(&before).len() > 2, "{before}");
    assert_eq!(list(&after, "failed").len(), 1, "the failure is told, without its words: {after}");
    let devices = list(&after["environment"], "devices");
    assert!(
        devices.iter().all(|device| text(device, "name").starts_with("device-")),
        "{devices:?}"
    );
    let facts = identifying_facts(&scratch, &tare);
    let whole = read(&scratch.path("out/journal.jsonl"));
    let known = facts.iter().filter(|fact| has_whole(&whole, fact)).count();
    assert!(known > 5, "the journal has facts to take out: {known} of {facts:?}");
    for entry in std::fs::read_dir(&inside).expect("it is there") {
        let path = entry.expect("an entry").path();
        let file = read(&path);
        for fact in &facts {
            assert!(!has_whole(&file, fact), "{fact} is in {}", path.display());
        }
    }
}
