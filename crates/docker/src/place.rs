//! A Docker Engine as a place: what is known of it before a run, and what a run has of it.

use crate::address::{Address, AddressError};
use crate::engine::{Engine, ask};
use crate::exec::Input;
use crate::image;
use crate::label::RunId;
use crate::leftovers;
use crate::lent::Lent;
use crate::swarm::Swarm;
use crate::want::Want;
use crate::work::Running;
use bollard::models::{LocalNodeState, SystemInfo, SystemVersion};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tare_network::{Error, Missing, Need};

/// What the user chose for all networks of Docker's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// An image to run instead of tare's own; tare's binary is put into its containers.
    pub image: Option<String>,
    /// Security options of every container, as `docker run --security-opt` takes them.
    pub security: Vec<String>,
    /// The device that macvlan and ipvlan networks sit on; the engine's uplink where none is named.
    pub parent: Option<String>,
    /// Further engines of a Swarm, by their addresses: the image is loaded on them.
    pub engines: Vec<String>,
    /// Whether a Swarm's containers are all on one of its nodes.
    pub same_node: bool,
    /// Docker's contexts of the servers' engine and of the clients', where they are two.
    pub contexts: Option<(String, String)>,
}

/// A Docker Engine, which need not be there.
pub struct Place {
    address: Result<Address, AddressError>,
    settings: Settings,
    run: RunId,
    known: OnceLock<Result<Known, Missing>>,
    live: Mutex<Option<Arc<Live>>>,
    swarm: Mutex<Option<Arc<Swarm>>>,
    /// The clients' engine, where it is another.
    far: Option<Box<Self>>,
    /// What of the host's programs containers are lent, where a workload needs them.
    lent: OnceLock<Lent>,
}

/// What an engine says of itself.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) info: SystemInfo,
    pub(crate) version: SystemVersion,
    /// The names of its networks.
    pub(crate) networks: Vec<String>,
}

/// What a run has of an engine: a connection, and an image that is loaded.
pub(crate) struct Live {
    pub(crate) engine: Arc<Engine>,
    /// What containers are made of.
    pub(crate) image: String,
    /// tare's binary, where the image does not have it.
    pub(crate) program: Option<Vec<u8>>,
    /// What of the host's containers are lent.
    pub(crate) lent: Option<Lent>,
    /// A container on the engine's own network that runs as long as the run does: so that everybody sees that it goes on.
    pub(crate) node: Mutex<Option<Node>>,
}

/// A container that is kept, and the connection by which it knows that this process lives.
pub(crate) struct Node {
    pub(crate) container: Running,
    pub(crate) _tied: Vec<Input>,
}

impl Place {
    /// The engines of the contexts that were chosen, else that of the environment (DOCKER_HOST). Nothing is asked yet.
    #[must_use]
    pub fn of(settings: Settings) -> Self {
        let Some((servers, clients)) = settings.contexts.clone() else {
            return Self::at(Address::from_environment(), settings);
        };
        let mut place = Self::at(Address::of_context(&servers), settings.clone());
        let mut far = Self::at(Address::of_context(&clients), settings);
        far.run = place.run.clone();
        place.far = Some(Box::new(far));
        place
    }

    /// The clients' engine, where it is another.
    pub(crate) fn far(&self) -> Option<&Self> {
        self.far.as_deref()
    }

    /// An engine at an address.
    #[must_use]
    pub fn at(address: Result<Address, AddressError>, settings: Settings) -> Self {
        let (known, live, swarm) = (OnceLock::new(), Mutex::default(), Mutex::default());
        let (far, lent) = (None, OnceLock::new());
        Self { address, settings, run: RunId::fresh(), known, live, swarm, far, lent }
    }

    /// The label's value on everything that this process makes there.
    #[must_use]
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// What the user chose.
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Its address, where one can be read.
    pub(crate) fn address(&self) -> Result<&Address, Missing> {
        self.address
            .as_ref()
            .map_err(|error| Missing { reason: error.reason.clone(), remedy: error.remedy.clone() })
    }

