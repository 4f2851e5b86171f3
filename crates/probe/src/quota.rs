//! Resources of a listener that its clients have reserved. Dropping a reservation returns it.

use crate::admission::{TrialResources, format_mebibytes, refuse};
use crate::caps::Caps;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tare_traffic::Error;

/// Resources in use, over all clients.
#[derive(Debug, Default)]
struct ResourceUsage {
    clients: u32,
    flows: u32,
    memory: u64,
    rate: u64,
}

/// Limits of a listener, with the resources that are in use.
#[derive(Debug)]
pub(crate) struct ResourceQuota {
    caps: Caps,
    used: Mutex<ResourceUsage>,
}

impl ResourceQuota {
    pub(crate) fn new(caps: Caps) -> Arc<Self> {
        Arc::new(Self { caps, used: Mutex::default() })
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
        (used.flows, used.memory, used.rate) = (flows, memory, rate);
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_missing_until_it_is_given_back() {
        let ledger = ResourceQuota::new(Caps {
            clients: 2,
            flows: 10,
            memory: 100,
            rate: Some(50),
            ..Caps::default()
        });
        let (one, _two) = (ledger.reserve_client().unwrap(), ledger.reserve_client().unwrap());
        assert!(ledger.reserve_client().unwrap_err().to_string().contains("--max-clients"));
        drop(one);
        ledger.reserve_client().unwrap();

        let share =
            ledger.reserve_trial(TrialResources { flows: 6, memory: 60, rate: 30 }).unwrap();
        for (demand, flag) in [
            (TrialResources { flows: 5, ..TrialResources::default() }, "--max-flows"),
            (TrialResources { memory: 41, ..TrialResources::default() }, "--max-memory"),
            (TrialResources { rate: u64::MAX, ..TrialResources::default() }, "--max-rate"),
        ] {
            let why = ledger.reserve_trial(demand).unwrap_err().to_string();
            assert!(why.contains(flag), "{why}");
        }
        drop(share);
        ledger.reserve_trial(TrialResources { flows: 10, memory: 100, rate: 50 }).unwrap();
    }
}
