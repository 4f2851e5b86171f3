//! An ordinary user, without root's privileges, does the same job.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod support;

use serde_json::Value;
use std::collections::BTreeSet;
use support::program::{Tare, User};
use support::scratch::Scratch;
use support::{list, short_run, text};

#[test]
fn an_ordinary_user_measures_the_core_networks_in_both_families() {
    let scratch = Scratch::new();
    let tare = Tare::copied(&scratch, User::Ordinary);
    let outcome = tare
        .run(&short_run(&[
            "--network",
            "core",
            "--family",
            "ipv4,ipv6",
            "--blocks",
            "2",
            "--json",
            "--out",
            "out",
        ]))
        .expect(0);
    let document = outcome.json();
    assert_eq!(list(&document, "skipped"), [] as [Value; 0]);
    assert_eq!(list(&document, "failed"), [] as [Value; 0]);
    assert_eq!(document["environment"]["root"], false);
    assert_eq!(document["blocks"], 2);
    let measured: BTreeSet<(&str, &str)> = list(&document, "cells")
        .iter()
        .filter(|cell| cell["metric"] == "throughput" && cell["mean"].as_f64() > Some(0.0))
        .map(|cell| (text(cell, "network"), text(&cell["shape"], "family")))
        .collect();
    assert_eq!(measured.len(), 8 * 2, "{measured:?}");
    for file in ["journal.jsonl", "result.json", "result.csv"] {
        assert!(tare.directory().join("out").join(file).is_file(), "{file}");
    }
}

#[test]
fn nothing_that_a_user_asks_for_needs_root() {
    let scratch = Scratch::new();
    let tare = Tare::copied(&scratch, User::Ordinary);
    for listed in ["networks", "workloads", "studies"] {
        let document = tare.run(&["list", listed, "--json"]).expect(0).json();
        let rows = list(&document, listed);
        assert!(!rows.is_empty(), "{listed}");
        // What is missing is a kernel's or a program's to give, never root's; but a device file is whose it is.
        let missing = rows.iter().filter(|row| row["available"] == false);
        let remedies = missing.filter(|row| !text(row, "reason").starts_with("/dev/"));
        let mut remedies = remedies.map(|row| text(row, "remedy"));
        assert!(remedies.all(|remedy| !remedy.contains("as root")), "{document}");
    }
    tare.run(&["doctor"]).expect(0);
    tare.run(&["run", "--dry-run"]).expect(0);
    tare.run(&["show", "bridge"]).expect(0);
}
