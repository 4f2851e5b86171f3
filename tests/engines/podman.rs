//! Podman's Docker-compatible service: `docker:` networks take the path that Podman gives them, and nothing of a run
//! remains, however it ends.

use rustix::process::Signal;
use support::counts::total;
use support::engine::Engine;
use support::program::Tare;
use support::shared::SharedResource as _;
use support::{eventually, hops, list, short_run, text};

/// Lists everything that a run could leave on the service and its machine, without the tables and chains that Podman's own
/// network backend keeps.
fn inventory(engine: &Engine) -> Vec<String> {
    let is_kept = |line: &str| line.contains("NETAVARK") || line.starts_with('*');
    let all = engine.inventory().join("\n");
    let lines = all.lines().filter(|line| !line.is_empty() && *line != "COMMIT");
    lines.filter(|line| !is_kept(line)).map(str::to_owned).collect()
}

/// Waits until no container runs, and none that has ended is there. Podman refuses a filter by states that it does not
/// have.
fn wait_until_nothing_runs(engine: &Engine) {
    let filters = ["running", "paused", "stopped", "exited"].map(|state| format!("status={state}"));
    let filters = filters.iter().flat_map(|filter| ["--filter", filter]);
    let listing: Vec<&str> =
        ["ps", "--format", "{{.Names}} {{.Status}}"].into_iter().chain(filters).collect();
    eventually("no container runs", || {
        let left = engine.docker(&listing);
        if left.is_empty() { Ok(()) } else { Err(left) }
    });
}

/// Keeps a container on Podman's default bridge, which otherwise ends with the last container of a run.
fn hold_default_bridge(engine: &Engine) {
    engine.tare().run(&["image", "--tag", "holder:1", "--load"]).expect(0);
    let holder = ["run", "--detach", "--interactive", "--name", "holder", "holder:1"];
    engine.docker(&[&holder[..], &["internal", "init"]].concat());
}

/// Returns the program under test, which uses the service as Podman.
fn podman_tare(engine: &Engine) -> Tare {
    Tare::in_directory(engine.scratch().root()).with_variable("CONTAINER_HOST", &engine.host())
}

/// Returns the bytes that Podman's default bridge has forwarded between containers, or carried from or to its own
/// machine.
fn on_default_bridge(engine: &Engine) -> u64 {
    let devices = engine.shell_output("sed -n 's/^ *podman0://p' /proc/net/dev");
    let device: Vec<u64> =
        devices.split_whitespace().map(|number| number.parse().expect("a number")).collect();
    let rules = engine.shell_output("iptables-save --counters --table filter");
    let to_containers = "-A NETAVARK_FORWARD -d 10.88.0.0/16";
    let rule = rules.lines().find(|line| line.contains(to_containers));
    let rule = rule.unwrap_or_else(|| panic!("`{to_containers}` is in\n{rules}"));
    let (_, counted) = rule.split_once(':').expect("counters stand before a rule");
    let (forwarded, _) = counted.split_once(']').expect("counters end with a bracket");
    device[0] + device[8] + forwarded.parse::<u64>().expect("a number")
}

#[test]
fn networks_take_the_path_that_podman_gives_them() {
    let engine = Engine::podman();
    hold_default_bridge(&engine);
    let before = inventory(&engine);
    for (network, path, crosses) in [
        ("docker:host", &["client-0:lo"][..], false),
        ("docker:bridge", &["client-0:eth0", "node-0:podman0", "server-0:eth0"], true),
        ("docker:published", &["node-0:nat/podman", "node-0:podman0", "server-0:eth0"], true),
        ("docker:user-bridge", &["client-0:eth0", "node-0:podman1", "server-0:eth0"], false),
        ("docker:container", &["client-0:lo"], false),
    ] {
        let counted = on_default_bridge(&engine);
        let document = engine.run_once(network, &[]);
        let passed = on_default_bridge(&engine) - counted;
        let received = total(&engine.scratch().path(network), "tcp-stream", "received");
        assert_eq!(passed >= received, crosses, "{network}: {passed} of {received} bytes");
        // Netfilter is on the path where the machine's kernel passes bridged packets to it.
        let mut hops = hops(&document, network);
        hops.retain(|hop| !hop.contains("conntrack") && !hop.contains("filter/"));
        assert_eq!(hops, path, "{network}");
        assert_eq!(inventory(&engine), before, "{network}");
        let of = &list(&document["environment"], "engines")[0];
        assert_eq!(text(of, "product"), "Podman");
        let version = engine.docker(&["version", "--format", "{{.Server.Version}}"]);
        assert_eq!(text(of, "version"), version);
    }
}

