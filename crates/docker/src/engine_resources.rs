//! Resources that a network makes on an engine when it is raised, and removes when it is dropped.

pub(crate) mod confinement;
mod pods;

use crate::container_handle::ContainerHandle;
use crate::engine::Engine;
use crate::engine_session::{EngineSession, RunContainer};
use crate::error::is_attach_timeout;
use crate::host_tool_mounts::HostToolMounts;
use crate::image::{self, PROGRAM};
use crate::label::RunId;
use crate::leftovers::{PARALLEL_REQUESTS, remove_containers, remove_network, remove_pod};
use crate::options::DockerOptions;
use crate::podman::properties::PodmanProperties;
use crate::product::EngineProduct;
use bollard::errors::Error as Refusal;
use bollard::models::{
    ContainerCreateBody, HostConfig, HostConfigLogConfig, NetworkCreateRequest, PortBinding,
};
use bollard::query_parameters::{AttachContainerOptionsBuilder, CreateContainerOptionsBuilder};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tare_network::scaled_timeout;
use tare_network::{Error, FirewallBackend, INTERNAL, NetworkOptions};

/// Network namespace or network that a container is attached to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttachTo {
    /// A network of the engine, by its name.
    Network(String),
    /// The engine's own network namespace.
    Host,
    /// Another container's network namespace.
    Container(String),
    /// A pod of Podman, by its name.
    Pod(String),
    /// No network: the container has only a loopback device.
    Loopback,
}

impl AttachTo {
    /// Returns true if the engine makes a network namespace for the container.
    fn has_own_namespace(&self) -> bool {
        match self {
            Self::Network(_) | Self::Loopback => true,
            Self::Host | Self::Container(_) | Self::Pod(_) => false,
        }
    }

    fn network_mode(&self) -> String {
        match self {
            Self::Network(name) => name.clone(),
            Self::Host => "host".to_owned(),
            Self::Container(id) => format!("container:{id}"),
            // The pod has a network namespace.
            Self::Pod(_) => String::new(),
            Self::Loopback => "none".to_owned(),
        }
    }
}

/// Port of a container that is published on the engine's machine, for TCP and UDP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedContainerPort {
    /// Port in the container.
    pub port: u16,
    /// Address of the engine's machine.
    pub host_address: IpAddr,
    /// Port on that address. 0 leaves the choice to Docker.
    pub host_port: u16,
}

/// Description of a container to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerSpec {
    /// Name within the network: `client-0`.
    pub name: String,
    /// Network to attach it to.
    pub attach_to: AttachTo,
    /// Containers that it is linked to (`--link`), with the names by which it knows them.
    pub links: Vec<(String, String)>,
    /// Ports that are published.
    pub published: Vec<PublishedContainerPort>,
}

impl ContainerSpec {
    /// Describes a container that is attached somewhere, without links and published ports.
    pub fn new(name: impl Into<String>, on: AttachTo) -> Self {
        Self { name: name.into(), attach_to: on, links: Vec::new(), published: Vec::new() }
    }
}

/// Action that undoes a change to the engine's machine.
type UndoAction = Box<dyn FnOnce() + Send>;

/// Everything that one raised network has made on its engine. Dropping it removes all of it.
pub struct EngineResources {
    session: Arc<EngineSession>,
    run: RunId,
    docker_options: DockerOptions,
    options: NetworkOptions,
    congestion: Option<String>,
    made: Mutex<CreatedObjects>,
}

#[derive(Default)]
struct CreatedObjects {
    containers: Vec<String>,
    networks: Vec<String>,
    pods: Vec<String>,
    /// Connections by which the containers notice that this process has ended.
    inputs: Vec<crate::exec::ExecInput>,
    undo: Vec<UndoAction>,
}

/// Name of the container that stays as long as the run.
const RUN_CONTAINER: &str = "node";

/// Time during which a container is tried again if a Swarm attaches it too late; each try waits 20 s.
const ATTACH_TIMEOUT: Duration = Duration::from_secs(60);

/// Number of the next object that this process makes, so that no two objects have one name.
static NEXT_NUMBER: AtomicU32 = AtomicU32::new(0);

impl EngineResources {
    /// Creates the empty set of resources of a network.
    pub fn new(
        live: Arc<EngineSession>,
        run: &RunId,
        settings: &DockerOptions,
        options: NetworkOptions,
    ) -> Self {
        let (run, settings) = (run.clone(), settings.clone());
        let (congestion, made) = (None, Mutex::default());
        Self { session: live, run, docker_options: settings, options, congestion, made }
    }

    /// Sets the default TCP congestion control of network namespaces that the engine makes for containers. `None` leaves
    /// the kernel's.
    #[must_use]
    pub(crate) fn with_congestion(mut self, name: Option<String>) -> Self {
        self.congestion = name;
        self
    }

