//! Networks of a Swarm, on three machines of the tests: packets take the path that each network is named after, every
//! task is accounted for, and nothing of a run remains, however it ends.

use rustix::process::Signal;
use serde_json::Value;
use support::counts::total;
use support::engine::Engine;
use support::program::RunningProgram;
use support::shared::SharedResource as _;
use support::swarm::{EngineMachines, Swarm};
use support::{first_mtu, hops, list, short_run, text};

/// Returns the arguments of a run of networks over TCP on two nodes. The directory has their names, unless one is
/// given.
fn asked<'a>(networks: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let asked = ["--network", networks, "--workload", "tcp-stream", "--blocks", "1", "--json"];
    let out: &[&str] = if more.contains(&"--out") { &[] } else { &["--out", networks] };
    short_run(&[&asked[..], &["--nodes", "2"], out, more].concat())
}

/// Runs networks once, and returns the document.
#[track_caller]
fn run_once(swarm: &Swarm, networks: &str, more: &[&str]) -> Value {
    swarm.run(&asked(networks, more)).expect_measured().json()
}

/// Rule that counts the packets received by a machine. It is removed when dropped.
pub(super) struct RuleCounter<'a> {
    engine: &'a Engine,
    rule: &'static str,
}

impl<'a> RuleCounter<'a> {
    pub(super) fn new(engine: &'a Engine, rule: &'static str) -> Self {
        engine.shell_output(&format!("iptables --table mangle --append INPUT {rule}"));
        Self { engine, rule }
    }

    /// Returns the bytes counted so far.
    pub(super) fn bytes(&self) -> u64 {
        let rules =
            self.engine.shell_output("iptables --table mangle --list-rules INPUT --verbose");
        let line = rules.lines().find(|line| line.contains(self.rule));
        let line = line.unwrap_or_else(|| panic!("`{}` is in\n{rules}", self.rule));
        let counted = line.split("-c ").nth(1).and_then(|rest| rest.split(' ').nth(1));
        counted.and_then(|bytes| bytes.parse().ok()).expect("a rule with its counter")
    }
}

impl Drop for RuleCounter<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.engine
                .shell_output(&format!("iptables --table mangle --delete INPUT {}", self.rule));
        }
    }
}

/// VXLAN packets, in the syntax of iptables.
pub(super) const VXLAN: &str = "-i eth0 -p udp -m udp --dport 4789";

/// Size of a datagram of `udp-rate`, bytes.
const DATAGRAM: u64 = 1232;

/// Bytes of an endless trial: more than tasks need to connect, to receive commands and to report.
const MANY: u64 = 4_000_000;

/// Returns the bytes that the servers of a run over TCP have received, from the journal in its directory.
fn received(engine: &Engine, out: &str) -> u64 {
    total(&engine.scratch().path(out), "tcp-stream", "received")
}

#[test]
fn what_crosses_an_overlay_is_vxlan_on_the_underlay_and_nothing_else_is() {
    let swarm = Swarm::shared();
    let before = swarm.inventory();
    let vxlan = RuleCounter::new(swarm.engine(1), VXLAN);
    for (network, encapsulated) in [
        ("swarm:overlay", true),
        ("swarm:host", false),
        ("swarm:published-host", false),
        ("swarm:gwbridge", false),
    ] {
        let counted = vxlan.bytes();
        let document = run_once(&swarm, network, &[]);
        let passed = vxlan.bytes() - counted;
        // An overlay's packets are counted with their headers. With other networks only the tasks' messages use VXLAN.
        let received = received(swarm.engine(0), network);
        assert_eq!(passed >= received, encapsulated, "{network}: {passed} of {received} bytes");
        let hops = hops(&document, network);
        let has_tunnel = hops.iter().any(|hop| hop == "node-0:vxlan0");
        assert_eq!(has_tunnel, encapsulated, "{network}: {hops:?}");
        swarm.assert_nothing_left(&before);
    }
}

