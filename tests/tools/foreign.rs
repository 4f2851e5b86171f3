//! Tests of foreign tools as workloads: each tool runs between the containers of a network, and its figures are
//! recorded.
//!
//! `make system-tools` installs the tools.

use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use support::journal::{counter, sum, trials};
use support::listener::TestListener;
use support::program::{Tare, User};
use support::{ScratchDirectory, eventually, list, schema, text};

/// Tools in Debian's main section, with a figure that each must report.
const TOOLS: [(&str, &str); 10] = [
    ("mysql", "tps"),
    ("postgres", "tps"),
    ("redis", "transactions"),
    ("iperf", "throughput"),
    ("iperf3", "throughput"),
    ("iperf3-udp", "packets"),
    ("qperf", "throughput"),
    ("qperf-lat", "latency_mean"),
    ("sockperf", "latency_p99"),
    ("wrk", "latency_p99"),
];

/// Tools outside of it, or not in every version. They are tested if they are installed.
const OTHERS: [(&str, &str); 4] = [
    ("netperf", "throughput"),
    ("netperf-rr", "latency_p99"),
    ("netperf-crr", "latency_p99"),
    ("fortio", "latency_p99"),
];

/// Study without a list of metrics: all metrics of a workload are measured.
const STUDY: &str = "networks = [\"veth\"]\n[method]\nblocks = 1\nduration = \"1s\"\n";

/// Returns a program with its own cache, and a study in its directory.
pub(crate) fn in_scratch(scratch: &ScratchDirectory, user: User) -> Tare {
    let tare = Tare::copied(scratch, user);
    std::fs::write(tare.directory().join("study.toml"), STUDY).expect("a file in it");
    tare.with_cache_of_its_own()
}

/// Returns the figure of a metric of a workload over a network.
fn mean(document: &Value, network: &str, workload: &str, metric: &str) -> f64 {
    let of = |cell: &&Value| {
        cell["label"] == network && cell["workload"] == workload && cell["metric"] == metric
    };
    let cell = list(document, "cells").iter().find(of);
    let cell = cell.unwrap_or_else(|| panic!("{metric} of {workload} over {network}: {document}"));
    cell["mean"].as_f64().unwrap_or_else(|| panic!("a figure in {cell}"))
}

/// Returns the number of processes whose arguments name something in this directory.
fn processes_in(directory: &Path) -> usize {
    let directory = directory.to_str().expect("a path in ASCII");
    let entries = std::fs::read_dir("/proc").expect("there is a /proc").flatten();
    let arguments = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let names = |text: &Vec<u8>| String::from_utf8_lossy(text).contains(directory);
    arguments.filter(names).count()
}

#[test]
fn every_tool_is_run_and_its_own_figures_are_kept() {
    let scratch = ScratchDirectory::new();
    let tare = in_scratch(&scratch, User::Caller);
    let listed = tare.run(&["list", "workloads", "--json"]).expect(0).json();
    let is_here = |name: &str| {
        let row = list(&listed, "workloads").iter().find(|row| row["name"] == name);
        let row = row.unwrap_or_else(|| panic!("{name} in {listed}"));
        let here = row["available"] == true;
        assert!(here || !text(row, "remedy").is_empty(), "{row}");
        here
    };
    let others = OTHERS.into_iter().filter(|(name, _)| is_here(name));
    let tools: Vec<(&str, &str)> = TOOLS.into_iter().chain(others).collect();
    let names: Vec<&str> = tools.iter().map(|(name, _)| *name).collect();
    let arguments = ["run", "study.toml", "--workload", &names.join(","), "--json", "--out", "out"];
    let document = tare.run(&arguments).expect(0).json();
    schema::check(&document, "run.json");
    for (workload, metric) in tools {
        assert!(mean(&document, "veth", workload, metric) > 0.0, "{workload}");
        let cells = list(&document, "cells");
        let cell = cells.iter().find(|cell| cell["workload"] == workload).expect("a cell");
        let parameters = &cell["parameters"];
        assert!(parameters["client_version"].is_string(), "{workload}: {parameters}");
        // HTTP requests go to tare's own server, which has no version but tare's.
        let is_own = ["wrk", "fortio"].contains(&workload);
        assert_eq!(parameters["server_version"].is_string(), !is_own, "{workload}");
    }
    assert_eq!(mean(&document, "veth", "mysql", "errors"), 0.0);
    let trials = trials(&tare.directory().join("out"));
    let udp = trials.iter().find(|trial| trial["workload"] == "iperf3-udp").expect("a trial");
    // Datagrams are lost here only if the machine schedules the server too seldom.
    let dropped = counter(udp, "server-0", "/protocols/Udp.RcvbufErrors");
    let loss = mean(&document, "veth", "iperf3-udp", "loss");
    assert!(loss == 0.0 || dropped > 0, "{loss} % lost, {dropped} datagrams dropped");
    for trial in trials {
        let stated = &list(&trial, "series")[0]["stated"];
        assert!(stated.as_object().is_some_and(|stated| !stated.is_empty()), "{trial}");
    }
    assert_eq!(processes_in(&tare.directory().join("cache")), 0, "servers have ended");
}

