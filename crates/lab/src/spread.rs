//! Which node a container is on.
//!
//! Servers are on the last half of the nodes, clients on the others, each in turn: whatever the numbers, a client and
//! its server are on different nodes, and on many nodes all of them talk. Of three nodes two have clients.

use tare_network::Shape;

/// The nodes of a shape, as they are shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spread {
    nodes: usize,
    with_servers: usize,
}

impl Spread {
    /// That of a shape.
    pub(crate) fn of(shape: &Shape) -> Self {
        let nodes = shape.nodes.max(1) as usize;
        Self { nodes, with_servers: (nodes / 2).max(1) }
    }

    /// The node of a server.
    pub(crate) fn server(self, index: usize) -> usize {
        self.nodes - self.with_servers + index % self.with_servers
    }

    /// The node of a client.
    pub(crate) fn client(self, index: usize) -> usize {
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

    fn spread(nodes: u32) -> Spread {
        Spread::of(&Shape { nodes, ..Shape::default() })
    }

    #[test]
    fn one_node_has_all_and_of_three_two_have_clients() {
        assert_eq!((spread(1).client(5), spread(1).server(7)), (0, 0));
        assert_eq!((spread(2).client(5), spread(2).server(7)), (0, 1));
        let three = spread(3);
        assert_eq!((0..4).map(|index| three.client(index)).collect::<Vec<_>>(), [0, 1, 0, 1]);
        assert_eq!(three.server(1), 2);
        assert_eq!((0..4).map(|index| spread(4).server(index)).collect::<Vec<_>>(), [2, 3, 2, 3]);
    }

    proptest! {
        #[test]
        fn no_client_shares_a_node_with_a_server(nodes in 2_u32..=32, client: u16, server: u16) {
            let spread = spread(nodes);
            let (client, server) = (spread.client(client.into()), spread.server(server.into()));
            prop_assert!(client < server && server < nodes as usize);
        }
    }
}
