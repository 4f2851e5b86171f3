//! Docker's networks: packets take the path that each network is named after, and nothing of a run remains, however it
//! ends.

use serde_json::Value;
use support::counts::{program_time, total};
use support::engine::{Engine, path};
use support::program::{Tare, User};
use support::shared::SharedResource as _;
use support::swarm::Swarm;
use support::{ScratchDirectory, eventually, first_mtu, hops, journal, list, short_run, text};
use tare_dev::NetworkConfiguration;

/// Returns the bytes that Docker's default bridge has forwarded between containers, or carried from or to its own
/// machine.
pub(crate) fn on_default_bridge(engine: &Engine) -> u64 {
    let device = engine.shell_output("sed -n 's/^ *docker0://p' /proc/net/dev");
    let device: Vec<u64> =
        device.split_whitespace().map(|number| number.parse().expect("a number")).collect();
    let (received, sent) = (device[0], device[8]);
    let [_, forwarded] = hits(engine, "filter", "-A FORWARD -o docker0 -m conntrack");
    received + sent + forwarded
}

/// Returns the packets and bytes counted by the rule whose line contains these words.
fn hits(engine: &Engine, table: &str, words: &str) -> [u64; 2] {
    let rules = engine.shell_output(&format!("iptables --table {table} --list-rules --verbose"));
    let line = rules.lines().find(|line| line.contains(words));
    let line = line.unwrap_or_else(|| panic!("`{words}` is in\n{rules}"));
    let (_, counted) = line.split_once("-c ").expect("a rule with its counters");
    let mut counted = counted.split(' ').map(|number| number.parse().expect("a number"));
    [counted.next().expect("packets"), counted.next().expect("bytes")]
}

#[test]
fn what_passes_the_default_bridge_is_counted_there_and_nothing_else_is() {
    let engine = Engine::shared();
    let before = engine.inventory();
    for (network, crosses) in [
        ("docker:bridge", true),
        ("docker:link", true),
        ("docker:published", true),
        ("docker:user-bridge", false),
        ("docker:container", false),
        ("docker:host", false),
    ] {
        let counted = on_default_bridge(&engine);
        let document = engine.run_once(network, &[]);
        let passed = on_default_bridge(&engine) - counted;
        // The bridge counts packets with their headers. Without traffic it counts only the announcements of devices.
        let received = total(&engine.scratch().path(network), "tcp-stream", "received");
        assert_eq!(passed >= received, crosses, "{network}: {passed} of {received} bytes");
        assert!(!hops(&document, network).is_empty(), "{network}");
    }
    assert_eq!(engine.inventory(), before);
}

#[test]
fn a_published_port_is_translated_and_its_publisher_named() {
    const JUMP: &str = "-A OUTPUT ! -d 127.0.0.0/8 -m addrtype --dst-type LOCAL";
    let engine = Engine::shared();
    let [before, _] = hits(&engine, "nat", JUMP);
    let document = engine.run_once("docker:published", &[]);
    let [after, _] = hits(&engine, "nat", JUMP);
    assert!(after > before, "no connection has met Docker's rules");
    let hops = hops(&document, "docker:published");
    assert_eq!(hops, ["node-0:nat/DOCKER", "node-0:docker0", "server-0:eth0"]);
}

#[test]
fn without_rules_the_userland_proxy_is_the_publisher() {
    let engine = Engine::with(&["--iptables=false"]);
    let document = engine.run_once("docker:published", &[]);
    let hops = hops(&document, "docker:published");
    assert_eq!(hops.first().map(String::as_str), Some("node-0:docker-proxy"), "{hops:?}");
    assert!(program_time(&engine.scratch().path("docker:published"), "docker-proxy") > 0);
}

#[test]
fn a_run_says_which_engine_and_which_image_it_was() {
    let engine = Engine::shared();
    let document = engine.run_once("docker:host", &["--security-opt", "seccomp=unconfined"]);
    let of = &list(&document["environment"], "engines")[0];
    assert_eq!(text(of, "version"), engine.docker(&["version", "--format", "{{.Server.Version}}"]));
    assert_eq!(text(of, "kernel"), engine.docker(&["info", "--format", "{{.KernelVersion}}"]));
    assert!(text(of, "image").contains("sha256:"), "{of}");
    assert!(of["components"]["containerd"].is_string() && of["components"]["runc"].is_string());
    assert!(list(of, "drivers").iter().any(|driver| driver == "macvlan"), "{of}");
    assert_eq!(list(of, "security_asked"), ["seccomp=unconfined"]);
}

