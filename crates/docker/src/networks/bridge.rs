//! Network `docker:bridge`: two containers on the engine's default bridge.

use super::layout::{NetworkLayout, PathStep, direct_routes, start_both};
use super::machine::{MachineSnapshot, bridge_hops};
use super::{DockerNetworkDefinition, OPTIONS, script};
use crate::engine_resources::EngineResources;
use crate::requirement::EngineRequirement;
use tare_network::{Error, HopKind, NetworkInfo, NetworkParameters, Shape};

/// Name of the engine's default network.
pub(super) const DEFAULT_NETWORK: &str = "bridge";

/// Device of a container that Docker attaches to a single network.
pub(super) const DEVICE: &str = "eth0";

/// Option of the driver for the name of the bridge.
const BRIDGE_NAME: &str = "com.docker.network.bridge.name";

pub(super) struct DefaultBridgeNetwork;

impl DockerNetworkDefinition for DefaultBridgeNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "docker:bridge",
            summary: "two Docker containers on the default bridge",
            stands_for: "docker run",
            source: "https://docs.docker.com/engine/network/drivers/bridge/",
            options: OPTIONS,
        }
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<EngineRequirement> {
        Vec::new()
    }

    fn lay_out(
        &self,
        work: &EngineResources,
        shape: &Shape,
        site: &NetworkParameters,
    ) -> Result<NetworkLayout, Error> {
        let (servers, clients) = start_both(work, DEFAULT_NETWORK, shape)?;
        let path = bridge_path(work, DEFAULT_NETWORK)?;
        Ok(NetworkLayout { routes: direct_routes(shape, site, &servers), servers, clients, path })
    }

    fn commands(&self, shape: &Shape, _: &NetworkParameters) -> Vec<String> {
        script::all_lines(shape, "")
    }
}

/// Returns the path between two containers on a bridge of the engine.
pub(super) fn bridge_path(work: &EngineResources, network: &str) -> Result<Vec<PathStep>, Error> {
    let seen = MachineSnapshot::take(work)?.snapshot;
    let name = bridge_device(work, network)?;
    let mut path = vec![PathStep::ClientDevice(HopKind::Veth, DEVICE)];
    path.extend(bridge_hops(&seen, &name, "bridge").into_iter().map(PathStep::Node));
    path.push(PathStep::ServerDevice(HopKind::Veth, DEVICE));
    Ok(path)
}

/// Returns the bridge device of a network of the driver `bridge`.
pub(super) fn bridge_device(work: &EngineResources, network: &str) -> Result<String, Error> {
    let inspecting = work.engine().docker().inspect_network(network, None);
    let inspected = work.engine().request(format!("inspect the network {network}"), inspecting)?;
    let named = inspected.options.and_then(|options| options.get(BRIDGE_NAME).cloned());
    // Docker names other bridges after the first twelve digits of the network's id.
    let derived = || inspected.id.unwrap_or_default().chars().take(12).collect::<String>();
    Ok(named.unwrap_or_else(|| format!("br-{}", derived())))
}