#[test]
fn networks_of_podmans_own_place_take_the_path_that_it_gives_them() {
    let engine = Engine::podman();
    hold_default_bridge(&engine);
    engine.docker(&["network", "create", "of-mine"]);
    let before = inventory(&engine);
    let tare = podman_tare(&engine);
    let cases = [
        ("podman:host", &["client-0:lo"][..]),
        ("podman:bridge", &["client-0:eth0", "node-0:podman0", "server-0:eth0"]),
        ("podman:user-bridge", &["client-0:eth0", "node-0:podman2", "server-0:eth0"]),
        ("podman:published", &["node-0:nat/podman", "node-0:podman0", "server-0:eth0"]),
        ("podman:container", &["client-0:lo"]),
        ("podman:pod", &["client-0:lo"]),
        ("podman:macvlan", &["client-0:eth0", "node-0:eth0", "server-0:eth0"]),
        ("podman:slirp4netns", &["node-0:slirp4netns", "server-0:tap0"]),
        ("podman:NETWORK=of-mine", &["client-0:eth0", "node-0:podman1", "server-0:eth0"]),
    ];
    let names = cases.map(|(network, _)| network).join(",");
    let asked = ["--network", &names, "--workload", "tcp-stream", "--blocks", "1", "--json"];
    let document = tare.run(&short_run(&asked)).expect_measured().json();
    for (network, path) in cases {
        // Netfilter is on the path where the machine's kernel passes bridged packets to it.
        let mut hops = hops(&document, network);
        hops.retain(|hop| !hop.contains("conntrack") && !hop.contains("filter/"));
        assert_eq!(hops, path, "{network}");
    }
    assert_eq!(inventory(&engine), before);
    let components = &list(&document["environment"], "engines")[0]["components"];
    assert_eq!(text(components, "network backend"), "netavark");
    let listed = tare.run(&["list", "networks", "--json"]).expect(0).json();
    let pasta = list(&listed, "networks").iter().find(|one| one["name"] == "podman:pasta");
    let why = text(pasta.expect("it is listed"), "reason");
    assert!(why.contains("only without root"), "{why}");
}

#[test]
fn a_docker_engine_is_not_taken_for_podman() {
    let engine = Engine::shared();
    let tare = podman_tare(&engine);
    let refused = tare.run(&short_run(&["--network", "podman:bridge", "--blocks", "1"])).expect(1);
    assert!(refused.stderr.contains("is not Podman: set CONTAINER_HOST"), "{}", refused.stderr);
}

#[test]
fn namespaces_that_podman_makes_have_the_congestion_control_of_the_run() {
    let engine = Engine::podman();
    for network in ["podman:user-bridge", "podman:pod"] {
        let asked = ["run", "--network", network, "--workload", "tcp-stream", "--slice", "off"];
        let endless = ["--congestion", "reno", "--duration", "1h", "--blocks", "1", "--out"];
        let running = podman_tare(&engine).start(&[&asked[..], &endless, &[network]].concat());
        let client = || engine.docker(&["ps", "--quiet", "--filter", "name=-client-0"]);
        eventually("the client runs", || !client().is_empty());
        let process = engine.docker(&["inspect", "--format", "{{.State.Pid}}", &client()]);
        let default = "cat /proc/sys/net/ipv4/tcp_congestion_control";
        let default = engine.shell_output(&format!("nsenter --target {process} --net {default}"));
        assert_eq!(default.trim(), "reno", "{network}");
        running.signal(Signal::INT);
        running.wait().expect(130);
    }
}

/// Podman would wait 10 s for each container whose first process has no handler for SIGTERM.
#[test]
fn containers_of_podman_are_stopped_by_a_signal_that_none_ignores() {
    let engine = Engine::podman();
    for network in ["podman:user-bridge", "podman:pod"] {
        let running = engine.start_endless_trial(&podman_tare(&engine), network);
        for end in ["server-0", "client-0"] {
            let container = engine.docker(&["ps", "--quiet", "--filter", &format!("name=-{end}")]);
            let stop = ["inspect", "--format", "{{.Config.StopSignal}}", &container];
            let signal = engine.docker(&stop);
            assert!(["SIGKILL", "9"].contains(&signal.as_str()), "{network}, {end}: {signal}");
        }
        running.signal(Signal::INT);
        running.wait().expect(130);
    }
}

#[test]
fn a_killed_run_leaves_no_container_on_podman_and_clean_removes_the_rest() {
    let engine = Engine::podman();
    let before = inventory(&engine);
    let running = engine.start_endless_trial(&engine.tare(), "docker:user-bridge");
    running.signal(Signal::KILL);
    running.wait();
    wait_until_nothing_runs(&engine);
    let left = inventory(&engine);
    assert!(left.iter().any(|line| line.starts_with("image tare:run-")), "{left:#?}");
    let listed = engine.tare().run(&["clean"]).expect(0);
    assert!(listed.text().contains("image"), "{}", listed.text());
    assert_eq!(inventory(&engine), left, "without a yes nothing is removed");
    engine.tare().run(&["clean", "--yes"]).expect(0);
    assert_eq!(inventory(&engine), before);
    let nothing = engine.tare().run(&["clean", "--yes"]).expect(0);
    assert!(nothing.stderr.contains("no objects of ended runs are left"), "{}", nothing.stderr);
}