#[test]
fn several_clients_and_servers_and_both_transports_work() {
    let engine = Engine::shared();
    let shape = ["--servers", "2", "--clients", "3", "--workload", "tcp-rr,udp-rate"];
    let networks = "docker:bridge,docker:published,docker:host,docker:container";
    let document = engine.run_once(networks, &shape);
    for network in networks.split(',') {
        // Whether there is a figure is the machine's affair: clients of a busy one may have no interval in common. What
        // each end counted is compared below.
        for metric in ["transactions", "loss"] {
            let is_it = |cell: &Value| {
                cell["network"] == network
                    && cell["metric"] == metric
                    && cell["scope"] == "aggregate"
            };
            assert!(list(&document, "cells").iter().any(is_it), "{network}, {metric}: {document}");
        }
    }
    let trials = journal::trials(&engine.scratch().path(networks));
    for network in networks.split(',') {
        for workload in ["tcp-rr", "udp-rate"] {
            let is = |trial: &Value| trial["network"] == network && trial["workload"] == workload;
            assert!(trials.iter().any(is), "{workload} over {network}");
        }
    }
    for trial in trials {
        assert_eq!(list(&trial, "series").len(), 3, "every client is counted: {trial}");
        let ends = |counter: &str| trial["ends"][counter].as_u64().expect("a counter");
        match text(&trial, "workload") {
            // Each of the three flows may have one request in progress at the end.
            "tcp-rr" => {
                let (completed, answered) = (ends("completed"), ends("answered"));
                assert!((completed..=completed + 3).contains(&answered), "{trial}");
                assert!(completed > 0, "{trial}");
            }
            "udp-rate" => {
                let (sent, received) = (ends("datagrams_sent"), ends("datagrams_received"));
                assert!(received > 0 && received <= sent, "{trial}");
            }
            other => assert_eq!(other, "tcp-stream", "{trial}"),
        }
    }
}

#[test]
fn a_bridge_of_ones_own_has_ipv6_and_the_mtu_that_was_asked_for() {
    let engine = Engine::shared();
    let document = engine.run_once("docker:user-bridge", &["--family", "ipv6", "--mtu", "1400"]);
    let cell = &list(&document, "cells")[0];
    assert_eq!(cell["shape"]["family"], "ipv6");
    for hop in [list(cell, "hops").first(), list(cell, "hops").last()] {
        assert_eq!(hop.map(|hop| &hop["mtu"]), Some(&1400.into()), "{cell}");
    }
    let refused = ["--network", "docker:bridge", "--mtu", "1400", "--out", "refused", "--json"];
    let document = engine.tare().run(&short_run(&refused)).expect(1).json();
    let failed = &list(&document, "failed")[0];
    assert!(text(failed, "reason").contains("an MTU of 1500"), "{failed}");
    assert!(text(failed, "remedy").contains("docker:user-bridge"), "{failed}");
}

#[test]
fn networks_on_the_uplink_and_by_hand_are_wired_and_taken_away() {
    let engine = Engine::shared();
    let before = engine.inventory();
    for network in
        ["docker:macvlan", "docker:none+veth", "docker:none+pipework", "docker:bridge+macvlan-nat"]
    {
        let out = engine.scratch().path(network);
        let out = out.to_str().expect("a plain path");
        let asked =
            ["--network", network, "--clients", "2", "--blocks", "1", "--out", out, "--json"];
        let document = engine.tare_beside(&short_run(&asked)).expect_measured().json();
        assert!(!hops(&document, network).is_empty(), "{network}");
        assert_eq!(engine.inventory(), before, "{network}");
    }
}

#[test]
fn only_root_beside_the_engine_wires_by_hand() {
    let engine = Engine::shared();
    let _open = engine.open_to_everybody();
    let tare =
        Tare::copied(engine.scratch(), User::Ordinary).with_variable("DOCKER_HOST", &engine.host());
    tare.run(&["up", "docker:none+veth", "--", "/tare", "--version"])
        .assert_error(1, &["only root"]);
}

