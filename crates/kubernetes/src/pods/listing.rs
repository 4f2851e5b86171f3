//! Pods that are listed and then watched, and pods that are deleted and waited for.

use crate::cluster_error::deletion;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _, pin_mut, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{DeleteParams, ListParams, WatchEvent, WatchParams};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use tare_network::{Error, scaled_timeout};

/// Number of requests at once.
pub(crate) const PARALLEL_REQUESTS: usize = 8;

/// Time within which deleted pods must be gone.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(60);

/// Pause before an API server that did not answer is asked again.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// Length of one watch, seconds: the API server ends it then, and another begins.
const WATCH_SECONDS: u32 = 20;

/// Lists the pods that labels select, and watches what changes from then on. The watch ends after some seconds, or when the
/// API server has forgotten what it began with.
pub(crate) async fn list_and_watch(
    pods: &Api<Pod>,
    selector: &str,
) -> kube::Result<(Vec<Pod>, impl Stream<Item = kube::Result<WatchEvent<Pod>>> + use<>)> {
    let listed = pods.list(&ListParams::default().labels(selector)).await?;
    let version = listed.metadata.resource_version.unwrap_or_default();
    let watching = WatchParams::default().labels(selector).timeout(WATCH_SECONDS);
    Ok((listed.items, pods.watch(&watching, &version).await?))
}

/// Deletes pods, all of which labels select, and waits until they are gone.
pub(crate) async fn delete_pods(
    pods: &Api<Pod>,
    selector: &str,
    names: &[String],
) -> Result<(), Error> {
    let deleting = stream::iter(names).map(|name| async move {
        let answer = pods.delete(name, &DeleteParams::default().grace_period(0)).await;
        deletion(format!("delete the pod {name}"), answer)
    });
    deleting.buffer_unordered(PARALLEL_REQUESTS).try_collect::<Vec<()>>().await?;
    let deadline = Instant::now() + scaled_timeout(REMOVAL_TIMEOUT);
    let mut left: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    while let Some(&name) = left.first() {
        if Instant::now() >= deadline {
            return Err(Error::new(
                format!("delete the pod {name}"),
                format!("it is still there after {} s", REMOVAL_TIMEOUT.as_secs()),
            )
            .with_remedy(format!("run `kubectl delete pod {name} --force`")));
        }
        // An API server that is away may be back before the time is over.
        if follow_removal(pods, selector, &mut left, deadline).await.is_err() {
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    }
    Ok(())
}

/// Strikes from the names those of pods that are gone, until none is left, the time is over or the watch ends.
async fn follow_removal(
    pods: &Api<Pod>,
    selector: &str,
    left: &mut BTreeSet<&str>,
    deadline: Instant,
) -> kube::Result<()> {
    let (listed, changes) = list_and_watch(pods, selector).await?;
    left.retain(|name| listed.iter().any(|pod| pod.metadata.name.as_deref() == Some(name)));
    pin_mut!(changes);
    while !left.is_empty() {
        let time_left = deadline.saturating_duration_since(Instant::now());
        match tokio::time::timeout(time_left, changes.try_next()).await {
            Ok(Ok(Some(WatchEvent::Deleted(pod)))) => {
                left.remove(pod.metadata.name.as_deref().unwrap_or_default());
            }
            Ok(Ok(Some(WatchEvent::Error(_)) | None)) | Err(_) => return Ok(()),
            Ok(change) => drop(change?),
        }
    }
    Ok(())
}
