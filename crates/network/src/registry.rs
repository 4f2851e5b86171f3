//! All networks of all places, in one list that is handed about, never global.

use crate::{About, Missing, Network, Probe, Site, Spelled};

/// The networks that this build knows.
#[derive(Default)]
pub struct Registry {
    networks: Vec<Box<dyn Network>>,
}

/// A network, and whether it runs here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// What it is.
    pub about: About,
    /// What is missing, where something is.
    pub missing: Option<Missing>,
}

impl Registry {
    /// A registry of these networks.
    #[must_use]
    pub fn new(networks: Vec<Box<dyn Network>>) -> Self {
        Self { networks }
    }

    /// The same registry with another place's networks after its own.
    #[must_use]
    pub fn with(mut self, networks: Vec<Box<dyn Network>>) -> Self {
        self.networks.extend(networks);
        self
    }

    /// All names, in order.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        self.networks.iter().map(|network| network.about().name).collect()
    }

    /// The network of this name, unless there is none, or it has no such option.
    #[must_use]
    pub fn find(&self, spelled: &Spelled) -> Option<&dyn Network> {
        self.networks
            .iter()
            .map(AsRef::as_ref)
            .find(|network| network.about().name == spelled.name)
            .filter(|network| !spelled.plain || network.about().has_plain)
    }

    /// What a network lacks here, if anything.
    #[must_use]
    pub fn missing(
        &self,
        network: &dyn Network,
        site: &Site,
        probe: &dyn Probe,
    ) -> Option<Missing> {
        network.needs(site).iter().find_map(|need| probe.check(need).err())
    }

    /// All networks, with what each lacks here.
    #[must_use]
    pub fn listing(&self, probe: &dyn Probe) -> Vec<Listing> {
        self.networks
            .iter()
            .map(|network| Listing {
                about: network.about(),
                missing: self.missing(network.as_ref(), &Site::default(), probe),
            })
            .collect()
    }
}