#[test]
fn a_shaped_network_is_seen_as_what_it_is() {
    let scratch = ScratchDirectory::new();
    let tare = in_scratch(&scratch, User::Caller);
    let network = "slow=veth+rate=100mbit";
    let arguments = [
        "run",
        "study.toml",
        "--network",
        network,
        "--workload",
        "iperf3,iperf3-udp",
        "--rate",
        "50mbit",
        "--json",
    ];
    let document = tare.run(&[&arguments[..], &["--out", "out"]].concat()).expect(0).json();
    let trials = trials(&tare.directory().join("out"));
    let [tcp, udp] = ["iperf3", "iperf3-udp"].map(|workload| {
        trials.iter().find(|trial| trial["workload"] == workload).expect("a trial")
    });
    let shaper = list(tcp, "hops").iter().find(|hop| hop["name"] == "eth0/tbf").expect("a shaper");
    assert!(text(shaper, "detail").starts_with("rate 100mbit "), "{shaper}");
    let queue = |counted| counter(tcp, "client-0", &format!("/queues/eth0~1tbf/{counted}"));
    assert!(queue("overlimits") > 0, "the shaper has held nothing back: {tcp}");
    // Bytes by the tool's figure: within its second at most those that the shaper let through, over the whole trial at
    // least half of those, because the rest was in flight when the tool's time was over.
    let shaped = queue("bytes") as f64;
    let rate = mean(&document, "slow", "iperf3", "throughput") * 1e9 / 8.0;
    assert!(rate <= shaped, "{rate} bytes in a second, {shaped} let through");
    assert!(rate * seconds(tcp) >= shaped / 2.0, "{rate} bytes a second, {shaped} let through");
    // Datagrams: at most the requested number, all sent by the kernel, and one to greet the server.
    let sent = sum(&list(udp, "series")[0], "/datagrams/sent");
    assert_eq!(sent + 1, counter(udp, "client-0", "/protocols/Udp.OutDatagrams"), "{udp}");
    let offered = sum(&list(udp, "series")[0], "/datagrams/sent_bytes") as f64 * 8.0;
    assert!(offered <= 50e6 * seconds(udp), "{offered} bits offered: {udp}");
}

/// Returns the duration of a trial, seconds.
fn seconds(trial: &Value) -> f64 {
    trial["took"].as_f64().expect("ns") / 1e9
}

#[test]
fn databases_run_over_real_networks_for_everybody_and_their_data_are_made_once() {
    for &user in User::all() {
        let scratch = ScratchDirectory::new();
        let tare = in_scratch(&scratch, user);
        let run = |more: &[&str]| {
            let arguments = ["run", "study.toml", "--workload", "mysql,postgres", "--json"];
            tare.run(&[&arguments[..], more].concat()).expect(0)
        };
        let small = ["--tables", "2", "--rows", "1000", "--flows", "2"];
        let networks = ["--network", "bridge,published", "--out", "first"];
        let first = run(&[&small[..], &networks].concat());
        for words in ["making 2 tables of 1000 rows", "making a database of scale 1"] {
            assert!(first.stderr.contains(words), "{}", first.stderr);
        }
        let document = first.json();
        for network in ["bridge", "published"] {
            for workload in ["mysql", "postgres"] {
                assert!(mean(&document, network, workload, "tps") > 0.0, "{network}");
                assert!(mean(&document, network, workload, "latency_mean") > 0.0, "{network}");
            }
        }
        let again = run(&[&small[..], &["--family", "ipv6", "--out", "again"]].concat());
        assert!(!again.stderr.contains("making"), "{}", again.stderr);
        assert!(mean(&again.json(), "veth", "mysql", "tps") > 0.0);
    }
}

