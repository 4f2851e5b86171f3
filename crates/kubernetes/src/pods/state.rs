//! State of a pod, as its status tells: whether it runs, has ended, or why it does not start.

use crate::objects::CONTAINER;
use k8s_openapi::api::core::v1::{ContainerState, ContainerStateTerminated, Pod, PodStatus};

/// Reasons of a waiting container that do not pass by themselves.
const STUCK: [&str; 6] = [
    "ErrImageNeverPull",
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "CreateContainerConfigError",
    "CreateContainerError",
];

/// Returns whether tare's container in the pod runs.
pub(crate) fn is_running(pod: &Pod) -> bool {
    container_state(pod).is_some_and(|state| state.running.is_some())
}

/// Returns whether all containers of the pod have ended.
pub(crate) fn has_ended(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Failed" | "Succeeded"))
}

/// Returns why the pod has ended, or is about to end. Returns `None` if it has not.
pub(crate) fn end_of(pod: &Pod) -> Option<String> {
    let status = pod.status.as_ref()?;
    if has_ended(pod) {
        let own = in_one_line(status.reason.as_deref(), status.message.as_deref());
        let why = if own.is_empty() { end_of_container(status).unwrap_or(own) } else { own };
        return Some(format!("the pod has ended: {why}"));
    }
    pod.metadata.deletion_timestamp.as_ref().map(|_| "the pod is being deleted".to_owned())
}

/// Returns how a container ended: tare's, or the first that failed of those that the cluster put into the pod.
fn end_of_container(status: &PodStatus) -> Option<String> {
    let own = status.container_statuses.iter().flatten();
    let all = own.chain(status.init_container_statuses.iter().flatten());
    let ended = all.filter_map(|one| Some((&one.name, one.state.as_ref()?.terminated.as_ref()?)));
    let ended: Vec<(&String, &ContainerStateTerminated)> = ended.collect();
    let how = |ended: &ContainerStateTerminated| {
        let reason = in_one_line(ended.reason.as_deref(), ended.message.as_deref());
        format!("{reason} (exit code {})", ended.exit_code)
    };
    if let Some((_, ended)) = ended.iter().find(|(name, _)| *name == CONTAINER) {
        return Some(how(ended));
    }
    let (name, failed) = ended.iter().find(|(_, ended)| ended.exit_code != 0)?;
    Some(format!("its container {name}: {}", how(failed)))
}

/// Returns why the pod does not start, if the reason does not pass by itself.
pub(crate) fn obstacle(pod: &Pod) -> Option<String> {
    let waiting = container_state(pod)?.waiting.as_ref()?;
    let reason = waiting.reason.as_deref()?;
    let message = waiting.message.as_deref().map(one_line).unwrap_or_default();
    STUCK.contains(&reason).then(|| format!("{reason}: {message}"))
}

/// Returns why the pod waits for a node, in the scheduler's words. Returns `None` if it has one.
pub(crate) fn pending_reason(pod: &Pod) -> Option<String> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let unscheduled = conditions
        .iter()
        .find(|condition| condition.type_ == "PodScheduled" && condition.status == "False")?;
    Some(unscheduled.message.as_deref().map(one_line).unwrap_or_else(|| "no node".to_owned()))
}

/// Returns the state of tare's container. Others may have been put into the pod.
fn container_state(pod: &Pod) -> Option<&ContainerState> {
    let statuses = pod.status.as_ref()?.container_statuses.as_ref()?;
    statuses.iter().find(|status| status.name == CONTAINER)?.state.as_ref()
}

/// Returns a reason and a message, of which either may be absent, in one line.
pub(crate) fn in_one_line(reason: Option<&str>, message: Option<&str>) -> String {
    [reason, message].into_iter().flatten().map(one_line).collect::<Vec<_>>().join(": ")
}

fn one_line(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(status: serde_json::Value) -> Pod {
        serde_json::from_value(json!({"metadata": {}, "status": status})).unwrap()
    }

    #[test]
    fn states_are_told_by_the_status() {
        let state = |state: serde_json::Value| {
            let status = json!({"name": "tare", "image": "", "imageID": "", "ready": true, "restartCount": 0, "state": state});
            let proxy = json!({"name": "proxy", "image": "", "imageID": "", "ready": true, "restartCount": 0,
                "state": {"running": {}}});
            pod(json!({"phase": "Running", "containerStatuses": [proxy, status]}))
        };
        let running = state(json!({"running": {}}));
        assert!(is_running(&running) && end_of(&running).is_none() && obstacle(&running).is_none());
        let pulling = state(json!({"waiting": {"reason": "ContainerCreating"}}));
        assert!(!is_running(&pulling) && obstacle(&pulling).is_none());
        let stuck =
            state(json!({"waiting": {"reason": "ErrImageNeverPull", "message": "no\n image"}}));
        assert_eq!(obstacle(&stuck).as_deref(), Some("ErrImageNeverPull: no image"));
    }

    #[test]
    fn ends_have_reasons() {
        let evicted =
            pod(json!({"phase": "Failed", "reason": "Evicted", "message": "low on memory"}));
        assert_eq!(end_of(&evicted).as_deref(), Some("the pod has ended: Evicted: low on memory"));
        let killed = json!({"name": "tare", "image": "", "imageID": "", "ready": false, "restartCount": 0,
            "state": {"terminated": {"exitCode": 137, "reason": "Error"}}});
        let killed = pod(json!({"phase": "Failed", "containerStatuses": [killed]}));
        assert_eq!(end_of(&killed).as_deref(), Some("the pod has ended: Error (exit code 137)"));
        let failed = json!({"name": "mesh-rules", "image": "", "imageID": "", "ready": false, "restartCount": 0,
            "state": {"terminated": {"exitCode": 1, "reason": "Error"}}});
        let failed = pod(json!({"phase": "Failed", "initContainerStatuses": [failed]}));
        let why = "the pod has ended: its container mesh-rules: Error (exit code 1)";
        assert_eq!(end_of(&failed).as_deref(), Some(why));
        let waits = pod(json!({"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "status": "False", "message": "0/2 nodes are available"}]}));
        assert_eq!(pending_reason(&waits).as_deref(), Some("0/2 nodes are available"));
    }
}
