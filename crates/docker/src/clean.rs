//! Cleaning up after runs that were killed: what `tare clean` does.

use crate::address::Address;
use crate::engine::Engine;
use crate::leftovers::{self, Leftover};
use std::collections::BTreeSet;
use tare_network::Error;

/// Engines that are looked through for what runs left.
pub struct Cleaner {
    engines: Vec<(Engine, Vec<Leftover>)>,
}

impl Cleaner {
    /// Looks for everything that carries tare's label, on the engines at these addresses. Of what is a whole Swarm's only
    /// its managers are asked.
    ///
    /// # Errors
    /// When an engine cannot be reached.
    pub fn look(addresses: &[Address]) -> Result<Self, Error> {
        let engines = addresses.iter().map(|address| {
            let engine = Engine::connect(address)?;
            let found = leftovers::removable(&engine)?;
            Ok((engine, found))
        });
        Ok(Self { engines: engines.collect::<Result<_, Error>>()? })
    }

    fn found(&self) -> impl Iterator<Item = &Leftover> {
        self.engines.iter().flat_map(|(_, found)| found)
    }

    /// What belongs to runs that have ended.
    #[must_use]
    pub fn abandoned(&self) -> Vec<&Leftover> {
        let going_on = self.going_on();
        self.found().filter(|one| !going_on.contains(one.run.as_str())).collect()
    }

    /// The runs whose containers still run: nothing of theirs is touched.
    #[must_use]
    pub fn going_on(&self) -> BTreeSet<&str> {
        self.found().filter(|one| one.running).map(|one| one.run.as_str()).collect()
    }

    /// Removes what belongs to runs that have ended.
    ///
    /// # Errors
    /// When something cannot be removed.
    pub fn remove(&self) -> Result<(), Error> {
        let going_on = self.going_on();
        for (engine, found) in &self.engines {
            let ended = |one: &&Leftover| !going_on.contains(one.run.as_str());
            let abandoned: Vec<Leftover> = found.iter().filter(ended).cloned().collect();
            leftovers::remove(engine, &abandoned)?;
        }
        Ok(())
    }
}
