//! Session of a run in a cluster: the owner of everything, the pairs of nodes, and the deployment of each network.

use crate::cluster_client::ClusterClient;
use crate::cluster_error::{cluster_error, deletion};
use crate::deployment::{Deployment, DeploymentRequest};
use crate::nodes::{NodeChoice, NodePairs};
use crate::objects::owner_object;
use crate::options::ClusterOptions;
use crate::reaper::Reaper;
use crate::run_id::RunId;
use crate::run_scope::RunScope;
use crate::running_pod::RunningPod;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tare_network::Error;
use tare_record::PodLifetime;

/// Session of a run in a cluster.
pub(crate) struct ClusterSession {
    scope: RunScope,
    nodes: Mutex<NodePairs>,
    deployments: Mutex<BTreeMap<String, Arc<Deployment>>>,
}

impl ClusterSession {
    /// Reaches the cluster, and makes the owner of everything else.
    pub(crate) fn start(
        options: &ClusterOptions,
        run: &RunId,
        reaper: Option<&Reaper>,
    ) -> Result<Self, Error> {
        let client = Arc::new(ClusterClient::start(options)?);
        if let Some(reaper) = reaper {
            reaper.watch(client.namespace(), &run.owner_name());
        }
        let owners: Api<ConfigMap> = Api::namespaced(client.client(), client.namespace());
        let created = client.wait(owners.create(&PostParams::default(), &owner_object(run)));
        let created = created.map_err(|refusal| {
            cluster_error(format!("create the ConfigMap {}", run.owner_name()), &refusal)
        })?;
        let owner = OwnerReference {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            name: run.owner_name(),
            uid: created.metadata.uid.unwrap_or_default(),
            ..OwnerReference::default()
        };
        let scope = RunScope { client, options: options.clone(), run: run.clone(), owner };
        let nodes = NodePairs::new(options.server_nodes.clone(), options.client_nodes.clone());
        Ok(Self { scope, nodes: Mutex::new(nodes), deployments: Mutex::default() })
    }

    /// Returns the node on which a pair's servers must be.
    pub(crate) fn server_node(&self, pair: Option<u32>) -> NodeChoice {
        self.nodes().server_node(pair)
    }

    /// Returns the node on which a pair's clients on another node must be.
    pub(crate) fn client_node(&self, pair: Option<u32>) -> NodeChoice {
        self.nodes().client_node(pair)
    }

    /// Returns the pods of a network: those of an earlier block if they are to stay and live, else new ones.
    pub(crate) fn deployment(
        &self,
        wanted: &DeploymentRequest<'_>,
    ) -> Result<Arc<Deployment>, Error> {
        let mut deployments = self.deployments.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = deployments.get(wanted.network) {
            let is_same = known.servers.len() == wanted.servers as usize
                && known.clients.len() == wanted.clients as usize;
            if is_same && known.is_alive() && self.scope.options.pods == PodLifetime::Run {
                return Ok(Arc::clone(known));
            }
            end_deployment(&mut deployments, wanted.network)?;
        }
        let made = Arc::new(Deployment::start(&self.scope, wanted)?);
        self.learn_nodes(&made, wanted);
        deployments.insert(wanted.network.to_owned(), Arc::clone(&made));
        Ok(made)
    }

    /// Removes the pods of a network with all that belongs to them. What cannot be removed is tried again before the
    /// network's next pods are made, and when the session is finished.
    ///
    /// # Errors
    /// Something remains.
    pub(crate) fn end_deployment(&self, network: &str) -> Result<(), Error> {
        let mut deployments = self.deployments.lock().unwrap_or_else(PoisonError::into_inner);
        end_deployment(&mut deployments, network)
    }

    /// Remembers the nodes that the scheduler chose.
    fn learn_nodes(&self, made: &Deployment, wanted: &DeploymentRequest<'_>) {
        let node = |pods: &[Arc<RunningPod>]| pods.first().map(|pod| pod.node.clone());
        let server = node(&made.servers);
        let client = wanted.client_node.as_ref().and_then(|_| node(&made.clients));
        self.nodes().learn(wanted.node_pair, server.as_deref(), client.as_deref());
    }

    fn nodes(&self) -> MutexGuard<'_, NodePairs> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes everything of this run, and waits until it is gone.
    ///
    /// # Errors
    /// Something remains.
    pub(crate) fn finish(&self) -> Result<(), Error> {
        let mut deployments = self.deployments.lock().unwrap_or_else(PoisonError::into_inner);
        let removed: Vec<Result<(), Error>> =
            std::mem::take(&mut *deployments).values().map(|one| one.remove()).collect();
        let RunScope { client, run, .. } = &self.scope;
        let owners: Api<ConfigMap> = Api::namespaced(client.client(), client.namespace());
        // Whatever is left is removed by the cluster with its owner.
        let name = run.owner_name();
        let what = format!("delete the ConfigMap {name}");
        let answer = client.wait(owners.delete(&name, &DeleteParams::background()));
        let owner = deletion(what, answer).map_err(|error| {
            error.with_remedy(format!(
                "run `kubectl delete configmap {name}`: it owns everything that is left"
            ))
        });
        removed.into_iter().collect::<Result<(), Error>>().and(owner)
    }
}

/// Removes the pods of a network, and forgets them once they are gone.
fn end_deployment(
    deployments: &mut BTreeMap<String, Arc<Deployment>>,
    network: &str,
) -> Result<(), Error> {
    if let Some(known) = deployments.get(network) {
        known.remove()?;
        deployments.remove(network);
    }
    Ok(())
}
