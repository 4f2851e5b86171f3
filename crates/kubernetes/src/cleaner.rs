//! Objects that ended runs left in a namespace of a cluster: those of a run that was killed together with its reaper, or
//! whose machine is gone.

use crate::cluster_client::ClusterClient;
use crate::cluster_error::{cluster_error, deletion, is_forbidden};
use crate::options::ClusterOptions;
use crate::pages::list_pages;
use crate::pods::{delete_pods, state};
use crate::run_id::RUN_LABEL;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use kube::api::DeleteParams;
use std::time::{SystemTime, UNIX_EPOCH};
use tare_network::Error;

/// Age until which a run without pods may still be making them, seconds.
const YOUNG: i64 = 600;

/// Run that has objects in a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterRun {
    /// Number of the run.
    pub id: String,
    /// Name of the ConfigMap that owns all other objects of the run.
    pub owner: String,
    /// Names of the run's pods.
    pub pods: Vec<String>,
    /// True if a pod has not ended: it ends five minutes after its run.
    has_living_pod: bool,
    /// Time since the ConfigMap was made, by this machine's clock, seconds.
    age: i64,
}

impl ClusterRun {
    fn new(owner: &ObjectMeta, pods: &[Pod], now: i64) -> Option<Self> {
        let id = run_of(owner)?;
        let own: Vec<&Pod> = pods.iter().filter(|pod| run_of(&pod.metadata) == Some(id)).collect();
        let created = owner.creation_timestamp.as_ref().map_or(now, |time| time.0.as_second());
        Some(Self {
            id: id.to_owned(),
            owner: owner.name.clone()?,
            pods: own.iter().filter_map(|pod| pod.metadata.name.clone()).collect(),
            has_living_pod: own.iter().any(|pod| !state::has_ended(pod)),
            age: now - created,
        })
    }

    /// Returns true if the run may still be under way.
    fn may_run(&self) -> bool {
        self.has_living_pod || self.pods.is_empty() && self.age < YOUNG
    }
}

/// Returns the number of the run that an object belongs to.
fn run_of(metadata: &ObjectMeta) -> Option<&str> {
    metadata.labels.as_ref()?.get(RUN_LABEL).map(String::as_str)
}

/// Cleaner of a namespace: the runs that have objects there.
pub struct ClusterCleaner {
    client: ClusterClient,
    /// Runs that have ended, or were named as such.
    ended: Vec<ClusterRun>,
    /// Runs that may still be under way.
    perhaps_running: Vec<ClusterRun>,
}

impl ClusterCleaner {
    /// Finds the runs that have objects in the namespace of these options. Those whose numbers are in `named` have ended,
    /// whatever their pods do.
    ///
    /// # Errors
    /// The cluster cannot be reached, or refuses the lists.
    pub fn scan(options: &ClusterOptions, named: &[String]) -> Result<Self, Error> {
        let client = ClusterClient::start(options)?;
        let pods: Api<Pod> = Api::namespaced(client.client(), client.namespace());
        let owners: Api<ConfigMap> = Api::namespaced(client.client(), client.namespace());
        let (owners, pods) = client.wait(async {
            let owners = list_pages(RUN_LABEL, |page| {
                let owners = owners.clone();
                async move { owners.list_metadata(&page).await }
            });
            let owners = owners.await.map_err(|refusal| {
                let error = cluster_error("list the ConfigMaps", &refusal);
                if is_forbidden(&refusal) { error.with_remedy(LIST_REMEDY) } else { error }
            })?;
            let pods = list_pages(RUN_LABEL, |page| {
                let pods = pods.clone();
                async move { pods.list(&page).await }
            });
            Ok((owners, pods.await.map_err(|refusal| cluster_error("list the pods", &refusal))?))
        })?;
        let now = seconds_since_epoch();
        let runs = owners.iter();
        let runs = runs.filter_map(|owner| ClusterRun::new(&owner.metadata, &pods, now));
        let (ended, perhaps_running) =
            runs.partition(|run| named.contains(&run.id) || !run.may_run());
        Ok(Self { client, ended, perhaps_running })
    }

    /// Returns the namespace.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.client.namespace()
    }

    /// Returns the runs that have ended.
    #[must_use]
    pub fn ended(&self) -> &[ClusterRun] {
        &self.ended
    }

    /// Returns the runs that may still be under way.
    #[must_use]
    pub fn perhaps_running(&self) -> &[ClusterRun] {
        &self.perhaps_running
    }

    /// Removes what the ended runs left, and waits until their pods are gone. The cluster removes the rest with the
    /// ConfigMap that owns it.
    ///
    /// # Errors
    /// An object remains.
    pub fn remove(&self) -> Result<(), Error> {
        let pods: Api<Pod> = Api::namespaced(self.client.client(), self.client.namespace());
        let owners: Api<ConfigMap> = Api::namespaced(self.client.client(), self.client.namespace());
        self.client.wait(async {
            for run in &self.ended {
                delete_pods(&pods, &format!("{RUN_LABEL}={}", run.id), &run.pods).await?;
                let answer = owners.delete(&run.owner, &DeleteParams::background()).await;
                deletion(format!("delete the ConfigMap {}", run.owner), answer)?;
            }
            Ok(())
        })
    }
}

/// Remedy of a user who may not list ConfigMaps: a run needs no such right.
const LIST_REMEDY: &str = "ask for the verb `list` on configmaps, or delete one by the name that its pods have: `kubectl delete configmap tare-RUN`";

fn seconds_since_epoch() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn owner(run: &str) -> ObjectMeta {
        serde_json::from_value(json!({
            "name": format!("tare-{run}"),
            "labels": {RUN_LABEL: run},
            "creationTimestamp": "2026-11-28T12:00:00Z",
        }))
        .unwrap()
    }

    fn pod(run: &str, status: Value) -> Pod {
        let metadata = json!({"name": format!("tare-{run}-pod"), "labels": {RUN_LABEL: run}});
        serde_json::from_value(json!({"metadata": metadata, "status": status})).unwrap()
    }

    #[test]
    fn a_run_has_ended_when_all_of_its_pods_have() {
        let made = owner("a").creation_timestamp.unwrap().0.as_second();
        let may_run =
            |pods: &[Pod], now| ClusterRun::new(&owner("a"), pods, now).unwrap().may_run();
        let pod_in = |phase: &str| pod("a", json!({"phase": phase}));
        for living in ["Running", "Pending", "Unknown"] {
            assert!(may_run(&[pod_in("Failed"), pod_in(living)], made + 99_999), "{living}");
        }
        assert!(!may_run(&[pod_in("Failed"), pod_in("Succeeded")], made + 1));
        let of_another = [pod("b", json!({"phase": "Running"}))];
        assert!(may_run(&of_another, made + 1), "its pods may be under way");
        assert!(!may_run(&of_another, made + YOUNG));
    }

    #[test]
    fn what_has_no_number_of_a_run_is_nobody_s() {
        assert_eq!(ClusterRun::new(&ObjectMeta::default(), &[], 0), None);
        let run = ClusterRun::new(&owner("a"), &[pod("a", json!({}))], 0).unwrap();
        assert_eq!((&*run.id, &*run.owner), ("a", "tare-a"));
        assert_eq!(run.pods, ["tare-a-pod"]);
    }
}
