//! Objects of networks, as they are printed: what a run makes, but for what it learns from the cluster. That is the owner's
//! identity, the nodes that the scheduler has chosen for earlier pods, and the ports that are free.

use super::catalogue::{ClientPlacement, ClusterNetworkDefinition, DEFINITIONS};
use super::mesh::mesh_proxy;
use crate::nodes::{NodeChoice, NodePairs};
use crate::objects::{
    PodRequest, PodRole, PublishedPort, owner_object, pod_object, service_object,
};
use crate::options::ClusterOptions;
use crate::run_id::RunId;
use crate::server_policies::policy_objects;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tare_network::{Error, NetworkParameters, NetworkSpec, Shape};

/// Network of a plan, as a run raises it.
#[derive(Clone, Debug)]
pub struct PlannedNetwork<'a> {
    /// Network and its options.
    pub network: &'a NetworkSpec,
    /// Shape of the network.
    pub shape: &'a Shape,
    /// Ports of the servers.
    pub ports: Vec<u16>,
}

/// Objects that a run makes, with their versions and kinds, for `kubectl apply --filename -`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunManifest(Vec<Value>);

impl RunManifest {
    /// Returns the objects of a run of these networks, each once. Networks of other places have none.
    ///
    /// # Errors
    /// A network cannot have its shape.
    pub(crate) fn new(
        options: &ClusterOptions,
        networks: &[PlannedNetwork<'_>],
    ) -> Result<Self, Error> {
        let run = RunId::example();
        let mut objects = vec![owner(&run)];
        for planned in networks {
            objects.extend(planned_objects(options, &run, planned)?);
        }
        let mut known = BTreeSet::new();
        objects.retain(|object| {
            known.insert((object["kind"].to_string(), object["metadata"]["name"].to_string()))
        });
        if let Some(namespace) = &options.namespace {
            for object in &mut objects {
                object["metadata"]["namespace"] = namespace.as_str().into();
            }
        }
        Ok(Self(objects))
    }

    /// Formats the objects as documents of YAML.
    ///
    /// # Errors
    /// The library that writes YAML fails.
    pub fn to_yaml(&self) -> Result<String, Error> {
        serde_saphyr::to_string_multiple(&self.0)
            .map_err(|error| Error::new("write the objects as YAML", error))
    }

    /// Formats the objects as a list of the API, in JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        format!("{:#}\n", json!({"apiVersion": "v1", "kind": "List", "items": self.0}))
    }
}

/// Returns the objects of a network of a plan; none if it is one of another place.
fn planned_objects(
    options: &ClusterOptions,
    run: &RunId,
    planned: &PlannedNetwork<'_>,
) -> Result<Vec<Value>, Error> {
    let name = planned.network.name.as_str();
    let Some(definition) = DEFINITIONS.iter().find(|one| one.info.name == name) else {
        return Ok(Vec::new());
    };
    definition.check_shape(planned.shape)?;
    let site = NetworkParameters::from_spec(planned.network, planned.ports.clone());
    Ok(network_objects(definition, options, run, planned.shape, &site))
}

/// Returns the object that owns all others.
pub(super) fn owner(run: &RunId) -> Value {
    complete("v1", "ConfigMap", &owner_object(run))
}

/// Returns the pods of a network, then its policies and its service.
pub(super) fn network_objects(
    definition: &ClusterNetworkDefinition,
    options: &ClusterOptions,
    run: &RunId,
    shape: &Shape,
    site: &NetworkParameters,
) -> Vec<Value> {
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
            proxy: mesh_proxy(&site.options),
            node,
        };
        complete("v1", "Pod", &pod_object(run, None, options, &request))
    };
    let mut objects: Vec<Value> =
        (0..shape.servers).map(|index| pod(PodRole::Server, index, server_node.clone())).collect();
    let client_node = match definition.clients {
        ClientPlacement::OtherNode => Some(pairs.client_node(shape.node_pair)),
        ClientPlacement::SameNode => Some(server_node),
        ClientPlacement::InServers => None,
    };
    if let Some(node) = client_node {
        objects.extend((0..shape.clients).map(|index| pod(PodRole::Client, index, node.clone())));
    }
    let policies = definition.policies(&site.options);
    let policies = policy_objects(run, &network, policies, shape.family);
    objects
        .extend(policies.iter().map(|one| complete("networking.k8s.io/v1", "NetworkPolicy", one)));
    objects.extend(definition.service(&site.options).map(|request| {
        let both = |&port: &u16| {
            ["TCP", "UDP"].map(|protocol| PublishedPort { protocol, port, node_port: None })
        };
        let ports: Vec<PublishedPort> = site.ports.iter().flat_map(both).collect();
        complete("v1", "Service", &service_object(run, None, &network, request, &ports))
    }));
    objects
}

