//! Pods that are made and waited for: all at once, by one watch.

use crate::cluster_client::ClusterClient;
use crate::cluster_error::{cluster_error, deletion, is_not_found};
use crate::pod_state;
use futures_util::{StreamExt as _, TryStreamExt as _, pin_mut, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{DeleteParams, ListParams, PostParams, WatchEvent, WatchParams};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tare_network::{Error, scaled_timeout};

/// Number of requests at once.
pub(crate) const PARALLEL_REQUESTS: usize = 8;

/// Time within which pods must run: an image may have to be pulled.
const START_TIMEOUT: Duration = Duration::from_secs(180);

/// Time within which deleted pods must be gone.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(60);

/// Length of one watch, seconds: the API server ends it then, and another begins.
const WATCH_SECONDS: u32 = 20;

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
            .map(|pod| {
                let pods = &pods;
                async move {
                    let name = pod.metadata.name.clone().unwrap_or_default();
                    let created = pods.create(&PostParams::default(), &pod).await;
                    created.map_err(|refusal| {
                        cluster_error(format!("create the pod {name}"), &refusal)
                    })
                }
            })
            .buffered(PARALLEL_REQUESTS)
            .try_collect::<Vec<Pod>>()
            .await?;
        await_running(&pods, selector, &names).await
    })
}

async fn await_running(
    pods: &Api<Pod>,
    selector: &str,
    names: &[String],
) -> Result<Vec<Pod>, Error> {
    let what = || format!("start the pods {}", names.join(", "));
    let deadline = Instant::now() + scaled_timeout(START_TIMEOUT);
    let mut known: BTreeMap<String, Pod> = BTreeMap::new();
    while Instant::now() < deadline {
        let listed = pods
            .list(&ListParams::default().labels(selector))
            .await
            .map_err(|refusal| cluster_error(what(), &refusal))?;
        let version = listed.metadata.resource_version.unwrap_or_default();
        known.extend(
            listed.items.into_iter().filter_map(|pod| Some((pod.metadata.name.clone()?, pod))),
        );
        let watching = WatchParams::default().labels(selector).timeout(WATCH_SECONDS);
        let changes = pods
            .watch(&watching, &version)
            .await
            .map_err(|refusal| cluster_error(what(), &refusal))?;
        pin_mut!(changes);
        loop {
            if let Some(running) = all_running(&known, names)? {
                return Ok(running);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match tokio::time::timeout(left, changes.next()).await {
                Ok(Some(Ok(WatchEvent::Added(pod) | WatchEvent::Modified(pod)))) => {
                    known.extend(pod.metadata.name.clone().map(|name| (name, pod)));
                }
                Ok(Some(Ok(WatchEvent::Deleted(pod)))) => {
                    known.remove(&pod.metadata.name.unwrap_or_default());
                }
                Ok(Some(Ok(WatchEvent::Bookmark(_)))) => {}
                // The watch has ended, or what it began with is forgotten: the list is asked for again.
                Ok(Some(Ok(WatchEvent::Error(_)) | Err(_)) | None) | Err(_) => break,
            }
        }
    }
    let waiting =
        names.iter().filter_map(|name| known.get(name)).find(|pod| !pod_state::is_running(pod));
    let why = waiting.and_then(pod_state::pending_reason);
    let why =
        why.unwrap_or_else(|| format!("they do not run within {} s", START_TIMEOUT.as_secs()));
    Err(Error::new(what(), why).with_remedy("see `kubectl describe pod` for these pods"))
}

/// Returns the pods if all of them run.
///
/// # Errors
/// A pod has ended, or will not start.
fn all_running(known: &BTreeMap<String, Pod>, names: &[String]) -> Result<Option<Vec<Pod>>, Error> {
    for name in names {
        let Some(pod) = known.get(name) else { continue };
        if let Some(why) = pod_state::end_of(pod) {
            return Err(Error::new(format!("start the pod {name}"), why));
        }
        if let Some(why) = pod_state::obstacle(pod) {
            return Err(Error::new(format!("start the pod {name}"), why).with_remedy(
                "load the image into the nodes (`tare image --help`), or name another with --pod-image",
            ));
        }
    }
    let running =
        names.iter().map(|name| known.get(name).filter(|pod| pod_state::is_running(pod)).cloned());
    Ok(running.collect())
}

/// Deletes pods, and waits until they are gone.
pub(crate) async fn delete_pods(pods: &Api<Pod>, names: &[String]) -> Result<(), Error> {
    let deleting = stream::iter(names).map(|name| async move {
        let answer = pods.delete(name, &DeleteParams::default().grace_period(0)).await;
        deletion(format!("delete the pod {name}"), answer)
    });
    deleting.buffer_unordered(PARALLEL_REQUESTS).try_collect::<Vec<()>>().await?;
    let deadline = Instant::now() + scaled_timeout(REMOVAL_TIMEOUT);
    for name in names {
        while !is_gone(pods, name).await {
            if Instant::now() >= deadline {
                return Err(Error::new(
                    format!("delete the pod {name}"),
                    format!("it is still there after {} s", REMOVAL_TIMEOUT.as_secs()),
                )
                .with_remedy(format!("run `kubectl delete pod {name} --force`")));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    Ok(())
}

async fn is_gone(pods: &Api<Pod>, name: &str) -> bool {
    matches!(pods.get_metadata(name).await, Err(refusal) if is_not_found(&refusal))
}
