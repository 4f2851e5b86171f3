//! Cleaning up after runs that were killed: what `tare clean` does.

use crate::address::Address;
use crate::engine::Engine;
use crate::leftovers::{self, Leftover};
use std::collections::BTreeSet;
use tare_network::Error;

/// An engine that is looked through for what runs left.
pub struct Cleaner {
    engine: Engine,
    found: Vec<Leftover>,
}

impl Cleaner {
    /// Looks for everything that carries tare's label, on the engine at this address.
    ///
    /// # Errors
    /// When the engine cannot be reached.
    pub fn look(address: &Address) -> Result<Self, Error> {
        let engine = Engine::connect(address)?;
        let found = leftovers::all(&engine)?;
        Ok(Self { engine, found })
    }

    /// What belongs to runs that have ended.
    #[must_use]
    pub fn abandoned(&self) -> Vec<&Leftover> {
        let going_on = self.going_on();
        self.found.iter().filter(|one| !going_on.contains(one.run.as_str())).collect()
    }

    /// The runs whose containers still run: nothing of theirs is touched.
    #[must_use]
    pub fn going_on(&self) -> BTreeSet<&str> {
        self.found.iter().filter(|one| one.running).map(|one| one.run.as_str()).collect()
    }

    /// Removes what belongs to runs that have ended.
    ///
    /// # Errors
    /// When something cannot be removed.
    pub fn remove(&self) -> Result<(), Error> {
        let abandoned: Vec<Leftover> = self.abandoned().into_iter().cloned().collect();
        leftovers::remove(&self.engine, &abandoned)
    }
}
