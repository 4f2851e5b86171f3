//! Start of pods: all at once, and waited for by one watch.

use super::listing::{PARALLEL_REQUESTS, list_and_watch};
use super::state;
use super::warnings::PodWarnings;
use crate::cluster_client::ClusterClient;
use crate::cluster_error::cluster_error;
use futures_util::{StreamExt as _, TryStreamExt as _, pin_mut, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{PostParams, WatchEvent};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tare_network::{Error, scaled_timeout};

/// Time within which pods must run: an image may have to be pulled.
const START_TIMEOUT: Duration = Duration::from_secs(180);

/// Time without a change after which the cluster is asked for its warnings.
const WARNING_PERIOD: Duration = Duration::from_secs(5);

/// Creates pods, and waits until their containers run. Returns them in the order of the requests.
pub(crate) fn start_pods(
    client: &ClusterClient,
    selector: &str,
    wanted: Vec<Pod>,
) -> Result<Vec<Pod>, Error> {
    let pods: Api<Pod> = Api::namespaced(client.client(), client.namespace());
    let names: Vec<String> = wanted.iter().filter_map(|pod| pod.metadata.name.clone()).collect();
    client.wait(async {
        stream::iter(wanted)
            .map(|pod| create_pod(&pods, pod))
            .buffered(PARALLEL_REQUESTS)
            .try_collect::<Vec<Pod>>()
            .await?;
        let warnings = PodWarnings::new(client);
        PodStart { pods, selector, names, known: BTreeMap::new(), warnings }.wait().await
    })
}

async fn create_pod(pods: &Api<Pod>, pod: Pod) -> Result<Pod, Error> {
    let name = pod.metadata.name.clone().unwrap_or_default();
    let created = pods.create(&PostParams::default(), &pod).await;
    created.map_err(|refusal| cluster_error(format!("create the pod {name}"), &refusal))
}

/// Pods that are on their way.
struct PodStart<'a> {
    pods: Api<Pod>,
    /// Labels that select the pods, and perhaps others of the same network.
    selector: &'a str,
    names: Vec<String>,
    /// Pods as the cluster told them last, by name.
    known: BTreeMap<String, Pod>,
    warnings: PodWarnings,
}

impl PodStart<'_> {
    /// Waits until all pods run.
    async fn wait(mut self) -> Result<Vec<Pod>, Error> {
        let deadline = Instant::now() + scaled_timeout(START_TIMEOUT);
        while Instant::now() < deadline {
            if let Some(running) = self.follow(deadline).await? {
                return Ok(running);
            }
        }
        Err(self.timeout_error())
    }

    /// Lists the pods, and follows one watch to its end. Returns the pods if all of them run.
    async fn follow(&mut self, deadline: Instant) -> Result<Option<Vec<Pod>>, Error> {
        let (listed, changes) = list_and_watch(&self.pods, self.selector)
            .await
            .map_err(|refusal| cluster_error(self.what(), &refusal))?;
        let named = |pod: Pod| Some((pod.metadata.name.clone()?, pod));
        self.known.extend(listed.into_iter().filter_map(named));
        pin_mut!(changes);
        loop {
            if let Some(running) = self.all_running()? {
                return Ok(Some(running));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match tokio::time::timeout(left.min(WARNING_PERIOD), changes.next()).await {
                Ok(Some(Ok(WatchEvent::Added(pod) | WatchEvent::Modified(pod)))) => {
                    self.known.extend(pod.metadata.name.clone().map(|name| (name, pod)));
                }
                Ok(Some(Ok(WatchEvent::Deleted(pod)))) => {
                    self.known.remove(&pod.metadata.name.unwrap_or_default());
                }
                Ok(Some(Ok(WatchEvent::Bookmark(_)))) => {}
                // The watch has ended, or what it began with is forgotten: the list is asked for again.
                Ok(Some(Ok(WatchEvent::Error(_)) | Err(_)) | None) => return Ok(None),
                Err(_) if left < WARNING_PERIOD => return Ok(None),
                Err(_) => self.check_warnings().await?,
            }
        }
    }

    /// Asks for the warnings about pods that do not run.
    ///
    /// # Errors
    /// A pod has been failing for so long that it will not start.
    async fn check_warnings(&mut self) -> Result<(), Error> {
        let waiting: Vec<String> = self.waiting().map(|(name, _)| name.clone()).collect();
        for name in waiting {
            if let Some(why) = self.warnings.lasting(&name).await {
                return Err(warned(&name, why));
            }
        }
        Ok(())
    }

    /// Returns the pods that the cluster knows.
    fn known(&self) -> impl Iterator<Item = (&String, &Pod)> {
        self.names.iter().filter_map(|name| Some((name, self.known.get(name)?)))
    }

    /// Returns the pods that the cluster knows and that do not run.
    fn waiting(&self) -> impl Iterator<Item = (&String, &Pod)> {
        self.known().filter(|(_, pod)| !state::is_running(pod))
    }

    fn timeout_error(&self) -> Error {
        if let Some((name, why)) =
            self.waiting().find_map(|(name, _)| Some((name, self.warnings.latest(name)?)))
        {
            return warned(name, why);
        }
        let why = self.waiting().next().and_then(|(_, pod)| state::pending_reason(pod));
        let why =
            why.unwrap_or_else(|| format!("they do not run within {} s", START_TIMEOUT.as_secs()));
        Error::new(self.what(), why).with_remedy("see `kubectl describe pod` for these pods")
    }

    /// Returns the pods if all of them run.
    ///
    /// # Errors
    /// A pod has ended, or will not start.
    fn all_running(&self) -> Result<Option<Vec<Pod>>, Error> {
        for (name, pod) in self.known() {
            if let Some(why) = state::end_of(pod) {
                return Err(Error::new(format!("start the pod {name}"), why));
            }
            if let Some(why) = state::obstacle(pod) {
                return Err(Error::new(format!("start the pod {name}"), why).with_remedy(
                    "load the image into the nodes (`tare image --help`), or name another with --pod-image",
                ));
            }
        }
        let running = self.names.iter().map(|name| {
            let known = self.known.get(name);
            known.filter(|pod| state::is_running(pod)).cloned()
        });
        Ok(running.collect())
    }

    fn what(&self) -> String {
        format!("start the pods {}", self.names.join(", "))
    }
}

fn warned(pod: &str, why: String) -> Error {
    Error::new(format!("start the pod {pod}"), why).with_remedy(format!(
        "see `kubectl get events --field-selector involvedObject.name={pod}`: the container runtime or the network plugin of \
         its node failed"
    ))
}
