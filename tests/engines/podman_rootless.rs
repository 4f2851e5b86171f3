//! Podman of an ordinary user, without a socket: tare starts its service, and nothing of a run remains, however it ends.

use serde_json::Value;
use support::counts::program_time;
use support::rootless::RootlessPodman;
use support::{eventually, hops, list, short_run, text};

/// Starts a run that does not end by itself, and waits until it has measured a block.
fn endless(user: &RootlessPodman, networks: &str) -> support::program::RunningProgram {
    let asked = ["--network", networks, "--blocks", "1000", "--out", "out", "--json"];
    let mut running = user.start(&short_run(&asked));
    running.wait_for("block 1 ");
    running
}

/// Returns what is there after a first use of Podman, whose own process and database stay from then on.
fn used(user: &RootlessPodman) -> Vec<String> {
    user.shell_output("podman info");
    user.inventory()
}

/// Measures networks once into the directory `measured`, and checks the hops of each. Returns the document.
fn measure(user: &RootlessPodman, cases: &[(&str, &[&str])]) -> Value {
    let names: Vec<&str> = cases.iter().map(|(network, _)| *network).collect();
    let names = names.join(",");
    let asked = ["--network", &names, "--workload", "tcp-stream", "--blocks", "1", "--json"];
    let asked = [&asked[..], &["--out", "measured"]].concat();
    let document = user.run(&short_run(&asked)).expect_measured().json();
    for (network, path) in cases {
        // A machine with rules of its own tracks connections, also on its loopback device.
        let mut hops = hops(&document, network);
        hops.retain(|hop| !hop.contains("conntrack"));
        assert_eq!(hops, *path, "{network}");
    }
    document
}

/// Checks that the CPU time of a program of the path was counted. A busy machine may leave it too little for a finding.
fn assert_time_is_counted(user: &RootlessPodman, program: &str) {
    assert!(program_time(&user.path("measured"), program) > 0, "no trial counted {program}");
}

#[test]
fn networks_take_the_path_that_a_rootless_podman_gives_them() {
    let user = RootlessPodman::new();
    let before = used(&user);
    let cases = [
        ("podman:host", &["client-0:lo"][..]),
        ("podman:bridge", &["client-0:eth0", "rootless-netns:podman0", "server-0:eth0"]),
        ("podman:user-bridge", &["client-0:eth0", "rootless-netns:podman1", "server-0:eth0"]),
        ("podman:published", &["node-0:rootlessport", "server-0:lo"]),
        ("podman:container", &["client-0:lo"]),
        ("podman:pod", &["client-0:lo"]),
        ("podman:slirp4netns", &["node-0:slirp4netns", "server-0:tap0"]),
    ];
    let document = measure(&user, &cases);
    let engine = &list(&document["environment"], "engines")[0];
    assert_eq!(text(engine, "product"), "Podman");
    assert!(list(engine, "security").iter().any(|one| one == "name=rootless"), "{engine}");
    assert_time_is_counted(&user, "slirp4netns");
    assert_eq!(user.inventory(), before);
}

#[test]
fn podman_5_connects_a_users_container_by_pasta() {
    let user = RootlessPodman::of_debian_13();
    let before = used(&user);
    let cases = [
        ("podman:host", &["client-0:lo"][..]),
        ("podman:bridge", &["client-0:eth0", "rootless-netns:podman0", "server-0:eth0"]),
        ("podman:published", &["node-0:rootlessport", "server-0:lo"]),
        ("podman:pod", &["client-0:lo"]),
        ("podman:pasta", &["node-0:pasta", "server-0:eth0"]),
        ("podman:slirp4netns", &["node-0:slirp4netns", "server-0:tap0"]),
    ];
    let document = measure(&user, &cases);
    let engine = &list(&document["environment"], "engines")[0];
    assert!(text(engine, "version").starts_with("5."), "{engine}");
    assert!(!text(&engine["components"], "pasta").is_empty(), "{engine}");
    assert_time_is_counted(&user, "pasta");
    assert_eq!(user.inventory(), before);
}