    /// Whether it is on this machine, as far as one can tell from its address.
    pub(crate) fn is_local(&self) -> bool {
        self.address.as_ref().is_ok_and(|address| address.socket().is_some())
    }

    /// Whether containers are of an image that the user chose.
    #[must_use]
    pub fn has_own_image(&self) -> bool {
        self.settings.image.is_some()
    }

    /// Lends containers these programs of the host's, and whatever those need, from the first network on. An image of the
    /// user's has its own, and what an engine on another machine has is not known here.
    pub fn lend(&self, programs: &[&str]) {
        if self.settings.image.is_none() && self.is_local() && !programs.is_empty() {
            self.lent.get_or_init(|| Lent::of(programs));
        }
        if let Some(far) = &self.far {
            far.lend(programs);
        }
    }

    /// What it says of itself; asked once, in the calling thread.
    pub(crate) fn known(&self) -> Result<&Known, Missing> {
        self.known.get_or_init(|| self.ask_it()).as_ref().map_err(Clone::clone)
    }

    fn ask_it(&self) -> Result<Known, Missing> {
        ask(self.address()?, |docker| async move {
            let networks = docker.list_networks(None).await?;
            let networks = networks.into_iter().filter_map(|network| network.name).collect();
            Ok(Known { info: docker.info().await?, version: docker.version().await?, networks })
        })
    }

    /// Whether there is an engine, and containers of ours can run there.
    pub(crate) fn is_there(&self) -> Result<(), Missing> {
        self.can_run(self.known()?)
    }

    /// What a network that wants this needs of this machine; nothing where an engine has it already.
    pub(crate) fn need(&self, want: Want) -> Option<Need> {
        let met = match (want, self.known()) {
            (_, Err(missing)) => Err(missing),
            // Of another machine's kernel nothing is known from here.
            (Want::Kernel(module), Ok(_)) => {
                return self.is_local().then_some(Need::Kernel { module });
            }
            (Want::Program { name, package }, Ok(_)) => {
                return Some(Need::Program { name, package });
            }
            (Want::Driver(driver), Ok(known)) => has_driver(known, driver),
            (Want::Network(name), Ok(known)) => has_network(known, &name),
            (Want::OwnMachine, Ok(_)) => self.is_own_machine(),
            (Want::TwoContexts, Ok(_)) if self.far.is_some() => Ok(()),
            (Want::TwoContexts, Ok(_)) => Err(Missing {
                reason: "it joins two Docker Engines, and one is named".to_owned(),
                remedy: "use --server-context A --client-context B --nodes 2".to_owned(),
            }),
            (Want::Manager, Ok(known)) => is_manager(known),
        };
        met.err().map(Need::Lacking)
    }

    /// Whether containers of ours can run there.
    fn can_run(&self, known: &Known) -> Result<(), Missing> {
        let theirs = known.version.arch.as_deref().unwrap_or(image::architecture());
        if theirs != image::architecture() {
            return Err(Missing {
                reason: format!(
                    "the Docker Engine runs {theirs} programs, this tare is for {}",
                    image::architecture()
                ),
                remedy: "use a tare that was built for the engine's machine".to_owned(),
            });
        }
        image::own_program()
            .map(drop)
            .map_err(|error| Missing { reason: error.to_string(), remedy: error.remedy })
    }

    fn is_own_machine(&self) -> Result<(), Missing> {
        let missing = |reason: &str, remedy: &str| {
            Err(Missing { reason: reason.to_owned(), remedy: remedy.to_owned() })
        };
        if !self.is_local() {
            return missing(
                "the Docker Engine is on another machine, and this network is wired by hand beside it",
                "run tare there, or unset DOCKER_HOST",
            );
        }
        if !rustix::process::geteuid().is_root() {
            return missing(
                "only root may wire a network into containers of Docker's",
                "run tare as root",
            );
        }
        Ok(())
    }