/// Returns an object with its version and kind, which the API's types leave to the request's address.
fn complete(version: &str, kind: &str, object: &impl Serialize) -> Value {
    let mut object = serde_json::to_value(object).unwrap_or_default();
    object["kind"] = kind.into();
    object["apiVersion"] = version.into();
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(networks: &[&str], options: &ClusterOptions) -> Vec<(String, String)> {
        let spelled: Vec<NetworkSpec> = networks.iter().map(|one| one.parse().unwrap()).collect();
        let shapes = [Shape::default(), Shape { clients: 2, ..Shape::default() }];
        let planned = |network| {
            shapes.each_ref().map(|shape| PlannedNetwork { network, shape, ports: vec![5201] })
        };
        let planned: Vec<PlannedNetwork<'_>> = spelled.iter().flat_map(planned).collect();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let RunManifest(objects) = RunManifest::new(options, &planned).unwrap();
        for object in &objects {
            let namespace = object["metadata"]["namespace"].as_str();
            assert_eq!(namespace, options.namespace.as_deref(), "{object}");
        }
        objects.iter().map(|one| (text(&one["kind"]), text(&one["metadata"]["name"]))).collect()
    }

    #[test]
    fn each_object_of_a_run_is_there_once() {
        let options = ClusterOptions { namespace: Some("net".to_owned()), ..Default::default() };
        let found = objects(&["host", "k8s:service", "k8s:policy+policies=2"], &options);
        let expected = [
            ("ConfigMap", "tare-example"),
            ("Pod", "tare-example-service-server-0"),
            ("Pod", "tare-example-service-client-0"),
            ("Service", "tare-example-service-servers"),
            ("Pod", "tare-example-service-client-1"),
            ("Pod", "tare-example-policy-2-server-0"),
            ("Pod", "tare-example-policy-2-client-0"),
            ("NetworkPolicy", "tare-example-policy-2-policy-0"),
            ("NetworkPolicy", "tare-example-policy-2-policy-1"),
            ("Pod", "tare-example-policy-2-client-1"),
        ];
        let expected = expected.map(|(kind, name)| (kind.to_owned(), name.to_owned()));
        assert_eq!(found, expected);
    }

    #[test]
    fn yaml_and_json_are_the_same_objects() {
        let network: NetworkSpec = "k8s:nodeport+local".parse().unwrap();
        let shape = Shape::default();
        let planned = [PlannedNetwork { network: &network, shape: &shape, ports: vec![1, 2] }];
        let options = ClusterOptions {
            // A word that YAML 1.1 takes for true.
            node_labels: vec!["pool=yes".to_owned()],
            ..ClusterOptions::default()
        };
        let manifest = RunManifest::new(&options, &planned).unwrap();
        let yaml = manifest.to_yaml().unwrap();
        let documents: Vec<Value> = serde_saphyr::from_multiple(&yaml).unwrap();
        assert_eq!(documents, manifest.0, "{yaml}");
        let list: Value = serde_json::from_str(&manifest.to_json()).unwrap();
        assert_eq!(list["items"], Value::Array(documents));
        for quoted in ["sidecar.istio.io/inject: \"false\"", "pool: \"yes\""] {
            assert!(yaml.contains(quoted), "{quoted}: {yaml}");
        }
    }

    #[test]
    fn a_shape_that_a_network_cannot_have_is_refused() {
        let network: NetworkSpec = "k8s:service".parse().unwrap();
        let shape = Shape { servers: 2, ..Shape::default() };
        let planned = [PlannedNetwork { network: &network, shape: &shape, ports: Vec::new() }];
        let error = RunManifest::new(&ClusterOptions::default(), &planned).unwrap_err();
        assert!(error.to_string().starts_with("cannot lay out k8s:service"), "{error}");
    }
}
