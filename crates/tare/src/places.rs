//! Places beside the lab in which a command raises networks: the Docker Engine, Podman and the Kubernetes cluster.

use crate::docker::{DockerArguments, DockerSupport};
use crate::kubernetes::{ClusterArguments, ClusterSupport};
use tare_network::{Error, Network, NetworkSpec};
use tare_record::{EngineDescription, Plan};

/// Docker Engine and cluster of this process, each of which is reached only when it is needed.
#[derive(Clone, Default)]
pub(crate) struct Places {
    /// The Docker Engine with its Swarm, and Podman.
    pub(crate) docker: DockerSupport,
    /// The Kubernetes cluster.
    pub(crate) cluster: ClusterSupport,
}

impl Places {
    /// Returns the places that the flags name.
    pub(crate) fn from_arguments(docker: &DockerArguments, cluster: &ClusterArguments) -> Self {
        Self {
            docker: DockerSupport::from_arguments(docker),
            cluster: ClusterSupport::from_arguments(cluster),
        }
    }

    /// Returns the places that the flags name, with a cluster that is not asked: for plans that are only printed.
    pub(crate) fn with_assumed_cluster(
        docker: &DockerArguments,
        cluster: &ClusterArguments,
    ) -> Self {
        Self {
            docker: DockerSupport::from_arguments(docker),
            cluster: ClusterSupport::assumed_from_arguments(cluster),
        }
    }

    /// Returns the places of a run that is to be resumed.
    pub(crate) fn from_recorded(engines: &[EngineDescription], cluster: &ClusterArguments) -> Self {
        Self {
            docker: DockerSupport::from_recorded(engines),
            cluster: ClusterSupport::from_arguments(cluster),
        }
    }

    /// Returns the networks of all places.
    pub(crate) fn networks(&self) -> Vec<Box<dyn Network>> {
        let mut networks = self.docker.networks();
        networks.extend(self.cluster.networks());
        networks
    }

    /// Prepares the places for a plan, before the lab is entered.
    ///
    /// # Errors
    /// A place cannot be prepared.
    pub(crate) fn prepare(&self, plan: &Plan) -> Result<(), Error> {
        self.prepare_for(plan.networks.iter().map(|entry| entry.network.as_str()))
    }

    /// Prepares the places for one network, before the lab is entered.
    ///
    /// # Errors
    /// A place cannot be prepared.
    pub(crate) fn prepare_network(&self, network: &NetworkSpec) -> Result<(), Error> {
        self.prepare_for(std::iter::once(network.name.as_str()))
    }

    fn prepare_for<'a>(&self, mut networks: impl Iterator<Item = &'a str>) -> Result<(), Error> {
        networks.try_for_each(|network| {
            self.docker.prepare(network)?;
            if self.cluster.owns(network) { self.cluster.prepare() } else { Ok(()) }
        })
    }

    /// Returns true if all networks of a plan are in these places: their servers keep their data there.
    pub(crate) fn have_all_networks(&self, plan: &Plan) -> bool {
        plan.networks
            .iter()
            .all(|entry| self.docker.owns(&entry.network) || self.cluster.owns(&entry.network))
    }

    /// Returns true if no process of a plan's networks runs on this machine.
    pub(crate) fn need_no_lab(&self, plan: &Plan) -> bool {
        plan.networks.iter().all(|entry| self.cluster.owns(&entry.network))
    }

    /// Removes what this process has made in all places and not yet removed.
    ///
    /// # Errors
    /// Something remains. The error says how to remove it.
    pub(crate) fn finish(&self) -> Result<(), Error> {
        let docker = self.docker.finish();
        self.cluster.finish().and(docker)
    }
}
