//! Limits that a listener takes from its machine: threads, spinning threads and descriptors for all trials together.

use crate::admission::{TrialResources, refuse};
use crate::caps::Caps;
use rustix::process::{Resource, getrlimit};
use std::thread;
use tare_traffic::Error;

/// Descriptors kept for connections in the handshake, for the listener's own files and for epoll instances.
const RESERVED_DESCRIPTORS: u64 = 512;

/// Limits of a listener's machine, for all trials together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MachineLimits {
    /// Threads that carry flows: one for each core and client, which is the default of every trial.
    pub(crate) threads: u64,
    /// Such threads that never sleep: they leave half of the cores to everything else.
    pub(crate) spinning: u64,
    /// Sockets that are open at the same time.
    pub(crate) sockets: u64,
}

impl MachineLimits {
    /// Reads the limits of this machine and process, for a listener with these caps.
    pub(crate) fn detect(caps: &Caps) -> Self {
        let cores = thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
        let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        Self {
            threads: cores.saturating_mul(caps.clients.into()),
            spinning: (cores / 2).max(1),
            sockets: descriptors.saturating_sub(RESERVED_DESCRIPTORS),
        }
    }

    /// Checks the demand of a trial, as if no other one were running.
    pub(crate) fn check(&self, demand: TrialResources) -> Result<(), Error> {
        if demand.threads > self.threads {
            return refuse(format!(
                "{} threads are too many: this listener's machine allows {} for all clients: use fewer --threads",
                demand.threads, self.threads
            ));
        }
        if demand.spinning > self.spinning {
            return refuse(format!(
                "{} spinning threads are too many: this listener's machine allows {} for all clients: use fewer --threads, or --wait block",
                demand.spinning, self.spinning
            ));
        }
        if demand.sockets > self.sockets {
            return refuse(format!(
                "the trial takes {} sockets, and this listener's process may open {}: use fewer --flows or --slots, or raise the limit on open files of the listener",
                demand.sockets, self.sockets
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_beyond_the_machine_is_refused_by_what_is_too_much() {
        let limits = MachineLimits { threads: 4, spinning: 1, sockets: 100 };
        let none = TrialResources::default();
        assert!(
            limits.check(TrialResources { threads: 4, spinning: 1, sockets: 100, ..none }).is_ok()
        );
        for (demand, word) in [
            (TrialResources { threads: 5, ..none }, "--threads"),
            (TrialResources { spinning: 2, ..none }, "--wait block"),
            (TrialResources { sockets: 101, ..none }, "--slots"),
        ] {
            let error = limits.check(demand).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn every_client_can_have_a_thread_on_every_core() {
        let limits = MachineLimits::detect(&Caps { clients: 3, ..Caps::default() });
        assert!(limits.threads >= 3 && limits.threads.is_multiple_of(3) && limits.spinning >= 1);
    }
}
