//! Commands by which a reader can build the same network.

use super::catalogue::{ClientPlacement, ClusterNetworkDefinition};
use crate::nodes::{NodeChoice, NodePairs};
use crate::objects::{
    PodRequest, PodRole, PublishedPort, owner_object, pod_object, service_object,
};
use crate::options::ClusterOptions;
use crate::run_id::RunId;
use crate::server_policies::policy_objects;
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
        apply_line("v1", "ConfigMap", &owner_object(&run)),
    ];
    let network = definition.object_name(&site.options, shape.node_pair);
    let pairs = NodePairs::new(options.server_nodes.clone(), options.client_nodes.clone());
    let server_node = pairs.server_node(shape.node_pair);
    let pod = |role, index, node: NodeChoice| {
        let request = PodRequest {
            network: &network,
            role,
            index,
            pod_network: definition.pod_network,
            runtime_class: site.options.runtime,
            node,
        };
        apply_line("v1", "Pod", &pod_object(&run, None, options, &request))
    };
    lines.extend((0..shape.servers).map(|index| pod(PodRole::Server, index, server_node.clone())));
    let client_node = match definition.clients {
        ClientPlacement::OtherNode => Some(pairs.client_node(shape.node_pair)),
        ClientPlacement::SameNode => Some(server_node.clone()),
        ClientPlacement::InServers => None,
    };
    if let Some(node) = client_node {
        lines.extend((0..shape.clients).map(|index| pod(PodRole::Client, index, node.clone())));
    }
    let policies = definition.policies(&site.options);
    let policies = policy_objects(&run, &network, policies, shape.family);
    lines.extend(
        policies.iter().map(|one| apply_line("networking.k8s.io/v1", "NetworkPolicy", one)),
    );
    let Some(request) = definition.service(&site.options) else { return lines };
    let both = |&port: &u16| {
        ["TCP", "UDP"].map(|protocol| PublishedPort { protocol, port, node_port: None })
    };
    let ports: Vec<PublishedPort> = site.ports.iter().flat_map(both).collect();
    let service = service_object(&run, None, &network, request, &ports);
    lines.push(apply_line("v1", "Service", &service));
    lines
}

/// Returns the command that makes an object. JSON is YAML, too.
fn apply_line(version: &str, kind: &str, object: &impl Serialize) -> String {
    let mut object = serde_json::to_value(object).unwrap_or_default();
    object["kind"] = kind.into();
    object["apiVersion"] = version.into();
    format!("kubectl apply -f - <<'EOF'\n{object}\nEOF")
}
