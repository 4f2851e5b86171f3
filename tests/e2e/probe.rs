//! Tests of `tare listen` and `tare probe`: figures of both ends between two processes and two namespaces, caps, and
//! the end of either side.

use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use support::NamespacePair;
use support::journal::{sum, trials};
use support::listener::{
    ENDLESS, SHORT, TestListener, ask, connected_client, in_scratch, request, write_token,
};
use support::program::RunningProgram;
use support::{list, schema, text};

#[test]
fn a_probe_says_what_both_ends_saw_in_the_document_of_a_run() {
    let (scratch, tare) = in_scratch();
    let listening = TestListener::start(&tare, &[]);
    let flags = ["--blocks", "2", "--flows", "2", "--duration", "200ms", "--interval", "10ms"];
    let shown = listening.run_probe(&tare, &flags).expect(0).text();
    assert!(shown.contains("127.0.0.1 (probe)"), "{shown}");
    assert_eq!(scratch.names(), [] as [&str; 0], "nothing is kept unless it is asked for");

    let kept = [&flags[..], &["--json", "--out", "out"]].concat();
    let kept = listening.run_probe(&tare, &kept).expect(0);
    let document = kept.json();
    schema::check(&document, "run.json");
    let journal = std::fs::read_to_string(scratch.path("out/journal.jsonl")).unwrap();
    // The number of samples of a figure, and its interval, follow from the trials.
    crate::recompute::check(&journal, &document);
    assert_eq!((&document["study"], &document["blocks"]), (&json!("probe"), &json!(2)));
    let cells = list(&document, "cells");
    for workload in ["tcp-stream", "tcp-rr"] {
        assert!(cells.iter().any(|cell| cell["workload"] == workload), "{workload}");
    }
    for cell in cells {
        assert_eq!((&cell["network"], &cell["label"]), (&json!("probe"), &json!("127.0.0.1")));
        assert_eq!(cell["ratio"], Value::Null);
        assert_eq!(
            (&cell["shape"]["flows"], &cell["shape"]["family"]),
            (&json!(2), &json!("ipv4"))
        );
        for side in ["client_cores", "server_cores"] {
            assert!(cell["parameters"][side].is_array(), "{side}");
        }
    }
    assert_eq!(tare.run(&["report", "out", "--json"]).expect(0).stdout, kept.stdout);
    let trials = trials(&scratch.path("out"));
    assert_eq!(trials.len(), 4);
    for trial in trials {
        let ends = &trial["ends"];
        assert_eq!(ends["sent"], ends["received"]);
        assert_eq!(ends["completed"], ends["answered"]);
        let count = if trial["workload"] == "tcp-stream" { "received" } else { "completed" };
        let pointer = if count == "received" { "/bytes" } else { "/operations" };
        let within: u64 = list(&trial, "series").iter().map(|client| sum(client, pointer)).sum();
        // The ends also count operations that are still in progress at the end of the last interval.
        assert!((1..=ends[count].as_u64().unwrap()).contains(&within), "{within}: {ends}");
    }
}

#[test]
fn every_workload_can_be_probed() {
    let (_scratch, tare) = in_scratch();
    let listening = TestListener::start(&tare, &[]);
    let document = tare.run(&["list", "workloads", "--json"]).expect(0).json();
    for workload in list(&document, "workloads") {
        let name = text(workload, "name");
        let flags = ["--workload", name, "--duration", "1s", "--interval", "20ms", "--json"];
        // A listener starts no programs for its clients, so workloads with external programs are not for probes.
        if workload["programs"].is_array() {
            listening.run_probe(&tare, &flags).assert_error(1, &[name, "starts programs"]);
            continue;
        }
        let document = listening.run_probe(&tare, &flags).expect(0).json();
        schema::check(&document, "run.json");
        assert_eq!(list(&document, "failed"), [] as [Value; 0], "{name}");
        let cells = list(&document, "cells");
        let metrics: BTreeSet<&str> = cells.iter().map(|cell| text(cell, "metric")).collect();
        assert!(cells.iter().all(|cell| cell["workload"] == name), "{name}");
        // On a busy machine there may be too few samples for a tail, which is reported; every cell is present.
        assert!(!metrics.is_empty() && metrics.len() == cells.len(), "{name}: {metrics:?}");
    }
    listening.wait_until_alone();
}

