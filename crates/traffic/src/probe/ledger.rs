//! What all clients of a listener have taken of what there is, given back by dropping.

use super::caps::{Caps, Demand, mebibytes, refused};
use crate::Error;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is in use.
#[derive(Debug, Default)]
struct Used {
    clients: u32,
    flows: u32,
    memory: u64,
    rate: u64,
}

/// The book that is kept.
#[derive(Debug)]
pub(super) struct Ledger {
    caps: Caps,
    used: Mutex<Used>,
}

impl Ledger {
    pub(super) fn new(caps: Caps) -> Arc<Self> {
        Arc::new(Self { caps, used: Mutex::default() })
    }

    /// What there is in all.
    pub(super) fn caps(&self) -> &Caps {
        &self.caps
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for another client.
    pub(super) fn seat(self: &Arc<Self>) -> Result<Seat, Error> {
        let mut used = self.used();
        if used.clients >= self.caps.clients {
            return refused(format!(
                "{} clients are served, as many as this listener takes: try again later (--max-clients there)",
                used.clients
            ));
        }
        used.clients += 1;
        Ok(Seat(Arc::clone(self)))
    }

    /// Room for another trial.
    pub(super) fn take(self: &Arc<Self>, demand: Demand) -> Result<Share, Error> {
        let mut used = self.used();
        let busy = |what: String| {
            refused(format!(
                "others have what this takes of {what}: try again later, or ask for less"
            ))
        };
        let (flows, memory, rate) = (
            used.flows.saturating_add(demand.flows),
            used.memory.saturating_add(demand.memory),
            used.rate.saturating_add(demand.rate),
        );
        if flows > self.caps.flows {
            return busy(format!("{} flows (--max-flows there)", self.caps.flows));
        }
        if memory > self.caps.memory {
            return busy(format!("{} (--max-memory there)", mebibytes(self.caps.memory)));
        }
        if let Some(most) = self.caps.rate.filter(|most| rate > *most) {
            return busy(format!("{most} bit/s (--max-rate there)"));
        }
        (used.flows, used.memory, used.rate) = (flows, memory, rate);
        Ok(Share { ledger: Arc::clone(self), demand })
    }
}

/// A client's place.
#[derive(Debug)]
pub(super) struct Seat(Arc<Ledger>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.used().clients -= 1;
    }
}

/// What a trial has.
#[derive(Debug)]
pub(super) struct Share {
    ledger: Arc<Ledger>,
    demand: Demand,
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut used = self.ledger.used();
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
        let ledger = Ledger::new(Caps {
            clients: 2,
            flows: 10,
            memory: 100,
            rate: Some(50),
            ..Caps::default()
        });
        let (one, _two) = (ledger.seat().unwrap(), ledger.seat().unwrap());
        assert!(ledger.seat().unwrap_err().to_string().contains("--max-clients"));
        drop(one);
        ledger.seat().unwrap();

        let share = ledger.take(Demand { flows: 6, memory: 60, rate: 30 }).unwrap();
        for (demand, flag) in [
            (Demand { flows: 5, ..Demand::default() }, "--max-flows"),
            (Demand { memory: 41, ..Demand::default() }, "--max-memory"),
            (Demand { rate: u64::MAX, ..Demand::default() }, "--max-rate"),
        ] {
            let why = ledger.take(demand).unwrap_err().to_string();
            assert!(why.contains(flag), "{why}");
        }
        drop(share);
        ledger.take(Demand { flows: 10, memory: 100, rate: 50 }).unwrap();
    }
}
