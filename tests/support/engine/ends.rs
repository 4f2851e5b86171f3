//! Trials on an engine that end by a signal, and what the engine then still has to do.

use super::Engine;
use crate::endless_trial;
use crate::program::{RunningProgram, Tare};
use tare_dev::eventually;

impl Engine {
    /// Starts a trial that does not end by itself, and waits until the containers of both ends run. Of a run that is killed
    /// while it raises a network, the engine may still carry out requests: a container that was only created starts, ends
    /// and is removed. An engine that is killed then leaves the network's device behind.
    #[track_caller]
    pub fn start_endless_trial(&self, tare: &Tare, network: &str) -> RunningProgram {
        self.with_both_ends(tare.start(&endless_trial(network, network)))
    }

    /// Starts a trial of an hour on the engine's own machine, and waits until both ends run.
    #[track_caller]
    pub fn start_endless_trial_beside(&self, network: &str) -> RunningProgram {
        let out = self.scratch().path(network);
        let asked = endless_trial(network, out.to_str().expect("a plain path"));
        self.with_both_ends(self.start_tare_beside(&asked))
    }

    /// Returns a run once the containers of both ends run.
    #[track_caller]
    fn with_both_ends(&self, mut running: RunningProgram) -> RunningProgram {
        let are_up = eventually("both ends run", || {
            let names = self.docker(&["ps", "--format", "{{.Names}}"]);
            let are_up = ["-client-0", "-server-0"].iter().all(|end| names.contains(end));
            if are_up || !running.is_running() { Ok(are_up) } else { Err(names) }
        });
        if are_up { running } else { panic!("the run ended early: {:?}", running.wait()) }
    }

    /// Waits until no container runs, and none that has ended is there. One that was created when the run was killed, and
    /// never started, has nothing that could end: it stays until it is cleaned.
    #[track_caller]
    pub fn wait_until_nothing_runs(&self) {
        let states = ["running", "paused", "restarting", "removing", "exited", "dead"];
        let filters = states.map(|state| format!("--filter=status={state}"));
        let mut listing = vec!["ps", "--format", "{{.Names}} {{.Status}}"];
        listing.extend(filters.iter().map(String::as_str));
        eventually("no container runs", || {
            let left = self.docker(&listing);
            if left.is_empty() { Ok(()) } else { Err(left) }
        });
    }
}
