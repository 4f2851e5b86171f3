//! Removal of the leftovers of runs that were killed: the work of `tare clean`.

use crate::address::EngineAddress;
use crate::engine::Engine;
use crate::leftovers::{self, Leftover};
use std::collections::BTreeSet;
use tare_network::Error;

/// Docker Engines, and the leftovers of runs that were found on them.
pub struct Cleaner {
    engines: Vec<(Engine, Vec<Leftover>)>,
}

impl Cleaner {
    /// Looks for everything that carries tare's label, on the engines at these addresses. Objects of a whole Swarm are
    /// listed only on engines that are managers.
    ///
    /// # Errors
    /// Fails if an engine cannot be reached.
    pub fn scan(addresses: &[EngineAddress]) -> Result<Self, Error> {
        let engines = addresses.iter().map(|address| {
            let engine = Engine::connect(address)?;
            let found = leftovers::find_removable(&engine)?;
            Ok((engine, found))
        });
        Ok(Self { engines: engines.collect::<Result<_, Error>>()? })
    }

    fn found(&self) -> impl Iterator<Item = &Leftover> {
        self.engines.iter().flat_map(|(_, found)| found)
    }

    /// Returns the leftovers of runs that have ended.
    #[must_use]
    pub fn abandoned(&self) -> Vec<&Leftover> {
        let going_on = self.running_runs();
        self.found().filter(|one| !going_on.contains(one.run.as_str())).collect()
    }

    /// Returns the runs whose containers still run. Nothing of theirs is removed.
    #[must_use]
    pub fn running_runs(&self) -> BTreeSet<&str> {
        self.found().filter(|one| one.running).map(|one| one.run.as_str()).collect()
    }

    /// Removes the leftovers of runs that have ended.
    ///
    /// # Errors
    /// Fails if something cannot be removed.
    pub fn remove(&self) -> Result<(), Error> {
        let going_on = self.running_runs();
        for (engine, found) in &self.engines {
            let ended = |one: &&Leftover| !going_on.contains(one.run.as_str());
            let abandoned: Vec<Leftover> = found.iter().filter(ended).cloned().collect();
            leftovers::remove(engine, &abandoned)?;
        }
        Ok(())
    }
}
