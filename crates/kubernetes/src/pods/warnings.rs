//! Warnings of a cluster about pods that do not start: what their status does not say.

use super::state::in_one_line;
use crate::cluster_client::ClusterClient;
use k8s_openapi::api::core::v1::Event;
use kube::Api;
use kube::api::ListParams;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tare_network::scaled_timeout;

/// Reasons of warnings by which a node says that it cannot make a pod's sandbox or its network. A node tries again.
const FAILURES: [&str; 2] = ["FailedCreatePodSandBox", "NetworkNotReady"];

/// Time for which a node may go on failing. A network plugin that has just been installed needs some seconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// Warnings about pods that are on their way.
pub(crate) struct PodWarnings {
    events: Api<Event>,
    /// Warnings by the name of the pod.
    seen: BTreeMap<String, SeenWarning>,
}

/// Warning about a pod.
struct SeenWarning {
    /// Time at which it was first seen.
    since: Instant,
    /// Reason and message, as they were last.
    words: String,
}

impl PodWarnings {
    pub(crate) fn new(client: &ClusterClient) -> Self {
        let events = Api::namespaced(client.client(), client.namespace());
        Self { events, seen: BTreeMap::new() }
    }

    /// Asks for the warnings about a pod. Returns the last one if they have lasted too long. A user who may not list
    /// events gets none.
    pub(crate) async fn lasting(&mut self, pod: &str) -> Option<String> {
        let about = format!("involvedObject.name={pod},type=Warning");
        let listed = self.events.list(&ListParams::default().fields(&about)).await.ok()?;
        let words = last_failure(&listed.items)?;
        let seen = self.seen.entry(pod.to_owned());
        let seen =
            seen.or_insert_with(|| SeenWarning { since: Instant::now(), words: String::new() });
        seen.words = words;
        let has_lasted = seen.since.elapsed() >= scaled_timeout(PATIENCE);
        has_lasted.then(|| seen.words.clone())
    }

    /// Returns the warning about a pod that was seen last.
    pub(crate) fn latest(&self, pod: &str) -> Option<String> {
        self.seen.get(pod).map(|seen| seen.words.clone())
    }
}

/// Returns the reason and the message of the last failure among events of one pod.
fn last_failure(events: &[Event]) -> Option<String> {
    let is_failure =
        |event: &&Event| event.reason.as_deref().is_some_and(|reason| FAILURES.contains(&reason));
    let last = events.iter().filter(is_failure).max_by_key(|event| &event.last_timestamp)?;
    Some(in_one_line(last.reason.as_deref(), last.message.as_deref()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_last_failure_is_told_in_one_line_and_other_warnings_are_not() {
        let event = |reason: &str, time: &str, message: &str| -> Event {
            serde_json::from_value(json!({
                "metadata": {}, "involvedObject": {}, "type": "Warning",
                "reason": reason, "message": message, "lastTimestamp": time,
            }))
            .unwrap()
        };
        let later = event(FAILURES[0], "2026-11-29T10:00:09Z", "no runtime\n for \"x\"");
        let earlier = event(FAILURES[1], "2026-11-29T10:00:01Z", "cni plugin not initialized");
        let other = event("Unhealthy", "2026-11-29T10:00:30Z", "probe failed");
        assert_eq!(
            last_failure(&[earlier, later, other.clone()]).as_deref(),
            Some("FailedCreatePodSandBox: no runtime for \"x\"")
        );
        assert_eq!(last_failure(&[other]), None);
    }
}