#[test]
fn networks_that_a_rootless_podman_cannot_have_say_what_they_need() {
    let user = RootlessPodman::new();
    let listed = user.run(&["list", "networks", "--json"]).expect(0).json();
    let networks = list(&listed, "networks");
    let missing = |name: &str| {
        let network = networks.iter().find(|one| text(one, "name") == name);
        network.unwrap_or_else(|| panic!("{name} in {listed}")).to_string()
    };
    assert!(missing("podman:macvlan").contains("run tare as root"));
    assert!(missing("podman:host").contains("\"available\":true"), "{}", missing("podman:host"));
    // A list starts no service: Podman has not stored anything.
    assert_eq!(user.shell_output("find . -path '*storage*'"), "");
}

/// Checks that `tare clean` removes an image at least, and then everything of ended runs.
fn assert_clean_removes_the_rest(user: &RootlessPodman, before: &[String]) {
    let cleaned = user.run(&["clean", "--yes"]).expect(0);
    assert!(cleaned.text().contains("image"), "{}", cleaned.text());
    assert_eq!(user.inventory(), before);
    let nothing = user.run(&["clean", "--yes"]).expect(0);
    assert!(nothing.stderr.contains("no objects of ended runs are left"), "{}", nothing.stderr);
}

#[test]
fn a_killed_run_ends_its_service_and_clean_removes_the_rest() {
    let user = RootlessPodman::new();
    let before = used(&user);
    for network in ["podman:pod", "podman:slirp4netns"] {
        let running = user.start_endless_trial(network);
        user.kill_runs();
        running.wait();
        user.wait_until_no_container_is_left();
        eventually("the service and the stacks end", || {
            let left = user.inventory();
            let is_object = |line: &str| {
                ["image ", "pod ", "container "].iter().any(|kind| line.starts_with(kind))
            };
            let is_process = |line: &&String| !is_object(line) && !before.contains(line);
            let left: Vec<_> = left.iter().filter(is_process).collect();
            if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
        });
        assert_clean_removes_the_rest(&user, &before);
    }
}

/// The service of a run that is killed may have made a container's namespaces and its stack, and not have started its
/// program: nothing of it ends by itself.
#[test]
fn clean_removes_a_container_whose_start_was_cut_off() {
    let user = RootlessPodman::new();
    let before = used(&user);
    let running = user.start_endless_trial("podman:slirp4netns");
    user.kill_runs();
    running.wait();
    user.wait_until_no_container_is_left();
    let image =
        user.shell_output("podman images --format '{{.Repository}}:{{.Tag}}' | grep tare:run-");
    // The container has the labels of its image.
    let create = "podman create --name cut-off --network slirp4netns";
    user.shell_output(&format!("{create} {image} internal init; podman init cut-off"));
    let left = user.inventory();
    assert!(left.iter().any(|line| line.contains("slirp4netns ")), "{left:?}");
    assert_clean_removes_the_rest(&user, &before);
}

#[test]
fn a_stack_that_is_killed_costs_its_trial_and_leaves_nothing() {
    let user = RootlessPodman::new();
    let before = used(&user);
    let mut running = endless(&user, "podman:host,podman:slirp4netns");
    eventually("the stack runs", || {
        let mut kill = user.command("/bin/sh");
        kill.args(["-c", "kill -KILL $(pgrep --exact slirp4netns)"]);
        let killed = kill.output().expect("a shell");
        if killed.status.success() { Ok(()) } else { Err("no slirp4netns yet".to_owned()) }
    });
    running.wait_for("podman:slirp4netns failed");
    user.shell_output("kill -INT $(pgrep --full '^[^ ]*tare run ')");
    let document = running.wait().expect(130).json();
    let measured = list(&document, "cells").iter().filter(|cell| cell["network"] == "podman:host");
    assert!(measured.count() > 0, "{document}");
    assert_eq!(user.inventory(), before);
}
