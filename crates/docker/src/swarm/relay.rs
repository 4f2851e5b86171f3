//! A run's home in a Swarm: an attachable overlay network, a secret, and a container on the manager's engine in which
//! the server listens. It is made once, for all networks of a run.

use super::members::{Member, Members, node_of};
use super::roll::Roll;
use crate::engine::Engine;
use crate::exec::{self, Exec, Input, Words};
use crate::home::{PORT, fresh_secret};
use crate::image::PROGRAM;
use crate::label::RunId;
use crate::patience::patience;
use crate::place::{Live, Place};
use crate::work::{On, Published, Running, Spec, Work};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bollard::models::{NetworkCreateRequest, SecretSpec};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tare_network::{Error, Options};
use tokio::io::AsyncWriteExt as _;

/// How long the server may take to listen.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often it is looked for.
const TICK: Duration = Duration::from_millis(20);

/// A run's home, and who is in its Swarm.
pub(crate) struct Swarm {
    pub(super) engine: Arc<Engine>,
    pub(super) run: RunId,
    pub(super) members: Members,
    pub(super) roll: Arc<Roll>,
    /// The container by which tasks are spoken to.
    pub(super) container: Running,
    /// The network by which tasks come home, its subnets, and where home is on it.
    pub(super) network: String,
    pub(super) address: SocketAddr,
    /// Where home is for tasks that have their node's own network.
    pub(super) outside: SocketAddr,
    /// The secret's own name and the engine's for it.
    pub(super) secret: (String, String),
    /// The server ends with its input. Nobody writes to it again; that it is locked makes it anybody's to hold.
    _input: Mutex<Input>,
    /// What of it is on the manager's engine; removed last.
    pub(super) work: Work,
}

impl Swarm {
    /// Makes a run's home.
    pub(crate) fn join(place: &Place, live: Arc<Live>) -> Result<Self, Error> {
        let members = Members::gather(place, &live)?;
        let engine = Arc::clone(&live.engine);
        let work = Work::new(live, place.run(), place.settings(), Options::default());
        let network = work.network(NetworkCreateRequest {
            driver: Some("overlay".to_owned()),
            attachable: Some(true),
            ..NetworkCreateRequest::default()
        })?;
        let (name, text) = (work.unique("secret"), fresh_secret()?);
        let creating = engine.docker().create_secret(SecretSpec {
            name: Some(name.clone()),
            labels: Some(work.labels()),
            data: Some(BASE64_STANDARD.encode(&text)),
            ..SecretSpec::default()
        });
        let secret = (name, engine.get("give a secret to the Swarm", creating)?.id);
        let own = own_address(&members, &engine)?;
        let spec = Spec {
            // Docker chooses a port that is free.
            published: vec![Published { port: PORT, on: own, outside: 0 }],
            ..Spec::new("home", On::Network(network.clone()))
        };
        let container = work.containers(&[spec])?.pop();
        let container = container.ok_or_else(|| Error::new("start the run's home", "none came"))?;
        let outside = published(&engine, &container.id, own)?;
        let address = container.addresses(&network).first().copied().ok_or_else(|| {
            Error::new("find the address of the run's home", "Docker gave it none on its overlay")
        })?;
        let roll = Arc::new(Roll::default());
        let input = serve(&engine, &container, &text, &roll)?;
        Ok(Self {
            engine,
            run: place.run().clone(),
            members,
            roll,
            container,
            network,
            address: SocketAddr::new(address, PORT),
            outside,
            secret,
            _input: Mutex::new(input),
            work,
        })
    }
}

impl Drop for Swarm {
    fn drop(&mut self) {
        // What cannot be removed now is tried once more when the run ends, which then says so.
        let _ = self.engine.wait(self.engine.docker().delete_secret(&self.secret.1));
    }
}

/// The address of the manager that tare speaks to.
fn own_address(members: &Members, engine: &Engine) -> Result<IpAddr, Error> {
    let id = node_of(engine)?;
    let own = members.ready.iter().find(|one: &&Member| one.id == id).map(|one| one.address);
    let told = || -> Result<Option<IpAddr>, Error> {
        let info = engine.get("ask the manager for its address", engine.docker().info())?;
        Ok(info.swarm.and_then(|swarm| swarm.node_addr?.parse().ok()))
    };
    let own = own.map_or_else(told, |own| Ok(Some(own)))?;
    own.ok_or_else(|| {
        Error::new("find the manager's address", "the Swarm does not know it")
            .with_remedy("docker swarm init --advertise-addr ADDRESS")
    })
}

/// Where Docker has published the server's port.
fn published(engine: &Engine, container: &str, own: IpAddr) -> Result<SocketAddr, Error> {
    const WHAT: &str = "publish the port of the run's home";
    let inspected = engine.get(WHAT, engine.docker().inspect_container(container, None))?;
    let ports = inspected.network_settings.and_then(|settings| settings.ports).unwrap_or_default();
    let bindings = ports.get(&format!("{PORT}/tcp")).cloned().flatten().unwrap_or_default();
    let port = bindings.iter().find_map(|one| one.host_port.as_deref()?.parse().ok());
    let port = port.ok_or_else(|| Error::new(WHAT, "Docker did not say where it is"))?;
    Ok(SocketAddr::new(own, port))
}

/// Starts the server, tells it the secret, and returns when it listens.
fn serve(
    engine: &Arc<Engine>,
    container: &Running,
    secret: &str,
    roll: &Arc<Roll>,
) -> Result<Input, Error> {
    const WHAT: &str = "start the server of the run's home";
    let command = [PROGRAM, "home", "serve"].map(str::to_owned).to_vec();
    let words = Words { command, ..Words::default() };
    let Exec { mut input, output, .. } =
        engine.get(WHAT, exec::start(engine.docker(), &container.id, words))?;
    let line = format!("{secret}\n");
    let told = async {
        input.write_all(line.as_bytes()).await?;
        input.flush().await
    };
    engine.wait(told).map_err(|error| Error::new(WHAT, error))?;
    let kept = Arc::clone(roll);
    engine.handle().spawn(async move { kept.keep(output).await });
    let deadline = Instant::now() + patience(PATIENCE);
    while !roll.is_open().map_err(|why| Error::new(WHAT, why))? {
        if Instant::now() >= deadline {
            let why = format!("it does not listen within {} s", patience(PATIENCE).as_secs());
            return Err(Error::new(WHAT, why));
        }
        std::thread::sleep(TICK);
    }
    Ok(input)
}
