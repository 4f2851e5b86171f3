//! Placement of containers on nodes.
//!
//! Servers are on the last half of the nodes, clients on the others, each in turn. For all numbers a client and its
//! server are on different nodes, and on many nodes all of them communicate. Of three nodes, two have clients.

use tare_network::Shape;

/// Nodes of a shape, divided between servers and clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodePlacement {
    nodes: usize,
    with_servers: usize,
}

impl NodePlacement {
    /// Returns the placement for a shape.
    pub(crate) fn for_shape(shape: &Shape) -> Self {
        let nodes = shape.nodes.max(1) as usize;
        Self { nodes, with_servers: (nodes / 2).max(1) }
    }

    /// Returns the node of a server.
    pub(crate) fn server_node(self, index: usize) -> usize {
        self.nodes - self.with_servers + index % self.with_servers
    }

    /// Returns the node of a client.
    pub(crate) fn client_node(self, index: usize) -> usize {
        match self.nodes - self.with_servers {
            0 => 0,
            with_clients => index % with_clients,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spread(nodes: u32) -> NodePlacement {
        NodePlacement::for_shape(&Shape { nodes, ..Shape::default() })
    }

    #[test]
    fn one_node_has_all_and_of_three_two_have_clients() {
        assert_eq!((spread(1).client_node(5), spread(1).server_node(7)), (0, 0));
        assert_eq!((spread(2).client_node(5), spread(2).server_node(7)), (0, 1));
        let three = spread(3);
        assert_eq!((0..4).map(|index| three.client_node(index)).collect::<Vec<_>>(), [0, 1, 0, 1]);
        assert_eq!(three.server_node(1), 2);
        assert_eq!(
            (0..4).map(|index| spread(4).server_node(index)).collect::<Vec<_>>(),
            [2, 3, 2, 3]
        );
    }

    proptest! {
        #[test]
        fn no_client_shares_a_node_with_a_server(nodes in 2_u32..=32, client: u16, server: u16) {
            let spread = spread(nodes);
            let (client, server) = (spread.client_node(client.into()), spread.server_node(server.into()));
            prop_assert!(client < server && server < nodes as usize);
        }
    }
}
