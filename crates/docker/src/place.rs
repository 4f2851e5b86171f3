//! Docker Engine or Podman as a place: its description before a run, and the resources that a run has on it.

mod requirements;

use crate::address::{EngineAddress, EngineAddressError};
use crate::engine::{CONNECT_TIMEOUT, Engine, ask_once};
use crate::engine_resources::confinement::ContainerLimits;
use crate::engine_session::EngineSession;
use crate::host_tool_mounts::HostToolMounts;
use crate::image;
use crate::label::RunId;
use crate::leftovers;
use crate::options::DockerOptions;
use crate::podman::properties::PodmanProperties;
use crate::podman::service::PodmanService;
use crate::product::{EngineProduct, firewall};
use bollard::models::{SystemInfo, SystemVersion};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tare_network::{Error, UnmetRequirement};

/// Timeout of the answers that a run cannot do without.
const PATIENT_TIMEOUT: Duration = Duration::from_secs(60);

/// Docker Engine or Podman, which may be absent.
pub struct EnginePlace {
    product: EngineProduct,
    address: Result<EngineAddress, EngineAddressError>,
    /// Podman's service, if it is this process that has to start it.
    own_service: Option<PodmanService>,
    /// Properties that the service will state.
    expected: OnceLock<PodmanProperties>,
    options: DockerOptions,
    run_id: RunId,
    info: OnceLock<Result<EngineInfo, UnmetRequirement>>,
    /// Description for a run, if the engine was too busy to answer the first question in time.
    late_info: OnceLock<EngineInfo>,
    session: Mutex<Option<Arc<EngineSession>>>,
    /// The clients' engine, if it is another.
    clients_engine: Option<Box<Self>>,
    /// The host's programs that are mounted into containers, if a workload needs them.
    host_tools: OnceLock<HostToolMounts>,
}

/// Description that an engine gives of itself.
#[derive(Clone, Debug)]
pub(crate) struct EngineInfo {
    pub(crate) info: SystemInfo,
    pub(crate) version: SystemVersion,
    /// Names of its networks.
    pub(crate) networks: Vec<String>,
    /// Properties that Podman's own API states. `None` if the engine is not Podman.
    pub(crate) podman: Option<PodmanProperties>,
}

impl EnginePlace {
    /// Creates a place from the engines of the chosen contexts, else from the engine that Docker's own client uses
    /// ([`EngineAddress::from_environment`]). No request is sent yet.
    #[must_use]
    pub fn from_options(settings: DockerOptions) -> Self {
        let Some((servers, clients)) = settings.contexts.clone() else {
            return Self::at_address(EngineAddress::from_environment(), settings);
        };
        let mut place = Self::at_address(EngineAddress::from_context(&servers), settings.clone());
        let mut far = Self::at_address(EngineAddress::from_context(&clients), settings);
        far.run_id = place.run_id.clone();
        place.clients_engine = Some(Box::new(far));
        place
    }

    /// Creates a place from Podman's service: the one of CONTAINER_HOST, of the user's or of the machine's socket,
    /// else one that this process starts when it needs it. No request is sent yet.
    #[must_use]
    pub fn podman(settings: DockerOptions) -> Self {
        let (address, own_service) = match EngineAddress::of_podman() {
            Ok(Some(address)) => (Ok(address), None),
            Err(error) => (Err(error), None),
            Ok(None) => match PodmanService::find() {
                Some(service) => (Ok(service.address()), Some(service)),
                None => (Err(no_podman()), None),
            },
        };
        Self::new(EngineProduct::Podman, address, own_service, settings)
    }

    /// Starts Podman's service, if this process has to. It must be started before the lab is entered.
    ///
    /// # Errors
    /// The service does not start.
    pub fn prepare(&self) -> Result<(), UnmetRequirement> {
        self.own_service.as_ref().map_or(Ok(()), PodmanService::start)
    }

    /// Returns the clients' engine. Returns `None` if it is the servers' engine.
    pub(crate) fn clients_engine(&self) -> Option<&Self> {
        self.clients_engine.as_deref()
    }

    /// Creates a place from an engine's address.
    #[must_use]
    pub fn at_address(
        address: Result<EngineAddress, EngineAddressError>,
        settings: DockerOptions,
    ) -> Self {
        Self::new(EngineProduct::Docker, address, None, settings)
    }

    fn new(
        product: EngineProduct,
        address: Result<EngineAddress, EngineAddressError>,
        own_service: Option<PodmanService>,
        options: DockerOptions,
    ) -> Self {
        Self {
            product,
            address,
            own_service,
            expected: OnceLock::new(),
            options,
            run_id: RunId::fresh(),
            info: OnceLock::new(),
            late_info: OnceLock::new(),
            session: Mutex::default(),
            clients_engine: None,
            host_tools: OnceLock::new(),
        }
    }

