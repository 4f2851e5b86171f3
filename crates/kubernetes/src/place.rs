//! A Kubernetes cluster as a place: what is known of it before a run, and the resources that a run has in it.

use crate::access::{POLICY_RIGHTS, RUN_RIGHTS, check_rights};
use crate::cluster_client::ask_once;
use crate::cluster_error::{cluster_error, is_forbidden};
use crate::network_daemons::network_daemons;
use crate::networks::{PlannedNetwork, RunManifest};
use crate::nodes::{NodeChoice, NodeRules};
use crate::objects::{MeshProxy, PodNetwork, PodRequest, PodRole, pod_object};
use crate::options::ClusterOptions;
use crate::reaper::Reaper;
use crate::run_id::RunId;
use crate::session::ClusterSession;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::PostParams;
use sha2::{Digest as _, Sha256};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tare_network::{Error, UnmetRequirement};
use tare_record::ClusterDescription;

/// A Kubernetes cluster, which may be absent. It is reached only when it is needed.
pub struct ClusterPlace {
    options: ClusterOptions,
    run: RunId,
    found: OnceLock<Result<ClusterDescription, UnmetRequirement>>,
    admits_host_pods: OnceLock<Result<(), UnmetRequirement>>,
    permits_policies: OnceLock<Result<(), UnmetRequirement>>,
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
            admits_host_pods: OnceLock::new(),
            permits_policies: OnceLock::new(),
            reaper: OnceLock::new(),
            session: Mutex::default(),
        }
    }

    /// Creates a place of which is assumed that its cluster is there and permits everything: for runs that are only
    /// printed. It is not asked.
    #[must_use]
    pub fn assumed(options: ClusterOptions) -> Self {
        let place = Self::new(options);
        place.found.get_or_init(|| Ok(ClusterDescription::default()));
        place.admits_host_pods.get_or_init(|| Ok(()));
        place.permits_policies.get_or_init(|| Ok(()));
        place
    }

    /// Returns the objects that a run of these networks makes, as far as they are known beforehand. Networks of other
    /// places have none.
    ///
    /// # Errors
    /// A network cannot have its shape.
    pub fn run_manifest(&self, networks: &[PlannedNetwork<'_>]) -> Result<RunManifest, Error> {
        RunManifest::new(&self.options, networks)
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
        let (image, pods) = (self.options.image.clone(), self.options.pods);
        let answer = ask_once(&self.options, |client, address| async move {
            let version = client.apiserver_version().await;
            let version = version
                .map_err(|refusal| cluster_error("reach the Kubernetes cluster", &refusal))?;
            let rights = check_rights(client.clone(), &address.namespace, &RUN_RIGHTS).await;
            if let Err(missing) = rights {
                return Ok(Err(missing));
            }
            Ok(Ok(ClusterDescription {
                version: version.git_version,
                identity: short_hash(&address.url),
                namespace: address.namespace,
                network_daemons: network_daemons(client).await,
                image,
                pods,
            }))
        });
        answer.map_err(unmet)?
    }

    /// Checks that this user may make network policies. The API is asked once.
    ///
    /// # Errors
    /// The verb that is missing, and the remedy.
    pub(crate) fn check_policy_rights(&self) -> Result<(), UnmetRequirement> {
        let ask = || {
            let answer = ask_once(&self.options, |client, address| async move {
                Ok(check_rights(client, &address.namespace, &POLICY_RIGHTS).await)
            });
            answer.map_err(unmet)?
        };
        self.permits_policies.get_or_init(ask).clone()
    }

    /// Checks that the namespace admits pods in a node's network namespace. The API is asked once, without making one.
    ///
    /// # Errors
    /// What forbids them, and the remedy.
    pub(crate) fn check_host_pods(&self) -> Result<(), UnmetRequirement> {
        self.admits_host_pods.get_or_init(|| self.try_host_pod()).clone()
    }

    fn try_host_pod(&self) -> Result<(), UnmetRequirement> {
        let request = PodRequest {
            network: "host",
            role: PodRole::Server,
            index: 0,
            pod_network: PodNetwork::Host,
            runtime_class: None,
            proxy: MeshProxy::Refused,
            node: NodeChoice::Scheduled(NodeRules::default()),
        };
        let pod = pod_object(&self.run, None, &self.options, &request);
        let tried = ask_once(&self.options, |client, address| async move {
            let pods: Api<Pod> = Api::namespaced(client, &address.namespace);
            let without_effect = PostParams { dry_run: true, ..PostParams::default() };
            match pods.create(&without_effect, &pod).await {
                Err(refusal) if is_forbidden(&refusal) => {
                    Err(cluster_error("make a pod in a node's network namespace", &refusal))
                }
                // Other refusals are of the trial itself: some webhooks admit nothing without effect.
                Ok(_) | Err(_) => Ok(()),
            }
        });
        tried.map_err(unmet)
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
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        // What cannot be removed is tried again when the place is dropped, and then by the reaper.
        if let Some(session) = session.as_ref() {
            session.finish()?;
        }
        *session = None;
        self.reaper.get().into_iter().for_each(Reaper::release);
        Ok(())
    }
}

impl Drop for ClusterPlace {
    fn drop(&mut self) {
        // Callers that need the result call `finish`; this is for those that fail before.
        let _ = self.finish();
    }
}

fn unmet(error: Error) -> UnmetRequirement {
    UnmetRequirement { reason: error.to_string(), remedy: error.remedy }
}

/// Returns a hash that tells a few clusters apart, and does not tell their addresses.
fn short_hash(url: &str) -> String {
    let hash = Sha256::digest(format!("tare cluster {url}"));
    hash.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}
