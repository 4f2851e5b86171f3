//! Node of a pod: named, or chosen by the cluster's scheduler under rules. Nothing of the scheduler is rebuilt here.

use serde_json::{Map, Value, json};

/// Label of a node by which pods are kept apart on nodes.
const HOST_NAME: &str = "kubernetes.io/hostname";

/// Label of a node that has its zone.
pub(crate) const ZONE: &str = "topology.kubernetes.io/zone";

/// Weight of a preference: the largest of the API, as the scheduler has preferences of its own.
const WEIGHT: u32 = 100;

/// Node on which a pod must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NodeChoice {
    /// The node of this name.
    Named(String),
    /// A node that the scheduler chooses.
    Scheduled(NodeRules),
}

/// Rules by which the scheduler chooses the node of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeRules {
    /// Nodes that the pod must not be on.
    pub(crate) refused: Vec<String>,
    /// Nodes that the pod is on only if no other will have it.
    pub(crate) spared: Vec<String>,
    /// True if the node must be another than that of the network's servers.
    pub(crate) is_apart_from_servers: bool,
    /// Zone of the node.
    pub(crate) zone: ZonePreference,
}

/// Zone of a pod's node, where the scheduler finds such a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ZonePreference {
    /// Any zone.
    #[default]
    Any,
    /// The zone of the network's servers.
    OfServers,
    /// Another zone than that of the network's servers.
    NotOfServers,
}

impl NodeChoice {
    /// Returns the affinity of a pod, as the API has it. `servers` are the labels of its network's servers.
    pub(crate) fn affinity(&self, servers: &Value) -> Value {
        match self {
            Self::Named(name) => json!({"nodeAffinity": required_nodes(&node_field("In", [name]))}),
            Self::Scheduled(rules) => rules.affinity(servers),
        }
    }
}

impl NodeRules {
    fn affinity(&self, servers: &Value) -> Value {
        let mut affinity = Map::new();
        if let Some(of_nodes) = self.node_affinity() {
            affinity.insert("nodeAffinity".to_owned(), of_nodes);
        }
        let mut apart = Map::new();
        if self.is_apart_from_servers {
            apart.insert(
                "requiredDuringSchedulingIgnoredDuringExecution".to_owned(),
                json!([pod_term(servers, HOST_NAME)]),
            );
        }
        let in_zone = json!([{"weight": WEIGHT, "podAffinityTerm": pod_term(servers, ZONE)}]);
        let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
        match self.zone {
            ZonePreference::Any => {}
            ZonePreference::OfServers => {
                affinity.insert("podAffinity".to_owned(), json!({ preferred: in_zone }));
            }
            ZonePreference::NotOfServers => {
                apart.insert(preferred.to_owned(), in_zone);
            }
        }
        if !apart.is_empty() {
            affinity.insert("podAntiAffinity".to_owned(), Value::Object(apart));
        }
        Value::Object(affinity)
    }

    fn node_affinity(&self) -> Option<Value> {
        if self.refused.is_empty() && self.spared.is_empty() {
            return None;
        }
        let mut affinity = if self.refused.is_empty() {
            json!({})
        } else {
            required_nodes(&node_field("NotIn", &self.refused))
        };
        let spared = self.spared.iter().map(
            |node| json!({"weight": WEIGHT, "preference": {"matchFields": node_field("NotIn", [node])}}),
        );
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = spared.collect();
        Some(affinity)
    }
}

fn required_nodes(fields: &Value) -> Value {
    json!({"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchFields": fields}],
    }})
}

/// Returns requirements on the name of a node, of which the API takes one value each.
fn node_field<'a>(operator: &str, names: impl IntoIterator<Item = &'a String>) -> Value {
    let field =
        |name: &String| json!({"key": "metadata.name", "operator": operator, "values": [name]});
    names.into_iter().map(field).collect()
}

fn pod_term(labels: &Value, topology: &str) -> Value {
    json!({"labelSelector": {"matchLabels": labels}, "topologyKey": topology})
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::Affinity;

    fn affinity(choice: &NodeChoice) -> Value {
        let affinity = choice.affinity(&json!({"role": "server"}));
        // The API has each of these fields, and no other.
        let typed: Affinity = serde_json::from_value(affinity.clone()).unwrap();
        assert_eq!(serde_json::to_value(typed).unwrap(), affinity);
        affinity
    }

    #[test]
    fn a_named_node_is_required_and_no_rule_is_none() {
        let named = affinity(&NodeChoice::Named("node-7".to_owned()));
        let terms = &named["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
        let field = json!({"key": "metadata.name", "operator": "In", "values": ["node-7"]});
        assert_eq!(terms["nodeSelectorTerms"], json!([{"matchFields": [field]}]));
        assert_eq!(affinity(&NodeChoice::Scheduled(NodeRules::default())), json!({}));
    }

    #[test]
    fn all_refused_nodes_are_required_together_and_each_spared_one_is_a_preference() {
        let names = |names: [&str; 2]| names.map(str::to_owned).to_vec();
        let rules = NodeRules {
            refused: names(["a", "b"]),
            spared: names(["c", "d"]),
            ..NodeRules::default()
        };
        let of_nodes = &affinity(&NodeChoice::Scheduled(rules))["nodeAffinity"];
        let required = &of_nodes["requiredDuringSchedulingIgnoredDuringExecution"];
        // Requirements of one term hold together; several terms would be alternatives.
        assert_eq!(required["nodeSelectorTerms"].as_array().map(Vec::len), Some(1));
        let fields = &required["nodeSelectorTerms"][0]["matchFields"];
        assert_eq!((&fields[0]["values"], &fields[1]["values"]), (&json!(["a"]), &json!(["b"])));
        let preferred = &of_nodes["preferredDuringSchedulingIgnoredDuringExecution"];
        assert_eq!(preferred.as_array().map(Vec::len), Some(2));
        assert_eq!(preferred[1]["preference"]["matchFields"][0]["operator"], "NotIn");
    }

    #[test]
    fn zones_are_preferred_and_other_nodes_required() {
        let with = |zone| NodeRules { is_apart_from_servers: true, zone, ..NodeRules::default() };
        let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
        let across = affinity(&NodeChoice::Scheduled(with(ZonePreference::NotOfServers)));
        let apart = &across["podAntiAffinity"];
        let required = &apart["requiredDuringSchedulingIgnoredDuringExecution"][0];
        assert_eq!(required["topologyKey"], HOST_NAME);
        assert_eq!(apart[preferred][0]["podAffinityTerm"]["topologyKey"], ZONE);
        assert_eq!(across["podAffinity"], Value::Null);
        let within = affinity(&NodeChoice::Scheduled(with(ZonePreference::OfServers)));
        assert_eq!(within["podAffinity"][preferred][0]["podAffinityTerm"]["topologyKey"], ZONE);
        assert_eq!(within["podAntiAffinity"][preferred], Value::Null);
    }
}
