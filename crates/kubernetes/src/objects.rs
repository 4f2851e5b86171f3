//! Objects that a run makes in a cluster: the pods of its servers and clients, its services, and their owner.
//!
//! The pods meet the `restricted` Pod Security Standard, but for those in a node's network namespace, which no standard
//! but `privileged` allows.

use crate::nodes::NodeChoice;
use crate::options::ClusterOptions;
use crate::run_id::{NETWORK_LABEL, ROLE_LABEL, RUN_LABEL, RunId};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::{Value, json};
use tare_network::RuntimeName;

/// Time after which the cluster ends a pod whatever happens, seconds. The agent in the pod ends far earlier if nobody
/// speaks to it.
const DEADLINE_SECONDS: u32 = 24 * 3600;

/// Name of tare's container in a pod, in which others may be put.
pub(crate) const CONTAINER: &str = "tare";

/// User and group in the pods: one that owns nothing.
const UNPRIVILEGED_ID: u32 = 65532;

/// Role of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PodRole {
    /// Pod of a server.
    Server,
    /// Pod of a client.
    Client,
}

impl PodRole {
    /// Returns the role's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
        }
    }
}

/// Network namespace of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PodNetwork {
    /// Its own, on the cluster's pod network.
    Cluster,
    /// The node's.
    Host,
}

/// Proxy of a service mesh in a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MeshProxy {
    /// A mesh is asked to leave the pod alone.
    Refused,
    /// A mesh is asked to put its proxy before the pod.
    Wanted,
}

impl MeshProxy {
    /// Returns the label by which Istio decides.
    fn istio_label(self) -> &'static str {
        match self {
            Self::Refused => "false",
            Self::Wanted => "true",
        }
    }

    /// Returns the annotation by which Linkerd decides.
    fn linkerd_annotation(self) -> &'static str {
        match self {
            Self::Refused => "disabled",
            Self::Wanted => "enabled",
        }
    }
}

/// Request for a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PodRequest<'a> {
    /// Network that the pod is part of, without its prefix.
    pub(crate) network: &'a str,
    /// Role of the pod.
    pub(crate) role: PodRole,
    /// Number of the pod among those of its role.
    pub(crate) index: u32,
    /// Network namespace of the pod.
    pub(crate) pod_network: PodNetwork,
    /// Runtime class of the pod; `None` for the cluster's default runtime.
    pub(crate) runtime_class: Option<RuntimeName>,
    /// Proxy of a service mesh in the pod.
    pub(crate) proxy: MeshProxy,
    /// Node of the pod.
    pub(crate) node: NodeChoice,
}

impl PodRequest<'_> {
    /// Returns the name of the pod within its network.
    pub(crate) fn member_name(&self) -> String {
        format!("{}-{}", self.role.name(), self.index)
    }
}

/// Port of a service, and of the servers behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PublishedPort {
    /// Protocol: `TCP` or `UDP`.
    pub(crate) protocol: &'static str,
    /// Port on which servers listen, and which clients connect to unless the node's port is used.
    pub(crate) port: u16,
    /// Port of every node; `None` to let the cluster choose, if the service has such ports.
    pub(crate) node_port: Option<u16>,
}

/// Kind of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServiceKind {
    /// An address of the cluster.
    ClusterIp,
    /// A port of every node, too.
    NodePort,
}

impl ServiceKind {
    fn name(self) -> &'static str {
        match self {
            Self::ClusterIp => "ClusterIP",
            Self::NodePort => "NodePort",
        }
    }
}

/// Endpoints to which a service forwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrafficPolicy {
    /// All of them; a node port rewrites the client's address if need be.
    Cluster,
    /// Those on the node that packets reach, with the client's own address.
    Local,
}

impl TrafficPolicy {
    fn name(self) -> &'static str {
        match self {
            Self::Cluster => "Cluster",
            Self::Local => "Local",
        }
    }
}