#[test]
fn an_existing_network_and_macvlan_are_used_and_all_pairs_talk() {
    let swarm = Swarm::shared();
    let manager = swarm.engine(0);
    let mtu = "com.docker.network.driver.mtu=1300";
    manager.docker(&["network", "create", "--driver", "overlay", "--opt", mtu, "of-mine"]);
    let before = swarm.inventory();
    let document = run_once(&swarm, "swarm:overlay", &["--mtu", "1400", "--out", "mtu"]);
    assert_eq!(first_mtu(&document), Some(1400));
    let document = run_once(&swarm, "swarm:NETWORK=of-mine", &[]);
    assert_eq!(first_mtu(&document), Some(1250), "Docker takes off what VXLAN needs: {document}");
    let vxlan = RuleCounter::new(swarm.engine(2), VXLAN);
    let encapsulated = vxlan.bytes();
    let shape = ["--nodes", "3", "--servers", "2", "--clients", "4", "--out", "three"];
    let workload = ["--workload", "tcp-rr,udp-rate"];
    let asked = ["--network", "swarm:macvlan", "--blocks", "1", "--json"];
    let asked = short_run(&[&asked[..], &shape, &workload].concat());
    let document = swarm.run(&asked).expect_measured().json();
    let cell = |metric: &str| {
        let cells = list(&document, "cells").iter();
        let mut cells =
            cells.filter(|cell| cell["metric"] == metric && cell["scope"] == "aggregate");
        cells.next().unwrap_or_else(|| panic!("{metric}: {document}"))["mean"].as_f64()
    };
    assert!(cell("transactions") > Some(0.0) && cell("loss") < Some(100.0), "{document}");
    let encapsulated = vxlan.bytes() - encapsulated;
    let datagrams =
        total(&swarm.engine(0).scratch().path("three"), "udp-rate", "datagrams_received");
    let carried = datagrams * DATAGRAM;
    assert!(encapsulated < carried, "macvlan is no overlay: {encapsulated} of {carried} bytes");
    assert!(hops(&document, "swarm:macvlan").contains(&"node-0:eth0".to_owned()), "{document}");
    swarm.assert_nothing_left(&before);
    let asked =
        ["run", "--network", "swarm:NETWORK=of-yours", "--nodes", "2", "--json", "--out", "no"];
    let document = swarm.run(&asked).expect(1).json();
    assert!(text(&list(&document, "skipped")[0], "reason").contains("no network `of-yours`"));
    manager.docker(&["network", "rm", "of-mine"]);
}

#[test]
fn what_a_swarm_cannot_do_is_found_out_and_said() {
    let swarm = Swarm::shared();
    let before = swarm.inventory();
    let has = |module: &str| std::path::Path::new("/sys/module").join(module).exists();
    let outcome = swarm.run(&asked("swarm:overlay-encrypted", &[]));
    if has("esp4") {
        let hops = hops(&outcome.expect(0).json(), "swarm:overlay-encrypted");
        assert!(hops.contains(&"node-0:esp".to_owned()), "{hops:?}");
    } else {
        let document = outcome.expect(1).json();
        let failed = &list(&document, "failed")[0];
        assert!(text(failed, "reason").contains("no ESP packet left node-1"), "{failed}");
        assert!(text(failed, "remedy").contains("esp4"), "{failed}");
        assert!(list(&document, "cells").is_empty(), "{document}");
    }
    for network in ["swarm:vip", "swarm:published"] {
        let outcome = swarm.run(&asked(network, &[]));
        if has("ip_vs") {
            let hops = hops(&outcome.expect(0).json(), network);
            assert!(hops.contains(&"node-0:ip_vs".to_owned()), "{hops:?}");
        } else {
            let document = outcome.expect(1).json();
            let skipped = &list(&document, "skipped")[0];
            assert!(text(skipped, "reason").contains("ip_vs"), "{skipped}");
        }
    }
    swarm.assert_nothing_left(&before);
}

