//! Catalogue of this build: all registries together, with what can run on this machine.

use crate::places::Places;
use crate::workloads::workload_registry;
use std::ops::RangeInclusive;
use std::sync::Arc;
use tare_network::{
    AgentNamespaces, FindError, Network, NetworkParameters, NetworkRegistry, NetworkSpec, NodeKind,
    NodeLink, Requirement, RequirementProbe as _, UnmetRequirement,
};
use tare_record::{Metric, Parameters, Placement, Shape, SliceKind};
use tare_sandbox::{KernelProbe, ModuleLoading, Sandbox};
use tare_study::Catalogue;
use tare_traffic::placement::{SideCores, TrafficRole};

/// Networks that `core` stands for: Docker's setup on one host, and networks that show the cost of each of its steps.
const CORE_NETWORKS: [&str; 8] =
    ["native", "loopback", "host", "shared", "veth", "bridge", "bridge-plain", "published"];

/// Networks and workloads of this build, and the probe that determines what runs here.
pub(crate) struct BuildCatalogue {
    pub(crate) networks: NetworkRegistry,
    pub(crate) workloads: tare_traffic::WorkloadRegistry,
    probe: KernelProbe,
    /// True if workloads may find their programs in an image instead of on this machine.
    has_image: bool,
}

/// Creates the catalogue of this build. Without a lab it serves for listing and planning: no network can be set up.
pub(crate) fn build_catalogue(
    sandbox: Option<Arc<Sandbox>>,
    modules: ModuleLoading,
) -> BuildCatalogue {
    build_catalogue_with(sandbox, modules, &Places::default())
}

/// Creates the catalogue of this build with the networks of these places.
pub(crate) fn build_catalogue_with(
    sandbox: Option<Arc<Sandbox>>,
    modules: ModuleLoading,
    places: &Places,
) -> BuildCatalogue {
    BuildCatalogue {
        networks: NetworkRegistry::new(tare_lab::networks(sandbox.clone()))
            .with_opt_in(tare_lab::pairs(sandbox))
            .with_networks(places.networks()),
        workloads: workload_registry(),
        probe: KernelProbe::new(modules),
        has_image: places.docker.has_own_image(),
    }
}

/// Returns the policy on loading kernel modules, from the flag.
pub(crate) fn module_policy(load: bool) -> ModuleLoading {
    if load { ModuleLoading::Load } else { ModuleLoading::Never }
}

impl BuildCatalogue {
    /// Returns all networks, each with its missing requirement, if any.
    pub(crate) fn listing(&self) -> Vec<tare_network::NetworkAvailability> {
        self.networks.availability(&self.probe)
    }

    /// Returns the missing requirement of a network, or `None` if it can run. Fails if the network is unknown.
    pub(crate) fn missing(
        &self,
        spelled: &NetworkSpec,
    ) -> Result<Option<UnmetRequirement>, FindError> {
        let network = self.networks.find(spelled)?;
        let site = NetworkParameters::from_spec(spelled, Vec::new());
        Ok(self.networks.unmet_requirement(network, &site, &self.probe))
    }

    /// Returns the programs that a network runs because its name says so. An unknown network runs none.
    pub(crate) fn programs_of_argument(&self, network: &NetworkSpec) -> Vec<String> {
        let found = self.networks.find(network).ok();
        found
            .zip(network.argument())
            .map_or(Vec::new(), |(found, argument)| found.programs_of_argument(argument))
    }

    /// Returns the missing requirement of the lab for such links between its nodes, or `None`.
    pub(crate) fn missing_for_link(&self, link: &NodeLink) -> Option<UnmetRequirement> {
        tare_lab::link_requirements(link).iter().find_map(|need| self.probe.check(need).err())
    }

    /// Returns the missing requirement of the lab for its namespaces, or `None`.
    pub(crate) fn missing_namespaces(&self) -> Option<UnmetRequirement> {
        self.probe.check(&Requirement::Namespaces).err()
    }

    /// Returns the kernel modules that networks may need, and that can be loaded but are not.
    pub(crate) fn loadable_modules(&self) -> Vec<String> {
        self.probe.loadable().into_iter().map(str::to_owned).collect()
    }

    /// Returns the namespaces in which the agents of a network run. An unknown network's are those of another machine.
    pub(crate) fn agent_namespaces(&self, network: &NetworkSpec) -> AgentNamespaces {
        self.networks
            .find(network)
            .map_or(AgentNamespaces::OtherMachine, |network| network.agent_namespaces())
    }

