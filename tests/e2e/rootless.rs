//! Networks of rootless containers, from the command line to the report.

use serde_json::Value;
use support::program::Tare;
use support::{ScratchDirectory, journal, list, text};

/// Networks with the names of the processes that carry their packets, as the kernel has them.
const STACKS: [(&str, &[&str]); 4] = [
    ("pasta", &["pasta", "pasta.avx2", "passt.avx2"]),
    ("slirp4netns", &["slirp4netns"]),
    ("rootlesskit", &["rootlesskit"]),
    ("pasta/host", &["pasta", "pasta.avx2", "passt.avx2"]),
];

/// Returns the row of `tare list networks` for a network.
fn listed(tare: &Tare, name: &str) -> Value {
    let document = tare.run(&["list", "networks", "--json"]).expect(0).json();
    let row = list(&document, "networks").iter().find(|row| row["name"] == name).cloned();
    row.unwrap_or_else(|| panic!("{name} is listed"))
}

/// Each stack is measured and named by its own process. Where a user may not open the tap device's file, each is left
/// out with the reason and the remedy.
#[test]
fn every_stack_is_measured_or_says_what_it_needs() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let names = STACKS.map(|(name, _)| name).join(",");
    let network = format!("host,{names}");
    let flags = ["--duration", "300ms", "--blocks", "2", "--workload", "tcp-rr", "--json"];
    let run = [&["run", "--network", &network, "--out", "out"][..], &flags].concat();
    let row = listed(&tare, "pasta");
    if row["available"] == false {
        assert!(text(&row, "reason").starts_with("/dev/net/tun"), "{row}");
        assert!(!text(&row, "remedy").is_empty(), "{row}");
        let document = tare.run(&run).expect(1).json();
        assert_eq!(list(&document, "skipped").len(), STACKS.len(), "{document}");
        return;
    }
    let document = tare.run(&run).expect(0).json();
    for (name, processes) in STACKS {
        let cells = || list(&document, "cells").iter().filter(|cell| cell["label"] == name);
        let hops: Vec<&Value> = cells().flat_map(|cell| list(cell, "hops")).collect();
        assert!(hops.iter().any(|hop| hop["kind"] == "forwarder"), "{name}: {hops:?}");
        let findings = || cells().flat_map(|cell| list(cell, "findings"));
        let carriers = findings().filter(|finding| finding["kind"] == "userspace");
        let mut carriers = carriers.map(|finding| text(finding, "program"));
        assert!(carriers.all(|one| processes.contains(&one)), "{name}: {document}");
        // A busy machine may leave a process too little time for a finding, but no packet passes without it.
        let trials = journal::trials(&scratch.path("out"));
        let own = trials.iter().filter(|trial| trial["label"] == name);
        let counted =
            own.filter_map(|trial| trial.pointer("/meanwhile/counted/daemons")?.as_object());
        let times = counted.flatten().filter(|(program, _)| processes.contains(&program.as_str()));
        let time: u64 = times.filter_map(|(_, nanoseconds)| nanoseconds.as_u64()).sum();
        assert!(time > 0, "{name}: no process carried its packets");
    }
    // The proof of the path knows the programs by their files, whose versions the report tells.
    let table = tare.run(&["report", "out"]).expect(0).text();
    let is_found = document.to_string().contains(r#""kind":"userspace","program":"slirp4netns""#);
    assert_eq!(table.contains("slirp4netns took"), is_found, "{table}");
}

#[test]
fn a_path_without_a_program_is_told_with_the_remedy() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let flags = ["--network", "host,pasta:./nothing", "--blocks", "2", "--duration", "100ms"];
    let outcome = tare.run(&[&["run", "--json", "--out", "out"][..], &flags].concat()).expect(1);
    let document = outcome.json();
    let skipped = &list(&document, "skipped")[0];
    let told = skipped.to_string();
    let reasons = ["the program ./nothing cannot be run", "/dev/net/tun"];
    assert!(reasons.iter().any(|reason| told.contains(reason)), "{told}");
}
