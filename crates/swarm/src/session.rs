//! Tunnel server of a run in a Swarm: an attachable overlay network, a secret, and a container on the manager's engine
//! in which the server listens. It is made once, for all networks of a run.

use crate::nodes::{SwarmNode, SwarmNodes, node_id};
use crate::task_registry::TaskRegistry;
use crate::tunnel::{TUNNEL_PORT, random_secret};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bollard::models::{NetworkCreateRequest, SecretSpec};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tare_docker::container_handle::ContainerHandle;
use tare_docker::engine::Engine;
use tare_docker::engine_resources::{
    AttachTo, ContainerSpec, EngineResources, PublishedContainerPort,
};
use tare_docker::engine_session::EngineSession;
use tare_docker::exec::{self, ExecCommand, ExecInput, ExecSession};
use tare_docker::image::PROGRAM;
use tare_docker::{DockerOptions, RunId, leftovers};
use tare_network::scaled_timeout;
use tare_network::{Error, INTERNAL, NetworkOptions};
use tokio::io::AsyncWriteExt as _;

/// Timeout for the server to listen.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(20);

/// Interval of polling for that.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The Swarm of a run, with its nodes and its tunnel server.
pub(crate) struct SwarmSession {
    pub(crate) engine: Arc<Engine>,
    pub(crate) run: RunId,
    pub(crate) nodes: SwarmNodes,
    pub(crate) registry: Arc<TaskRegistry>,
    /// Container through which tasks are reached.
    pub(crate) container: ContainerHandle,
    /// Overlay network by which tasks connect to the server, and the server's address on it.
    pub(crate) network: String,
    pub(crate) address: SocketAddr,
    /// Published address of the server, for tasks on their node's own network.
    pub(crate) published_address: SocketAddr,
    /// Name of the secret, and its id in the Swarm.
    pub(crate) secret: (String, String),
    /// The server's input, with which it ends. Nothing is written to it again; the lock makes it shareable between
    /// threads.
    _input: Mutex<ExecInput>,
    /// Objects on the manager's engine; removed last.
    pub(crate) resources: EngineResources,
}

impl SwarmSession {
    /// Starts the tunnel server of a run, and lists the nodes of its Swarm.
    pub(crate) fn start(
        options: &DockerOptions,
        run_id: &RunId,
        live: Arc<EngineSession>,
    ) -> Result<Self, Error> {
        let members = SwarmNodes::gather(options, run_id, &live)?;
        let engine = Arc::clone(&live.engine);
        let work = EngineResources::new(live, run_id, options, NetworkOptions::default());
        let network = work.create_network(NetworkCreateRequest {
            driver: Some("overlay".to_owned()),
            attachable: Some(true),
            ..NetworkCreateRequest::default()
        })?;
        let (name, text) = (work.unique_name("secret"), random_secret()?);
        let creating = engine.docker().create_secret(SecretSpec {
            name: Some(name.clone()),
            labels: Some(work.labels()),
            data: Some(BASE64_STANDARD.encode(&text)),
            ..SecretSpec::default()
        });
        let secret = (name, engine.request("create the run's secret in the Swarm", creating)?.id);
        let own = manager_address(&members, &engine)?;
        let spec = ContainerSpec {
            // Docker chooses a port that is free.
            published: vec![PublishedContainerPort {
                port: TUNNEL_PORT,
                host_address: own,
                host_port: 0,
            }],
            ..ContainerSpec::new("home", AttachTo::Network(network.clone()))
        };
        let container = work.start_containers(&[spec])?.pop();
        let container = container.ok_or_else(|| Error::new(START, "no container was started"))?;
        let outside = published_address(&engine, &container.id, own)?;
        let address = container.addresses(&network).first().copied().ok_or_else(|| {
            let why = "Docker assigned no address on the overlay network of the tunnel";
            Error::new("find the address of the tunnel server", why)
        })?;
        let roll = Arc::new(TaskRegistry::default());
        let input = start_server(&engine, &container, &text, &roll)?;
        Ok(Self {
            engine,
            run: run_id.clone(),
            nodes: members,
            registry: roll,
            container,
            network,
            address: SocketAddr::new(address, TUNNEL_PORT),
            published_address: outside,
            secret,
            _input: Mutex::new(input),
            resources: work,
        })
    }
}

