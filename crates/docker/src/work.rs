//! What a network makes on an engine while it is raised, and takes away when it is dropped.

use crate::engine::Engine;
use crate::exec::Words;
use crate::home::Order;
use crate::image::{self, PROGRAM};
use crate::label::{RUN, RunId};
use crate::leftovers::{AT_ONCE, remove_containers, remove_network};
use crate::lent::Lent;
use crate::patience::patience;
use crate::place::{Live, Node, Settings};
use crate::trouble::is_late;
use bollard::errors::Error as Refusal;
use bollard::models::{
    ContainerCreateBody, ContainerInspectResponse, EndpointSettings, HostConfig,
    HostConfigLogConfig, NetworkCreateRequest, PortBinding,
};
use bollard::query_parameters::{AttachContainerOptionsBuilder, CreateContainerOptionsBuilder};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tare_network::{Error, Options};

/// Where a container is attached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum On {
    /// A network of the engine's, by its name.
    Network(String),
    /// The engine's own network namespace.
    Host,
    /// Another container's network namespace.
    Container(String),
    /// Nowhere: it has a loopback device.
    Nothing,
}

impl On {
    fn mode(&self) -> String {
        match self {
            Self::Network(name) => name.clone(),
            Self::Host => "host".to_owned(),
            Self::Container(id) => format!("container:{id}"),
            Self::Nothing => "none".to_owned(),
        }
    }
}

/// A port of a container's that is published on the engine's machine, for TCP and UDP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Published {
    pub(crate) port: u16,
    pub(crate) on: IpAddr,
    pub(crate) outside: u16,
}

/// A container to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spec {
    /// Its name within the network: `client-0`.
    pub(crate) name: String,
    pub(crate) on: On,
    /// Containers that it is linked to (`--link`), with the names that it knows them by.
    pub(crate) links: Vec<(String, String)>,
    pub(crate) published: Vec<Published>,
}

impl Spec {
    /// A container that is attached somewhere, and no more.
    pub(crate) fn new(name: impl Into<String>, on: On) -> Self {
        Self { name: name.into(), on, links: Vec::new(), published: Vec::new() }
    }
}

/// A container that runs.
#[derive(Clone, Debug)]
pub(crate) struct Running {
    /// Its name within the network.
    pub(crate) name: String,
    /// The engine's name for it.
    pub(crate) id: String,
    /// The number of its first process on the engine's machine.
    pub(crate) pid: Option<u32>,
    /// Its endpoints, by network.
    endpoints: HashMap<String, EndpointSettings>,
    /// The task of a Swarm that it stands for: `id` is then the container by which the task is spoken to.
    task: Option<String>,
}

