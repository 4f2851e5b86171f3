//! Tests of tare as an ordinary user, without root's privileges.

use serde_json::Value;
use std::collections::BTreeSet;
use support::journal::trials;
use support::program::{Tare, User};
use support::{ScratchDirectory, list, text};

#[test]
fn an_ordinary_user_measures_the_core_networks_in_both_families() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::copied(&scratch, User::Ordinary);
    let asked = ["run", "--network", "core", "--family", "ipv4,ipv6", "--blocks", "2", "--json"];
    let how = ["--duration", "100ms", "--interval", "10ms", "--out", "out"];
    let outcome = tare.run(&[&asked[..], &how].concat()).expect(0);
    let document = outcome.json();
    assert_eq!(list(&document, "skipped"), [] as [Value; 0]);
    assert_eq!(list(&document, "failed"), [] as [Value; 0]);
    assert_eq!(document["environment"]["root"], false);
    assert_eq!(document["blocks"], 2);
    let directory = tare.directory().join("out");
    let journal = std::fs::read_to_string(directory.join("journal.jsonl")).expect("a journal");
    crate::recompute::check(&journal, &document);
    let mut measured = BTreeSet::new();
    for trial in trials(&directory) {
        let ends = &trial["ends"];
        let (sent, received) = (&ends["sent"], &ends["received"]);
        assert_eq!(sent, received, "{ends}");
        assert_eq!(ends["completed"], ends["answered"], "{ends}");
        if received.as_u64() > Some(0) {
            let family = text(&trial["shape"], "family").to_owned();
            measured.insert((text(&trial, "network").to_owned(), family));
        }
    }
    assert_eq!(measured.len(), 8 * 2, "{measured:?}");
    for file in ["journal.jsonl", "result.json", "result.csv"] {
        assert!(directory.join(file).is_file(), "{file}");
    }
}

#[test]
fn nothing_that_a_user_asks_for_needs_root() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::copied(&scratch, User::Ordinary);
    for listed in ["networks", "workloads", "studies"] {
        let document = tare.run(&["list", listed, "--json"]).expect(0).json();
        let rows = list(&document, listed);
        assert!(!rows.is_empty(), "{listed}");
        // Missing features depend on the kernel or on programs, never on root. Device files are the exception: they
        // have an owner. Engines are others' programs: root's Podman alone has the devices of the machine.
        let is_engines = |name: &str| ["docker:", "podman:"].iter().any(|of| name.starts_with(of));
        let own = rows.iter().filter(|row| !is_engines(text(row, "name")));
        let missing = own.filter(|row| row["available"] == false);
        let remedies = missing.filter(|row| !text(row, "reason").starts_with("/dev/"));
        let mut remedies = remedies.map(|row| text(row, "remedy"));
        assert!(remedies.all(|remedy| !remedy.contains("as root")), "{document}");
    }
    tare.run(&["doctor"]).expect(0);
    tare.run(&["run", "--dry-run"]).expect(0);
    tare.run(&["show", "bridge"]).expect(0);
}
