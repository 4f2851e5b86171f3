//! What is in a database: how large it is, where it is kept, how it is made. How a server comes by a copy of it follows.

use super::data::{self, Copy, Data};
use super::offspring::Offspring;
use crate::Error;
use crate::workload::Asked;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long each step of making data takes at most beside writing rows.
pub(super) const STEP: Duration = Duration::from_secs(60);

/// How often is looked whether a server that makes data listens.
const TICK: Duration = Duration::from_millis(20);

/// What a database holds.
pub(super) trait Contents {
    /// What it takes, on disk and in memory: it shall fit into the latter, for a disk is no network.
    fn bytes(&self) -> u64;

    /// Where it is kept: another version of the server may not read it.
    fn data(&self) -> Result<Data, Error>;

    /// Makes it in an empty directory.
    fn make(
        &self,
        data: &Data,
        directory: &Path,
        say: &mut dyn FnMut(&str),
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(), Error>;

    /// A copy that nobody else has; made now, where none is free.
    fn copy(&self, say: &mut dyn FnMut(&str), cancelled: &dyn Fn() -> bool) -> Result<Copy, Error> {
        let data = self.data()?;
        data.take(|directory| self.make(&data, directory, say, cancelled))
    }

    /// Sees to as many copies as there will be servers.
    fn prepare(
        &self,
        asked: &Asked<'_>,
        say: &mut dyn FnMut(&str),
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        let servers = asked.shape.servers;
        data::fits_in_memory(self.bytes().saturating_mul(servers.into()))?;
        // Held together, so that there are as many.
        let copies: Result<Vec<Copy>, Error> =
            (0..servers).map(|_| self.copy(say, cancelled)).collect();
        copies.map(drop)
    }
}

/// Waits until a server that is to make data listens.
pub(super) fn until_listening(
    server: Offspring,
    name: &str,
    listens: impl Fn() -> bool,
) -> Result<Offspring, Error> {
    let until = Instant::now() + STEP;
    while !listens() {
        if server.ended_within(TICK) {
            return Err(server.ended_early());
        }
        if Instant::now() >= until {
            return Err(Error::Job(format!("{name} did not listen within {STEP:?}")));
        }
    }
    Ok(server)
}