    /// Returns the sysctls of a network namespace that the engine makes, by name.
    fn namespace_sysctls(&self) -> HashMap<String, String> {
        let default = self.congestion.iter();
        default.map(|name| ("net.ipv4.tcp_congestion_control".to_owned(), name.clone())).collect()
    }

    /// Returns the engine on which the resources are.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.session.engine
    }

    /// Returns the product that the engine is.
    pub(crate) fn product(&self) -> EngineProduct {
        match self.session.podman {
            Some(_) => EngineProduct::Podman,
            None => EngineProduct::Docker,
        }
    }

    /// Returns the firewall of the engine's bridges.
    pub(crate) fn firewall(&self) -> FirewallBackend {
        self.session.firewall
    }

    /// Returns the name of the rules that translate a published port, as a hop.
    pub(crate) fn port_rules(&self) -> &'static str {
        self.product().port_rules(self.firewall())
    }

    /// Returns the image of the containers, if tare's program is in it. Returns `None` for an image of the user's.
    pub(crate) fn own_image(&self) -> Option<&str> {
        self.session.program.is_none().then_some(self.session.image.as_str())
    }

    /// Returns what Podman's own API states. Returns `None` if the engine is not Podman.
    pub(crate) fn podman(&self) -> Option<&PodmanProperties> {
        self.session.podman.as_ref()
    }

    /// Returns the options of the user.
    pub fn docker_options(&self) -> &DockerOptions {
        &self.docker_options
    }

    fn with_created<T>(&self, act: impl FnOnce(&mut CreatedObjects) -> T) -> T {
        act(&mut self.made.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the labels of everything that is made, by which it is found and removed.
    pub fn labels(&self) -> HashMap<String, String> {
        self.run.labels()
    }

    /// Returns a name that no other object has.
    pub fn unique_name(&self, name: &str) -> String {
        let prefix = RunId::name_prefix(&self.run.to_string());
        format!("{prefix}{}-{name}", NEXT_NUMBER.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns the text that marks objects which have no Docker labels.
    pub(crate) fn mark(&self) -> String {
        self.run.mark()
    }

    /// Makes a network, and returns its name. The request is completed by a name and the label.
    ///
    /// # Errors
    /// The engine refuses the network.
    pub fn create_network(&self, request: NetworkCreateRequest) -> Result<String, Error> {
        let name = self.unique_name("net");
        let driver = request.driver.clone().unwrap_or_default();
        let request =
            NetworkCreateRequest { name: name.clone(), labels: Some(self.labels()), ..request };
        let creating = self.engine().docker().create_network(request);
        let made = self
            .engine()
            .request(format!("create a network with the driver {driver}"), creating)?;
        self.with_created(|all| all.networks.push(made.id));
        Ok(name)
    }

    /// Keeps an action that is run when the network is removed; the last kept runs first.
    pub(crate) fn on_removal(&self, undo: impl FnOnce() + Send + 'static) {
        self.with_created(|all| all.undo.push(Box::new(undo)));
    }

    /// Makes and starts containers, several at once. Returns them in the order of the specs.
    ///
    /// # Errors
    /// The engine refuses a container, or one ends at once.
    pub fn start_containers(&self, specs: &[ContainerSpec]) -> Result<Vec<ContainerHandle>, Error> {
        let starting = stream::iter(specs)
            .map(|spec| async move {
                self.start_container(spec).await.map_err(|refusal| {
                    self.engine().to_error(format!("start the container {}", spec.name), &refusal)
                })
            })
            .buffered(PARALLEL_REQUESTS)
            .try_collect();
        self.engine().wait(starting)
    }

    /// Makes and starts one container. It is tried again if a busy Swarm exceeds its own time limit for attaching it.
    async fn start_container(&self, spec: &ContainerSpec) -> Result<ContainerHandle, Refusal> {
        let deadline = Instant::now() + scaled_timeout(ATTACH_TIMEOUT);
        loop {
            match self.try_start_container(spec).await {
                Err(refusal) if is_attach_timeout(&refusal) && Instant::now() < deadline => {}
                ended => return ended,
            }
        }
    }

    async fn try_start_container(&self, spec: &ContainerSpec) -> Result<ContainerHandle, Refusal> {
        let docker = self.engine().docker();
        let name = self.unique_name(&spec.name);
        let request = self.create_request(spec);
        let id = match &spec.attach_to {
            AttachTo::Pod(pod) => self.create_in_pod(request, &name, pod).await?,
            _ => {
                let options = CreateContainerOptionsBuilder::default().name(&name).build();
                docker.create_container(Some(options), request).await?.id
            }
        };
        self.with_created(|all| all.containers.push(id.clone()));
        if let Some(program) = &self.session.program {
            image::upload_program(docker, &id, program).await?;
        }
        let options = AttachContainerOptionsBuilder::default().stdin(true).stream(true).build();
        let attached = docker.attach_container(&id, Some(options)).await?;
        self.with_created(|all| all.inputs.push(attached.input));
        docker.start_container(&id, None).await?;
        let inspected = docker.inspect_container(&id, None).await?;
        Ok(ContainerHandle::from_inspection(&spec.name, id, inspected))
    }

    /// Builds the request for a container whose first process ends, and which is removed, when the connection to its
    /// standard input ends.
    fn create_request(&self, spec: &ContainerSpec) -> ContainerCreateBody {
        let ports = || {
            spec.published.iter().flat_map(|one| {
                ["tcp", "udp"].map(|transport| (format!("{}/{transport}", one.port), one))
            })
        };
        let binding = |one: &PublishedContainerPort| PortBinding {
            host_ip: Some(one.host_address.to_string()),
            host_port: Some(one.host_port.to_string()),
        };
        ContainerCreateBody {
            image: Some(self.session.image.clone()),
            env: self.session.host_tools.as_ref().map(HostToolMounts::variables),
            entrypoint: Some(vec![PROGRAM.to_owned()]),
            cmd: Some([INTERNAL, "init"].map(str::to_owned).to_vec()),
            attach_stdin: Some(true),
            open_stdin: Some(true),
            stdin_once: Some(true),
            // The first process of a container ignores signals that it has no handler for. Podman would wait 10 s.
            stop_signal: Some("SIGKILL".to_owned()),
            labels: Some(self.labels()),
            exposed_ports: Some(ports().map(|(port, _)| port).collect()),
            host_config: Some(
                self.session.confine(HostConfig {
                    auto_remove: Some(true),
                    network_mode: Some(spec.attach_to.network_mode()),
                    links: Some(
                        spec.links.iter().map(|(other, name)| format!("{other}:{name}")).collect(),
                    ),
                    port_bindings: Some(
                        ports().map(|(port, one)| (port, Some(vec![binding(one)]))).collect(),
                    ),
                    mounts: self.session.host_tools.as_ref().map(HostToolMounts::mounts),
                    security_opt: self.security_options(),
                    sysctls: spec.attach_to.has_own_namespace().then(|| self.namespace_sysctls()),
                    // The run's own container shows the engine's machine, which a sandbox would hide.
                    runtime: self
                        .options
                        .runtime
                        .filter(|_| spec.name != RUN_CONTAINER)
                        .map(|name| name.to_string()),
                    log_config: Some(HostConfigLogConfig {
                        typ: Some("none".to_owned()),
                        config: None,
                    }),
                    ..HostConfig::default()
                }),
            ),
            ..ContainerCreateBody::default()
        }
    }

    /// Returns the security options. `None` leaves Docker's default profile in place.
    fn security_options(&self) -> Option<Vec<String>> {
        let unconfined = ["seccomp=unconfined".to_owned(), "apparmor=unconfined".to_owned()];
        let mut options = self.docker_options.security.clone();
        options.extend(self.options.unconfined.then_some(unconfined).into_iter().flatten());
        (!options.is_empty()).then_some(options)
    }

    /// Returns the container on the engine's own network that stays as long as the run goes on; it is made at first
    /// use.
    pub(crate) fn run_container(&self) -> Result<ContainerHandle, Error> {
        let mut kept = self.session.run_container.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(node) = kept.as_ref() {
            return Ok(node.container.clone());
        }
        let mut started =
            self.start_containers(&[ContainerSpec::new(RUN_CONTAINER, AttachTo::Host)])?;
        let Some(container) = started.pop() else {
            return Err(Error::new("start the container node", "no container was started"));
        };
        // From here on it belongs to the run, not to this network.
        let tied = self.with_created(|all| {
            all.containers.retain(|id| *id != container.id);
            std::mem::take(&mut all.inputs)
        });
        Ok(kept.insert(RunContainer { container, _inputs: tied }).container.clone())
    }
}

impl Drop for EngineResources {
    fn drop(&mut self) {
        let CreatedObjects { containers, networks, pods, inputs: tied, undo } =
            self.with_created(std::mem::take);
        for undo in undo.into_iter().rev() {
            undo();
        }
        let engine = &self.session.engine;
        // Objects that cannot be removed now are tried once more at the end of the run, which then reports a failure.
        let _ =
            engine.wait(remove_containers(engine.docker(), containers.iter().map(String::as_str)));
        for pod in pods {
            let _ = engine.wait(remove_pod(engine.address(), &pod));
        }
        for network in networks {
            let _ = engine.wait(remove_network(engine.docker(), &network));
        }
        drop(tied);
    }
}