impl Running {
    fn of(name: &str, id: String, inspected: ContainerInspectResponse) -> Self {
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

    /// A task of a Swarm's with these addresses on a network; it is spoken to by way of a container.
    pub(crate) fn task(name: &str, through: &str, task: &str, on: &str, has: &[IpAddr]) -> Self {
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

    /// What to run in the container `id` so that a program starts in this one.
    pub(crate) fn words(&self, words: Words) -> Words {
        let Some(task) = &self.task else { return words };
        let order = Order { command: words.command, environment: words.environment };
        let command = [PROGRAM, "home", "call", task, &order.line()].map(str::to_owned).to_vec();
        Words { command, ..Words::default() }
    }

    /// Its addresses on a network: IPv4 first.
    pub(crate) fn addresses(&self, network: &str) -> Vec<IpAddr> {
        let Some(endpoint) = self.endpoints.get(network) else { return Vec::new() };
        [&endpoint.ip_address, &endpoint.global_ipv6_address]
            .into_iter()
            .filter_map(|address| address.as_deref()?.parse().ok())
            .collect()
    }

    /// The gateways that its networks gave it.
    pub(crate) fn gateways(&self) -> Vec<IpAddr> {
        self.endpoints
            .values()
            .flat_map(|one| [one.gateway.as_deref(), one.ipv6_gateway.as_deref()])
            .filter_map(|gateway| gateway?.parse().ok())
            .collect()
    }
}

/// Something of the engine's machine that has to be undone by hand.
type Undo = Box<dyn FnOnce() + Send>;

/// Everything that one raised network made. Dropping it removes all of it.
pub(crate) struct Work {
    live: Arc<Live>,
    run: RunId,
    settings: Settings,
    options: Options,
    made: Mutex<Made>,
}

#[derive(Default)]
struct Made {
    containers: Vec<String>,
    networks: Vec<String>,
    /// The connections by which the containers know that this process lives.
    tied: Vec<crate::exec::Input>,
    undo: Vec<Undo>,
}

/// How long a container is tried again and again that a Swarm is late for: each time it waits 20 s for itself.
const LATE: Duration = Duration::from_secs(60);

/// Numbers what this process makes, so that no two things have one name.
static NUMBER: AtomicU32 = AtomicU32::new(0);

impl Work {
    pub(crate) fn new(live: Arc<Live>, run: &RunId, settings: &Settings, options: Options) -> Self {
        let (run, settings) = (run.clone(), settings.clone());
        Self { live, run, settings, options, made: Mutex::default() }
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.live.engine
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    fn made<T>(&self, act: impl FnOnce(&mut Made) -> T) -> T {
        act(&mut self.made.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn labels(&self) -> HashMap<String, String> {
        HashMap::from([(RUN.to_owned(), self.run.to_string())])
    }

    /// A name that nothing else has.
    pub(crate) fn unique(&self, name: &str) -> String {
        format!("tare-{}-{}-{name}", self.run, NUMBER.fetch_add(1, Ordering::Relaxed))
    }

    /// The label's text, for what is marked in another way than by Docker's labels.
    pub(crate) fn mark(&self) -> String {
        format!("{RUN}={}", self.run)
    }

    /// Makes a network; returns its name. What is asked for is completed by a name and the label.
    pub(crate) fn network(&self, request: NetworkCreateRequest) -> Result<String, Error> {
        let name = self.unique("net");
        let driver = request.driver.clone().unwrap_or_default();
        let request =
            NetworkCreateRequest { name: name.clone(), labels: Some(self.labels()), ..request };
        let creating = self.engine().docker().create_network(request);
        let made =
            self.engine().get(format!("create a network by the driver {driver}"), creating)?;
        self.made(|all| all.networks.push(made.id));
        Ok(name)
    }

    /// Keeps something that is to be undone when the network goes, last first.
    pub(crate) fn undo(&self, undo: impl FnOnce() + Send + 'static) {
        self.made(|all| all.undo.push(Box::new(undo)));
    }

    /// Makes and starts containers, some at once; in order.
    pub(crate) fn containers(&self, specs: &[Spec]) -> Result<Vec<Running>, Error> {
        let starting = stream::iter(specs)
            .map(|spec| async move {
                self.container(spec).await.map_err(|refusal| {
                    self.engine().failed(format!("start the container {}", spec.name), &refusal)
                })
            })
            .buffered(AT_ONCE)
            .try_collect();
        self.engine().wait(starting)
    }

    /// Makes and starts one. A busy Swarm may need longer than it allows itself to attach it: then again.
    async fn container(&self, spec: &Spec) -> Result<Running, Refusal> {
        let deadline = Instant::now() + patience(LATE);
        loop {
            match self.try_container(spec).await {
                Err(refusal) if is_late(&refusal) && Instant::now() < deadline => {}
                ended => return ended,
            }
        }
    }

    async fn try_container(&self, spec: &Spec) -> Result<Running, Refusal> {
        let docker = self.engine().docker();
        let options =
            CreateContainerOptionsBuilder::default().name(&self.unique(&spec.name)).build();
        let id = docker.create_container(Some(options), self.body(spec)).await?.id;
        self.made(|all| all.containers.push(id.clone()));
        if let Some(program) = &self.live.program {
            image::upload(docker, &id, program).await?;
        }
        let options = AttachContainerOptionsBuilder::default().stdin(true).stream(true).build();
        let attached = docker.attach_container(&id, Some(options)).await?;
        self.made(|all| all.tied.push(attached.input));
        docker.start_container(&id, None).await?;
        let inspected = docker.inspect_container(&id, None).await?;
        Ok(Running::of(&spec.name, id, inspected))
    }

    /// A container whose first process ends, and which goes, when the connection to its standard input ends.
    fn body(&self, spec: &Spec) -> ContainerCreateBody {
        let ports = || {
            spec.published.iter().flat_map(|one| {
                ["tcp", "udp"].map(|transport| (format!("{}/{transport}", one.port), one))
            })
        };
        let binding = |one: &Published| PortBinding {
            host_ip: Some(one.on.to_string()),
            host_port: Some(one.outside.to_string()),
        };
        ContainerCreateBody {
            image: Some(self.live.image.clone()),
            env: self.live.lent.as_ref().map(Lent::variables),
            entrypoint: Some(vec![PROGRAM.to_owned()]),
            cmd: Some(vec!["keeper".to_owned()]),
            attach_stdin: Some(true),
            open_stdin: Some(true),
            stdin_once: Some(true),
            labels: Some(self.labels()),
            exposed_ports: Some(ports().map(|(port, _)| port).collect()),
            host_config: Some(HostConfig {
                auto_remove: Some(true),
                network_mode: Some(spec.on.mode()),
                links: Some(
                    spec.links.iter().map(|(other, name)| format!("{other}:{name}")).collect(),
                ),
                port_bindings: Some(
                    ports().map(|(port, one)| (port, Some(vec![binding(one)]))).collect(),
                ),
                mounts: self.live.lent.as_ref().map(Lent::mounts),
                security_opt: self.security(),
                log_config: Some(HostConfigLogConfig {
                    typ: Some("none".to_owned()),
                    config: None,
                }),
                ..HostConfig::default()
            }),
            ..ContainerCreateBody::default()
        }
    }

    /// The security options; nothing leaves Docker's default profile as it is.
    fn security(&self) -> Option<Vec<String>> {
        let unconfined = ["seccomp=unconfined".to_owned(), "apparmor=unconfined".to_owned()];
        let mut options = self.settings.security.clone();
        options.extend(self.options.unconfined.then_some(unconfined).into_iter().flatten());
        (!options.is_empty()).then_some(options)
    }

    /// The container on the engine's own network that stays as long as the run goes on; made when it is first wanted.
    pub(crate) fn node(&self) -> Result<Running, Error> {
        let mut kept = self.live.node.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(node) = kept.as_ref() {
            return Ok(node.container.clone());
        }
        let mut started = self.containers(&[Spec::new("node", On::Host)])?;
        let Some(container) = started.pop() else {
            return Err(Error::new("start the container node", "none was asked for"));
        };
        // It is the run's from here on, no more this network's.
        let tied = self.made(|all| {
            all.containers.retain(|id| *id != container.id);
            std::mem::take(&mut all.tied)
        });
        Ok(kept.insert(Node { container, _tied: tied }).container.clone())
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let Made { containers, networks, tied, undo } = self.made(std::mem::take);
        for undo in undo.into_iter().rev() {
            undo();
        }
        let engine = &self.live.engine;
        // What cannot be removed now is tried once more when the run ends, which then says so.
        let _ =
            engine.wait(remove_containers(engine.docker(), containers.iter().map(String::as_str)));
        for network in networks {
            let _ = engine.wait(remove_network(engine.docker(), &network));
        }
        drop(tied);
    }
}
