//! `published-proxy`: a client on the node, and a server on a bridge whose published port a process on the node serves.
//!
//! Where Docker's own `docker-proxy` is on the PATH it is that process; elsewhere tare's stand-in is ([`crate::proxy`]),
//! and the hop says which.

use super::{Recipe, wired};
use crate::docker::BRIDGE;
use crate::layout::{Endpoint, Layout, Proof, Waypoint, one_node, routes};
use crate::nodes::{BRIDGED_PAST_NETFILTER, DockerBridge, Plugged, UPLINK, add_nodes};
use crate::programs::{Program, Ready};
use crate::wiring::{SpaceId, Wiring};
use crate::{program, proxy};
use std::net::SocketAddr;
use std::path::PathBuf;
use tare_network::{About, Error, Hop, HopKind, Need, NetworkOption, Shape, Site};

pub(super) struct PublishedProxy;

/// Docker's own.
const DOCKER_PROXY: &str = "docker-proxy";

impl Recipe for PublishedProxy {
    fn about(&self) -> About {
        About {
            name: "published-proxy",
            summary: "a client on the node, a server on the bridge behind a userland proxy",
            stands_for: "docker run --publish PORT:PORT by docker-proxy alone: dockerd --iptables=false",
            source: "moby, cmd/docker-proxy",
            options: &NetworkOption::CABLED,
        }
    }

    fn needs(&self, _: &Site) -> Vec<Need> {
        wired()
    }

    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        one_node("published-proxy", shape)?;
        let mut wiring = Wiring::new(shape.family, shape.mtu);
        let node = add_nodes(&mut wiring, 1, &BRIDGED_PAST_NETFILTER)[0];
        let outer = node.addresses(&mut wiring, shape.servers)?;
        let mut bridge = DockerBridge::add(&mut wiring, node, site.options.rate);
        let servers: Vec<Plugged> = (0..shape.servers)
            .map(|index| {
                let (name, port) = (format!("server-{index}"), format!("veth-s{index}"));
                bridge.plug(&mut wiring, &name, &port)
            })
            .collect();
        let which = Which::found();
        for (server, on) in servers.iter().zip(&outer) {
            wiring.neighbour(node.space, BRIDGE, server.slot);
            wiring.neighbour(server.space, UPLINK, bridge.gateway());
            for &port in &site.ports {
                let host = SocketAddr::new(on.address(shape.family), port);
                let container = SocketAddr::new(server.slot.address(shape.family), port);
                for protocol in ["tcp", "udp"] {
                    wiring.programs.push(which.program(node.space, protocol, host, container));
                }
            }
        }
        let client = Endpoint { space: Some(node.space), address: outer[0].address(shape.family) };
        let endpoint = |one: &Plugged| Endpoint {
            space: Some(one.space),
            address: one.slot.address(shape.family),
        };
        let forwarder = Hop::new(HopKind::Forwarder, DOCKER_PROXY, wiring.name(node.space))
            .with_detail(which.detail());
        Ok(Layout {
            servers: servers.iter().map(endpoint).collect(),
            clients: (0..shape.clients).map(|_| client.clone()).collect(),
            routes: routes(shape, site, |_, server| {
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
            proof: Some(Proof::Device { space: node.space, name: "veth-s0".to_owned() }),
            wiring,
        })
    }
}

/// Which program forwards.
enum Which {
    Dockers(PathBuf),
    Ours,
}

impl Which {
    fn found() -> Self {
        program::find(DOCKER_PROXY).map_or(Self::Ours, Self::Dockers)
    }

    /// The process that serves one port.
    fn program(
        &self,
        node: SpaceId,
        protocol: &str,
        host: SocketAddr,
        container: SocketAddr,
    ) -> Program {
        let arguments = proxy::arguments(protocol, host, container);
        let program = match self {
            // It says that it listens, by a 0, on the descriptor by which dockerd hears of it.
            Self::Dockers(path) => {
                let line = format!("exec {} {} 3>&1", path.display(), arguments.join(" "));
                let ready = Ready::Says(vec!["0".to_owned()]);
                Program::daemon(node, "sh", ["-c".to_owned(), line], ready)
            }
            Self::Ours => {
                let own = std::env::current_exe().unwrap_or_else(|_| "tare".into());
                let words = std::iter::once("proxy".to_owned()).chain(arguments);
                let ready = Ready::Says(vec![proxy::READY.to_owned()]);
                Program::daemon(node, &own.to_string_lossy(), words, ready)
            }
        };
        program.named(format!("{DOCKER_PROXY}-{protocol}-{}-{}", host.ip(), host.port()))
    }

    fn detail(&self) -> String {
        let which = match self {
            Self::Dockers(path) => path.display().to_string(),
            Self::Ours => format!("tare proxy, which stands for {DOCKER_PROXY}"),
        };
        format!("{which}: a process for each port and protocol")
    }
}
