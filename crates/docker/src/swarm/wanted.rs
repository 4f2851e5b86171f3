//! What a network of a Swarm's asks for: tasks on nodes, and the service that Docker makes each of.

use super::members::Member;
use super::relay::Swarm;
use crate::image::PROGRAM;
use bollard::models::{
    EndpointPortConfig, EndpointPortConfigProtocolEnum, EndpointPortConfigPublishModeEnum,
    EndpointSpec, EndpointSpecModeEnum, NetworkAttachmentConfig, ServiceSpec, ServiceSpecMode,
    ServiceSpecModeReplicated, TaskSpec, TaskSpecContainerSpec, TaskSpecContainerSpecFile,
    TaskSpecContainerSpecSecrets, TaskSpecLogDriver, TaskSpecPlacement, TaskSpecRestartPolicy,
    TaskSpecRestartPolicyConditionEnum,
};

/// Where a task is attached, beside the network by which it comes home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum On {
    /// Its node's own network: it comes home by the manager's published port.
    Host,
    /// A network, by its name.
    Network(String),
    /// Nothing else.
    Home,
}

/// How a service is reached by its name and its ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Endpoint {
    /// By the addresses of its tasks.
    #[default]
    Dnsrr,
    /// By one address of its own.
    Vip,
}

/// Where a port is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// On the task's own node.
    Host,
    /// On every node, by the routing mesh.
    Ingress,
}

/// A port of a task's, for TCP and UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Port {
    pub(super) port: u16,
    pub(super) outside: u16,
    pub(super) mode: Mode,
}

/// A task to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    /// Its name within the network: `client-0`.
    pub(super) name: String,
    pub(super) node: Member,
    pub(super) on: On,
    pub(super) endpoint: Endpoint,
    pub(super) ports: Vec<Port>,
}

impl Wanted {
    /// A task on a node that is attached somewhere, and no more.
    pub(super) fn new(name: impl Into<String>, node: &Member, on: On) -> Self {
        let (endpoint, ports) = (Endpoint::default(), Vec::new());
        Self { name: name.into(), node: node.clone(), on, endpoint, ports }
    }
}

/// The service of one task, which is called so at home.
pub(super) fn service(swarm: &Swarm, one: &Wanted, task: &str) -> ServiceSpec {
    let Swarm { work, members, secret, .. } = swarm;
    let home = if one.on == On::Host { swarm.outside } else { swarm.address };
    let file = format!("/run/secrets/{}", secret.0);
    let words = |words: &[&str]| Some(words.iter().map(|&word| word.to_owned()).collect());
    let container = TaskSpecContainerSpec {
        image: Some(members.image().to_owned()),
        labels: Some(work.labels()),
        command: words(&[PROGRAM]),
        args: words(&["away", &home.to_string(), task, &file]),
        // The first process of a container hears of no signal that it does not wait for.
        stop_signal: Some("SIGKILL".to_owned()),
        secrets: Some(vec![TaskSpecContainerSpecSecrets {
            file: Some(TaskSpecContainerSpecFile {
                name: Some(secret.0.clone()),
                uid: Some("0".to_owned()),
                gid: Some("0".to_owned()),
                mode: Some(0o444),
            }),
            secret_id: Some(secret.1.clone()),
            secret_name: Some(secret.0.clone()),
        }]),
        ..TaskSpecContainerSpec::default()
    };
    let networks = match &one.on {
        On::Host => vec!["host".to_owned()],
        On::Home => vec![swarm.network.clone()],
        On::Network(name) => vec![name.clone(), swarm.network.clone()],
    };
    let attached = |target| NetworkAttachmentConfig { target: Some(target), ..Default::default() };
    ServiceSpec {
        name: Some(task.to_owned()),
        labels: Some(work.labels()),
        task_template: Some(TaskSpec {
            container_spec: Some(container),
            restart_policy: Some(TaskSpecRestartPolicy {
                condition: Some(TaskSpecRestartPolicyConditionEnum::NONE),
                ..TaskSpecRestartPolicy::default()
            }),
            placement: Some(TaskSpecPlacement {
                constraints: Some(vec![format!("node.id=={}", one.node.id)]),
                ..TaskSpecPlacement::default()
            }),
            networks: Some(networks.into_iter().map(attached).collect()),
            log_driver: Some(TaskSpecLogDriver {
                name: Some("none".to_owned()),
                ..TaskSpecLogDriver::default()
            }),
            ..TaskSpec::default()
        }),
        mode: Some(ServiceSpecMode {
            replicated: Some(ServiceSpecModeReplicated { replicas: Some(1) }),
            ..ServiceSpecMode::default()
        }),
        endpoint_spec: Some(endpoint(one)),
        ..ServiceSpec::default()
    }
}

fn endpoint(one: &Wanted) -> EndpointSpec {
    let port = |port: &Port, protocol| EndpointPortConfig {
        protocol: Some(protocol),
        target_port: Some(port.port.into()),
        published_port: Some(port.outside.into()),
        publish_mode: Some(match port.mode {
            Mode::Host => EndpointPortConfigPublishModeEnum::HOST,
            Mode::Ingress => EndpointPortConfigPublishModeEnum::INGRESS,
        }),
        ..EndpointPortConfig::default()
    };
    const BOTH: [EndpointPortConfigProtocolEnum; 2] =
        [EndpointPortConfigProtocolEnum::TCP, EndpointPortConfigProtocolEnum::UDP];
    let ports = one.ports.iter().flat_map(|one| BOTH.map(|protocol| port(one, protocol)));
    EndpointSpec {
        mode: Some(match one.endpoint {
            Endpoint::Dnsrr => EndpointSpecModeEnum::DNSRR,
            Endpoint::Vip => EndpointSpecModeEnum::VIP,
        }),
        ports: Some(ports.collect()),
    }
}
