//! A Kubernetes cluster as a place: what is known of it before a run, and the resources that a run has in it.

use crate::access::check_rights;
use crate::cluster_client::ask_once;
use crate::cluster_error::cluster_error;
use crate::options::ClusterOptions;
use crate::reaper::Reaper;
use crate::run_id::RunId;
use crate::session::ClusterSession;
use sha2::{Digest as _, Sha256};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tare_network::{Error, UnmetRequirement};
use tare_record::ClusterDescription;

/// A Kubernetes cluster, which may be absent. It is reached only when it is needed.
pub struct ClusterPlace {
    options: ClusterOptions,
    run: RunId,
    found: OnceLock<Result<ClusterDescription, UnmetRequirement>>,
    reaper: OnceLock<Reaper>,
    session: Mutex<Option<Arc<ClusterSession>>>,
}

impl ClusterPlace {
    /// Creates the place. No request is sent yet.
    #[must_use]
    pub fn new(options: ClusterOptions) -> Self {
        Self {
            options,
            run: RunId::fresh(),
            found: OnceLock::new(),
            reaper: OnceLock::new(),
            session: Mutex::default(),
        }
    }

    /// Returns the cluster's description, if there is one and this user may do there what a run needs. It is asked once,
    /// in the calling thread.
    ///
    /// # Errors
    /// What is missing, and its remedy.
    pub fn describe(&self) -> Result<&ClusterDescription, UnmetRequirement> {
        self.found.get_or_init(|| self.find()).as_ref().map_err(Clone::clone)
    }

    fn find(&self) -> Result<ClusterDescription, UnmetRequirement> {
        let image = self.options.image.clone();
        let answer = ask_once(&self.options, |client, address| async move {
            let version = client.apiserver_version().await;
            let version = version
                .map_err(|refusal| cluster_error("reach the Kubernetes cluster", &refusal))?;
            let rights = check_rights(client, &address.namespace).await;
            Ok(rights.map(|()| ClusterDescription {
                version: version.git_version,
                identity: short_hash(&address.url),
                namespace: address.namespace,
                image,
            }))
        });
        answer
            .map_err(|error| UnmetRequirement { reason: error.to_string(), remedy: error.remedy })?
    }

    /// Starts the process that removes what a run leaves if it is killed. It must be called before the lab is entered.
    ///
    /// # Errors
    /// The process cannot be started.
    pub fn prepare(&self) -> Result<(), Error> {
        if self.reaper.get().is_none() {
            let reaper = Reaper::start(&self.options)?;
            self.reaper.get_or_init(|| reaper);
        }
        Ok(())
    }

    /// Returns the run's session in the cluster, which is made at first use.
    pub(crate) fn session(&self) -> Result<Arc<ClusterSession>, Error> {
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = session.as_ref() {
            return Ok(Arc::clone(session));
        }
        let started = ClusterSession::start(&self.options, &self.run, self.reaper.get())?;
        Ok(Arc::clone(session.insert(Arc::new(started))))
    }

    /// Returns the options of the user.
    pub(crate) fn options(&self) -> &ClusterOptions {
        &self.options
    }

    /// Removes everything of this run that still exists.
    ///
    /// # Errors
    /// Fails if something remains, and says how to remove it later.
    pub fn finish(&self) -> Result<(), Error> {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner).take();
        let finished = session.map_or(Ok(()), |session| session.finish());
        if finished.is_ok() {
            self.reaper.get().into_iter().for_each(Reaper::release);
        }
        finished
    }
}

impl Drop for ClusterPlace {
    fn drop(&mut self) {
        // Callers that need the result call `finish`; this is for those that fail before.
        let _ = self.finish();
    }
}

/// Returns a hash that tells a few clusters apart, and does not tell their addresses.
fn short_hash(url: &str) -> String {
    let hash = Sha256::digest(format!("tare cluster {url}"));
    hash.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}
