//! Commands that are shown to a reader.

use tare_docker::networks::layout::container_names;
use tare_network::Shape;

/// Image in these commands.
const IMAGE: &str = concat!("tare:", env!("CARGO_PKG_VERSION"));

/// Returns the command that loads the image on every node.
pub(super) fn image_line() -> String {
    "for NODE in $(docker node ls --format '{{.Hostname}}'); do tare image | ssh \"$NODE\" docker load; done".to_owned()
}

/// Returns the command for a service of one task on a node.
pub(super) fn service_line(name: &str, node: u32, flags: &str) -> String {
    format!(
        "docker service create --detach --no-resolve-image --restart-condition none --name {name} \
         --constraint node.hostname==\"$NODE_{node}\" {flags} {IMAGE} listen"
    )
}

/// Returns the commands for the services of servers and clients, all attached alike.
pub(super) fn uniform_lines(shape: &Shape, flags: &str) -> Vec<String> {
    service_lines(shape, flags, flags)
}

/// Returns the commands for the services of servers and clients.
pub(super) fn service_lines(shape: &Shape, of_servers: &str, of_clients: &str) -> Vec<String> {
    let nodes = shape.nodes.max(1);
    let with_servers = (nodes / 2).max(1);
    let mut lines = node_lines(nodes);
    let servers = container_names("server", shape.servers).zip(0_u32..);
    lines.extend(
        servers.map(|(name, n)| {
            service_line(&name, nodes - with_servers + n % with_servers, of_servers)
        }),
    );
    let clients = container_names("client", shape.clients).zip(0_u32..);
    lines.extend(
        clients.map(|(name, n)| service_line(&name, n % (nodes - with_servers).max(1), of_clients)),
    );
    lines
}

/// Returns the commands that set the names of the nodes, by number.
fn node_lines(nodes: u32) -> Vec<String> {
    let node = |n| {
        format!(
            "NODE_{n}=$(docker node ls --format '{{{{.Hostname}}}}' | sort | sed -n {}p)",
            n + 1
        )
    };
    (0..nodes).map(node).collect()
}
