//! Network `docker:bridge`: two containers on the engine's default bridge.

use super::layout::{NetworkLayout, PathStep, direct_routes, start_both};
use super::machine::{MachineSnapshot, bridged_hops};
use super::{DockerNetworkDefinition, OPTIONS, script};
pub(super) use crate::container_handle::DEFAULT_NETWORK;
use crate::engine_resources::EngineResources;
use crate::podman::libpod::LibpodRequest;
use bollard::models::NetworkInspect;
use tare_netns_probe::NetnsSnapshot;
use tare_network::{Error, Family, Hop, HopKind, NetworkInfo, NetworkParameters, Shape};

/// Device of a container that Docker attaches to a single network.
pub(super) const DEVICE: &str = "eth0";

/// Option of the driver for the name of the bridge.
const BRIDGE_NAME: &str = "com.docker.network.bridge.name";

/// Name of Podman's default network.
const PODMAN_DEFAULT_NETWORK: &str = "podman";

/// Name, in hops, of the network namespace in which a Podman without root has its bridges. No container of tare's sees it.
const ROOTLESS_NAMESPACE: &str = "rootless-netns";

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

    fn lay_out(
        &self,
        work: &EngineResources,
        shape: &Shape,
        site: &NetworkParameters,
    ) -> Result<NetworkLayout, Error> {
        let (servers, clients) = start_both(work, DEFAULT_NETWORK, shape)?;
        let path = bridge_path(work, DEFAULT_NETWORK, shape.family)?;
        Ok(NetworkLayout { routes: direct_routes(shape, site, &servers), servers, clients, path })
    }

    fn commands(&self, shape: &Shape, _: &NetworkParameters) -> Vec<String> {
        script::all_lines(shape, "")
    }
}

/// Returns the path between two containers on a bridge of the engine.
pub(super) fn bridge_path(
    work: &EngineResources,
    network: &str,
    family: Family,
) -> Result<Vec<PathStep>, Error> {
    let mut path = vec![PathStep::ClientDevice(HopKind::Veth, DEVICE)];
    if work.podman().is_some_and(|podman| podman.rootless) {
        let bridge = Hop::new(HopKind::Bridge, podman_device(work, network)?, ROOTLESS_NAMESPACE);
        path.push(PathStep::Node(bridge.with_detail("driver bridge")));
    } else {
        let seen = MachineSnapshot::take(work)?.snapshot;
        let name = bridge_device(work, network, &seen)?;
        let hops = bridged_hops(&seen, &name, work.firewall(), family);
        path.extend(hops.into_iter().map(PathStep::Node));
    }
    path.push(PathStep::ServerDevice(HopKind::Veth, DEVICE));
    Ok(path)
}

/// Returns the bridge device of a network as Podman's own API states it.
fn podman_device(work: &EngineResources, network: &str) -> Result<String, Error> {
    let name = if network == DEFAULT_NETWORK { PODMAN_DEFAULT_NETWORK } else { network };
    let request = LibpodRequest::get(format!("/networks/{name}/json"));
    let inspected = work.ask_podman("inspect the network of a bridge", request)?;
    Ok(inspected["network_interface"].as_str().unwrap_or("bridge").to_owned())
}

/// Returns the bridge device of a network of the driver `bridge`, on a machine seen while containers are attached to the
/// network: Podman's bridges exist only then.
pub(super) fn bridge_device(
    work: &EngineResources,
    network: &str,
    seen: &NetnsSnapshot,
) -> Result<String, Error> {
    let inspecting = work.engine().docker().inspect_network(network, None);
    let inspected = work.engine().request(format!("inspect the network {network}"), inspecting)?;
    Ok(device_of_network(&inspected, seen))
}

/// Returns the bridge device of a network: the one that the engine names; else the one that Docker names after the first
/// twelve digits of the network's id; else, for Podman, which tells no name, the one with the network's gateway.
fn device_of_network(inspected: &NetworkInspect, seen: &NetnsSnapshot) -> String {
    let named = inspected.options.as_ref().and_then(|options| options.get(BRIDGE_NAME));
    if let Some(named) = named.filter(|named| !named.is_empty()) {
        return named.clone();
    }
    let digits = inspected.id.iter().flat_map(|id| id.chars()).take(12).collect::<String>();
    let derived = format!("br-{digits}");
    if seen.device(&derived).is_some() {
        return derived;
    }
    let configured = inspected.ipam.iter().filter_map(|ipam| ipam.config.as_ref()).flatten();
    let mut gateways = configured.filter_map(|config| config.gateway.as_ref()?.parse().ok());
    let with_gateway = gateways.find_map(|gateway| seen.device_of(gateway));
    with_gateway.filter(|device| device.bridge).map_or(derived, |device| device.name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tare_netns_probe::DeviceSnapshot;

    #[test]
    fn a_bridge_is_found_as_each_engine_names_it() {
        let bridge = |name: &str, address: &str| DeviceSnapshot {
            name: name.to_owned(),
            bridge: true,
            addresses: vec![address.parse().unwrap()],
            ..DeviceSnapshot::default()
        };
        let devices = vec![bridge("br-0123456789ab", "172.18.0.1"), bridge("podman1", "10.89.0.1")];
        let seen = NetnsSnapshot { devices, ..NetnsSnapshot::default() };
        let device = |id: &str, gateway: &str, options: serde_json::Value| {
            let ipam = json!({"Config": [{"Gateway": gateway}]});
            let network = json!({"Id": id, "IPAM": ipam, "Options": options});
            device_of_network(&serde_json::from_value(network).unwrap(), &seen)
        };
        let (docker, podman) = ("0123456789abcdef", "fedcba9876543210");
        assert_eq!(device(docker, "172.17.0.1", json!({BRIDGE_NAME: "docker0"})), "docker0");
        assert_eq!(device(docker, "10.89.0.1", json!({})), "br-0123456789ab");
        assert_eq!(device(podman, "10.89.0.1", json!({})), "podman1");
        assert_eq!(device(podman, "10.90.0.1", json!({})), "br-fedcba987654");
    }
}