#[test]
fn a_database_is_woven_with_a_server_in_every_network() {
    const SECOND: u64 = 1_000_000_000;
    let scratch = ScratchDirectory::new();
    let tare = in_scratch(&scratch, User::Caller);
    let asked = ["run", "study.toml", "--network", "bridge,bridge-plain", "--workload", "mysql"];
    let small = ["--clients", "2", "--tables", "1", "--rows", "1000"];
    let woven = ["--slice", "1s", "--duration", "2s", "--json", "--out", "woven"];
    let document = tare.run(&[&asked[..], &small, &woven].concat()).expect(0).json();
    schema::check(&document, "run.json");
    for network in ["bridge", "bridge-plain"] {
        for metric in ["tps", "latency_mean", "latency_p95", "latency_max"] {
            assert!(mean(&document, network, "mysql", metric) > 0.0, "{metric} of {network}");
        }
        assert_eq!(mean(&document, network, "mysql", "errors"), 0.0);
    }
    let trials = trials(&tare.directory().join("woven"));
    let began: Vec<Vec<u64>> = trials.iter().map(slices_began).collect();
    assert!(began.len() == 2 && began.iter().all(|one| one.len() == 2), "{began:?}");
    // Both networks are up at once: each has its slice of the first round before any of the second.
    assert!(began.iter().all(|one| one[0] < began[0][1].min(began[1][1])), "{began:?}");
    for trial in &trials {
        let plan = serde_json::json!({ "rounds": 2, "warm_up": 1, "length": SECOND, "skip": 0 });
        assert_eq!(trial["slices"]["plan"], plan);
        for series in list(trial, "series") {
            let intervals = list(series, "intervals");
            let starts: Vec<&Value> = intervals.iter().map(|interval| &interval["start"]).collect();
            assert_eq!(starts, [&Value::from(0), &Value::from(SECOND)]);
            assert!(intervals.iter().all(|interval| interval["latency"].is_string()), "{series}");
            let counted = intervals.iter().filter_map(|interval| interval["operations"].as_f64());
            let tps = series["stated"]["tps"].as_f64().expect("a rate");
            assert!((counted.sum::<f64>() / 2.0 - tps).abs() <= 1.0, "{series}");
            assert!(series["stated"]["latency_p95"].is_null(), "it is that of both slices");
        }
    }
    assert_eq!(processes_in(&tare.directory().join("cache")), 0, "servers have ended");
}

#[test]
fn a_server_that_ends_between_slices_is_named_and_not_the_client_that_missed_it() {
    // A client's first program runs. Its second one ends the server, and fails once that has ended.
    const SERVER: &str = "#!/bin/sh\n\
        PATH=${PATH#*:}:/usr/sbin\n\
        for word; do case $word in --port=*) port=${word#*=} ;; esac; done\n\
        [ \"$port\" ] || exec mariadbd \"$@\"\n\
        echo $$ >\"$0.$port\"\n\
        mariadbd \"$@\" & trap 'kill $!; exit 0' TERM\n\
        until [ -e \"$0.$port.falls\" ]; do kill -0 $! || exit 1; done\n\
        kill $!; exit 3\n";
    const CLIENT: &str = "#!/bin/sh\n\
        PATH=${PATH#*:}\n\
        for word; do case $word in --mysql-port=*) port=${word#*=} ;; esac; done\n\
        server=${0%/*}/mariadbd.$port\n\
        [ -e \"$server\" ] || exec sysbench \"$@\"\n\
        [ -e \"$0.$port\" ] || { echo >\"$0.$port\"; exec sysbench \"$@\"; }\n\
        echo >\"$server.falls\"\n\
        while grep -q '^State:.[^Z]' \"/proc/$(cat \"$server\")/status\"; do :; done\n\
        exit 1\n";
    let scratch = ScratchDirectory::new();
    let tare = in_scratch(&scratch, User::Caller);
    let programs = scratch.create_directory("programs", None);
    scratch.write_program("programs/mariadbd", SERVER);
    scratch.write_program("programs/sysbench", CLIENT);
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").expect("a PATH"));
    let asked = ["run", "study.toml", "--network", "veth,bridge", "--workload", "mysql"];
    let woven = ["--tables", "1", "--rows", "10", "--slice", "1s", "--duration", "1s", "--json"];
    let run = tare.with_variable("PATH", &path).run(&[&asked[..], &woven].concat());
    let document = run.expect(1).json();
    let reason = text(&list(&document, "failed")[0], "reason");
    assert!(reason.contains("server-0: mariadbd ended with exit code 3"), "{reason}");
}

/// Returns when the counted slices of a trial began, ns.
fn slices_began(trial: &Value) -> Vec<u64> {
    list(&trial["slices"], "began").iter().filter_map(Value::as_u64).collect()
}