/// Request for a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServiceRequest {
    /// Kind of the service.
    pub(crate) kind: ServiceKind,
    /// Endpoints to which it forwards.
    pub(crate) traffic: TrafficPolicy,
}

impl ServiceRequest {
    /// Returns the field of the service that has the traffic policy.
    fn traffic_field(self) -> &'static str {
        match self.kind {
            ServiceKind::ClusterIp => "internalTrafficPolicy",
            ServiceKind::NodePort => "externalTrafficPolicy",
        }
    }
}

/// Returns the object that owns everything else of a run: deleting it deletes all.
pub(crate) fn owner_object(run: &RunId) -> ConfigMap {
    typed(json!({
        "metadata": {"name": run.owner_name(), "labels": run.labels()},
        "data": {"tare": "owner of the objects of a run: deleting it deletes them"},
    }))
}

/// Returns the pod of a server or client.
pub(crate) fn pod_object(
    run: &RunId,
    owner: Option<&OwnerReference>,
    options: &ClusterOptions,
    request: &PodRequest<'_>,
) -> Pod {
    let mut labels = json!(run.labels());
    labels[NETWORK_LABEL] = json!(request.network);
    labels[ROLE_LABEL] = json!(request.role.name());
    let (istio, linkerd) = (request.proxy.istio_label(), request.proxy.linkerd_annotation());
    labels["sidecar.istio.io/inject"] = json!(istio);
    let annotations = json!({"linkerd.io/inject": linkerd, "sidecar.istio.io/inject": istio});
    let is_host = request.pod_network == PodNetwork::Host;
    typed(json!({
        "metadata": {
            "name": run.object_name(request.network, &request.member_name()),
            "labels": labels,
            "annotations": annotations,
            "ownerReferences": owner.map(|owner| [owner]),
        },
        "spec": {
            "restartPolicy": "Never",
            "activeDeadlineSeconds": DEADLINE_SECONDS,
            "terminationGracePeriodSeconds": 1,
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            "hostNetwork": is_host,
            "runtimeClassName": request.runtime_class.map(|name| name.to_string()),
            "dnsPolicy": if is_host { "ClusterFirstWithHostNet" } else { "ClusterFirst" },
            "securityContext": {
                "runAsNonRoot": true,
                "runAsUser": UNPRIVILEGED_ID,
                "runAsGroup": UNPRIVILEGED_ID,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [{
                "name": CONTAINER,
                "image": options.image,
                "imagePullPolicy": "IfNotPresent",
                "command": ["/tare", "internal", "pod-agent"],
                "stdin": true,
                "securityContext": {
                    "allowPrivilegeEscalation": false,
                    "capabilities": {"drop": ["ALL"]},
                },
                // No limit of CPU: a throttled end would be measured instead of the network.
                "resources": {
                    "requests": {"cpu": "100m", "memory": "64Mi"},
                    "limits": {"memory": "512Mi"},
                },
            }],
            "affinity":
                non_empty(request.node.affinity(&pod_labels(run, request.network, PodRole::Server))),
            "nodeSelector": non_empty(node_selector(&options.node_labels)),
            "tolerations": non_empty(options.tolerations.iter().map(|key| toleration(key)).collect()),
            "imagePullSecrets":
                non_empty(options.pull_secrets.iter().map(|name| json!({"name": name})).collect()),
            "priorityClassName": options.priority_class,
        },
    }))
}

/// Returns the service of a network's servers.
pub(crate) fn service_object(
    run: &RunId,
    owner: Option<&OwnerReference>,
    network: &str,
    request: ServiceRequest,
    ports: &[PublishedPort],
) -> Service {
    typed(json!({
        "metadata": network_metadata(run, owner, network, "servers"),
        "spec": {
            "type": request.kind.name(),
            request.traffic_field(): request.traffic.name(),
            "selector": pod_labels(run, network, PodRole::Server),
            "ports": service_ports(ports),
        },
    }))
}

/// Returns the metadata of an object of a network that is no pod.
pub(crate) fn network_metadata(
    run: &RunId,
    owner: Option<&OwnerReference>,
    network: &str,
    name: &str,
) -> Value {
    let mut labels = json!(run.labels());
    labels[NETWORK_LABEL] = json!(network);
    json!({
        "name": run.object_name(network, name),
        "labels": labels,
        "ownerReferences": owner.map(|owner| [owner]),
    })
}

/// Returns the labels that select a network's pods of a role.
pub(crate) fn pod_labels(run: &RunId, network: &str, role: PodRole) -> Value {
    json!({RUN_LABEL: run.to_string(), NETWORK_LABEL: network, ROLE_LABEL: role.name()})
}

/// Returns the ports of a service as the API has them.
pub(crate) fn service_ports(ports: &[PublishedPort]) -> Value {
    let port = |&PublishedPort { protocol, port, node_port }: &PublishedPort| {
        json!({
            "name": format!("{}-{port}", protocol.to_ascii_lowercase()),
            "protocol": protocol,
            "port": port,
            "targetPort": port,
            "nodePort": node_port,
        })
    };
    ports.iter().map(port).collect()
}

/// Returns a field's value, or none where it says nothing.
fn non_empty(value: Value) -> Option<Value> {
    let is_empty = value.as_array().is_some_and(Vec::is_empty)
        || value.as_object().is_some_and(serde_json::Map::is_empty);
    (!is_empty).then_some(value)
}

fn toleration(key: &str) -> Value {
    if key == "*" {
        json!({"operator": "Exists"})
    } else {
        json!({"key": key, "operator": "Exists"})
    }
}

fn node_selector(labels: &[String]) -> Value {
    let pairs = labels.iter().map(|label| label.split_once('=').unwrap_or((label, "")));
    Value::Object(pairs.map(|(key, value)| (key.to_owned(), json!(value))).collect())
}

/// Returns an object of the API from its JSON, which this crate writes. A test makes each kind.
#[expect(
    clippy::expect_used,
    reason = "the JSON is written in this crate, and has the API's fields"
)]
pub(crate) fn typed<T: serde::de::DeserializeOwned>(object: Value) -> T {
    serde_json::from_value(object).expect("the object has the fields of the API")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nodes::NodeRules;

    fn anywhere() -> NodeChoice {
        NodeChoice::Scheduled(NodeRules::default())
    }

    fn request(node: NodeChoice, pod_network: PodNetwork) -> PodRequest<'static> {
        let (role, index, runtime_class) = (PodRole::Client, 3, None);
        let proxy = MeshProxy::Refused;
        PodRequest { network: "pod", role, index, pod_network, runtime_class, proxy, node }
    }

    fn pod(options: &ClusterOptions, request: &PodRequest<'_>) -> Value {
        serde_json::to_value(pod_object(&RunId::fresh(), None, options, request)).unwrap()
    }

    #[test]
    fn a_pod_meets_the_restricted_standard() {
        let pod = pod(&ClusterOptions::default(), &request(anywhere(), PodNetwork::Cluster));
        let spec = &pod["spec"];
        assert_eq!(spec["securityContext"]["runAsNonRoot"], true);
        assert_eq!(spec["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
        let own = &spec["containers"][0]["securityContext"];
        assert_eq!(own["allowPrivilegeEscalation"], false);
        assert_eq!(own["capabilities"]["drop"], json!(["ALL"]));
        assert_eq!(spec["hostNetwork"], false);
        assert_eq!(spec["automountServiceAccountToken"], false);
        // What is not asked for is not there, rather than empty.
        for absent in ["affinity", "nodeSelector", "tolerations", "imagePullSecrets"] {
            assert_eq!(spec.get(absent), None, "{absent}");
        }
        assert_eq!(pod["metadata"].get("ownerReferences"), None);
        assert!(spec["activeDeadlineSeconds"].as_u64().is_some_and(|seconds| seconds > 0));
        assert!(
            pod["metadata"]["name"].as_str().is_some_and(|name| name.ends_with("-pod-client-3"))
        );
    }

    #[test]
    fn a_runtime_class_is_named_only_where_one_is_asked_for() {
        let mut request = request(anywhere(), PodNetwork::Cluster);
        let class = |request: &PodRequest<'_>| {
            pod(&ClusterOptions::default(), request)["spec"]["runtimeClassName"].clone()
        };
        assert_eq!(class(&request), Value::Null);
        request.runtime_class = Some("gvisor".parse().unwrap());
        assert_eq!(class(&request), "gvisor");
    }

    #[test]
    fn a_mesh_is_told_whether_its_proxy_is_wanted() {
        let words = |proxy| {
            let request = PodRequest { proxy, ..request(anywhere(), PodNetwork::Cluster) };
            let metadata = pod(&ClusterOptions::default(), &request)["metadata"].clone();
            let (labels, annotations) = (&metadata["labels"], &metadata["annotations"]);
            let istio = "sidecar.istio.io/inject";
            assert_eq!(labels[istio], annotations[istio]);
            [labels[istio].clone(), annotations["linkerd.io/inject"].clone()]
        };
        assert_eq!(words(MeshProxy::Refused), [json!("false"), json!("disabled")]);
        assert_eq!(words(MeshProxy::Wanted), [json!("true"), json!("enabled")]);
    }

    #[test]
    fn nodes_are_chosen_by_affinity_and_never_named_in_the_spec() {
        let options = ClusterOptions {
            node_labels: vec!["pool=net".to_owned()],
            tolerations: vec!["dedicated".to_owned(), "*".to_owned()],
            pull_secrets: vec!["registry".to_owned()],
            priority_class: Some("high".to_owned()),
            ..ClusterOptions::default()
        };
        let named = NodeChoice::Named("node-7".to_owned());
        let pod = pod(&options, &request(named, PodNetwork::Host));
        let spec = &pod["spec"];
        assert_eq!(spec["nodeName"], Value::Null);
        assert!(spec["affinity"]["nodeAffinity"].is_object());
        assert_eq!(spec["nodeSelector"], json!({"pool": "net"}));
        assert_eq!(spec["tolerations"].as_array().map(Vec::len), Some(2));
        assert_eq!(spec["imagePullSecrets"], json!([{"name": "registry"}]));
        assert_eq!(
            (&spec["hostNetwork"], &spec["priorityClassName"]),
            (&json!(true), &json!("high"))
        );
    }

    #[test]
    fn the_ports_of_a_service_have_names_of_their_own() {
        let port = |protocol| PublishedPort { protocol, port: 20_000, node_port: Some(30_000) };
        let ports = ["TCP", "UDP"].map(port);
        let request = ServiceRequest { kind: ServiceKind::NodePort, traffic: TrafficPolicy::Local };
        let service = service_object(&RunId::fresh(), None, "service", request, &ports);
        let service = serde_json::to_value(service).unwrap();
        let names = ["tcp-20000", "udp-20000"].map(|name| json!(name));
        let ports = service["spec"]["ports"].as_array().unwrap();
        assert_eq!(ports.iter().map(|port| port["name"].clone()).collect::<Vec<_>>(), names);
        assert_eq!(
            (&service["spec"]["type"], &ports[0]["nodePort"]),
            (&json!("NodePort"), &json!(30_000))
        );
        assert_eq!(service["spec"]["externalTrafficPolicy"], "Local");
        assert_eq!(service["spec"]["internalTrafficPolicy"], Value::Null);
    }

    #[test]
    fn the_owner_is_labelled() {
        let run = RunId::fresh();
        let owner = serde_json::to_value(owner_object(&run)).unwrap();
        assert_eq!(owner["metadata"]["labels"][RUN_LABEL], run.to_string());
        assert_eq!(owner["metadata"]["name"], run.owner_name());
    }
}
