//! Pairs of nodes of a run: those that the user names, and those that the scheduler chose.
//!
//! The rule: each pair has a server's node that no other pair has, unless the user names one for several, and a client's
//! node that no other pair has with that server's node; if possible, no other pair at all has that client's node. With several pairs, those with odd numbers have both nodes in one zone and those with even
//! numbers in two, as far as the scheduler finds such nodes.

use super::choice::{NodeChoice, NodeRules, ZonePreference};
use std::collections::BTreeMap;

/// Nodes that the user names for the pods of one role: one for all pairs, or one for each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedNodes(pub Vec<String>);

impl NamedNodes {
    /// Returns the node of a pair, which is `None` for the only one.
    pub(crate) fn of_pair(&self, pair: Option<u32>) -> Option<&str> {
        let at = match self.0.len() {
            1 => 0,
            _ => pair.map_or(0, |pair| pair.saturating_sub(1) as usize),
        };
        self.0.get(at).map(String::as_str)
    }
}

/// Nodes of one pair, once they are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct NodePair {
    /// Node of the servers.
    server: Option<String>,
    /// Node of the clients that are on another node than the servers.
    client: Option<String>,
}

/// Pairs of nodes of a run. All networks of a run are on the same pairs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodePairs {
    named_servers: NamedNodes,
    named_clients: NamedNodes,
    /// Pairs by number; a run with a single pair has it under `None`.
    known: BTreeMap<Option<u32>, NodePair>,
}

impl NodePairs {
    /// Creates the pairs from the nodes that the user names.
    pub(crate) fn new(named_servers: NamedNodes, named_clients: NamedNodes) -> Self {
        Self { named_servers, named_clients, known: BTreeMap::new() }
    }

    /// Returns the node on which a pair's servers must be.
    pub(crate) fn server_node(&self, pair: Option<u32>) -> NodeChoice {
        let known = self.known.get(&pair).and_then(|one| one.server.as_deref());
        match known.or_else(|| self.named_servers.of_pair(pair)) {
            Some(name) => NodeChoice::Named(name.to_owned()),
            None => NodeChoice::Scheduled(NodeRules {
                refused: self.known.values().filter_map(|one| one.server.clone()).collect(),
                ..NodeRules::default()
            }),
        }
    }

    /// Returns the node on which a pair's clients on another node than its servers must be.
    pub(crate) fn client_node(&self, pair: Option<u32>) -> NodeChoice {
        let known = self.known.get(&pair).and_then(|one| one.client.as_deref());
        let server = self.named_servers.of_pair(pair);
        let has_server = |one: &&NodePair| server.is_some() && one.server.as_deref() == server;
        let with_server = self.known.values().filter(has_server);
        match known.or_else(|| self.named_clients.of_pair(pair)) {
            Some(name) => NodeChoice::Named(name.to_owned()),
            None => NodeChoice::Scheduled(NodeRules {
                refused: with_server.filter_map(|one| one.client.clone()).collect(),
                spared: self.known.values().filter_map(|one| one.client.clone()).collect(),
                is_apart_from_servers: true,
                zone: zone_of_pair(pair),
            }),
        }
    }

    /// Remembers the nodes of a pair's pods. The first ones count.
    pub(crate) fn learn(&mut self, pair: Option<u32>, server: Option<&str>, client: Option<&str>) {
        let known = self.known.entry(pair).or_default();
        known.server = known.server.take().or_else(|| server.map(str::to_owned));
        known.client = known.client.take().or_else(|| client.map(str::to_owned));
    }
}

fn zone_of_pair(pair: Option<u32>) -> ZonePreference {
    match pair {
        None => ZonePreference::Any,
        Some(odd) if odd % 2 == 1 => ZonePreference::OfServers,
        Some(_) => ZonePreference::NotOfServers,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[&str]) -> NamedNodes {
        NamedNodes(names.iter().map(|&name| name.to_owned()).collect())
    }

    #[test]
    fn one_named_node_is_for_all_pairs_and_several_are_for_one_each() {
        let all = named(&["a"]);
        assert_eq!([None, Some(1), Some(3)].map(|pair| all.of_pair(pair)), [Some("a"); 3]);
        let each = named(&["a", "b"]);
        let pairs = [None, Some(1), Some(2), Some(3)];
        assert_eq!(pairs.map(|pair| each.of_pair(pair)), [Some("a"), Some("a"), Some("b"), None]);
        assert_eq!(named(&[]).of_pair(Some(1)), None);
    }

    #[test]
    fn nodes_that_are_known_stay_and_other_pairs_keep_off() {
        let mut pairs = NodePairs::default();
        let (first, second) = (Some(1), Some(2));
        assert_eq!(pairs.server_node(first), NodeChoice::Scheduled(NodeRules::default()));
        pairs.learn(first, Some("a"), None);
        pairs.learn(first, Some("z"), Some("b"));
        assert_eq!(pairs.server_node(first), NodeChoice::Named("a".to_owned()));
        assert_eq!(pairs.client_node(first), NodeChoice::Named("b".to_owned()));
        let rules = |choice| match choice {
            NodeChoice::Scheduled(rules) => rules,
            NodeChoice::Named(name) => panic!("{name} was known"),
        };
        assert_eq!(rules(pairs.server_node(second)).refused, ["a"]);
        let client = rules(pairs.client_node(second));
        assert_eq!((client.spared, client.is_apart_from_servers), (vec!["b".to_owned()], true));
        assert_eq!(client.zone, ZonePreference::NotOfServers);
        assert_eq!(rules(pairs.client_node(Some(3))).zone, ZonePreference::OfServers);
    }

    #[test]
    fn pairs_with_one_server_have_different_clients() {
        let mut pairs = NodePairs::new(named(&["a"]), NamedNodes::default());
        pairs.learn(Some(1), Some("a"), Some("b"));
        let NodeChoice::Scheduled(rules) = pairs.client_node(Some(2)) else { panic!("no name") };
        assert_eq!(rules.refused, ["b"]);
        let mut pairs = NodePairs::new(named(&["a", "c"]), NamedNodes::default());
        pairs.learn(Some(1), Some("a"), Some("b"));
        let NodeChoice::Scheduled(rules) = pairs.client_node(Some(2)) else { panic!("no name") };
        assert_eq!((rules.refused, rules.spared), (vec![], vec!["b".to_owned()]));
    }

    #[test]
    fn a_single_pair_asks_for_no_zone() {
        let pairs = NodePairs::new(named(&["a"]), NamedNodes::default());
        assert_eq!(pairs.server_node(None), NodeChoice::Named("a".to_owned()));
        let rules = NodeRules { is_apart_from_servers: true, ..NodeRules::default() };
        assert_eq!(pairs.client_node(None), NodeChoice::Scheduled(rules));
    }
}
