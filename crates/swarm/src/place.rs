//! Docker Swarm as a place: the engine of a manager, and the resources that a run has in its Swarm.

use crate::session::SwarmSession;
use std::sync::{Arc, Mutex, PoisonError};
use tare_docker::EnginePlace;
use tare_network::Error;

/// Docker Swarm, reached by a manager's engine. Neither has to exist.
pub struct SwarmPlace {
    manager: Arc<EnginePlace>,
    session: Mutex<Option<Arc<SwarmSession>>>,
}

impl SwarmPlace {
    /// Creates the place from the engine of a manager. No request is sent yet.
    #[must_use]
    pub fn new(manager: Arc<EnginePlace>) -> Self {
        Self { manager, session: Mutex::default() }
    }

    /// Returns the manager's engine.
    pub(crate) fn manager(&self) -> &EnginePlace {
        &self.manager
    }

    /// Returns the Swarm that the engine manages, with the tunnel server of this run's tasks, which is made at first
    /// use.
    pub(crate) fn session(&self) -> Result<Arc<SwarmSession>, Error> {
        let live = self.manager.session()?;
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = session.as_ref() {
            return Ok(Arc::clone(session));
        }
        let (options, run) = (self.manager.options(), self.manager.run_id());
        let started = Arc::new(SwarmSession::start(options, run, live)?);
        Ok(Arc::clone(session.insert(started)))
    }

    /// Removes everything of this run that still exists, first on the manager's engine, then on the engines that the
    /// user named.
    ///
    /// # Errors
    /// Fails if something remains, and says how to remove it later.
    pub fn finish(&self) -> Result<(), Error> {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner).take();
        let manager = self.manager.finish();
        manager.and(session.map_or(Ok(()), |session| session.finish()))
    }
}

impl Drop for SwarmPlace {
    fn drop(&mut self) {
        // Callers that need the result call `finish`; this is for those that fail before.
        let _ = self.finish();
    }
}
