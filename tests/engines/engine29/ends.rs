//! Ends of runs on Docker Engine 29 by SIGKILL, of tare and of the engine: `tare clean` removes everything that remains.

use rustix::process::Signal;
use support::engine::release::{Engine29, Firewall};
use support::shared::SharedResource as _;
use support::{list, text};

const NETWORK: &str = "docker:user-bridge";

pub(crate) fn a_killed_run_leaves_what_clean_removes<F: Firewall>() {
    let engine = Engine29::<F>::shared();
    let before = engine.inventory();
    let running = engine.start_endless_trial(&engine.tare(), NETWORK);
    running.signal(Signal::KILL);
    running.wait();
    engine.wait_until_nothing_runs();
    assert_ne!(engine.inventory(), before, "the image is left at least");
    engine.tare().run(&["clean", "--yes"]).expect(0);
    engine.assert_nothing_left(&before);
}

pub(crate) fn a_killed_engine_is_clean_once_it_is_back<F: Firewall>() {
    let engine = Engine29::<F>::with(&[]);
    let before = engine.inventory();
    let running = engine.start_endless_trial(&engine.tare(), NETWORK);
    let crashed = engine.crash();
    let document = running.wait().expect(1).json();
    let failed = &list(&document, "failed")[0];
    assert_eq!(text(failed, "network"), NETWORK);
    assert_eq!(text(failed, "reason").lines().count(), 1, "{failed}");
    crashed.restart();
    let cleaned = engine.tare().run(&["clean", "--yes"]).expect(0);
    assert!(cleaned.text().contains("image"), "{}", cleaned.text());
    engine.assert_nothing_left(&before);
}
