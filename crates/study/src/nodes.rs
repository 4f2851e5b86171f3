//! Expansion of shapes over nodes: their number, the links between them, and their background load.

use crate::Error;
use crate::spec::ShapeLists;
use tare_network::{Background, NodeLink};
use tare_record::{MtuSource, Shape};

/// Largest number of nodes: enough for every published n:m pair, and small enough for one machine.
pub(crate) const MOST_NODES: u32 = 32;

/// Largest number of pairs of a cluster's nodes: each keeps the pods of all networks for the whole run.
const MOST_NODE_PAIRS: u32 = 32;

/// Expands shapes over every number of nodes, every link, every background load, and every pair of a cluster's nodes.
pub(crate) fn expand_nodes(shapes: &[Shape], lists: &ShapeLists) -> Result<Vec<Shape>, Error> {
    let empty = [
        ("nodes", lists.nodes.as_ref().is_some_and(Vec::is_empty)),
        ("link", lists.link.as_ref().is_some_and(Vec::is_empty)),
        ("background", lists.background.as_ref().is_some_and(Vec::is_empty)),
    ];
    if let Some((what, _)) = empty.into_iter().find(|(_, empty)| *empty) {
        return Err(Error::EmptyList { what: what.to_owned() });
    }
    let mut all = Vec::new();
    for &nodes in lists.nodes.as_deref().unwrap_or(&[1]) {
        check_nodes(nodes, lists)?;
        for link in optional(lists.link.as_deref()) {
            for background in optional(lists.background.as_deref()) {
                all.extend(shapes.iter().map(|shape| Shape {
                    nodes,
                    mtu_by: mtu_by(nodes, lists),
                    link: link.clone(),
                    clamp_mss: lists.clamp_mss.unwrap_or_default(),
                    background: background.clone(),
                    ..shape.clone()
                }));
            }
        }
    }
    let of_pair = |node_pair| all.iter().map(move |shape| Shape { node_pair, ..shape.clone() });
    Ok(node_pairs(lists)?.into_iter().flat_map(of_pair).collect())
}

/// Returns the numbers of the pairs of nodes. A single pair has no number.
fn node_pairs(lists: &ShapeLists) -> Result<Vec<Option<u32>>, Error> {
    match lists.node_pairs {
        None | Some(1) => Ok(vec![None]),
        Some(pairs @ 2..=MOST_NODE_PAIRS) => Ok((1..=pairs).map(Some).collect()),
        Some(other) => {
            Err(Error::range("node-pairs", other, &format!("a number from 1 to {MOST_NODE_PAIRS}")))
        }
    }
}

/// Returns the values of a list, or a single `None` if there is no list.
fn optional(list: Option<&[String]>) -> Vec<Option<String>> {
    list.map_or_else(|| vec![None], |list| list.iter().cloned().map(Some).collect())
}

/// Returns the source of the MTU. On several nodes the network chooses a container's MTU, unless the user names one.
fn mtu_by(nodes: u32, lists: &ShapeLists) -> MtuSource {
    if nodes > 1 && lists.mtu.is_some() { MtuSource::User } else { MtuSource::Network }
}

fn check_nodes(nodes: u32, lists: &ShapeLists) -> Result<(), Error> {
    if !(1..=MOST_NODES).contains(&nodes) {
        return Err(Error::range("nodes", nodes, &format!("a number from 1 to {MOST_NODES}")));
    }
    for link in lists.link.iter().flatten() {
        link.parse::<NodeLink>().map_err(|error| Error::Parameter { reason: error.to_string() })?;
        if nodes == 1 {
            return Err(Error::OneNode { link: link.clone() });
        }
    }
    for background in lists.background.iter().flatten() {
        background.parse::<Background>().map_err(|reason| Error::Parameter { reason })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes(toml: &str) -> Result<Vec<Shape>, String> {
        let lists: ShapeLists = toml::from_str(toml).unwrap();
        crate::shapes::expand_shapes(&lists).map_err(|error| error.to_string())
    }

    #[test]
    fn every_combination_is_a_shape() {
        let all =
            shapes("nodes = [2, 3]\nflows = [1, 4]\nlink = ['rate=1gbit', 'mtu=9000']").unwrap();
        assert_eq!(all.len(), 8);
        assert!(all.iter().all(|shape| shape.mtu_by == MtuSource::Network));
        assert_eq!((all[0].nodes, all[7].nodes), (2, 3));
        assert_eq!(all[7].link.as_deref(), Some("mtu=9000"));
    }

    #[test]
    fn each_pair_of_nodes_is_a_shape_and_a_single_one_has_no_number() {
        let pairs =
            |toml| shapes(toml).unwrap().iter().map(|one| one.node_pair).collect::<Vec<_>>();
        assert_eq!(pairs("node-pairs = 3"), [Some(1), Some(2), Some(3)]);
        assert_eq!(pairs("node-pairs = 1"), [None]);
    }

    #[test]
    fn an_mtu_that_the_user_names_is_the_users_where_there_are_several_nodes() {
        assert_eq!(shapes("nodes = [2]\nmtu = [1500]").unwrap()[0].mtu_by, MtuSource::User);
        assert_eq!(shapes("mtu = [1500]").unwrap()[0].mtu_by, MtuSource::Network);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let cases = [
            ("nodes = [33]", "invalid value `33` for nodes: expected a number from 1 to 32"),
            ("nodes = [0]", "invalid value `0` for nodes: expected a number from 1 to 32"),
            ("nodes = []", "the list of nodes is empty: give at least one value"),
            ("link = ['rate=1gbit']", "one node has no links: use --nodes 2 or more"),
            ("nodes = [2]\nlink = ['fast']", "invalid link `fast`"),
            ("background = ['cpu']", "invalid background load `cpu`"),
            ("node-pairs = 0", "invalid value `0` for node-pairs: expected a number from 1 to 32"),
        ];
        for (toml, words) in cases {
            let error = shapes(toml).unwrap_err();
            assert!(error.contains(words), "{toml}: {error}");
        }
    }
}
