//! Handle of a running container.

use crate::exec::ExecCommand;
use bollard::models::{ContainerInspectResponse, EndpointSettings};
use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

/// Name by which every engine knows its default network.
pub(crate) const DEFAULT_NETWORK: &str = "bridge";

/// Way to a container on another node than the engine that runs the commands.
pub trait ExecRelay: fmt::Debug + Send + Sync {
    /// Returns the command to run in a container on the engine, so that `words` start in the other.
    fn relay(&self, words: ExecCommand) -> ExecCommand;
}

/// Handle of a running container.
#[derive(Clone, Debug)]
pub struct ContainerHandle {
    /// Name within the network.
    pub name: String,
    /// The engine's id of the container.
    pub id: String,
    /// Process id of its first process on the engine's machine.
    pub pid: Option<u32>,
    /// File of its network namespace on the engine's machine.
    pub(crate) namespace: Option<String>,
    /// Endpoints of the container, by network.
    endpoints: HashMap<String, EndpointSettings>,
    /// Relay to the container, if it is not on the engine. `id` is then the container in which the relay runs.
    relay: Option<Arc<dyn ExecRelay>>,
}

impl ContainerHandle {
    /// Describes a container from the answer of the engine that inspected it.
    pub(crate) fn from_inspection(
        name: &str,
        id: String,
        inspected: ContainerInspectResponse,
    ) -> Self {
        let pid = inspected.state.and_then(|state| state.pid);
        let settings = inspected.network_settings.unwrap_or_default();
        let namespace = settings.sandbox_key.filter(|key| !key.is_empty());
        Self {
            name: name.to_owned(),
            id,
            pid: pid.and_then(|pid| u32::try_from(pid).ok()).filter(|&pid| pid > 0),
            namespace,
            endpoints: settings.networks.unwrap_or_default(),
            relay: None,
        }
    }

    /// Describes a container with these addresses on a network; it is reached by a relay in another container.
    pub fn through_relay(
        name: &str,
        through: &Self,
        relay: Arc<dyn ExecRelay>,
        on: &str,
        has: &[IpAddr],
    ) -> Self {
        let of = |ipv4| has.iter().find(|one| one.is_ipv4() == ipv4).map(ToString::to_string);
        let endpoint = EndpointSettings {
            ip_address: of(true),
            global_ipv6_address: of(false),
            ..EndpointSettings::default()
        };
        Self {
            name: name.to_owned(),
            id: through.id.clone(),
            pid: None,
            namespace: None,
            endpoints: HashMap::from([(on.to_owned(), endpoint)]),
            relay: Some(relay),
        }
    }

    /// Returns the program to run in the container `id` so that `words` start in this container.
    pub fn exec_command(&self, words: ExecCommand) -> ExecCommand {
        match &self.relay {
            Some(relay) => relay.relay(words),
            None => words,
        }
    }

    /// Returns true if the container is reached by a relay.
    pub(crate) fn is_relayed(&self) -> bool {
        self.relay.is_some()
    }

    /// Finds the endpoint on a network. Podman attaches a container to its default network by the name `bridge`, as
    /// Docker does, but states the endpoint under the network's own name: `podman`, unless it is configured otherwise.
    fn endpoint(&self, network: &str) -> Option<&EndpointSettings> {
        let only = || {
            let is_only = network == DEFAULT_NETWORK && self.endpoints.len() == 1;
            self.endpoints.values().next().filter(|_| is_only)
        };
        self.endpoints.get(network).or_else(only)
    }

    /// Returns its addresses on a network: IPv4 first.
    pub fn addresses(&self, network: &str) -> Vec<IpAddr> {
        let Some(endpoint) = self.endpoint(network) else { return Vec::new() };
        [&endpoint.ip_address, &endpoint.global_ipv6_address]
            .into_iter()
            .filter_map(|address| address.as_deref()?.parse().ok())
            .collect()
    }

    /// Returns the gateways that its networks gave it.
    pub(crate) fn gateways(&self) -> Vec<IpAddr> {
        self.endpoints
            .values()
            .flat_map(|one| [one.gateway.as_deref(), one.ipv6_gateway.as_deref()])
            .filter_map(|gateway| gateway?.parse().ok())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Describes a container whose endpoints the engine states so.
    fn container(networks: serde_json::Value) -> ContainerHandle {
        let inspected = json!({"NetworkSettings": {"Networks": networks}});
        let inspected = serde_json::from_value(inspected).unwrap();
        ContainerHandle::from_inspection("server-0", "id".to_owned(), inspected)
    }

    #[test]
    fn the_address_on_the_default_network_is_found_under_either_engines_name() {
        let endpoint = json!({"IPAddress": "10.88.0.8", "GlobalIPv6Address": ""});
        let address: Vec<IpAddr> = vec!["10.88.0.8".parse().unwrap()];
        for own_name in ["bridge", "podman", "renamed"] {
            let one = container(json!({ own_name: endpoint }));
            assert_eq!(one.addresses("bridge"), address, "{own_name}");
            assert_eq!(one.addresses("other"), [] as [IpAddr; 0], "{own_name}");
        }
        let two = container(json!({"podman": endpoint, "other": {"IPAddress": "10.89.0.2"}}));
        assert_eq!(two.addresses("bridge"), [] as [IpAddr; 0], "which of them is not known");
        assert_eq!(two.addresses("podman"), address);
    }
}
