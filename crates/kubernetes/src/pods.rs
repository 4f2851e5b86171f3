//! Pods that are deleted and waited for.

use crate::cluster_error::{deletion, is_not_found};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::DeleteParams;
use std::time::{Duration, Instant};
use tare_network::{Error, scaled_timeout};

/// Number of requests at once.
pub(crate) const PARALLEL_REQUESTS: usize = 8;

/// Time within which deleted pods must be gone.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(60);

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
