//! Ends of runs on a Docker Engine: normal, by signals, by an engine that dies or has no space. Nothing of a run
//! remains.

use rustix::process::{Signal, kill_process};
use std::collections::BTreeSet;
use std::time::UNIX_EPOCH;
use support::engine::Engine;
use support::program::{RunningProgram, Tare, User};
use support::shared::SharedResource as _;
use support::{ScratchDirectory, eventually, journal, list, machine, short_run, text};

/// Starts a run that does not end by itself, and waits until it has measured a block.
fn endless(tare: &Tare, networks: &str) -> RunningProgram {
    let asked = ["--network", networks, "--blocks", "1000", "--out", "out", "--json"];
    let mut running = tare.start(&short_run(&asked));
    running.wait_for("block 1 ");
    running
}

#[test]
fn an_interrupt_leaves_nothing_on_the_engine() {
    let engine = Engine::shared();
    let before = engine.inventory();
    for signal in [Signal::INT, Signal::TERM] {
        let scratch = ScratchDirectory::new();
        let tare =
            Tare::copied(&scratch, User::Caller).with_variable("DOCKER_HOST", &engine.host());
        let running = endless(&tare, "docker:user-bridge");
        running.signal(signal);
        running.wait().expect(130);
        assert_eq!(engine.inventory(), before);
    }
}

#[test]
fn a_killed_run_leaves_no_container_and_clean_removes_the_rest() {
    let engine = Engine::shared();
    engine.docker(&["network", "create", "of-mine"]);
    let before = engine.inventory();
    let running = engine.start_endless_trial(&engine.tare(), "docker:user-bridge");
    // Resources of a run that is still active are not removed.
    let cleaned = engine.tare().run(&["clean", "--yes"]).expect(0);
    assert!(cleaned.stderr.contains("is still running"), "{}", cleaned.stderr);
    assert!(cleaned.stderr.contains("no objects of ended runs are left"), "{}", cleaned.stderr);
    running.signal(Signal::KILL);
    running.wait();
    engine.wait_until_nothing_runs();
    let left = engine.inventory();
    assert_ne!(left, before, "a network and an image are left");
    let listed = engine.tare().run(&["clean"]).expect(0);
    assert!(
        listed.text().contains("network") && listed.text().contains("image"),
        "{}",
        listed.text()
    );
    assert_eq!(engine.inventory(), left, "without a yes nothing is removed");
    engine.tare().run(&["clean", "--yes"]).expect(0);
    assert_eq!(engine.inventory(), before);
    let nothing = engine.tare().run(&["clean", "--yes"]).expect(0);
    assert!(nothing.stderr.contains("no objects of ended runs are left"), "{}", nothing.stderr);
    engine.docker(&["network", "rm", "of-mine"]);
}

#[test]
fn clean_removes_what_a_killed_run_made_by_hand_and_nothing_else() {
    // Not the shared one: the test adds to its machine.
    let engine = Engine::alone();
    let rule = "FORWARD --in-interface of-mine --match comment --comment tare.run=7 --jump ACCEPT";
    engine.shell_output(&format!("ip link add of-mine type bridge; iptables --append {rule}"));
    let before = engine.inventory();
    let running = engine.start_endless_trial_beside("docker:none+pipework");
    let wired = || engine.shell_output("iptables-save").matches("tare.owner=").count() > 0;
    eventually("its bridge has a rule", wired);
    // The process that enters the machine's namespaces waits for the run, which is its child.
    let [run] = machine::descendants(running.pid(), "run --network docker:none+pipework")
        .try_into()
        .expect("one process is the run");
    kill_process(run, Signal::KILL).expect("it runs");
    running.wait();
    engine.wait_until_nothing_runs();
    let devices = || engine.shell_output("ip -brief link");
    eventually("the pairs go with their containers", || !devices().contains("v1pl"));
    let left = engine.inventory();
    assert!(wired() && left != before, "a bridge and a rule are left: {left:?}");
    let listed = engine.tare_beside(&["clean"]).expect(0);
    let kinds = ["device ", "rule "];
    assert!(kinds.iter().all(|kind| listed.text().contains(kind)), "{}", listed.text());
    assert_eq!(engine.inventory(), left, "without a yes nothing is removed");
    engine.tare_beside(&["clean", "--yes"]).expect(0);
    assert_eq!(engine.inventory(), before);
}

#[test]
fn what_others_made_of_a_runs_image_is_kept() {
    let engine = Engine::shared();
    let running = endless(&engine.tare(), "docker:user-bridge");
    let images = engine.docker(&["images", "--format", "{{.Repository}}:{{.Tag}}"]);
    let image = images.lines().find(|image| image.starts_with("tare:run-")).expect("its image");
    engine.docker(&["tag", image, "of-mine:1"]);
    let create = ["create", "--name", "of-mine", "of-mine:1", "keeper"];
    engine.docker(&create);
    running.signal(Signal::KILL);
    running.wait();
    engine.wait_until_nothing_runs();
    let cleaned = engine.tare().run(&["clean", "--yes"]).expect(0);
    assert!(cleaned.text().contains(image), "{}", cleaned.text());
    assert_eq!(engine.docker(&["ps", "--all", "--format", "{{.Names}}"]), "of-mine");
    let images = engine.docker(&["images", "--format", "{{.Repository}}:{{.Tag}}"]);
    assert!(images.contains("of-mine:1") && !images.contains(image), "{images}");
    engine.docker(&["rm", "of-mine"]);
    engine.docker(&["rmi", "of-mine:1"]);
}