    /// Returns the label's value on everything that this process makes on the engine.
    #[must_use]
    pub fn run_id(&self) -> &RunId {
        &self.run_id
    }

    /// Returns the options of the user.
    pub fn options(&self) -> &DockerOptions {
        &self.options
    }

    /// Returns true if this user's Podman has stored nothing yet, and no service of it runs.
    #[must_use]
    pub fn is_untouched_podman(&self) -> bool {
        self.own_service.as_ref().is_some_and(|service| !service.has_storage())
    }

    /// Returns the address of the engine, which answers there once the place is prepared. Returns `None` if none can be
    /// named.
    #[must_use]
    pub fn engine_address(&self) -> Option<&EngineAddress> {
        self.address.as_ref().ok()
    }

    /// Returns the engine's address. Fails if it cannot be parsed.
    pub(crate) fn address(&self) -> Result<&EngineAddress, UnmetRequirement> {
        self.address.as_ref().map_err(|error| UnmetRequirement {
            reason: error.reason.clone(),
            remedy: error.remedy.clone(),
        })
    }

    /// Returns whether the engine is on this machine, as far as its address shows.
    pub(crate) fn is_local(&self) -> bool {
        self.address.as_ref().is_ok_and(|address| address.socket().is_some())
    }

    /// Returns whether the engine's containers run on this kernel. An engine behind a local socket can be in a virtual
    /// machine.
    pub(crate) fn shares_kernel(&self) -> bool {
        if self.own_service.is_some() {
            return true;
        }
        let own = rustix::system::uname();
        let is_own = |kernel: String| own.release().to_str() == Ok(kernel.as_str());
        self.is_local()
            && self.info().is_ok_and(|known| known.info.kernel_version.clone().is_some_and(is_own))
    }

    /// Returns whether containers run an image that the user chose.
    #[must_use]
    pub fn has_user_image(&self) -> bool {
        self.options.image.is_some()
    }

    /// Mounts these programs of the host, and everything that they need, into containers, from the first network on. An
    /// image that the user chose has its own programs, and the programs of another machine are not known here, so
    /// neither gets mounts.
    pub fn mount_host_tools(&self, programs: &[&str]) {
        if self.options.image.is_none() && self.is_local() && !programs.is_empty() {
            self.host_tools.get_or_init(|| HostToolMounts::for_programs(programs));
        }
        if let Some(far) = &self.clients_engine {
            far.mount_host_tools(programs);
        }
    }

    /// Returns the engine's description of itself. It is requested once, in the calling thread.
    pub(crate) fn info(&self) -> Result<&EngineInfo, UnmetRequirement> {
        match self.late_info.get() {
            Some(known) => Ok(known),
            None => {
                let asked = self.info.get_or_init(|| self.query_info(CONNECT_TIMEOUT));
                asked.as_ref().map_err(Clone::clone)
            }
        }
    }

    /// Returns the description for a run, which needs it. An engine that was too busy for the first question is asked
    /// again, without hurry: without its answer, paths would be taken for those of an engine of another kind.
    ///
    /// # Errors
    /// The engine does not answer this time, either.
    pub(crate) fn info_for_run(&self) -> Result<&EngineInfo, UnmetRequirement> {
        match self.info() {
            Ok(known) => Ok(known),
            Err(_) => {
                let known = self.query_info(PATIENT_TIMEOUT)?;
                Ok(self.late_info.get_or_init(|| known))
            }
        }
    }

    fn query_info(&self, timeout: Duration) -> Result<EngineInfo, UnmetRequirement> {
        self.prepare()?;
        let address = self.address()?;
        let own_api = address.clone();
        let (info, version, networks, podman) = ask_once(address, timeout, |docker| async move {
            let version = docker.version().await?;
            let podman = match EngineProduct::from_version(&version) {
                EngineProduct::Podman => Some(PodmanProperties::query(&own_api).await),
                EngineProduct::Docker => None,
            };
            let networks = docker.list_networks(None).await?;
            Ok((docker.info().await?, version, networks, podman))
        })?;
        let podman = podman.transpose().map_err(|refusal| UnmetRequirement {
            reason: format!("Podman does not describe itself: {}", refusal.into_reason()),
            remedy: "see `podman info`".to_owned(),
        })?;
        let networks = networks.into_iter().filter_map(|network| network.name).collect();
        Ok(EngineInfo { info, version, networks, podman })
    }

    /// Returns true if the containers' devices are in a network namespace of the user's, with a stack in user space between
    /// them and the machine: Podman without root.
    pub(crate) fn is_rootless_podman(&self) -> bool {
        let known = || self.info().ok().and_then(|known| known.podman.as_ref());
        self.expected_podman().or_else(known).is_some_and(|podman| podman.rootless)
    }

