//! Resources of a listener that its clients have reserved. Dropping a reservation returns it.

use crate::admission::{TrialResources, format_mebibytes, refuse};
use crate::caps::Caps;
use crate::machine_limits::MachineLimits;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tare_traffic::Error;

/// Resources in use, over all clients.
#[derive(Debug, Default)]
struct ResourceUsage {
    clients: u32,
    trials: TrialResources,
}

impl TrialResources {
    /// Returns these resources and those of another trial together.
    fn with(self, other: Self) -> Self {
        Self {
            flows: self.flows.saturating_add(other.flows),
            memory: self.memory.saturating_add(other.memory),
            rate: self.rate.saturating_add(other.rate),
            threads: self.threads.saturating_add(other.threads),
            spinning: self.spinning.saturating_add(other.spinning),
            sockets: self.sockets.saturating_add(other.sockets),
        }
    }

    /// Returns these resources without those of a trial that is among them.
    fn without(self, other: Self) -> Self {
        Self {
            flows: self.flows - other.flows,
            memory: self.memory - other.memory,
            rate: self.rate - other.rate,
            threads: self.threads - other.threads,
            spinning: self.spinning - other.spinning,
            sockets: self.sockets - other.sockets,
        }
    }
}

/// Limits of a listener, with the resources that are in use.
#[derive(Debug)]
pub(crate) struct ResourceQuota {
    caps: Caps,
    machine: MachineLimits,
    used: Mutex<ResourceUsage>,
}

impl ResourceQuota {
    pub(crate) fn new(caps: Caps, machine: MachineLimits) -> Arc<Self> {
        Arc::new(Self { caps, machine, used: Mutex::default() })
    }

    /// Returns the limits.
    pub(crate) fn caps(&self) -> &Caps {
        &self.caps
    }

    fn lock(&self) -> MutexGuard<'_, ResourceUsage> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves a slot for another client. Fails if the listener has its maximum of clients.
    pub(crate) fn reserve_client(self: &Arc<Self>) -> Result<ClientSlot, Error> {
        let mut used = self.lock();
        if used.clients >= self.caps.clients {
            return refuse(format!(
                "the listener serves {} clients already, its limit: try again later, or raise --max-clients of the listener",
                used.clients
            ));
        }
        used.clients += 1;
        Ok(ClientSlot(Arc::clone(self)))
    }

    /// Reserves resources for another trial. Fails if other trials hold too much.
    pub(crate) fn reserve_trial(
        self: &Arc<Self>,
        demand: TrialResources,
    ) -> Result<TrialReservation, Error> {
        self.machine.check(demand)?;
        let mut used = self.lock();
        let busy = |what: String| {
            refuse(format!(
                "the trials of other clients leave too little of the listener's {what}: try again later, or use a smaller trial"
            ))
        };
        let all = used.trials.with(demand);
        if all.flows > self.caps.flows {
            return busy(format!("{} flows (--max-flows)", self.caps.flows));
        }
        if all.memory > self.caps.memory {
            return busy(format!(
                "{} of memory (--max-memory)",
                format_mebibytes(self.caps.memory)
            ));
        }
        if let Some(most) = self.caps.rate.filter(|most| all.rate > *most) {
            return busy(format!("{most} bit/s (--max-rate)"));
        }
        let machine = &self.machine;
        if all.threads > machine.threads || all.spinning > machine.spinning {
            return busy(format!(
                "{} threads, {} of them spinning",
                machine.threads, machine.spinning
            ));
        }
        if all.sockets > machine.sockets {
            return busy(format!("{} sockets", machine.sockets));
        }
        used.trials = all;
        Ok(TrialReservation { quota: Arc::clone(self), demand })
    }
}

/// Slot of one client. Dropping it frees the slot.
#[derive(Debug)]
pub(crate) struct ClientSlot(Arc<ResourceQuota>);

impl Drop for ClientSlot {
    fn drop(&mut self) {
        self.0.lock().clients -= 1;
    }
}

/// Resources of one trial. Dropping it returns them.
#[derive(Debug)]
pub(crate) struct TrialReservation {
    quota: Arc<ResourceQuota>,
    demand: TrialResources,
}

impl Drop for TrialReservation {
    fn drop(&mut self) {
        let mut used = self.quota.lock();
        used.trials = used.trials.without(self.demand);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_missing_until_it_is_given_back() {
        let caps = Caps { clients: 2, flows: 10, memory: 100, rate: Some(50), ..Caps::default() };
        let machine = MachineLimits { threads: 4, spinning: 1, sockets: 40 };
        let ledger = ResourceQuota::new(caps, machine);
        let (one, _two) = (ledger.reserve_client().unwrap(), ledger.reserve_client().unwrap());
        assert!(ledger.reserve_client().unwrap_err().to_string().contains("--max-clients"));
        drop(one);
        ledger.reserve_client().unwrap();

        let share = ledger
            .reserve_trial(TrialResources {
                flows: 6,
                memory: 60,
                rate: 30,
                threads: 3,
                spinning: 1,
                sockets: 30,
            })
            .unwrap();
        for (demand, flag) in [
            (TrialResources { flows: 5, ..TrialResources::default() }, "--max-flows"),
            (TrialResources { memory: 41, ..TrialResources::default() }, "--max-memory"),
            (TrialResources { rate: u64::MAX, ..TrialResources::default() }, "--max-rate"),
            (TrialResources { threads: 2, ..TrialResources::default() }, "4 threads"),
            (TrialResources { spinning: 1, ..TrialResources::default() }, "1 of them spinning"),
            (TrialResources { sockets: 11, ..TrialResources::default() }, "40 sockets"),
        ] {
            let why = ledger.reserve_trial(demand).unwrap_err().to_string();
            assert!(why.contains(flag), "{why}");
        }
        drop(share);
        ledger
            .reserve_trial(TrialResources {
                flows: 10,
                memory: 100,
                rate: 50,
                threads: 4,
                spinning: 1,
                sockets: 40,
            })
            .unwrap();
    }
}