#[test]
fn nodes_without_the_image_are_named_and_a_rejected_task_is_accounted_for() {
    let swarm = Swarm::shared();
    let before = swarm.inventory();
    // Only the manager's engine is known to tare.
    let document = swarm.tare().run(&asked("swarm:overlay", &[])).expect(1).json();
    let failed = &list(&document, "failed")[0];
    assert!(text(failed, "reason").contains("the image is not on node-2, node-3"), "{failed}");
    assert!(text(failed, "remedy").contains("--engine"), "{failed}");
    // An image that only the manager has: the worker's task is rejected.
    swarm.tare().run(&["image", "--load", "--tag", "tare:mine"]).expect(0);
    let more = ["--image", "tare:mine", "--out", "rejected"];
    let document = swarm.tare().run(&asked("swarm:host", &more)).expect(1).json();
    let failed = &list(&document, "failed")[0];
    for words in ["server-0", "node-2 is rejected", "No such image: tare:mine"] {
        assert!(text(failed, "reason").contains(words), "{words}: {failed}");
    }
    assert!(text(failed, "remedy").contains("tare image --tag tare:mine"), "{failed}");
    // If all nodes have the image, no engine has to be named.
    for index in [1, 2] {
        let engine = swarm.engine(index);
        engine.tare().run(&["image", "--load", "--tag", "tare:mine"]).expect(0);
    }
    let more = ["--image", "tare:mine", "--out", "everywhere"];
    swarm.tare().run(&asked("swarm:host", &more)).expect(0);
    let is_empty = |engine: &Engine| engine.docker(&["ps", "--all", "--quiet"]).is_empty();
    swarm.wait_for("no container is left", |swarm| {
        (0..3).all(|index| is_empty(swarm.engine(index)))
    });
    for index in 0..3 {
        swarm.engine(index).docker(&["image", "rm", "tare:mine"]);
    }
    swarm.assert_nothing_left(&before);
}

#[test]
fn a_worker_and_an_engine_without_a_swarm_say_what_they_lack() {
    let swarm = Swarm::shared();
    let document = swarm.engine(1).tare().run(&asked("swarm:overlay", &[])).expect(1).json();
    let skipped = &list(&document, "skipped")[0];
    assert!(text(skipped, "reason").contains("is a worker"), "{skipped}");
    let alone = Engine::shared();
    let document = alone.tare().run(&asked("swarm:overlay", &[])).expect(1).json();
    let skipped = &list(&document, "skipped")[0];
    assert!(text(skipped, "reason").contains("is not in a Swarm"), "{skipped}");
    assert!(text(skipped, "remedy").contains("docker swarm init"), "{skipped}");
    let stranger = alone.host();
    let more = ["--engine", stranger.as_str(), "--out", "stranger"];
    let document = swarm.tare().run(&asked("swarm:overlay", &more)).expect(1).json();
    let failed = &list(&document, "failed")[0];
    assert!(text(failed, "reason").contains("is not in a Swarm"), "{failed}");
}

/// Returns the arguments of a run that would take minutes.
fn endless<'a>(out: &'a str, workers: &'a [String]) -> Vec<&'a str> {
    let asked = [
        "run",
        "--network",
        "swarm:overlay",
        "--out",
        out,
        "--nodes",
        "2",
        "--workload",
        "tcp-stream",
    ];
    let long = ["--duration", "60s", "--blocks", "20", "--json"];
    let workers: Vec<&str> = workers.iter().map(String::as_str).collect();
    [&asked[..], &long, &workers].concat()
}

/// Returns the number of services with a running task.
fn running(swarm: &Swarm) -> usize {
    let replicas = ["service", "ls", "--format", "{{.Replicas}}"];
    swarm.engine(0).docker(&replicas).matches("1/1").count()
}