    /// Checks that there is an engine that can run tare's containers.
    ///
    /// # Errors
    /// What is missing, and its remedy.
    pub fn check_available(&self) -> Result<(), UnmetRequirement> {
        match self.expected_podman() {
            Some(_) => check_own_program(),
            None => self.check_can_run(self.info()?),
        }
    }

    /// Returns the Podman whose service this process has still to start: it is started for a run, not for a list of
    /// networks. Returns `None` for every other engine.
    fn expected_podman(&self) -> Option<&PodmanProperties> {
        let service = self.own_service.as_ref().filter(|service| !service.is_started())?;
        Some(self.expected.get_or_init(|| service.expected_properties()))
    }

    /// Checks that the engine can run tare's containers.
    fn check_can_run(&self, known: &EngineInfo) -> Result<(), UnmetRequirement> {
        if self.product == EngineProduct::Podman && known.podman.is_none() {
            return Err(UnmetRequirement {
                reason: format!("the engine at {} is not Podman", self.address()?),
                remedy: "set CONTAINER_HOST to Podman's socket, or use the docker: networks"
                    .to_owned(),
            });
        }
        let theirs = known.version.arch.as_deref().unwrap_or(image::architecture());
        if theirs != image::architecture() {
            return Err(UnmetRequirement {
                reason: format!(
                    "the engine runs {theirs} programs, but this tare binary is for {}",
                    image::architecture()
                ),
                remedy: "use a tare binary that is built for the engine's machine".to_owned(),
            });
        }
        check_own_program()
    }

    /// Returns the connection with its loaded image, which is made at first use.
    ///
    /// # Errors
    /// The engine does not answer, or refuses the image.
    pub fn session(&self) -> Result<Arc<EngineSession>, Error> {
        let mut live = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(live) = live.as_ref() {
            return Ok(Arc::clone(live));
        }
        let address = self.address().map_err(|missing| {
            Error::new("reach the Docker Engine", missing.reason).with_remedy(missing.remedy)
        })?;
        self.prepare().map_err(|missing| {
            Error::new("start Podman's service", missing.reason).with_remedy(missing.remedy)
        })?;
        let engine = Engine::connect(address)?;
        let (image, program) = match &self.options.image {
            None => {
                image::load_run_image(&engine, &self.run_id)?;
                (image::run_image_tag(&self.run_id), None)
            }
            Some(image) => {
                let inspecting = engine.docker().inspect_image(image);
                let inspected = engine.request(format!("use the image {image}"), inspecting)?;
                let id = inspected.id.unwrap_or_else(|| image.clone());
                (id, Some(image::own_program()?))
            }
        };
        let known = self.info_for_run().map_err(|missing| {
            Error::new("ask the engine for its properties", missing.reason)
                .with_remedy(missing.remedy)
        })?;
        let (node, lent) = (Mutex::default(), self.host_tools.get().cloned());
        let made = Arc::new(EngineSession {
            engine: Arc::new(engine),
            podman: known.podman.clone(),
            firewall: firewall::backend(&known.info),
            image,
            program,
            host_tools: lent,
            limits: ContainerLimits::from(&known.info),
            run_container: node,
        });
        *live = Some(Arc::clone(&made));
        Ok(made)
    }

    /// Removes everything of this run that still exists: its image, and leftovers of a network that broke.
    ///
    /// # Errors
    /// Fails if something remains, and says how to remove it later.
    pub fn finish(&self) -> Result<(), Error> {
        let far = self.clients_engine.as_ref().map_or(Ok(()), |far| far.finish());
        self.finish_here().and(far)
    }

    fn finish_here(&self) -> Result<(), Error> {
        let live = self.session.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(live) = live else { return Ok(()) };
        leftovers::remove_run(&live.engine, &self.run_id)
    }
}

impl Drop for EnginePlace {
    fn drop(&mut self) {
        // Callers that need the result call `finish`; this is for those that fail before.
        let _ = self.finish();
    }
}

/// Checks that this program can run in a container.
fn check_own_program() -> Result<(), UnmetRequirement> {
    image::check_own_program()
        .map_err(|error| UnmetRequirement { reason: error.to_string(), remedy: error.remedy })
}

/// Returns the error of a machine on which Podman is not installed.
fn no_podman() -> EngineAddressError {
    EngineAddressError {
        reason: "there is no socket of Podman and no program `podman`".to_owned(),
        remedy: "run `sudo apt-get install podman`, or set CONTAINER_HOST".to_owned(),
    }
}

#[cfg(test)]
mod tests;