#[test]
fn every_client_has_its_own_figures_where_a_server_takes_several() {
    let scratch = ScratchDirectory::new();
    let tare = in_scratch(&scratch, User::Caller);
    let run = |more: &[&str]| {
        let arguments = ["run", "study.toml", "--network", "bridge", "--clients", "2", "--json"];
        tare.run(&[&arguments[..], more].concat())
    };
    let document = run(&["--workload", "iperf,redis", "--processes", "2", "--out", "several"])
        .expect(0)
        .json();
    let throughput = |scope: &str| {
        let of = |cell: &&Value| cell["scope"] == scope && cell["metric"] == "throughput";
        let cell = list(&document, "cells").iter().find(of).expect("a cell");
        cell["mean"].as_f64().expect("a figure")
    };
    let clients = throughput("client:0") + throughput("client:1");
    assert!((clients / throughput("aggregate") - 1.0).abs() < 1e-9, "{document}");
    // The limit of one client at a time is reported before any network is set up.
    run(&["--workload", "iperf3"]).assert_error(2, &["iperf3", "one client at a time", "iperf"]);
    run(&["--workload", "sockperf", "--flows", "2"]).assert_error(2, &["sockperf", "one flow"]);
}

#[test]
fn what_is_not_installed_is_said_with_what_installs_it() {
    let scratch = ScratchDirectory::new();
    let tare = in_scratch(&scratch, User::Caller);
    let without = |command: &str| {
        tare.in_private_user(&format!("PATH=/nonexistent; export PATH; exec \"$tare\" {command}"))
    };
    let listed = without("list workloads --json").expect(0).json();
    schema::check(&listed, "workloads.json");
    let row = |name: &str| {
        let found = list(&listed, "workloads").iter().find(|row| row["name"] == name);
        found.expect("it is listed").clone()
    };
    let iperf3 = row("iperf3");
    assert_eq!(iperf3["available"], false);
    assert!(text(&iperf3, "reason").contains("iperf3 is not installed"), "{iperf3}");
    assert!(text(&iperf3, "remedy").contains("apt-get install iperf3"), "{iperf3}");
    assert_eq!(row("tcp-stream")["available"], true);
    // A tool requested by name is an error if it is missing: the user does not get what was requested.
    let run = without("run study.toml --workload iperf3,tcp-rr --dry-run --json");
    let plan = run.expect(1).json();
    assert_eq!(plan["refused"], serde_json::json!(["iperf3"]));
    let skipped = list(&plan, "findings").iter().find(|one| one["kind"] == "workload-skipped");
    assert!(text(skipped.expect("a finding"), "remedy").contains("install iperf3"));
    // A study replaces a missing tool by a stand-in.
    let plan = without("run icc-2014 --dry-run --json").json();
    let stand_in = list(&plan, "findings").iter().find(|one| one["kind"] == "stand-in");
    assert_eq!(text(stand_in.expect("a finding"), "used"), "tcp-stream");
}

#[test]
fn the_studies_use_their_own_tools_where_these_are() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let plan = |study: &str, more: &[&str]| {
        tare.run(&[&["run", study, "--dry-run", "--json"], more].concat()).expect(0).json()
    };
    let workloads = |plan: &Value| -> Vec<Value> { list(plan, "workloads").to_vec() };
    let icc = workloads(&plan("icc-2014", &[]));
    let names: Vec<&str> = icc.iter().map(|one| text(one, "name")).collect();
    assert_eq!(names, ["iperf", "tcp-stream", "udp-rate"]);
    let replaced: Vec<&Value> = icc.iter().map(|one| &one["stands_for"]).collect();
    assert_eq!(replaced, [&Value::Null, &"iperf".into(), &Value::Null], "at 16 x 16 alone");
    // iperf runs for whole seconds: in short trials its stand-in is measured for all shapes.
    let scaled = workloads(&plan("icc-2014", &["--scaled"]));
    let scaled: Vec<_> = scaled.iter().map(|one| (&one["name"], &one["stands_for"])).collect();
    let expected = [("tcp-stream".into(), "iperf".into()), ("udp-rate".into(), Value::Null)];
    assert_eq!(scaled, expected.each_ref().map(|(name, of): &(Value, Value)| (name, of)));
    let mysql = workloads(&plan("mysql-multihost-2016", &["--scaled"]));
    let mysql = mysql.iter().find(|one| one["name"] == "mysql").expect("it is in this build");
    assert_eq!(mysql["parameters"]["threads"], 100);
    // The published size is a hundred million rows: if they do not fit, the sizes are reported.
    let published = plan("mysql-multihost-2016", &[]);
    let rows = &workloads(&published)[0]["parameters"];
    assert_eq!((&rows["tables"], &rows["rows"]), (&20.into(), &5_000_000.into()));
}

