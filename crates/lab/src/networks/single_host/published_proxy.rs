//! `published-proxy`: a client on the node, and a server on a bridge whose published port is served by a process on the
//! node.
//!
//! The process is Docker's `docker-proxy` if it is on the PATH, otherwise tare's stand-in
//! ([`crate::stand_ins::userland_proxy`]). The hop names the one that runs.

use crate::networks::{LabNetworkDefinition, veth_and_bridge_requirements};
use crate::plan::docker_rules::BRIDGE;
use crate::plan::layout::{
    Layout, NamespaceEndpoint, PathProof, Waypoint, check_one_node, client_routes,
};
use crate::plan::nodes::{
    BRIDGED_PAST_NETFILTER, BridgedContainer, DockerBridge, UPLINK, add_nodes,
};
use crate::plan::wiring::{NamespaceId, Wiring};
use crate::programs::{Program, ReadyCondition, StandIn};
use crate::stand_ins::userland_proxy;
use std::net::SocketAddr;
use std::path::PathBuf;
use tare_network::{
    Error, Hop, HopKind, INTERNAL, NetworkInfo, NetworkOption, NetworkParameters, Requirement,
    Shape, quote,
};
use tare_sandbox::program;

pub(crate) struct PublishedProxyNetwork;

/// Name of Docker's own proxy.
const DOCKER_PROXY: &str = "docker-proxy";

impl LabNetworkDefinition for PublishedProxyNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "published-proxy",
            summary: "a client on the node, a server on the bridge behind a userland proxy",
            stands_for: "docker run --publish PORT:PORT by docker-proxy alone: dockerd --iptables=false",
            source: "moby, cmd/docker-proxy",
            options: &NetworkOption::DEVICE_PAIRS,
        }
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        veth_and_bridge_requirements()
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        check_one_node("published-proxy", shape)?;
        let mut wiring = Wiring::new(shape.family, shape.mtu);
        let node = add_nodes(&mut wiring, 1, &BRIDGED_PAST_NETFILTER)[0];
        let outer = node.addresses(&mut wiring, shape.servers)?;
        let mut bridge = DockerBridge::add(&mut wiring, node, site.options.rate);
        let servers: Vec<BridgedContainer> = (0..shape.servers)
            .map(|index| {
                let (name, port) = (format!("server-{index}"), format!("veth-s{index}"));
                bridge.add_container(&mut wiring, &name, &port)
            })
            .collect();
        let which = ProxyProgram::find();
        for (server, on) in servers.iter().zip(&outer) {
            wiring.add_neighbour(node.space, BRIDGE, server.slot);
            wiring.add_neighbour(server.space, UPLINK, bridge.gateway());
            for &port in &site.ports {
                let host = SocketAddr::new(on.address(shape.family), port);
                let container = SocketAddr::new(server.slot.address(shape.family), port);
                for protocol in ["tcp", "udp"] {
                    wiring.programs.push(which.daemon(node.space, protocol, host, container));
                }
            }
        }
        let client =
            NamespaceEndpoint { space: Some(node.space), address: outer[0].address(shape.family) };
        let endpoint = |one: &BridgedContainer| NamespaceEndpoint {
            space: Some(one.space),
            address: one.slot.address(shape.family),
        };
        let forwarder = Hop::new(HopKind::Forwarder, DOCKER_PROXY, wiring.name(node.space))
            .with_detail(which.detail());
        Ok(Layout {
            servers: servers.iter().map(endpoint).collect(),
            clients: (0..shape.clients).map(|_| client.clone()).collect(),
            routes: client_routes(shape, site, |_, server| {
                let listen = servers[server].slot.address(shape.family);
                (listen, outer[server].address(shape.family))
            }),
            path: vec![
                Waypoint::loopback(Some(node.space)),
                Waypoint::Other(forwarder),
                Waypoint::device(HopKind::Bridge, node.space, BRIDGE),
                Waypoint::device(HopKind::Veth, node.space, "veth-s0"),
                Waypoint::device(HopKind::Veth, servers[0].space, UPLINK),
            ],
            proof: Some(PathProof::Device { space: node.space, name: "veth-s0".to_owned() }),
            wiring,
        })
    }
}

/// Program that forwards.
enum ProxyProgram {
    DockerProxy(PathBuf),
    TareProxy,
}

impl ProxyProgram {
    fn find() -> Self {
        program::find(DOCKER_PROXY).map_or(Self::TareProxy, Self::DockerProxy)
    }

    /// Returns the daemon that serves one port.
    fn daemon(
        &self,
        node: NamespaceId,
        protocol: &str,
        host: SocketAddr,
        container: SocketAddr,
    ) -> Program {
        let arguments = userland_proxy::arguments(protocol, host, container);
        let program = match self {
            // docker-proxy reports that it listens by writing 0 to descriptor 3, which dockerd reads.
            Self::DockerProxy(path) => {
                let mut words = vec![quote(&path.to_string_lossy())];
                words.extend(arguments.iter().map(|word| quote(word)));
                let line = format!("exec {} 3>&1", words.join(" "));
                let ready = ReadyCondition::OutputContains(vec!["0".to_owned()]);
                Program::daemon(node, "sh", ["-c".to_owned(), line], ready)
            }
            Self::TareProxy => {
                let own = std::env::current_exe().unwrap_or_else(|_| "tare".into());
                let words = [INTERNAL, "proxy"].map(str::to_owned).into_iter().chain(arguments);
                let ready = ReadyCondition::OutputContains(vec![userland_proxy::READY.to_owned()]);
                Program::daemon(node, &own.to_string_lossy(), words, ready).standing_in(StandIn {
                    used: userland_proxy::PROCESS_NAME.to_owned(),
                    original: DOCKER_PROXY.to_owned(),
                    reason: format!("{DOCKER_PROXY} is not on the PATH"),
                })
            }
        };
        program.with_name(format!("{DOCKER_PROXY}-{protocol}-{}-{}", host.ip(), host.port()))
    }

    fn detail(&self) -> String {
        let which = match self {
            Self::DockerProxy(path) => path.display().to_string(),
            Self::TareProxy => {
                format!("{}, tare's stand-in for {DOCKER_PROXY}", userland_proxy::PROCESS_NAME)
            }
        };
        format!("{which}: a process for each port and protocol")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_proxy_is_one_word_of_the_shell() {
        let proxy = ProxyProgram::DockerProxy("/opt/my docker/docker-proxy".into());
        let [host, container] = ["10.0.0.1:80", "10.0.0.2:80"].map(|one| one.parse().unwrap());
        let daemon = proxy.daemon(NamespaceId(0), "tcp", host, container);
        let line = &daemon.arguments[1];
        assert!(line.starts_with("exec '/opt/my docker/docker-proxy' -proto tcp "), "{line}");
        assert!(line.ends_with(" 3>&1"), "{line}");
    }
}
