//! Output of every kind of finding: in the table, in Markdown, in JSON and on the page.

use crate::fixture::quick;
use crate::page::{page, picture};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tare_record::{Document, Finding, Hop, HopKind};
use tare_report::{NoteExtent, Style, markdown, table};

/// Returns one finding of each kind.
fn all_findings() -> Vec<Finding> {
    let dropped = json!([{"place": "node-0", "at": "eth0/tbf", "cause": "queue", "packets": 7}]);
    let effect = json!({"factor": "netfilter", "ratio": 1.2, "ci95": [1.1, 1.3], "n": 5});
    let of_trials = json!([
        {"kind": "never-settled", "trials": 1, "of": 12},
        {"kind": "mode-switch", "trials": 1, "of": 12, "ratio": 1.5},
        {"kind": "trend", "trials": 1, "of": 12, "change": 0.1},
        {"kind": "warm-up-matters", "uncut": 1.0, "cut": 2.0},
        {"kind": "silent", "trials": 1, "of": 12},
        {"kind": "ends-disagree", "sent": 9, "received": 8},
        {"kind": "busy-machine", "share": 0.2},
        {"kind": "stolen", "share": 0.1},
        {"kind": "throttled", "times": 3},
        {"kind": "over-quota", "waited": 2_000_000_000},
        {"kind": "frequency-changed", "lowest": 2_000.0, "highest": 3_000.0},
        {"kind": "emulated"},
        {"kind": "other-run", "others": 1},
        {"kind": "second-attempt", "reason": "the agent ended early (signal 9)"},
        {"kind": "low-headroom", "resource": "neighbours", "used": 9, "limit": 10},
        {"kind": "small-buffer", "asked": 9, "granted": 8},
        {"kind": "other-congestion-control", "asked": "reno", "used": "cubic"},
        {"kind": "not-pinned", "reason": "no such core"},
        {"kind": "stall", "longest": 1_000_000},
        {"kind": "sender-too-slow", "asked": 9.0, "offered": 8.0},
        {"kind": "count-not-reached", "asked": 9, "completed": 8},
        {"kind": "dropped-at-socket", "dropped": 1, "of": 9},
        {"kind": "loss-placed", "lost": 9, "of": 100, "parts": dropped, "unplaced": 2},
        {"kind": "retransmitted", "segments": 30, "of": 900, "drops": dropped},
        {"kind": "cpu-placed", "agents_user": 0.1, "agents_system": 0.7, "softirq": 0.4, "daemons": 0.2, "busy": 1.4},
        {"kind": "watched", "sampling": 0.0004, "tcp_info": 0.00002, "drops": 0.001, "runs": 900},
        {"kind": "hardware-counted", "counted": "agents", "running": 0.5},
    ]);
    let of_networks_and_runs = json!([
        {"kind": "softirq-on-one-core", "core": 1, "share": 0.95, "others": 0.02},
        {"kind": "userspace", "program": "ovs-vswitchd", "cores": 0.9},
        {"kind": "offload-lost", "place": "node-0", "device": "port1", "before": 40000.0, "after": 1500.0},
        {"kind": "encrypted-in-software", "by": "the kernel"},
        {"kind": "ablated", "effects": [effect]},
        {"kind": "order-reversed", "workload": "tcp-rr", "metric": "transactions", "ahead": "a", "behind": "b", "fewer": 1, "more": 2},
        {"kind": "ports-exhausted", "times": 3},
        {"kind": "time-wait-overflow", "overflowed": 3},
        {"kind": "spins-on-shared-core", "threads": 3, "cores": 2},
        {"kind": "search-at-senders-limit", "rate": 1000.0},
        {"kind": "search-unfinished", "width": 0.1},
        {"kind": "offloads-kept", "devices": ["node-0:lo checksum"]},
        {"kind": "workload-skipped", "workload": "tool", "reason": "no tool", "remedy": "get it"},
        {"kind": "stand-in", "workload": "tool", "used": "tcp-rr", "reason": "no tool"},
        {"kind": "program-stand-in", "used": "tare-sleeve", "original": "weaver", "reason": "no weaver"},
        {"kind": "scaled", "changes": ["3 blocks instead of 30"]},
        {"kind": "drift", "change": 0.1, "p": 0.01},
        {"kind": "unread-lines", "lines": [7], "reason": "invalid JSON, column 3"},
        {"kind": "one-machine", "cores": 2},
        {"kind": "node-pair", "client": {"kernel": "6.1", "cores": 4}, "server": {"kernel": "6.8", "cores": 4}},
        {"kind": "fragmented", "packets": 7, "fragments": 14, "refused": 1, "place": "node-0",
         "mtu": {"inside": 1500, "available": 1450}},
        {"kind": "host-congestion", "host": "bbr", "used": "cubic"},
        {"kind": "waited-for-cores", "network": 0.05, "baseline": 0.02, "explained": 0.4, "ratio": 0.9,
         "ci95": [0.88, 0.92]},
        {"kind": "other-default-congestion", "asked": "vegas", "used": "cubic"},
        {"kind": "mixed-congestion", "workload": "redis", "controls": [
            {"control": "bbr", "networks": ["native"]},
            {"control": "cubic", "networks": ["host", "bridge"]},
        ]},
        {"kind": "pooled-blocks", "blocks": 2},
        {"kind": "network-not-inspected", "network": "bridge", "metric": "routes_out", "turns": 1, "of": 5,
         "reason": "look up the route to 192.0.2.1: Permission denied"},
        {"kind": "few-samples", "metric": "latency_p99", "beyond": 3},
    ]);
    let parse = |all| serde_json::from_value::<Vec<Finding>>(all).expect("findings");
    [parse(of_trials), parse(of_networks_and_runs)].concat()
}

