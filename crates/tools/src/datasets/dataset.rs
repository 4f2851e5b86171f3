//! Content of a database: its size, its place in the cache and the way to make it. A server takes a copy of it.

use crate::child_process::ChildProcess;
use crate::datasets::dataset_directory::{self, DatasetCopy, DatasetDirectory};
use std::path::Path;
use std::time::{Duration, Instant};
use tare_traffic::Error;
use tare_traffic::WorkloadRequest;

/// Timeout of each step of making data, except for writing rows.
pub(crate) const STEP_TIMEOUT: Duration = Duration::from_secs(60);

/// Period at which a server that makes data is checked for listening.
const TICK: Duration = Duration::from_millis(20);

/// Content of a database.
pub(crate) trait Dataset {
    /// Returns the size on disk and in memory, bytes. The content must fit into memory, because a disk is not a
    /// network.
    fn size(&self) -> u64;

    /// Returns the data set that holds the content: one per version of the server, because another version may not be
    /// able to read it.
    fn directory(&self) -> Result<DatasetDirectory, Error>;

    /// Makes the content in an empty directory.
    fn create(
        &self,
        data: &DatasetDirectory,
        directory: &Path,
        say: &mut dyn FnMut(&str),
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(), Error>;

    /// Takes a copy for exclusive use. Makes one if none is free.
    fn acquire_copy(
        &self,
        say: &mut dyn FnMut(&str),
        cancelled: &dyn Fn() -> bool,
    ) -> Result<DatasetCopy, Error> {
        let data = self.directory()?;
        data.acquire_copy(|directory| self.create(&data, directory, say, cancelled))
    }

    /// Makes sure that there are as many copies as servers of the request run at the same time.
    fn prepare(
        &self,
        asked: &WorkloadRequest<'_>,
        say: &mut dyn FnMut(&str),
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        let servers = asked.servers_at_once();
        dataset_directory::check_memory(self.size().saturating_mul(servers.into()))
            .and_then(|()| dataset_directory::check_copies(servers))
            .map_err(|error| match asked.networks {
                0 | 1 => error,
                _ => Error::Job(format!(
                    "{error}, or measure one network after another (--slice off)"
                )),
            })?;
        // All are held at the same time, so that there are as many.
        let copies: Result<Vec<DatasetCopy>, Error> =
            (0..servers).map(|_| self.acquire_copy(say, cancelled)).collect();
        copies.map(drop)
    }
}

/// Waits until a server that makes data listens. Fails if it ends, or after [`STEP_TIMEOUT`].
pub(crate) fn await_listening(
    server: ChildProcess,
    name: &str,
    listens: impl Fn() -> bool,
) -> Result<ChildProcess, Error> {
    let until = Instant::now() + STEP_TIMEOUT;
    while !listens() {
        if server.ended_within(TICK) {
            return Err(server.into_early_end());
        }
        if Instant::now() >= until {
            return Err(Error::Job(format!("{name} did not listen within {STEP_TIMEOUT:?}")));
        }
    }
    Ok(server)
}