#[test]
fn the_loopback_of_ipv6_is_this_machine_too() {
    let (_scratch, tare) = in_scratch();
    let listening = TestListener::start(&tare, &["--bind", "::1"]);
    let port = listening.port();
    for host in ["::1", "[::1]"] {
        let flags = [SHORT, &["--json"]].concat();
        let document =
            tare.run(&TestListener::probe_arguments(&port, host, &flags)).expect(0).json();
        assert_eq!(list(&document, "cells")[0]["shape"]["family"], "ipv6");
    }
    tare.run(&TestListener::probe_arguments(&port, "::1", &["--family", "ipv4"]))
        .assert_error(1, &["::1", "no ipv4 address", "--family"]);
}

#[test]
fn two_machines_measure_the_way_between_them() {
    let (scratch, tare) = in_scratch();
    write_token(&scratch, 0o600);
    let pair = NamespacePair::new();
    let received = || -> u64 {
        let shown = pair.server.output("ip -s -j link show dev eth0");
        let shown: Value = serde_json::from_str(&shown).expect("JSON");
        shown[0]["stats64"]["rx"]["packets"].as_u64().expect("a number")
    };
    for (bind, hosts) in [("0.0.0.0", &["10.99.0.2"][..]), ("::", &["10.99.0.2", "fd99::2"])] {
        let arguments = ["listen", "--bind", bind, "--token-file", "token", "--port", "0"];
        let listening = TestListener::from_process(tare.start_inside(&pair.server, &arguments));
        let port = listening.port();
        for host in hosts {
            let out = format!("out-{bind}-{host}");
            let flags = [SHORT, &["--token-file", "token", "--json", "--out", &out]].concat();
            let probe = TestListener::probe_arguments(&port, host, &flags);
            let before = received();
            let document = tare.start_inside(&pair.client, &probe).wait().expect(0).json();
            let packets = received() - before;
            let cell = &list(&document, "cells")[0];
            assert_eq!((text(cell, "label"), &cell["shape"]["mtu"]), (*host, &json!(1500)));
            // Every request is a packet between the two machines.
            let ends = &trials(&scratch.path(&out))[0]["ends"];
            let requests = ends["completed"].as_u64().expect("a count");
            assert!((1..=packets).contains(&requests), "{packets} packets: {ends}");
        }
    }
}

#[test]
fn caps_are_told_to_the_probe_and_held_by_the_listener() {
    let (_scratch, tare) = in_scratch();
    let caps =
        ["--max-duration", "2s", "--max-flows", "4", "--max-memory", "100", "--max-clients", "2"];
    let listening = TestListener::start(&tare, &caps);
    listening.run_probe(&tare, SHORT).expect(0);
    for (flags, words) in [
        (&["--duration", "3s", "--workload", "tcp-rr"][..], &["too long", "--max-duration"][..]),
        (&[&["--flows", "5"], SHORT].concat(), &["5 flows", "--max-flows"]),
        (&["--duration", "1s", "--buffer", "200M"], &["100 MiB", "--max-memory"]),
    ] {
        listening.run_probe(&tare, flags).assert_error(1, words);
    }
    listening.wait_until_alone();
    let stream = connected_client(&listening);
    for (beyond, words) in [
        (json!({"duration": 3_000_000_000u64}), "--max-duration"),
        (json!({"flows": 5}), "--max-flows"),
        (json!({"flows": 0}), "flows"),
        (json!({"workload": "tcp-stream", "parameters": {"buffer": "200M"}}), "--max-memory"),
        (json!({"interval": 0}), "intervals"),
        (json!({"workload": "nosuch"}), "unknown workload"),
        (json!({"parameters": {"nosuch": 1}}), "no parameter"),
    ] {
        let answer = ask(&stream, &request(beyond)).expect("an answer");
        assert!(text(&answer, "refused").contains(words), "{answer}");
    }
    // Flows of other clients are unavailable until they are released.
    let ready = ask(&stream, &request(json!({"flows": 3}))).expect("an answer");
    assert!(ready["ready"].is_object(), "{ready}");
    let other = connected_client(&listening);
    let busy = ask(&other, &request(json!({"flows": 2}))).expect("an answer");
    assert!(text(&busy, "refused").contains("try again later"), "{busy}");
    let full = listening.run_probe(&tare, SHORT);
    full.assert_error(1, &["2 clients", "--max-clients"]);
    drop((stream, other));
    listening.wait_until_alone();
    listening.run_probe(&tare, &[SHORT, &["--flows", "4"]].concat()).expect(0);
}