    /// The connection and the image; made when they are first wanted.
    pub(crate) fn live(&self) -> Result<Arc<Live>, Error> {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(live) = live.as_ref() {
            return Ok(Arc::clone(live));
        }
        let address = self.address().map_err(|missing| {
            Error::new("reach the Docker Engine", missing.reason).with_remedy(missing.remedy)
        })?;
        let engine = Engine::connect(address)?;
        let (image, program) = match &self.settings.image {
            None => {
                image::load_for(&engine, &self.run)?;
                (image::tag_of(&self.run), None)
            }
            Some(image) => {
                let inspected = engine.docker().inspect_image(image);
                engine.get(format!("use the image {image}"), inspected)?;
                (image.clone(), Some(image::own_program()?))
            }
        };
        let (node, lent) = (Mutex::default(), self.lent.get().cloned());
        let made = Arc::new(Live { engine: Arc::new(engine), image, program, lent, node });
        *live = Some(Arc::clone(&made));
        Ok(made)
    }

    /// The Swarm that the engine manages, with the home of this run's tasks; made when it is first wanted.
    pub(crate) fn swarm(&self) -> Result<Arc<Swarm>, Error> {
        let live = self.live()?;
        let mut swarm = self.swarm.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(swarm) = swarm.as_ref() {
            return Ok(Arc::clone(swarm));
        }
        Ok(Arc::clone(swarm.insert(Arc::new(Swarm::join(self, live)?))))
    }

    /// Removes whatever of this run is still there: its image, and what a network that broke could not remove.
    ///
    /// # Errors
    /// When something stays, and how to remove it later.
    pub fn finish(&self) -> Result<(), Error> {
        let far = self.far.as_ref().map_or(Ok(()), |far| far.finish());
        self.finish_here().and(far)
    }

    fn finish_here(&self) -> Result<(), Error> {
        let swarm = self.swarm.lock().unwrap_or_else(PoisonError::into_inner).take();
        let live = self.live.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(live) = live else { return Ok(()) };
        leftovers::of_run(&live.engine, &self.run)
            .and_then(|left| leftovers::remove(&live.engine, &left))
            .and_then(|()| swarm.map_or(Ok(()), |swarm| swarm.finish()))
            .map_err(|error| {
                Error::new("remove what this run made in Docker", error.to_string())
                    .with_remedy("run `tare clean` when the engine is well again")
            })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Whoever wants to know calls `finish`; this is for those who fail before.
        let _ = self.finish();
    }
}

fn is_manager(known: &Known) -> Result<(), Missing> {
    let swarm = known.info.swarm.as_ref();
    let active = swarm.and_then(|swarm| swarm.local_node_state) == Some(LocalNodeState::ACTIVE);
    let missing = |reason: &str, remedy: &str| {
        Err(Missing { reason: reason.to_owned(), remedy: remedy.to_owned() })
    };
    match swarm.and_then(|swarm| swarm.control_available) {
        Some(true) => Ok(()),
        _ if active => missing(
            "this Docker Engine is a worker of its Swarm, which takes no orders",
            "point DOCKER_HOST at a manager (docker node ls there)",
        ),
        _ => missing(
            "this Docker Engine is in no Swarm",
            "docker swarm init --advertise-addr ADDRESS, or point DOCKER_HOST at a manager",
        ),
    }
}

fn has_driver(known: &Known, driver: &str) -> Result<(), Missing> {
    let drivers = known.info.plugins.as_ref().and_then(|plugins| plugins.network.as_deref());
    let drivers = drivers.unwrap_or_default();
    if drivers.iter().any(|one| one == driver) {
        return Ok(());
    }
    Err(Missing {
        reason: format!(
            "this Docker Engine has no network driver {driver}: it has {}",
            drivers.join(", ")
        ),
        remedy: "install a current Docker Engine".to_owned(),
    })
}

fn has_network(known: &Known, name: &str) -> Result<(), Missing> {
    if known.networks.iter().any(|one| one == name) {
        return Ok(());
    }
    Err(Missing {
        reason: format!("Docker has no network `{name}`: it has {}", known.networks.join(", ")),
        remedy: format!("docker network create {name}"),
    })
}
