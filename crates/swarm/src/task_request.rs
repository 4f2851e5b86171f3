//! Tasks that a network requests, and the Docker service that is made for each.

use crate::nodes::SwarmNode;
use crate::session::SwarmSession;
use bollard::models::{
    EndpointPortConfig, EndpointPortConfigProtocolEnum, EndpointPortConfigPublishModeEnum,
    EndpointSpec, EndpointSpecModeEnum, NetworkAttachmentConfig, ServiceSpec, ServiceSpecMode,
    ServiceSpecModeReplicated, TaskSpec, TaskSpecContainerSpec, TaskSpecContainerSpecFile,
    TaskSpecContainerSpecSecrets, TaskSpecLogDriver, TaskSpecPlacement, TaskSpecRestartPolicy,
    TaskSpecRestartPolicyConditionEnum,
};
use tare_docker::image::PROGRAM;
use tare_network::INTERNAL;

/// Network of a task, in addition to the one by which it connects to the tunnel server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TaskAttachment {
    /// Its node's own network. The task then connects by the manager's published port.
    Host,
    /// A network, by its name.
    Network(String),
    /// No other network than that one.
    TunnelOnly,
}

/// Mode in which a service is reached by its name and its ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum EndpointMode {
    /// By the addresses of its tasks.
    #[default]
    Dnsrr,
    /// By a virtual address of the service.
    Vip,
}

/// Nodes on which a port is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PublishMode {
    /// The task's own node.
    Host,
    /// Every node, by the routing mesh.
    Ingress,
}

/// Published port of a task, for TCP and UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TaskPort {
    pub(crate) port: u16,
    pub(crate) published: u16,
    pub(crate) mode: PublishMode,
}

/// Description of a task to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TaskRequest {
    /// Name within the network: `client-0`.
    pub(crate) name: String,
    pub(crate) node: SwarmNode,
    pub(crate) attachment: TaskAttachment,
    pub(crate) endpoint: EndpointMode,
    pub(crate) ports: Vec<TaskPort>,
}

impl TaskRequest {
    /// Describes a task that is attached somewhere on a node, without published ports.
    pub(crate) fn new(name: impl Into<String>, node: &SwarmNode, on: TaskAttachment) -> Self {
        let (endpoint, ports) = (EndpointMode::default(), Vec::new());
        Self { name: name.into(), node: node.clone(), attachment: on, endpoint, ports }
    }
}

/// Builds the service of one task; `task` is the task's name at the tunnel server.
pub(crate) fn service_spec(swarm: &SwarmSession, one: &TaskRequest, task: &str) -> ServiceSpec {
    let SwarmSession { resources: work, nodes: members, secret, .. } = swarm;
    let home = if one.attachment == TaskAttachment::Host {
        swarm.published_address
    } else {
        swarm.address
    };
    let file = format!("/run/secrets/{}", secret.0);
    let words = |words: &[&str]| Some(words.iter().map(|&word| word.to_owned()).collect());
    let container = TaskSpecContainerSpec {
        image: Some(members.image().to_owned()),
        labels: Some(work.labels()),
        command: words(&[PROGRAM]),
        args: words(&[INTERNAL, "task-agent", &home.to_string(), task, &file]),
        // The first process of a container ignores signals that it has no handler for.
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
    let networks = match &one.attachment {
        TaskAttachment::Host => vec!["host".to_owned()],
        TaskAttachment::TunnelOnly => vec![swarm.network.clone()],
        TaskAttachment::Network(name) => vec![name.clone(), swarm.network.clone()],
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
        endpoint_spec: Some(endpoint_spec(one)),
        ..ServiceSpec::default()
    }
}

fn endpoint_spec(one: &TaskRequest) -> EndpointSpec {
    let port = |port: &TaskPort, protocol| EndpointPortConfig {
        protocol: Some(protocol),
        target_port: Some(port.port.into()),
        published_port: Some(port.published.into()),
        publish_mode: Some(match port.mode {
            PublishMode::Host => EndpointPortConfigPublishModeEnum::HOST,
            PublishMode::Ingress => EndpointPortConfigPublishModeEnum::INGRESS,
        }),
        ..EndpointPortConfig::default()
    };
    const BOTH: [EndpointPortConfigProtocolEnum; 2] =
        [EndpointPortConfigProtocolEnum::TCP, EndpointPortConfigProtocolEnum::UDP];
    let ports = one.ports.iter().flat_map(|one| BOTH.map(|protocol| port(one, protocol)));
    EndpointSpec {
        mode: Some(match one.endpoint {
            EndpointMode::Dnsrr => EndpointSpecModeEnum::DNSRR,
            EndpointMode::Vip => EndpointSpecModeEnum::VIP,
        }),
        ports: Some(ports.collect()),
    }
}