#[test]
fn an_existing_network_is_used_by_its_name() {
    let engine = Engine::shared();
    engine.docker(&["network", "create", "--opt", "com.docker.network.driver.mtu=1300", "of-mine"]);
    let before = engine.inventory();
    let document = engine.run_once("docker:NETWORK=of-mine", &[]);
    assert_eq!(first_mtu(&document), Some(1300), "{document}");
    assert_eq!(engine.inventory(), before, "the user's own network stays");
    let asked = ["run", "--network", "docker:NETWORK=of-yours", "--json", "--out", "out"];
    let outcome = engine.tare().run(&asked).expect(1);
    let document = outcome.json();
    assert!(text(&list(&document, "skipped")[0], "reason").contains("no network `of-yours`"));
    engine.docker(&["network", "rm", "of-mine"]);
}

#[test]
fn an_attachable_overlay_of_a_swarm_is_a_network_like_others() {
    let swarm = Swarm::shared();
    let engine = swarm.engine(0);
    engine.docker(&["network", "create", "--driver", "overlay", "--attachable", "over"]);
    let document = engine.run_once("docker:NETWORK=over", &[]);
    assert_eq!(first_mtu(&document), Some(1450), "an overlay leaves room for VXLAN: {document}");
    let hops = list(&list(&document, "cells")[0], "hops");
    assert!(hops.iter().any(|hop| hop["detail"] == "driver overlay"), "{hops:?}");
    let of = &list(&document["environment"], "engines")[0];
    assert_eq!(text(of, "swarm"), "active");
    engine.docker(&["network", "rm", "over"]);
}

#[test]
fn an_ordinary_user_who_may_speak_to_docker_measures_it_beside_the_lab() {
    let engine = Engine::shared();
    let tare =
        Tare::copied(engine.scratch(), User::Ordinary).with_variable("DOCKER_HOST", &engine.host());
    let asked = ["--network", "bridge,docker:bridge", "--blocks", "1", "--out", "out", "--json"];
    let refused = tare.run(&short_run(&asked)).expect(1).json();
    let skipped = &list(&refused, "skipped")[0];
    assert!(text(skipped, "reason").contains("permission denied"), "{skipped}");
    assert!(text(skipped, "remedy").contains("docker"), "{skipped}");
    assert!(!list(&refused, "cells").is_empty(), "the lab's network is measured");
    let _open = engine.open_to_everybody();
    let asked = ["--network", "bridge,docker:bridge", "--blocks", "1", "--out", "again", "--json"];
    let document = tare.run(&short_run(&asked)).expect_measured().json();
    assert!(!hops(&document, "docker:bridge").is_empty());
}

#[test]
fn without_docker_everything_else_works() {
    let scratch = ScratchDirectory::new();
    let nowhere = format!("unix://{}", scratch.path("docker.sock").display());
    let tare = Tare::copied(&scratch, User::Caller).with_variable("DOCKER_HOST", &nowhere);
    let listed = tare.run(&["list", "networks", "--json"]).expect(0).json();
    let docker = list(&listed, "networks")
        .iter()
        .filter(|one| text(one, "name").starts_with("docker:"))
        .collect::<Vec<_>>();
    assert!(docker.len() >= 14, "{listed}");
    for one in docker {
        assert_eq!(one["available"], false);
        assert!(text(one, "reason").contains("Docker is not running"), "{one}");
        assert!(text(one, "remedy").contains("docker.io"), "{one}");
    }
    let asked = ["--network", "all", "--blocks", "1", "--out", "out", "--json"];
    let document = tare.run(&short_run(&asked)).expect_measured().json();
    assert!(!list(&document, "cells").is_empty());
    let asked = ["--network", "loopback,docker:bridge", "--baseline", "loopback", "--blocks", "1"];
    let asked = [&asked[..], &["--out", "named", "--json"]].concat();
    let document = tare.run(&short_run(&asked)).expect(1).json();
    assert_eq!(text(&list(&document, "skipped")[0], "network"), "docker:bridge");
    tare.run(&["clean"]).assert_error(1, &["Docker is not running", "docker.io"]);
}

