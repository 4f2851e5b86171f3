//! Commands by which a reader can build the same network.

use super::catalogue::{ClientPlacement, ClusterNetworkDefinition, Exposure};
use crate::objects::{
    NodeChoice, PodRequest, PodRole, PublishedPort, ServiceKind, owner_object, pod_object,
    service_object,
};
use crate::options::ClusterOptions;
use crate::run_id::RunId;
use serde::Serialize;
use tare_network::{NetworkParameters, Shape};

/// Returns the objects of a network as `kubectl apply` takes them.
pub(super) fn commands(
    definition: &ClusterNetworkDefinition,
    options: &ClusterOptions,
    shape: &Shape,
    site: &NetworkParameters,
) -> Vec<String> {
    if let Err(error) = definition.check_shape(shape) {
        return vec![format!("# {error}")];
    }
    let run = RunId::example();
    let mut lines = vec![
        format!("# the image {} must be known to the nodes: tare image --help", options.image),
        apply_line("ConfigMap", &owner_object(&run)),
    ];
    let server_node = options.server_node.clone().map_or(NodeChoice::Any, NodeChoice::Named);
    let pod = |role, index, node: NodeChoice| {
        let request = PodRequest {
            network: definition.short_name(),
            role,
            index,
            pod_network: definition.pod_network,
            node,
        };
        apply_line("Pod", &pod_object(&run, None, options, &request))
    };
    lines.extend((0..shape.servers).map(|index| pod(PodRole::Server, index, server_node.clone())));
    let client_node = match definition.clients {
        ClientPlacement::OtherNode => {
            Some(options.client_node.clone().map_or(NodeChoice::NotOfServers, NodeChoice::Named))
        }
        ClientPlacement::SameNode => Some(server_node.clone()),
        ClientPlacement::InServers => None,
    };
    if let Some(node) = client_node {
        lines.extend((0..shape.clients).map(|index| pod(PodRole::Client, index, node.clone())));
    }
    let kind = match definition.exposure {
        Exposure::Address => return lines,
        Exposure::ClusterIp => ServiceKind::ClusterIp,
        Exposure::NodePort => ServiceKind::NodePort,
    };
    let both = |&port: &u16| {
        ["TCP", "UDP"].map(|protocol| PublishedPort { protocol, port, node_port: None })
    };
    let ports: Vec<PublishedPort> = site.ports.iter().flat_map(both).collect();
    lines.push(apply_line(
        "Service",
        &service_object(&run, None, definition.short_name(), kind, &ports),
    ));
    lines
}

/// Returns the command that makes an object. JSON is YAML, too.
fn apply_line(kind: &str, object: &impl Serialize) -> String {
    let mut object = serde_json::to_value(object).unwrap_or_default();
    object["kind"] = kind.into();
    object["apiVersion"] = "v1".into();
    format!("kubectl apply -f - <<'EOF'\n{object}\nEOF")
}