#[test]
fn where_rates_are_capped_nothing_goes_faster_and_nothing_as_fast_as_it_can() {
    let (_scratch, tare) = in_scratch();
    let listening = TestListener::start(&tare, &["--max-rate", "10mbit"]);
    listening.run_probe(&tare, SHORT).assert_error(1, &["as fast as it can", "10000000 bit/s"]);
    let at = |rate| {
        ["--workload", "udp-rate", "--duration", "500ms", "--interval", "10ms", "--rate", rate]
    };
    listening.run_probe(&tare, &at("8mbit")).expect(0);
    listening.run_probe(&tare, &at("11mbit")).assert_error(1, &["too fast", "--max-rate"]);
    let idle = ["--workload", "idle", "--duration", "100ms", "--interval", "10ms"];
    listening.run_probe(&tare, &idle).expect(0);

    let (one, other) = (connected_client(&listening), connected_client(&listening));
    let answer = ask(&one, &request(json!({}))).expect("an answer");
    assert!(text(&answer, "refused").contains("as fast as it can"), "{answer}");
    let paced = |rate| request(json!({"workload": "udp-rate", "parameters": {"rate": rate}}));
    assert!(ask(&one, &paced("8mbit")).expect("an answer")["ready"].is_object());
    let answer = ask(&other, &paced("3mbit")).expect("an answer");
    assert!(text(&answer, "refused").contains("try again later"), "{answer}");
}

#[test]
fn ports_are_those_that_a_firewall_lets_through() {
    let (_scratch, tare) = in_scratch();
    let listening = TestListener::start(&tare, &["--ports", "40100-40199"]);
    let ready = ask(&connected_client(&listening), &request(json!({}))).expect("an answer");
    let ports: Vec<u64> = list(&ready["ready"], "ports").iter().filter_map(Value::as_u64).collect();
    assert!(ports.len() == 1 && (40_100..=40_199).contains(&ports[0]), "{ready}");
}

#[test]
fn any_number_of_clients_are_served_at_once() {
    let (_scratch, tare) = in_scratch();
    let mut listening = TestListener::start(&tare, &[]);
    let mut long = listening.start_probe(&tare, &[ENDLESS, &["--blocks", "1"]].concat());
    listening.running.wait_for("tcp-rr, 1 flow(s), 600s");
    let short: Vec<RunningProgram> = (0..3).map(|_| listening.start_probe(&tare, SHORT)).collect();
    for running in short {
        running.wait().expect(0);
    }
    assert!(long.is_running(), "the first is served all the while");
    long.signal(Signal::INT);
    long.wait().expect(130);
    listening.wait_until_alone();
}

#[test]
fn an_interrupted_probe_reports_the_blocks_it_has() {
    let (_scratch, tare) = in_scratch();
    let listening = TestListener::start(&tare, &[]);
    let mut probe =
        listening.start_probe(&tare, &[SHORT, &["--blocks", "100000", "--json"]].concat());
    probe.wait_for("block 2 ");
    probe.signal(Signal::TERM);
    let document = probe.wait().expect(130).json();
    assert_eq!(document["stopped_by"], "interrupted");
    assert!(list(&document, "cells")[0]["n"].as_u64() >= Some(2), "{document}");
}

#[test]
fn a_listener_ends_when_asked_and_its_clients_are_told() {
    for signal in [Signal::INT, Signal::TERM] {
        let (_scratch, tare) = in_scratch();
        let listening = TestListener::start(&tare, &[]);
        let probe = listening.start_probe(&tare, ENDLESS);
        listening.wait_for_traffic();
        listening.running.signal(signal);
        listening.running.wait().expect(0);
        let said = probe.wait().expect(1);
        assert!(
            said.stdout.is_empty() && said.stderr.contains("the listener was stopped"),
            "{said:?}"
        );
    }
}

#[test]
fn a_killed_listener_is_noticed_at_once() {
    let (_scratch, tare) = in_scratch();
    let listening = TestListener::start(&tare, &[]);
    let probe = listening.start_probe(&tare, ENDLESS);
    listening.wait_for_traffic();
    listening.running.signal(Signal::KILL);
    let said = probe.wait().expect(1);
    assert!(
        said.stderr.contains("the listener ended, or the connection was lost"),
        "{}",
        said.stderr
    );
}
