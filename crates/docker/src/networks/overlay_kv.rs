//! Network `docker:overlay-kv`: the overlay of 2015, whose engines share a key-value store.
//!
//! dockerd had it from 1.9 to 20.10 (`--cluster-store`, `--cluster-advertise`), before Swarm mode and alongside it. A
//! network that one engine makes appears on all of them a moment later.

use super::layout::{
    NetworkEndpoint, NetworkLayout, PathStep, container_specs, direct_routes, endpoint_on_network,
};
use super::overlay::{VXLAN_OVERHEAD, overlay_command, overlay_request};
use super::two_engines::{CLIENTS_NODE, SERVERS_NODE};
use super::{DockerNetworkDefinition, OPTIONS, script};
use crate::engine_resources::{AttachTo, EngineResources};
use crate::error::is_not_found;
use crate::requirement::EngineRequirement;
use std::time::{Duration, Instant};
use tare_network::{Error, Hop, HopKind, NetworkInfo, NetworkParameters, Shape};

pub(super) struct OverlayKvNetwork;

/// Timeout for a network to appear on the other engine, and interval of polling.
const APPEARANCE_TIMEOUT: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Remedy for an engine without such a store.
const STORE_REMEDY: &str = "start dockerd 20.10 or older, outside a Swarm, with --cluster-store etcd://HOST:PORT and \
                      --cluster-advertise ADDRESS:PORT; or use swarm:overlay";

impl DockerNetworkDefinition for OverlayKvNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "docker:overlay-kv",
            summary: "containers on an overlay network of two engines that share a key-value store",
            stands_for: "dockerd --cluster-store, docker network create --driver overlay, as of 2015",
            source: "https://github.com/moby/moby/blob/20.10/libnetwork/docs/overlay.md",
            options: OPTIONS,
        }
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<EngineRequirement> {
        vec![EngineRequirement::TwoContexts, EngineRequirement::Driver("overlay")]
    }

    fn supports_two_engines(&self) -> bool {
        true
    }

    fn lay_out(
        &self,
        _: &EngineResources,
        _: &Shape,
        _: &NetworkParameters,
    ) -> Result<NetworkLayout, Error> {
        Err(Error::new("lay out docker:overlay-kv", "the network needs two engines")
            .with_remedy("use --server-context A --client-context B"))
    }

    fn lay_out_apart(
        &self,
        servers: &EngineResources,
        clients: &EngineResources,
        shape: &Shape,
        site: &NetworkParameters,
    ) -> Result<NetworkLayout, Error> {
        let made = servers.create_network(overlay_request(shape, VXLAN_OVERHEAD));
        let network = made.map_err(|error| error.with_remedy(STORE_REMEDY))?;
        wait_for_network(clients, &network)?;
        let side = |work: &EngineResources, role, count| -> Result<Vec<NetworkEndpoint>, Error> {
            let started = work.start_containers(&container_specs(
                role,
                count,
                &AttachTo::Network(network.clone()),
            ))?;
            started.into_iter().map(|one| endpoint_on_network(one, &network, shape)).collect()
        };
        let on_servers = side(servers, "server", shape.servers)?;
        let on_clients = side(clients, "client", shape.clients)?;
        let bridge = |place| {
            PathStep::Node(Hop::new(HopKind::Bridge, "br0", place).with_detail("driver overlay"))
        };
        let vxlan = Hop::new(HopKind::Encapsulation, "vxlan0", CLIENTS_NODE);
        Ok(NetworkLayout {
            routes: direct_routes(shape, site, &on_servers),
            servers: on_servers,
            clients: on_clients,
            path: vec![
                PathStep::ClientAddressDevice(HopKind::Veth),
                bridge(CLIENTS_NODE),
                PathStep::Node(vxlan.with_detail("VXLAN, UDP 4789")),
                bridge(SERVERS_NODE),
                PathStep::ServerAddressDevice(HopKind::Veth),
            ],
        })
    }

    fn commands(&self, shape: &Shape, _: &NetworkParameters) -> Vec<String> {
        let on =
            |name, line: String| line.replacen("docker", &format!("docker --context {name}"), 1);
        let mut lines = vec![
            "# on both machines: dockerd --cluster-store etcd://HOST:2379 --cluster-advertise ADDRESS:2376"
                .to_owned(),
        ];
        lines.extend(["A", "B"].map(|name| format!("tare image | docker --context {name} load")));
        lines.push(on("A", overlay_command(shape, VXLAN_OVERHEAD, "")));
        lines.push(on("A", script::run_line("server-0", "--network tare")));
        lines.push(on("B", script::run_line("client-0", "--network tare")));
        lines
    }
}

/// Waits until a network that one engine has made appears on another.
fn wait_for_network(work: &EngineResources, network: &str) -> Result<(), Error> {
    let what = "find the network of the servers' engine on the clients' engine";
    let engine = work.engine();
    let deadline = Instant::now() + APPEARANCE_TIMEOUT;
    loop {
        match engine.wait(engine.docker().inspect_network(network, None)) {
            Ok(_) => return Ok(()),
            Err(refusal) if !is_not_found(&refusal) => return Err(engine.to_error(what, &refusal)),
            Err(_) if Instant::now() >= deadline => {
                let why = format!(
                    "the network did not appear within {} s: the engines share no key-value store",
                    APPEARANCE_TIMEOUT.as_secs()
                );
                return Err(Error::new(what, why).with_remedy(STORE_REMEDY));
            }
            Err(_) => std::thread::sleep(POLL_INTERVAL),
        }
    }
}
