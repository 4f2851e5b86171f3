//! Ends of runs on Docker Engine 29 by SIGKILL, of tare and of the engine: `tare clean` removes everything that remains.

use rustix::process::Signal;
use support::engine::Engine;
use support::engine::release::{Engine29, Firewall};
use support::program::RunningProgram;
use support::shared::SharedResource as _;
use support::{eventually, list, text};

/// Starts a trial of minutes, and waits until all its containers run: the engine is not in the midst of a network, whose
/// device it would leave behind.
fn endless_trial(engine: &Engine) -> RunningProgram {
    let asked = ["run", "--network", "docker:user-bridge", "--workload", "tcp-stream"];
    let method = ["--slice", "off", "--duration", "600s", "--blocks", "1", "--json"];
    let running = engine.tare().start(&[&asked[..], &method].concat());
    eventually("both sides run", || {
        let names = engine.docker(&["ps", "--format", "{{.Names}}"]);
        let runs = ["-client-", "-server-"].into_iter().all(|side| names.contains(side));
        if runs { Ok(()) } else { Err(names) }
    });
    running
}

/// Waits until every container that has started has ended and is removed.
fn wait_until_nothing_runs(engine: &Engine) {
    let states = ["running", "paused", "restarting", "removing", "exited", "dead"];
    let filters = states.map(|state| format!("--filter=status={state}"));
    let mut listing = vec!["ps", "--format", "{{.Names}} {{.Status}}"];
    listing.extend(filters.iter().map(String::as_str));
    eventually("no container runs", || {
        let left = engine.docker(&listing);
        if left.is_empty() { Ok(()) } else { Err(left) }
    });
}

pub(crate) fn a_killed_run_leaves_what_clean_removes<F: Firewall>() {
    let engine = Engine29::<F>::shared();
    let before = engine.inventory();
    let running = endless_trial(&engine);
    running.signal(Signal::KILL);
    running.wait();
    wait_until_nothing_runs(&engine);
    assert_ne!(engine.inventory(), before, "the image is left at least");
    engine.tare().run(&["clean", "--yes"]).expect(0);
    engine.assert_nothing_left(&before);
}

pub(crate) fn a_killed_engine_is_clean_once_it_is_back<F: Firewall>() {
    let engine = Engine29::<F>::with(&[]);
    let before = engine.inventory();
    let running = endless_trial(&engine);
    let crashed = engine.crash();
    let document = running.wait().expect(1).json();
    let failed = &list(&document, "failed")[0];
    assert_eq!(text(failed, "network"), "docker:user-bridge");
    assert_eq!(text(failed, "reason").lines().count(), 1, "{failed}");
    crashed.restart();
    let cleaned = engine.tare().run(&["clean", "--yes"]).expect(0);
    assert!(cleaned.text().contains("image"), "{}", cleaned.text());
    engine.assert_nothing_left(&before);
}
