//! Docker support in a build with Docker.

use super::DockerArguments;
use crate::foreign_request::ForeignRequest;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tare_docker::{DockerOptions, EnginePlace};
use tare_network::{Network, NetworkSpec};
use tare_record::{EngineDescription, Plan};
use tare_swarm::SwarmPlace;
use tare_traffic::WorkloadRegistry;

/// Prefixes of the names of Docker networks.
const PREFIXES: [&str; 2] = ["docker:", "swarm:"];

/// Prefix of the names of Podman networks.
const PODMAN_PREFIX: &str = "podman:";

/// Interval at which the signal flag is checked.
const TICK: Duration = Duration::from_millis(50);

/// Docker Engine of this process with its Swarm, and Podman, which are contacted only when they are needed.
#[derive(Clone)]
pub(crate) struct DockerSupport {
    engine: Arc<EnginePlace>,
    swarm: Arc<SwarmPlace>,
    podman: Arc<EnginePlace>,
}

impl Default for DockerSupport {
    fn default() -> Self {
        Self::from_arguments(&DockerArguments::default())
    }
}

impl DockerSupport {
    /// Returns the engine of the environment, with the settings of the flags.
    pub(crate) fn from_arguments(arguments: &DockerArguments) -> Self {
        Self::from_settings(DockerOptions {
            image: arguments.image.clone(),
            security: arguments.security_opt.clone(),
            parent: arguments.parent.clone(),
            engines: arguments.engines.clone(),
            same_node: arguments.same_node,
            contexts: arguments.server_context.clone().zip(arguments.client_context.clone()),
        })
    }

    /// Returns the engine of the environment, with the settings recorded in a run that is to be resumed.
    pub(crate) fn from_recorded(engines: &[EngineDescription]) -> Self {
        let context = |index: usize| engines.get(index)?.context_asked.clone();
        let contexts = context(0).zip(context(1));
        // What was asked for holds for all engines.
        let engine = engines.first().cloned().unwrap_or_default();
        Self::from_settings(DockerOptions {
            image: engine.image_asked,
            security: engine.security_asked,
            parent: engine.parent_asked,
            engines: engine.engines_asked,
            same_node: engine.same_node_asked,
            contexts,
        })
    }

    /// Returns what the recorded settings of a run ask for, which its journal may have from anybody.
    pub(crate) fn recorded_requests(engines: &[EngineDescription]) -> Vec<ForeignRequest> {
        let request = |action: String| {
            let subject = "networks of Docker".to_owned();
            ForeignRequest { subject, action }
        };
        let of_engine = |engine: &EngineDescription| {
            let image = engine.image_asked.iter().map(|image| format!("run the image {image}"));
            let context =
                engine.context_asked.iter().map(|context| format!("use the context {context}"));
            let parent =
                engine.parent_asked.iter().map(|device| format!("use the host's device {device}"));
            let security = engine.security_asked.iter();
            let security = security.map(|option| format!("have the security option {option}"));
            let others = engine.engines_asked.iter().map(|url| format!("use the engine {url}"));
            image.chain(context).chain(parent).chain(security).chain(others).collect::<Vec<_>>()
        };
        engines.iter().flat_map(of_engine).map(request).collect()
    }

    fn from_settings(settings: DockerOptions) -> Self {
        // Two engines are Docker's, by its contexts.
        let of_podman = DockerOptions { contexts: None, ..settings.clone() };
        let engine = Arc::new(EnginePlace::from_options(settings));
        let swarm = Arc::new(SwarmPlace::new(Arc::clone(&engine)));
        Self { engine, swarm, podman: Arc::new(EnginePlace::podman(of_podman)) }
    }

    /// Returns the networks of Docker, of Swarm and of Podman.
    pub(crate) fn networks(&self) -> Vec<Box<dyn Network>> {
        let mut networks = tare_docker::docker_networks(&self.engine);
        networks.extend(tare_swarm::swarm_networks(&self.swarm));
        networks.extend(tare_docker::podman_networks(&self.podman));
        networks
    }

    /// Prepares Podman, if this is one of its networks, before the lab is entered.
    ///
    /// # Errors
    /// Podman's service does not start.
    pub(crate) fn prepare(&self, network: &str) -> Result<(), tare_network::Error> {
        if !network.starts_with(PODMAN_PREFIX) {
            return Ok(());
        }
        self.podman.prepare().map_err(|missing| {
            tare_network::Error::new("prepare Podman", missing.reason).with_remedy(missing.remedy)
        })
    }

    /// Returns the engines that a plan's networks use, with the image of their containers, which is loaded for this.
    pub(crate) fn engines(&self, plan: &Plan) -> Vec<EngineDescription> {
        let uses = |is_own: fn(&str) -> bool| plan.networks.iter().any(|one| is_own(&one.network));
        let docker = uses(is_docker_network).then(|| self.engine.describe());
        let podman = uses(is_podman_network).then(|| self.podman.describe());
        docker.into_iter().chain(podman).flatten().collect()
    }

    /// Mounts programs of the host that a plan's workloads run into containers, if their image does not have them.
    pub(crate) fn mount_host_tools(&self, plan: &Plan, registry: &WorkloadRegistry) {
        let known = plan.workloads.iter().filter_map(|one| registry.find(&one.name).ok());
        let programs: Vec<&str> = known.flat_map(|workload| workload.programs()).collect();
        self.engine.mount_host_tools(&programs);
        self.podman.mount_host_tools(&programs);
    }

    /// Returns true if the user chose the image of the containers, which may have programs that this machine does not
    /// have.
    pub(crate) fn has_own_image(&self) -> bool {
        self.engine.has_user_image()
    }

    /// Returns true if a network is one of an engine, by its name.
    pub(crate) fn owns(&self, network: &str) -> bool {
        is_docker_network(network) || is_podman_network(network)
    }

    /// Removes a network of an engine when a signal requests the end of the process. A wait for a program in a container then
    /// sees the program's end. The lab's networks end with the process.
    ///
    /// # Errors
    /// Fails if the kernel rejects the handlers or a thread.
    pub(crate) fn finish_on_signal(&self, network: &NetworkSpec) -> anyhow::Result<()> {
        if !self.owns(&network.name) {
            return Ok(());
        }
        let stop = crate::signals::stop_flag()?;
        let place = self.clone();
        let wait = move || {
            while !stop.load(Ordering::Relaxed) {
                std::thread::sleep(TICK);
            }
            // The thread that set up the network removes it again, and reports errors.
            let _ = place.finish();
        };
        std::thread::Builder::new().name("tare-signals".to_owned()).spawn(wait)?;
        Ok(())
    }

    /// Removes what this process has created on engines and not yet removed.
    pub(crate) fn finish(&self) -> Result<(), tare_network::Error> {
        let podman = self.podman.finish();
        self.swarm.finish().and(podman)
    }
}

/// Returns true if a network is one of Podman.
fn is_podman_network(name: &str) -> bool {
    name.starts_with(PODMAN_PREFIX)
}

/// Returns true if a network is a Docker network.
fn is_docker_network(name: &str) -> bool {
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}
