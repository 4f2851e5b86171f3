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
    flows: u32,
    memory: u64,
    rate: u64,
    threads: u64,
    spinning: u64,
    sockets: u64,
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
        let (flows, memory, rate) = (
            used.flows.saturating_add(demand.flows),
            used.memory.saturating_add(demand.memory),
            used.rate.saturating_add(demand.rate),
        );
        let (threads, spinning, sockets) = (
            used.threads.saturating_add(demand.threads),
            used.spinning.saturating_add(demand.spinning),
            used.sockets.saturating_add(demand.sockets),
        );
        if flows > self.caps.flows {
            return busy(format!("{} flows (--max-flows)", self.caps.flows));
        }
        if memory > self.caps.memory {
            return busy(format!(
                "{} of memory (--max-memory)",
                format_mebibytes(self.caps.memory)
            ));
        }
        if let Some(most) = self.caps.rate.filter(|most| rate > *most) {
            return busy(format!("{most} bit/s (--max-rate)"));
        }
        let machine = &self.machine;
        if threads > machine.threads || spinning > machine.spinning {
            return busy(format!(
                "{} threads, {} of them spinning",
                machine.threads, machine.spinning
            ));
        }
        if sockets > machine.sockets {
            return busy(format!("{} sockets", machine.sockets));
        }
        (used.flows, used.memory, used.rate) = (flows, memory, rate);
        (used.threads, used.spinning, used.sockets) = (threads, spinning, sockets);
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
        used.flows -= self.demand.flows;
        used.memory -= self.demand.memory;
        used.rate -= self.demand.rate;
        used.threads -= self.demand.threads;
        used.spinning -= self.demand.spinning;
        used.sockets -= self.demand.sockets;
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
