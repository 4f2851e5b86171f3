//! A build with Docker.

use super::DockerArguments;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tare_docker::{Place, Settings};
use tare_network::{Network, Spelled};
use tare_record::{Engine, Plan};

/// How the names of Docker's networks begin.
const PREFIXES: [&str; 2] = ["docker:", "swarm:"];

/// How often a signal is looked for.
const TICK: Duration = Duration::from_millis(50);

/// The engine of this process, of which nothing is asked before it is needed.
#[derive(Clone)]
pub(crate) struct Docker(Arc<Place>);

impl Default for Docker {
    fn default() -> Self {
        Self::of(&DockerArguments::default())
    }
}

impl Docker {
    /// The engine of the environment, with what the flags choose.
    pub(crate) fn of(arguments: &DockerArguments) -> Self {
        Self::with(Settings {
            image: arguments.image.clone(),
            security: arguments.security_opt.clone(),
            parent: arguments.parent.clone(),
            engines: arguments.engines.clone(),
            same_node: arguments.same_node,
            contexts: arguments.server_context.clone().zip(arguments.client_context.clone()),
        })
    }

    /// The engine of the environment, with what a run chose that is to be finished.
    pub(crate) fn as_in(engines: &[Engine]) -> Self {
        let context = |index: usize| engines.get(index)?.context_asked.clone();
        let contexts = context(0).zip(context(1));
        let engine = engines.first().cloned().unwrap_or_default();
        Self::with(Settings {
            image: engine.image_asked,
            security: engine.security_asked,
            parent: engine.parent_asked,
            engines: engine.engines_asked,
            same_node: engine.same_node_asked,
            contexts,
        })
    }

    fn with(settings: Settings) -> Self {
        Self(Arc::new(Place::of(settings)))
    }

    /// Its networks.
    pub(crate) fn networks(&self) -> Vec<Box<dyn Network>> {
        let mut networks = tare_docker::networks(&self.0);
        networks.extend(tare_docker::swarm_networks(&self.0));
        networks
    }

    /// The engines that a plan's networks are on, with what containers are made of; that is loaded for it.
    pub(crate) fn engines(&self, plan: &Plan) -> Vec<Engine> {
        let wanted = plan.networks.iter().any(|entry| is_dockers(&entry.network));
        if wanted { self.0.describe() } else { Vec::new() }
    }

    /// Lends containers what of the host's programs a plan's workloads run, where their image has none.
    pub(crate) fn lend(&self, plan: &Plan) {
        let registry = tare_traffic::workloads();
        let known = plan.workloads.iter().filter_map(|one| registry.find(&one.name).ok());
        let programs: Vec<&str> = known.flat_map(|workload| workload.programs()).collect();
        self.0.lend(&programs);
    }

    /// Whether containers are of an image of the user's: it may have programs that this machine lacks.
    pub(crate) fn has_programs(&self) -> bool {
        self.0.has_own_image()
    }

    /// Whether all networks of a plan are Docker's.
    pub(crate) fn has_all(&self, plan: &Plan) -> bool {
        plan.networks.iter().all(|entry| is_dockers(&entry.network))
    }

    /// Where the network is Docker's, takes everything down when the process is asked to end: what waits for a program in
    /// a container then sees its end. The lab's go with the process.
    ///
    /// # Errors
    /// When the kernel refuses the handlers or a thread.
    pub(crate) fn finish_on_signal(&self, network: &Spelled) -> anyhow::Result<()> {
        if !is_dockers(&network.name) {
            return Ok(());
        }
        let stop = crate::signals::stop_flag()?;
        let place = Arc::clone(&self.0);
        let wait = move || {
            while !stop.load(Ordering::Relaxed) {
                std::thread::sleep(TICK);
            }
            // Whoever raised the network tries the same again, and says what is wrong.
            let _ = place.finish();
        };
        std::thread::Builder::new().name("tare-signals".to_owned()).spawn(wait)?;
        Ok(())
    }

    /// Removes whatever this process made there and is left.
    pub(crate) fn finish(&self) -> Result<(), tare_network::Error> {
        self.0.finish()
    }
}

/// Whether a network is one of Docker's.
fn is_dockers(name: &str) -> bool {
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}
