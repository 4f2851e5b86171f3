//! The registries, put together: what this build knows, and what of it runs on this machine.

use crate::docker::Docker;
use std::ops::RangeInclusive;
use std::sync::Arc;
use tare_lab::{KernelProbe, Lab, Modules};
use tare_network::{FindError, Link, Missing, Need, Network, Probe as _, Registry, Site, Spelled};
use tare_record::{Metric, Parameters, Plan, Shape};
use tare_study::Catalogue;

/// The networks that one begins with: what Docker does on one host, and what each step of it costs.
const CORE: [&str; 8] =
    ["native", "loopback", "host", "shared", "veth", "bridge", "bridge-plain", "published"];

/// All networks, workloads, and the probe that says what runs here.
pub(crate) struct Everything {
    pub(crate) networks: Registry,
    pub(crate) workloads: tare_traffic::Registry,
    probe: KernelProbe,
    /// Whether workloads may find their programs elsewhere than on this machine.
    has_image: bool,
}

/// What this build knows. Without a lab it is for listing and planning: nothing can be raised.
pub(crate) fn everything(lab: Option<Arc<Lab>>, modules: Modules) -> Everything {
    everything_with(lab, modules, &Docker::default())
}

/// The same, with what was chosen of Docker's.
pub(crate) fn everything_with(
    lab: Option<Arc<Lab>>,
    modules: Modules,
    docker: &Docker,
) -> Everything {
    Everything {
        networks: Registry::new(tare_lab::networks(lab.clone()))
            .with_apart(tare_lab::pairs(lab))
            .with(docker.networks()),
        workloads: tare_traffic::workloads(),
        probe: KernelProbe::new(modules),
        has_image: docker.has_programs(),
    }
}

/// Whether kernel modules may be loaded, from the flag.
pub(crate) fn modules(load: bool) -> Modules {
    if load { Modules::Load } else { Modules::Never }
}

impl Everything {
    /// All networks, with what each lacks here.
    pub(crate) fn listing(&self) -> Vec<tare_network::Listing> {
        self.networks.listing(&self.probe)
    }

    /// What a network lacks here, if anything; an error where nobody knows it.
    pub(crate) fn missing(&self, spelled: &Spelled) -> Result<Option<Missing>, FindError> {
        let network = self.networks.find(spelled)?;
        let site = Site::of(spelled, Vec::new());
        Ok(self.networks.missing(network, &site, &self.probe))
    }

    /// The first network of a plan whose name says what to run.
    pub(crate) fn runs_its_argument<'a>(&self, plan: &'a Plan) -> Option<&'a str> {
        let runs = |name: &str| {
            let spelled: Option<Spelled> = name.parse().ok();
            let found = spelled.as_ref().map(|spelled| self.networks.find(spelled));
            matches!(found, Some(Ok(network)) if network.runs_its_argument())
        };
        plan.networks.iter().map(|entry| entry.network.as_str()).find(|name| runs(name))
    }

    /// Why the lab cannot have these links between its nodes, if it cannot.
    pub(crate) fn lacks_link(&self, link: &Link) -> Option<Missing> {
        tare_lab::link_needs(link).iter().find_map(|need| self.probe.check(need).err())
    }

    /// Why the lab cannot have its namespaces here, if it cannot.
    pub(crate) fn lacks_namespaces(&self) -> Option<Missing> {
        self.probe.check(&Need::Namespaces).err()
    }

    /// The kernel modules that networks may need, that are not loaded and could be.
    pub(crate) fn loadable_modules(&self) -> Vec<String> {
        self.probe.loadable().into_iter().map(str::to_owned).collect()
    }

    /// Whether a workload has a parameter of this name.
    pub(crate) fn has_parameter(&self, workload: &str, name: &str) -> bool {
        self.workloads
            .find(workload)
            .is_ok_and(|workload| workload.parameters().iter().any(|one| one.name == name))
    }
}

impl Catalogue for Everything {
    fn networks(&self) -> Vec<String> {
        self.networks.names().into_iter().map(str::to_owned).collect()
    }

    fn core(&self) -> Vec<String> {
        CORE.map(str::to_owned).to_vec()
    }

    fn lacks(&self, network: &Spelled) -> Result<Option<Missing>, FindError> {
        self.missing(network)
    }

    fn stands_for(&self, network: &Spelled) -> Option<String> {
        self.networks.find(network).ok().map(|network| network.about().stands_for.to_owned())
    }

    fn nodes(&self, network: &Spelled) -> Result<RangeInclusive<u32>, FindError> {
        self.networks.find(network).map(Network::nodes)
    }

    fn lacks_room(&self, network: &Spelled, shapes: &[Shape]) -> Option<Missing> {
        // Whichever ports the workloads will get, there are as many of them.
        const PORT: u16 = 5201;
        let site = Site::of(network, vec![PORT]);
        let network = self.networks.find(network).ok()?;
        let error = shapes.iter().find_map(|shape| network.has_room(shape, &site).err())?;
        Some(Missing { reason: error.to_string(), remedy: error.remedy })
    }

    fn workloads(&self) -> Vec<String> {
        self.workloads.names().into_iter().map(str::to_owned).collect()
    }

    fn own_workloads(&self) -> Vec<String> {
        let own = self.workloads.iter().filter(|workload| workload.programs().is_empty());
        own.map(|workload| workload.about().name.to_owned()).collect()
    }

    fn lacks_workload(&self, workload: &str, asked: &Parameters) -> Option<Missing> {
        // An image of the user's says itself what it lacks.
        if self.has_image {
            return None;
        }
        self.workloads.find(workload).ok().and_then(|workload| workload.lacks(asked))
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