fn kind(finding: &Finding) -> String {
    let value = serde_json::to_value(finding).expect("JSON");
    value["kind"].as_str().expect("a kind").to_owned()
}

/// Makes the quick run with these findings in its first cell.
fn run_with_findings(findings: &[Finding]) -> Document {
    let mut document = quick();
    let cell = &mut document.cells[0];
    cell.hops = vec![Hop::new(HopKind::Veth, "eth0", "client-0")];
    cell.findings.extend_from_slice(findings);
    document
}

#[test]
fn no_kind_is_forgotten_here() {
    let schema = schemars::schema_for!(Finding).to_value();
    let known = schema["oneOf"].as_array().expect("kinds").iter();
    let known: BTreeSet<String> = known
        .map(|one| one["properties"]["kind"]["const"].as_str().expect("a name").to_owned())
        .collect();
    assert_eq!(all_findings().iter().map(kind).collect::<BTreeSet<_>>(), known);
}

#[test]
fn each_is_told_in_json_table_and_markdown() {
    for finding in all_findings() {
        let words = finding.to_string();
        let document = run_with_findings(std::slice::from_ref(&finding));
        let read: Value =
            serde_json::from_str(&tare_report::json(&document).expect("JSON")).expect("JSON");
        assert_eq!(read["cells"][0]["findings"][0]["kind"], kind(&finding).as_str());
        // CPU time of a cell is shown with its path on the page, and has no line of its own.
        let is_told =
            !matches!(finding, Finding::CpuTimeByConsumer(_) | Finding::CpuTimeOfMeasurement(_));
        let table = table(&document, &Style { width: 400, colour: false }, NoteExtent::All);
        assert_eq!(table.contains(&words), is_told, "{words}: {table}");
        let markdown = markdown(&document).replace('\\', "");
        assert_eq!(markdown.contains(&escaped(&words)), is_told, "{words}: {markdown}");
    }
}

#[test]
fn each_is_told_on_the_page() {
    // All on one page: a page takes a hundred times as long as a table.
    let all = all_findings();
    let page = page(&run_with_findings(&all), &picture());
    for words in all.iter().map(Finding::to_string) {
        assert!(page.contains(&escaped(&words)), "{words} is not on the page");
    }
}

/// Escapes a text as the page does.
fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
