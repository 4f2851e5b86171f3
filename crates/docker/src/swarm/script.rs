//! The commands that a reader is shown.

use crate::networks::laid::names;
use tare_network::Shape;

/// The image that they run.
const IMAGE: &str = concat!("tare:", env!("CARGO_PKG_VERSION"));

/// The image, on every node.
pub(super) fn image() -> String {
    "for NODE in $(docker node ls --format '{{.Hostname}}'); do tare image | ssh \"$NODE\" docker load; done".to_owned()
}

/// A service of one task on a node.
pub(super) fn service(name: &str, node: u32, flags: &str) -> String {
    format!(
        "docker service create --detach --no-resolve-image --restart-condition none --name {name} \
         --constraint node.hostname==\"$NODE_{node}\" {flags} {IMAGE} listen"
    )
}

/// Both sides' services, all attached alike.
pub(super) fn both(shape: &Shape, flags: &str) -> Vec<String> {
    sides(shape, flags, flags)
}

/// Both sides' services.
pub(super) fn sides(shape: &Shape, of_servers: &str, of_clients: &str) -> Vec<String> {
    let nodes = shape.nodes.max(1);
    let with_servers = (nodes / 2).max(1);
    let mut lines = nodes_lines(nodes);
    let servers = names("server", shape.servers).zip(0_u32..);
    lines.extend(
        servers
            .map(|(name, n)| service(&name, nodes - with_servers + n % with_servers, of_servers)),
    );
    let clients = names("client", shape.clients).zip(0_u32..);
    lines.extend(
        clients.map(|(name, n)| service(&name, n % (nodes - with_servers).max(1), of_clients)),
    );
    lines
}

/// The nodes by number.
fn nodes_lines(nodes: u32) -> Vec<String> {
    let node = |n| {
        format!(
            "NODE_{n}=$(docker node ls --format '{{{{.Hostname}}}}' | sort | sed -n {}p)",
            n + 1
        )
    };
    (0..nodes).map(node).collect()
}
