//! Pods of Podman, which Docker's API does not list.

use super::{Leftover, LeftoverKind};
use crate::address::EngineAddress;
use crate::podman::libpod::{LibpodRefusal, LibpodRequest};
use serde_json::Value;
use std::collections::HashMap;

/// Lists the pods that carry a label, `NAME` or `NAME=VALUE`. An engine that is not Podman has none, nor has one behind
/// TLS or ssh, where tare makes none.
pub(super) async fn list(
    address: &EngineAddress,
    label: &str,
) -> Result<Vec<Leftover>, LibpodRefusal> {
    if matches!(address, EngineAddress::Tls(..) | EngineAddress::Ssh(_)) {
        return Ok(Vec::new());
    }
    let label = label.replace('=', "%3D");
    let filters = format!("%7B%22label%22%3A%5B%22{label}%22%5D%7D");
    match LibpodRequest::get(format!("/pods/json?filters={filters}")).send(address).await {
        Err(LibpodRefusal::NotFound) => Ok(Vec::new()),
        answer => Ok(pods(&answer?)),
    }
}

fn pods(answer: &Value) -> Vec<Leftover> {
    let pods = answer.as_array().into_iter().flatten();
    let pod = |pod: &Value| {
        let text = |field: &str| pod[field].as_str().unwrap_or_default().to_owned();
        let labels: Option<HashMap<String, String>> =
            serde_json::from_value(pod["Labels"].clone()).ok();
        Leftover::from_labels(LeftoverKind::Pod, (text("Id"), text("Name")), labels.as_ref())
    };
    pods.filter_map(pod).collect()
}

/// Removes a pod with everything in it. A pod that does not exist counts as removed.
///
/// # Errors
/// Podman's refusal.
pub(crate) async fn remove_pod(address: &EngineAddress, id: &str) -> Result<(), LibpodRefusal> {
    match LibpodRequest::delete(format!("/pods/{id}?force=true")).send(address).await {
        Ok(_) | Err(LibpodRefusal::NotFound) => Ok(()),
        Err(refusal) => Err(refusal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_pods_with_a_runs_name_and_label_are_its_own() {
        let labels = json!({"tare.run": "0123456789ab"});
        let answer = json!([
            {"Id": "1", "Name": "tare-0123456789ab-4-pod", "Labels": labels},
            {"Id": "2", "Name": "mine", "Labels": labels},
            {"Id": "3", "Name": "tare-0123456789ab-5-pod", "Labels": null},
        ]);
        let found = pods(&answer);
        let found: Vec<_> = found.iter().map(|one| (one.id.as_str(), one.run.as_str())).collect();
        assert_eq!(found, [("1", "0123456789ab")]);
        assert_eq!(pods(&Value::Null), []);
    }
}
