//! Removal of the leftovers of runs that were killed: the work of `tare clean`.

use crate::address::EngineAddress;
use crate::engine::Engine;
use crate::leftovers::host::EngineHost;
use crate::leftovers::{self, Leftover};
use crate::run_owner::{OwnerState, RunOwner};
use std::collections::{BTreeMap, BTreeSet};
use tare_network::Error;

/// Docker Engines, and the leftovers of runs that were found on them and on their machines.
pub struct Cleaner {
    engines: Vec<SearchedEngine>,
    states: BTreeMap<String, OwnerState>,
}

/// Docker Engine, and what runs left there.
struct SearchedEngine {
    engine: Engine,
    found: Vec<Leftover>,
    /// The engine's machine, if it is this one and may be changed.
    host: Option<EngineHost>,
    found_on_host: Vec<Leftover>,
}

impl SearchedEngine {
    fn search(address: &EngineAddress) -> Result<Self, Error> {
        let engine = Engine::connect(address)?;
        let found = leftovers::find_removable(&engine)?;
        let host = EngineHost::find(address);
        let found_on_host = host.as_ref().map(EngineHost::list).unwrap_or_default();
        Ok(Self { engine, found, host, found_on_host })
    }

    fn all(&self) -> impl Iterator<Item = &Leftover> {
        self.found.iter().chain(&self.found_on_host)
    }
}

impl Cleaner {
    /// Looks for everything that runs made, on the engines at these addresses, and by hand on this machine. Objects of a
    /// whole Swarm are listed only on engines that are managers. `ended` names runs that the user knows to have ended.
    ///
    /// # Errors
    /// Fails if an engine cannot be reached.
    pub fn scan(addresses: &[EngineAddress], ended: &[String]) -> Result<Self, Error> {
        let engines = addresses.iter().map(SearchedEngine::search);
        let engines: Vec<SearchedEngine> = engines.collect::<Result<_, Error>>()?;
        let mut states = run_states(engines.iter().flat_map(SearchedEngine::all));
        for run in ended {
            states.entry(run.clone()).and_modify(|state| {
                if *state == OwnerState::Unknown {
                    *state = OwnerState::Ended;
                }
            });
        }
        Ok(Self { engines, states })
    }

    fn runs_in(&self, state: OwnerState) -> BTreeSet<&str> {
        let runs = self.states.iter().filter(|(_, of)| **of == state);
        runs.map(|(run, _)| run.as_str()).collect()
    }

    fn is_abandoned(&self, one: &Leftover) -> bool {
        self.states.get(&one.run) == Some(&OwnerState::Ended)
    }

    /// Returns the leftovers of runs that have ended.
    #[must_use]
    pub fn abandoned(&self) -> Vec<&Leftover> {
        let found = self.engines.iter().flat_map(SearchedEngine::all);
        found.filter(|one| self.is_abandoned(one)).collect()
    }

    /// Returns the runs that still run. Nothing of theirs is removed.
    #[must_use]
    pub fn running_runs(&self) -> BTreeSet<&str> {
        self.runs_in(OwnerState::Running)
    }

    /// Returns the runs of other machines and containers, of which nobody here knows whether they still run. Nothing of
    /// theirs is removed.
    #[must_use]
    pub fn unknown_runs(&self) -> BTreeSet<&str> {
        self.runs_in(OwnerState::Unknown)
    }

    /// Removes the leftovers of runs that have ended.
    ///
    /// # Errors
    /// Fails if something cannot be removed.
    pub fn remove(&self) -> Result<(), Error> {
        for SearchedEngine { engine, found, host, found_on_host } in &self.engines {
            let abandoned = found.iter().filter(|one| self.is_abandoned(one));
            leftovers::remove(engine, &abandoned.cloned().collect::<Vec<_>>())?;
            let mut by_hand = found_on_host.iter().filter(|one| self.is_abandoned(one));
            host.iter().try_for_each(|host| by_hand.try_for_each(|one| host.remove(one)))?;
        }
        Ok(())
    }
}

/// Returns whether the run of each of these objects still runs: as its process says, or else its containers.
fn run_states<'a>(found: impl Iterator<Item = &'a Leftover>) -> BTreeMap<String, OwnerState> {
    let observer = RunOwner::current();
    let mut states = BTreeMap::new();
    for one in found {
        let by_process = one.owner.as_ref().map(|owner| owner.state(observer));
        let state = match by_process.unwrap_or(OwnerState::Unknown) {
            OwnerState::Unknown if one.running => OwnerState::Running,
            state => state,
        };
        let known = states.entry(one.run.clone()).or_insert(state);
        if *known == OwnerState::Unknown || state == OwnerState::Running {
            *known = state;
        }
    }
    states
}
