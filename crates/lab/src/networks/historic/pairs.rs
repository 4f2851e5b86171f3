//! `CLIENT/SERVER`: client and server placed in different ways on their nodes, each as in `host` or on Docker's default
//! bridge.
//!
//! The placements are: `direct` and `host`, the node's own namespace (a program without a container, and one in a
//! container with the host's network); `bridge`, a container on Docker's default bridge; and `published`, such a
//! container whose port its node publishes. From another node, a container on a bridge can be reached by a published
//! port only, because Docker drops packets to its own address. Across nodes, a `bridge` server is therefore dialled
//! like a `published` one.

use crate::networks::single_host::bridge::docker_requirements;
use crate::networks::single_host::placed_sides::SidePlacement;
use crate::networks::single_host::{bridge, host, placed_sides, published};
use crate::networks::{LabNetworkDefinition, veth_and_bridge_requirements};
use crate::plan::layout::Layout;
use crate::plan::underlay::{MOST_NODES, check_nodes};
use std::ops::RangeInclusive;
use tare_network::{Error, NetworkInfo, NetworkOption, NetworkParameters, Requirement, Shape};

/// Options of a pair with Docker's bridge on either side.
const WITH_DOCKER: &[NetworkOption] = &NetworkOption::DOCKER_RULES;

/// Network that places client and server in given ways.
pub(crate) struct PlacementPair {
    name: &'static str,
    summary: &'static str,
    client: SidePlacement,
    server: SidePlacement,
}

const fn pair(
    name: &'static str,
    client: SidePlacement,
    server: SidePlacement,
    summary: &'static str,
) -> PlacementPair {
    PlacementPair { name, summary, client, server }
}

/// All pairs: those of the MySQL study (direct, host and bridge on either side), and those with a published port.
pub(crate) const PAIRS: [PlacementPair; 12] = {
    use SidePlacement::{Bridge, Node, Published};
    [
        pair("direct/direct", Node, Node, "neither side in a container"),
        pair(
            "direct/host",
            Node,
            Node,
            "a client without a container, a server on its host's network",
        ),
        pair(
            "direct/bridge",
            Node,
            Bridge,
            "a client without a container, a server on Docker's bridge",
        ),
        pair(
            "direct/published",
            Node,
            Published,
            "a client without a container, a server behind a published port",
        ),
        pair(
            "host/direct",
            Node,
            Node,
            "a client on its host's network, a server without a container",
        ),
        pair("host/host", Node, Node, "both sides on their hosts' networks"),
        pair(
            "host/bridge",
            Node,
            Bridge,
            "a client on its host's network, a server on Docker's bridge",
        ),
        pair(
            "host/published",
            Node,
            Published,
            "a client on its host's network, a server behind a published port",
        ),
        pair(
            "bridge/direct",
            Bridge,
            Node,
            "a client on Docker's bridge, a server without a container",
        ),
        pair(
            "bridge/host",
            Bridge,
            Node,
            "a client on Docker's bridge, a server on its host's network",
        ),
        pair("bridge/bridge", Bridge, Bridge, "both sides on Docker's bridges"),
        pair(
            "bridge/published",
            Bridge,
            Published,
            "a client on Docker's bridge, a server behind a published port",
        ),
    ]
};

impl PlacementPair {
    /// Returns the least number of nodes. A bridge/published pair needs two: Docker does not apply its rules for
    /// published ports to packets from its own bridge, for which it has a proxy.
    const fn min_nodes(&self) -> u32 {
        if matches!((self.client, self.server), (SidePlacement::Bridge, SidePlacement::Published)) {
            2
        } else {
            1
        }
    }

    fn has_docker(&self) -> bool {
        self.client != SidePlacement::Node || self.server != SidePlacement::Node
    }
}

impl LabNetworkDefinition for PlacementPair {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: self.name,
            summary: self.summary,
            stands_for: "programs on Docker hosts, each side placed in its own way",
            source: "moby, integration/network/bridge/iptablesdoc",
            options: if self.has_docker() { WITH_DOCKER } else { &[NetworkOption::Without] },
        }
    }

    fn nodes(&self) -> RangeInclusive<u32> {
        self.min_nodes()..=MOST_NODES
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        if self.has_docker() { docker_requirements() } else { veth_and_bridge_requirements() }
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        check_nodes(self.name, self.min_nodes(), shape)?;
        match (self.client, self.server, shape.nodes) {
            (SidePlacement::Node, SidePlacement::Node, _) => host::layout(self.name, shape, site),
            (SidePlacement::Node, SidePlacement::Published, 1) => {
                published::PublishedPortNetwork.layout(shape, site)
            }
            (SidePlacement::Bridge, SidePlacement::Bridge, 1) => {
                bridge::DockerBridgeNetwork.layout(shape, site)
            }
            (client, server, _) => placed_sides::layout(client, server, shape, site),
        }
    }
}