#[test]
fn an_engine_behind_ssh_is_spoken_to_as_dockers_client_does_it() {
    let engine = Engine::shared();
    let before = engine.inventory();
    // ssh replacement that runs commands on the machine of the engine, and knows no other host.
    let directory = engine.scratch().create_directory("programs", None);
    let script = format!(
        "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\n[ \"$2\" = me@there ] || exit 255\nshift 2\n\
         PATH={} DOCKER_HOST={} exec \"$@\"\n",
        path(),
        engine.host()
    );
    let ssh = engine.scratch().write_file("programs/ssh", &script);
    engine.shell_output(&format!("chmod 755 {}", ssh.display()));
    let found = format!("{}:{}", directory.display(), std::env::var("PATH").expect("a PATH"));
    let tare =
        |host: &str| engine.tare().with_variable("PATH", &found).with_variable("DOCKER_HOST", host);
    let asked = ["--network", "docker:bridge", "--blocks", "1", "--workload", "tcp-rr", "--json"];
    let there = [&asked[..], &["--out", "there"]].concat();
    let document = tare("ssh://me@there").run(&short_run(&there)).expect_measured().json();
    assert_eq!(text(&list(&document["environment"], "engines")[0], "address"), "ssh://me@there");
    assert_eq!(engine.inventory(), before);
    let nowhere = [&asked[..], &["--out", "nowhere"]].concat();
    let document = tare("ssh://nowhere").run(&short_run(&nowhere)).expect(1).json();
    let skipped = &list(&document, "skipped")[0];
    assert!(text(skipped, "reason").contains("ssh://nowhere"), "{skipped}");
}

#[test]
fn the_engine_of_the_tests_is_not_the_machines() {
    let before = NetworkConfiguration::current();
    let engine = Engine::alone();
    engine.run_once("docker:bridge", &[]);
    drop(engine);
    // Other tests may change the machine in the meantime, and undo that.
    eventually("the machine is as it was", || {
        let now = NetworkConfiguration::current();
        if now == before { Ok(()) } else { Err(format!("{now:?}, not {before:?}")) }
    });
}

#[test]
fn the_study_of_probes_measures_dockers_own_networks_beside_the_labs() {
    let engine = Engine::shared();
    let short = ["--blocks", "1", "--duration", "1s", "--interval", "50ms", "--warmup", "auto"];
    // On the engine's machine the path must be absolute.
    let directory = engine.scratch().path("probes");
    let out = directory.to_str().expect("a plain path");
    let asked = ["run", "probe-latency-2015", "--json", "--out", out];
    let document = engine.tare_beside(&[&asked[..], &short].concat()).expect(0).json();
    assert_eq!(list(&document, "skipped"), [] as [Value; 0]);
    let has_median = |network: &str, workload: &str, wait: &str| {
        let of = |cell: &&Value| {
            cell["label"] == network
                && cell["workload"] == workload
                && cell["parameters"]["wait"] == wait
                && cell["metric"] == "latency_p50"
        };
        let cell = list(&document, "cells").iter().find(of);
        let cell = cell.unwrap_or_else(|| panic!("{network}, {workload}, {wait}: {document}"));
        let median = cell["mean"].as_f64();
        // On a busy machine even this may have too few answers within the second, which is reported.
        let reason = cell["withheld"]["reason"].as_str().unwrap_or_default();
        let is_told = reason.contains("beyond latency_p50");
        assert!(median > Some(0.0) || is_told, "{cell}");
        median.is_some()
    };
    for network in ["no-docker", "bridge", "docker-bridge", "docker-host"] {
        for (workload, wait) in [("tcp-rr", "block"), ("udp-rr", "block"), ("tcp-rr", "spin")] {
            has_median(network, workload, wait);
        }
    }
    // Within a second there are too few answers for the higher percentiles.
    let medians = |figure: &&Value| figure["published"]["cell"]["metric"] == "latency_p50";
    let medians: Vec<&Value> = list(&document["rerun"], "figures").iter().filter(medians).collect();
    assert!(medians.len() >= 8, "{document}");
    for figure in medians {
        let cell = &figure["published"]["cell"];
        let wait = text(&cell["parameters"], "wait");
        let measured = has_median(text(cell, "network"), text(cell, "workload"), wait);
        assert_eq!(!figure["measured"].is_null(), measured, "{figure}");
    }
}