#[test]
fn an_interrupt_leaves_nothing_and_what_a_kill_leaves_is_cleaned() {
    let swarm = Swarm::shared();
    let before = swarm.inventory();
    let workers = swarm.workers();
    let flags: Vec<&str> = workers.iter().map(String::as_str).collect();
    let interrupted = swarm.tare().start(&endless("out", &workers));
    swarm.wait_for("both tasks run", |swarm| running(swarm) == 2);
    interrupted.signal(Signal::INT);
    interrupted.wait().expect(130);
    swarm.assert_nothing_left(&before);
    let mut killed = swarm.tare().start(&endless("killed", &workers));
    swarm.wait_for("both tasks run", |swarm| running(swarm) == 2);
    let clean = [&["clean", "--yes"][..], &flags].concat();
    let going_on = swarm.tare().run(&clean).expect(0);
    assert!(going_on.stderr.contains("is still running"), "{}", going_on.stderr);
    assert!(killed.is_running());
    killed.signal(Signal::KILL);
    killed.wait();
    // Its tasks find that tare is gone, and end.
    swarm.wait_for("no container runs", |swarm| {
        (0..3).all(|index| swarm.engine(index).docker(&["ps", "--quiet"]).is_empty())
    });
    assert_ne!(swarm.inventory(), before);
    let listed = swarm.tare().run(&[&["clean"][..], &flags].concat()).expect(0).text();
    for kind in ["service", "network", "secret", "image"] {
        assert!(listed.contains(kind), "{kind}: {listed}");
    }
    swarm.tare().run(&clean).expect(0);
    swarm.assert_nothing_left(&before);
}

#[test]
fn a_node_that_leaves_during_a_trial_is_named() {
    let swarm = Swarm::with_nodes(2);
    let workers = swarm.workers();
    let running_one = swarm.tare().start(&endless("out", &workers));
    swarm.wait_for("both tasks run", |swarm| running(swarm) == 2);
    // Bytes that show that the trial has begun: the tasks have connected to tare, and there are many VXLAN packets.
    let vxlan = RuleCounter::new(swarm.engine(1), VXLAN);
    let quiet = vxlan.bytes();
    swarm.wait_for("traffic", |_| vxlan.bytes() > quiet + MANY);
    swarm.engine(1).docker(&["swarm", "leave", "--force"]);
    let document = running_one.wait().expect(1).json();
    let failed = &list(&document, "failed")[0];
    assert_eq!(text(failed, "reason").lines().count(), 1);
    assert!(text(failed, "reason").contains("node-2"), "{failed}");
    assert!(text(failed, "reason").contains("server-0"), "{failed}");
    let manager = swarm.engine(0);
    swarm.wait_for("nothing is left on the manager", |_| {
        ["service", "secret"].iter().all(|kind| manager.docker(&[kind, "ls", "--quiet"]).is_empty())
            && manager.docker(&["ps", "--all", "--quiet"]).is_empty()
    });
}

#[test]
fn a_program_runs_in_a_task_on_another_node_with_its_streams_and_its_exit_code() {
    let swarm = Swarm::shared();
    let before = swarm.inventory();
    let workers = swarm.workers();
    let up = |program: &[&str]| {
        let flags: Vec<&str> = workers.iter().map(String::as_str).collect();
        let asked =
            [&["up", "swarm:overlay", "--nodes", "2"][..], &flags, &["--"], program].concat();
        swarm.tare().run(&asked)
    };
    let version = up(&["/tare", "--version"]).expect(0);
    assert!(version.text().starts_with("tare "), "{}", version.text());
    up(&["/tare", "no-such-command"]).expect(2);
    let missing = up(&["/no/such/program"]).expect(127);
    assert!(missing.stderr.contains("/no/such/program"), "{}", missing.stderr);
    swarm.assert_nothing_left(&before);
}

/// Makes contexts of Docker's client for the first machines, in a directory.
pub(super) fn contexts(machines: &EngineMachines, names: &[&str]) -> std::path::PathBuf {
    let directory = machines.engine(0).scratch().path("contexts-of-test");
    for (index, name) in names.iter().enumerate() {
        let host = format!("host={}", machines.engine(index).host());
        machines.engine(0).docker_with(&directory, &["context", "create", name, "--docker", &host]);
    }
    directory
}