impl Drop for SwarmSession {
    fn drop(&mut self) {
        // A secret that cannot be removed now is tried once more at the end of the run, which then reports a failure.
        let _ = self.engine.wait(self.engine.docker().delete_secret(&self.secret.1));
    }
}

impl SwarmSession {
    /// Removes everything of this run from the named engines, except the manager's.
    pub(crate) fn finish(&self) -> Result<(), Error> {
        for engine in self.nodes.engines.values() {
            if Arc::ptr_eq(engine, &self.engine) {
                continue;
            }
            leftovers::remove_run(engine, &self.run)?;
        }
        Ok(())
    }
}

/// Returns the address of the manager that tare talks to.
fn manager_address(members: &SwarmNodes, engine: &Engine) -> Result<IpAddr, Error> {
    let id = node_id(engine)?;
    let own = members.ready.iter().find(|one: &&SwarmNode| one.id == id).map(|one| one.address);
    let told = || -> Result<Option<IpAddr>, Error> {
        let info = engine.request("find the manager's address", engine.docker().info())?;
        Ok(info.swarm.and_then(|swarm| swarm.node_addr?.parse().ok()))
    };
    let own = own.map_or_else(told, |own| Ok(Some(own)))?;
    own.ok_or_else(|| {
        Error::new("find the manager's address", "the Swarm does not report the address")
            .with_remedy("run `docker swarm init --advertise-addr ADDRESS`")
    })
}

/// Returns the address at which Docker has published the server's port.
fn published_address(engine: &Engine, container: &str, own: IpAddr) -> Result<SocketAddr, Error> {
    const WHAT: &str = "publish the port of the tunnel server";
    let inspected = engine.request(WHAT, engine.docker().inspect_container(container, None))?;
    let ports = inspected.network_settings.and_then(|settings| settings.ports).unwrap_or_default();
    let bindings = ports.get(&format!("{TUNNEL_PORT}/tcp")).cloned().flatten().unwrap_or_default();
    let port = bindings.iter().find_map(|one| one.host_port.as_deref()?.parse().ok());
    let port = port.ok_or_else(|| Error::new(WHAT, "Docker reported no published port"))?;
    Ok(SocketAddr::new(own, port))
}

/// Action of an error at the start of the tunnel server.
const START: &str = "start the tunnel server";

/// Starts the server, sends it the secret, and returns when it listens.
fn start_server(
    engine: &Arc<Engine>,
    container: &ContainerHandle,
    secret: &str,
    roll: &Arc<TaskRegistry>,
) -> Result<ExecInput, Error> {
    let command = [PROGRAM, INTERNAL, "tunnel", "serve"].map(str::to_owned).to_vec();
    let words = ExecCommand { command, ..ExecCommand::default() };
    let ExecSession { mut input, output, .. } =
        engine.request(START, exec::start(engine.docker(), &container.id, words))?;
    let line = format!("{secret}\n");
    let told = async {
        input.write_all(line.as_bytes()).await?;
        input.flush().await
    };
    engine.wait(told).map_err(|error| Error::new(START, error))?;
    let kept = Arc::clone(roll);
    engine.handle().spawn(async move { kept.read_events(output).await });
    let deadline = Instant::now() + scaled_timeout(LISTEN_TIMEOUT);
    while !roll.is_listening().map_err(|why| Error::new(START, why))? {
        if Instant::now() >= deadline {
            let why = format!(
                "the server did not listen within {} s",
                scaled_timeout(LISTEN_TIMEOUT).as_secs()
            );
            return Err(Error::new(START, why));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(input)
}