    /// Returns true if the connections of a workload with these parameters have the default congestion control of their
    /// network namespace.
    pub(crate) fn has_default_congestion(&self, workload: &str, asked: &Parameters) -> bool {
        let Ok(workload) = self.workloads.find(workload) else { return false };
        // Alternatives of a study are no parameters yet: the workload as it is without any stands for them.
        let resolved = workload.resolve(asked).or_else(|_| workload.resolve(&Parameters::new()));
        resolved.is_ok_and(|resolved| workload.has_default_congestion(&resolved))
    }

    /// Returns true if a workload has a parameter of this name.
    pub(crate) fn has_parameter(&self, workload: &str, name: &str) -> bool {
        self.workloads
            .find(workload)
            .is_ok_and(|workload| workload.parameters().iter().any(|one| one.name == name))
    }
}

impl Catalogue for BuildCatalogue {
    fn networks(&self) -> Vec<String> {
        self.networks.names().into_iter().map(str::to_owned).collect()
    }

    fn core_networks(&self) -> Vec<String> {
        CORE_NETWORKS.map(str::to_owned).to_vec()
    }

    fn missing_for_network(
        &self,
        network: &NetworkSpec,
    ) -> Result<Option<UnmetRequirement>, FindError> {
        self.missing(network)
    }

    fn stands_for(&self, network: &NetworkSpec) -> Option<String> {
        self.networks.find(network).ok().map(|network| network.info().stands_for.to_owned())
    }

    fn nodes(&self, network: &NetworkSpec) -> Result<RangeInclusive<u32>, FindError> {
        self.networks.find(network).map(Network::nodes)
    }

    fn has_node_pairs(&self, network: &NetworkSpec) -> bool {
        self.networks.find(network).is_ok_and(Network::has_node_pairs)
    }

    fn missing_room(&self, network: &NetworkSpec, shapes: &[Shape]) -> Option<UnmetRequirement> {
        // The port number does not matter, only the number of ports.
        const PORT: u16 = 5201;
        let site = NetworkParameters::from_spec(network, vec![PORT]);
        let network = self.networks.find(network).ok()?;
        let error = shapes.iter().find_map(|shape| network.check_capacity(shape, &site).err())?;
        Some(UnmetRequirement { reason: error.to_string(), remedy: error.remedy })
    }

    fn can_be_woven(&self, network: &NetworkSpec) -> bool {
        // A runtime may be a sandbox with a network stack in user space.
        network.options.runtime.is_none()
            && self.networks.find(network).is_ok_and(|network| network.can_be_woven())
    }

    fn is_on_other_machines(&self, network: &NetworkSpec) -> bool {
        self.networks.find(network).is_ok_and(|network| network.node_kind() == NodeKind::Machine)
    }

    fn client_cores(&self, cpus: &Placement) -> u64 {
        SideCores::for_role(cpus, TrafficRole::Client).list().len().max(1) as u64
    }

    fn slice_kind(&self, workload: &str) -> Option<SliceKind> {
        self.workloads.find(workload).ok()?.slice_kind()
    }

    fn workloads(&self) -> Vec<String> {
        self.workloads.names().into_iter().map(str::to_owned).collect()
    }

    fn own_workloads(&self) -> Vec<String> {
        let own = self.workloads.iter().filter(|workload| workload.programs().is_empty());
        own.map(|workload| workload.info().name.to_owned()).collect()
    }

    fn missing_for_workload(&self, workload: &str, asked: &Parameters) -> Option<UnmetRequirement> {
        // The user's image itself reports what it does not have.
        if self.has_image {
            return None;
        }
        self.workloads.find(workload).ok().and_then(|workload| workload.missing(asked))
    }

    fn metrics(&self, workload: &str) -> Option<Vec<Metric>> {
        self.workloads.find(workload).ok().map(|workload| workload.metrics().to_vec())
    }

    fn resolve(&self, workload: &str, asked: &Parameters) -> Result<Parameters, String> {
        self.workloads
            .find(workload)
            .and_then(|workload| workload.resolve(asked))
            .map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_through_a_stack_in_user_space_is_not_woven() {
        let catalogue = build_catalogue(None, ModuleLoading::Never);
        let is_woven = |name: &str| catalogue.can_be_woven(&name.parse().unwrap());
        assert!(["host", "bridge", "vxlan"].iter().all(|name| is_woven(name)));
        assert!(
            !["pasta", "pasta/host", "slirp4netns", "rootlesskit+mtu=1500"]
                .iter()
                .any(|name| is_woven(name))
        );
    }
}
