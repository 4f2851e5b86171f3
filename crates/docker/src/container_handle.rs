//! Handle of a running container.

use crate::exec::ExecCommand;
use crate::image::PROGRAM;
use crate::tunnel::StartRequest;
use bollard::models::{ContainerInspectResponse, EndpointSettings};
use std::collections::HashMap;
use std::net::IpAddr;
use tare_network::INTERNAL;

/// Handle of a running container.
#[derive(Clone, Debug)]
pub(crate) struct ContainerHandle {
    /// Name within the network.
    pub(crate) name: String,
    /// The engine's id of the container.
    pub(crate) id: String,
    /// Process id of its first process on the engine's machine.
    pub(crate) pid: Option<u32>,
    /// Endpoints of the container, by network.
    endpoints: HashMap<String, EndpointSettings>,
    /// The task of a Swarm that it stands for. `id` is then the container through which the task is reached.
    task: Option<String>,
}

impl ContainerHandle {
    /// Describes a container from the answer of the engine that inspected it.
    pub(crate) fn from_inspection(
        name: &str,
        id: String,
        inspected: ContainerInspectResponse,
    ) -> Self {
        let pid = inspected.state.and_then(|state| state.pid);
        let endpoints = inspected.network_settings.and_then(|settings| settings.networks);
        Self {
            name: name.to_owned(),
            id,
            pid: pid.and_then(|pid| u32::try_from(pid).ok()).filter(|&pid| pid > 0),
            endpoints: endpoints.unwrap_or_default(),
            task: None,
        }
    }

    /// Describes a task of a Swarm with these addresses on a network; it is reached through a container.
    pub(crate) fn for_task(
        name: &str,
        through: &str,
        task: &str,
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
            id: through.to_owned(),
            pid: None,
            endpoints: HashMap::from([(on.to_owned(), endpoint)]),
            task: Some(task.to_owned()),
        }
    }

    /// Returns the program to run in the container `id` so that `words` start in this container.
    pub(crate) fn exec_command(&self, words: ExecCommand) -> ExecCommand {
        let Some(task) = &self.task else { return words };
        let order = StartRequest { command: words.command, environment: words.environment };
        let command = [PROGRAM, INTERNAL, "tunnel", "call", task, &order.to_argument()]
            .map(str::to_owned)
            .to_vec();
        ExecCommand { command, ..ExecCommand::default() }
    }

    /// Returns its addresses on a network: IPv4 first.
    pub(crate) fn addresses(&self, network: &str) -> Vec<IpAddr> {
        let Some(endpoint) = self.endpoints.get(network) else { return Vec::new() };
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