#[test]
fn a_daemon_that_dies_costs_its_own_networks_only() {
    let engine = Engine::alone();
    let asked = ["--network", "veth,docker:bridge", "--blocks", "20", "--baseline", "veth"];
    let asked = [&asked[..], &["--out", "out", "--json"]].concat();
    let mut running = engine.tare().start(&short_run(&asked));
    running.wait_for("block 2 ");
    // The run is stopped during the kill, so that most of its blocks are still to come, however long the kill takes.
    running.signal(Signal::STOP);
    engine.kill_daemon();
    running.signal(Signal::CONT);
    let outcome = running.wait().expect(1);
    let document = outcome.json();
    let failed = list(&document, "failed");
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!(text(&failed[0], "network"), "docker:bridge");
    assert_eq!(text(&failed[0], "reason").lines().count(), 1);
    let veth = list(&document, "cells").iter().find(|cell| cell["network"] == "veth");
    assert!(veth.expect("the lab's network is measured")["n"].as_u64() > Some(3));
    assert_eq!(document["stopped_by"], "blocks", "the lab's network is measured to the end");
}

#[test]
fn an_image_that_finds_no_room_is_one_clear_line() {
    let engine = Engine::prepared(
        "mkdir \"$directory/data\"; mount -t tmpfs -o size=6m tmpfs \"$directory/data\"",
        &[],
    );
    let asked = ["--network", "veth,docker:host", "--baseline", "veth", "--blocks", "1"];
    let asked = [&asked[..], &["--out", "out", "--json"]].concat();
    let document = engine.tare().run(&short_run(&asked)).expect(1).json();
    let failed = &list(&document, "failed")[0];
    assert!(text(failed, "reason").contains("no space left on device"), "{failed}");
    assert!(text(failed, "remedy").contains("free space"), "{failed}");
    assert!(list(&document, "cells").iter().any(|cell| cell["network"] == "veth"));
}

#[test]
fn fifty_containers_start_run_and_disappear() {
    let engine = Engine::shared();
    let mut life = ContainerEvents::follow(&engine);
    let asked = ["--network", "docker:bridge", "--clients", "49", "--blocks", "1"];
    let more = ["--workload", "tcp-stream", "--json", "--out", "out"];
    let document =
        engine.tare().run(&short_run(&[&asked[..], &more].concat())).expect_measured().json();
    assert_eq!(life.most_at_once(), 50, "a server and its clients, all with the run's label");
    let aggregate = list(&document, "cells").iter().find(|cell| cell["scope"] == "aggregate");
    let aggregate = aggregate.expect("all clients together");
    assert_eq!(aggregate["shape"]["clients"], 49);
    let trial = &journal::trials(&engine.scratch().path("out"))[0];
    assert_eq!(list(trial, "series").len(), 49, "every client is counted");
    let [sent, received] = ["sent", "received"].map(|end| trial["ends"][end].as_u64());
    assert!(received > Some(0) && received <= sent, "{trial}");
}

/// Starts and ends of runs' containers, as the engine reports them.
struct ContainerEvents<'a> {
    engine: &'a Engine,
    events: RunningProgram,
}

impl<'a> ContainerEvents<'a> {
    /// Volume that is created last: its event comes after all others.
    const END: &'static str = "end-of-events";

    /// Starts to follow the events.
    fn follow(engine: &'a Engine) -> Self {
        let now = UNIX_EPOCH.elapsed().expect("a clock that is set");
        let since = format!("{}.{:09}", now.as_secs(), now.subsec_nanos());
        let format = "{{.Action}} {{.Actor.Attributes.name}} \
                      {{index .Actor.Attributes \"tare.run\"}} {{.Actor.ID}}";
        let kinds = ["start", "die", "create"].map(|event| format!("event={event}"));
        let filters = kinds.iter().flat_map(|kind| ["--filter", kind]);
        let asked = ["events", "--since", &since, "--format", format];
        let events = engine.follow(&asked.into_iter().chain(filters).collect::<Vec<_>>());
        Self { engine, events }
    }

    /// Returns the largest number of clients and servers, with the label of a run, that ran at the same time. All must
    /// have ended.
    fn most_at_once(&mut self) -> usize {
        self.engine.docker(&["volume", "create", Self::END]);
        self.events.wait_for(Self::END);
        self.engine.docker(&["volume", "rm", Self::END]);
        let mut running = BTreeSet::new();
        let mut most = 0;
        let said = self.events.awaited_output();
        for line in said.lines() {
            // A missing label leaves an empty field. Another container inspects the machine.
            let words: Vec<&str> = line.split_whitespace().collect();
            let &[event, name, _run, id] = words.as_slice() else { continue };
            if name.contains("-client-") || name.contains("-server-") {
                match event {
                    "start" => running.insert(id),
                    _ => running.remove(id),
                };
            }
            most = most.max(running.len());
        }
        assert!(running.is_empty(), "{running:?} still run:\n{said}");
        most
    }
}