#[test]
fn two_contexts_are_measured_against_each_other() {
    let swarm = Swarm::shared();
    let machines = swarm.machines();
    let directory = contexts(machines, &["near", "far"]);
    let underlay = RuleCounter::new(machines.engine(1), "-i eth0 -p tcp");
    let before = [0, 1].map(|index| machines.engine(index).inventory());
    let tare = machines.engine(0).tare();
    let tare = tare.with_variable("DOCKER_CONFIG", directory.to_str().expect("a plain path"));
    let apart = ["--server-context", "far", "--client-context", "near"];
    for network in ["docker:host", "docker:published", "docker:macvlan"] {
        // Packets of macvlan bypass the machine's own rules.
        let own = network == "docker:host";
        let counted = underlay.bytes();
        let document = tare.run(&asked(network, &apart)).expect(0).json();
        let passed = underlay.bytes() - counted;
        let received = received(machines.engine(0), network);
        assert_eq!(passed >= received, own, "{network}: {passed} of {received} bytes");
        let path = hops(&document, network);
        assert!(path.len() >= 2, "{network}: {path:?}");
        let engines = list(&document["environment"], "engines");
        let named: Vec<&str> = engines.iter().map(|one| text(one, "name")).collect();
        assert_eq!(named, ["node-2", "node-1"], "{network}");
        let after = [0, 1].map(|index| machines.engine(index).inventory());
        assert_eq!(after, before, "{network}");
    }
    let document = tare.run(&asked("docker:bridge", &apart)).expect(1).json();
    let skipped = &list(&document, "skipped")[0];
    assert!(text(skipped, "reason").contains("a network of one engine"), "{skipped}");
    let nobody = ["--server-context", "far", "--client-context", "nobody", "--out", "nobody"];
    let document = tare.run(&asked("docker:host", &nobody)).expect(1).json();
    let skipped = &list(&document, "skipped")[0];
    assert!(text(skipped, "reason").contains("context `nobody`"), "{skipped}");
}

#[test]
fn the_overlay_of_2015_joins_engines_that_share_a_store() {
    let flags = ["--cluster-store=etcd://192.0.2.1:2379", "--cluster-advertise=eth0:2376"];
    let machines = EngineMachines::plugged(2, &flags);
    // The engines retry until the store is available.
    let _store = store(machines.engine(0));
    machines.wait_until_they_answer();
    let directory = contexts(&machines, &["near", "far"]);
    let tare = machines.engine(0).tare();
    let tare = tare.with_variable("DOCKER_CONFIG", directory.to_str().expect("a plain path"));
    let vxlan = RuleCounter::new(machines.engine(1), VXLAN);
    let apart = ["--server-context", "far", "--client-context", "near"];
    let document = tare.run(&asked("docker:overlay-kv", &apart)).expect(0).json();
    let (passed, received) = (vxlan.bytes(), received(machines.engine(0), "docker:overlay-kv"));
    assert!(passed >= received, "{passed} of {received} bytes");
    let path = hops(&document, "docker:overlay-kv");
    // The containers, which have names, track connections.
    let nodes: Vec<&String> = path.iter().filter(|hop| hop.starts_with("node-")).collect();
    assert_eq!(nodes, ["node-0:br0", "node-0:vxlan0", "node-1:br0"], "{path:?}");
}

/// Starts the store shared by engines of 2015, on one of their machines.
fn store(engine: &Engine) -> RunningProgram {
    let mut etcd = engine.command_beside("etcd".as_ref());
    etcd.args(["--enable-v2=true", "--data-dir"]).arg(engine.scratch().path("etcd"));
    for flag in ["--listen-client-urls", "--advertise-client-urls"] {
        etcd.args([flag, "http://192.0.2.1:2379"]);
    }
    etcd.args(["--listen-peer-urls", "http://127.0.0.1:2380"]);
    RunningProgram::spawn(&mut etcd)
}