#[test]
fn data_that_do_not_fit_are_refused_with_the_sizes() {
    let scratch = ScratchDirectory::new();
    let tare = in_scratch(&scratch, User::Caller);
    let huge = ["--tables", "1000", "--rows", "1000000000"];
    let arguments = ["run", "study.toml", "--workload", "mysql", "--out", "none"];
    let told = tare.run(&[&arguments[..], &huge].concat());
    assert_eq!(told.code, Some(1));
    told.assert_last_line(&["the data set takes about 240", "GB", "--rows", "--scaled"]);
    assert!(!tare.directory().join("none").exists(), "there is no journal of nothing");
}

#[test]
fn a_listener_starts_no_programs_for_strangers() {
    let scratch = ScratchDirectory::new();
    let tare = in_scratch(&scratch, User::Caller);
    let listening = TestListener::start(&tare, &[]);
    let flags = ["--workload", "mysql", "--duration", "1s"];
    listening.run_probe(&tare, &flags).assert_error(1, &["mysql", "starts programs", "by hand"]);
    assert!(!tare.directory().join("cache").exists(), "nothing was made for it");
}

#[test]
fn a_killed_run_leaves_no_server() {
    let scratch = ScratchDirectory::new();
    let tare = in_scratch(&scratch, User::Caller);
    let cache = tare.directory().join("cache");
    let arguments = ["run", "study.toml", "--workload", "mysql,postgres", "--duration", "600s"];
    let mut running = tare.start(&arguments);
    running.wait_for("block");
    let servers = || processes_in(&cache);
    eventually("servers run", || servers() > 0);
    running.signal(Signal::KILL);
    eventually("all servers have ended", || match servers() {
        0 => Ok(()),
        left => Err(format!("{left} processes")),
    });
    // Remains in its data directory do not prevent the next run from using the data.
    let again = ["run", "study.toml", "--workload", "mysql,postgres", "--out", "again"];
    let again = tare.run(&again).expect(0);
    assert!(!again.stderr.contains("making"), "{}", again.stderr);
}

#[test]
fn a_server_that_ends_in_the_middle_is_named_and_not_the_client_that_missed_it() {
    // The client's program ends the server's as soon as both are connected.
    const FALLS: &str = "#!/bin/sh\n\
        PATH=${PATH#*:}\n\
        case $1 in\n\
        -s) iperf \"$@\" & read -r _ <\"$0.connected\"; kill $!; echo it fell >&2; exit 3 ;;\n\
        -y) iperf \"$@\" & until grep -q ' 01 ' /proc/net/tcp; do kill -0 $! || exit 1; done\n\
            echo >\"$0.connected\"; wait $!; exit 1 ;;\n\
        *) exec iperf \"$@\" ;;\n\
        esac\n";
    let scratch = ScratchDirectory::new();
    let tare = in_scratch(&scratch, User::Caller);
    let programs = scratch.create_directory("programs", None);
    scratch.write_program("programs/iperf", FALLS);
    let made = Command::new("mkfifo").arg(programs.join("iperf.connected")).status();
    assert!(made.is_ok_and(|status| status.success()), "a named pipe");
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").expect("a PATH"));
    let arguments = ["run", "study.toml", "--workload", "iperf", "--duration", "60s", "--json"];
    let document = tare.with_variable("PATH", &path).run(&arguments).expect(1).json();
    let reason = text(&list(&document, "failed")[0], "reason");
    assert!(reason.starts_with("server-0: iperf ended with exit code 3"), "{reason}");
    assert!(reason.contains("it fell"), "{reason}");
}

#[test]
fn data_that_are_kept_are_listed_and_removed() {
    let scratch = ScratchDirectory::new();
    let tare = in_scratch(&scratch, User::Caller);
    let clean = |flags: &[&str]| tare.run(&[&["clean", "--data"][..], flags].concat()).expect(0);
    assert!(clean(&[]).stderr.contains("no unused database files are cached"));
    tare.run(&["run", "study.toml", "--workload", "mysql"]).expect(0);
    let cache = tare.directory().join("cache/tare");
    let sets = || std::fs::read_dir(&cache).expect("a cache").flatten().count();
    assert_eq!(sets(), 1);
    let somebodys = cache.join("somebody's");
    std::fs::create_dir(&somebodys).expect("a directory in it");

    let listed = clean(&[]);
    assert!(listed.text().contains("cache/tare/mysql-"), "{}", listed.text());
    assert!(!listed.text().contains("somebody"), "{}", listed.text());
    assert!(listed.stderr.contains("nothing was removed") && sets() == 2, "{}", listed.stderr);
    assert!(clean(&["--yes"]).stderr.contains("1 removed"));
    assert!(sets() == 1 && somebodys.exists());
}
