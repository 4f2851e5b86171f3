//! All networks of all places, in one list that is handed about, never global.

use crate::options::{NetworkOption, listed};
use crate::{About, Missing, Network, Probe, Site, Spelled};
use std::ops::RangeInclusive;

/// The networks that this build knows.
#[derive(Default)]
pub struct Registry {
    networks: Vec<Box<dyn Network>>,
    /// Those that are measured only when they are named.
    apart: Vec<Box<dyn Network>>,
}

/// A network, and whether it runs here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// What it is.
    pub about: About,
    /// How many nodes it can join.
    pub nodes: RangeInclusive<u32>,
    /// What is missing, where something is.
    pub missing: Option<Missing>,
}

/// A network that this build does not know as it is spelled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    /// No network has the name.
    #[error("unknown network `{name}`: this build knows {known}")]
    Name {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// The network has no such option.
    #[error("`{spelled}`: {name} does not take {refused}; {takes}")]
    Option {
        /// What was asked for.
        spelled: String,
        /// The network.
        name: &'static str,
        /// The option that it does not have.
        refused: NetworkOption,
        /// What it has instead.
        takes: String,
    },
}

impl Registry {
    /// A registry of these networks.
    #[must_use]
    pub fn new(networks: Vec<Box<dyn Network>>) -> Self {
        Self { networks, apart: Vec::new() }
    }

    /// The same registry with networks that `all` does not stand for: they are measured only when they are named.
    #[must_use]
    pub fn with_apart(mut self, networks: Vec<Box<dyn Network>>) -> Self {
        self.apart.extend(networks);
        self
    }

    /// All networks, those apart last.
    fn everything(&self) -> impl Iterator<Item = &dyn Network> {
        self.networks.iter().chain(&self.apart).map(AsRef::as_ref)
    }

    /// The same registry with another place's networks after its own.
    #[must_use]
    pub fn with(mut self, networks: Vec<Box<dyn Network>>) -> Self {
        self.networks.extend(networks);
        self
    }

    /// The names of all networks that `all` stands for: those that are complete without an argument, in order.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        let complete = self.networks.iter().filter(|network| network.scheme().is_none());
        complete.map(|network| network.about().name).collect()
    }

    /// All names, as users are told of them.
    fn known(&self) -> String {
        self.everything().map(|network| network.about().name).collect::<Vec<_>>().join(", ")
    }

    /// The network of this name, which takes these options.
    ///
    /// # Errors
    /// When there is none, or it does not take one of the options; the error says what there is.
    pub fn find(&self, spelled: &Spelled) -> Result<&dyn Network, FindError> {
        let network = self
            .everything()
            .find(|network| has_name(*network, &spelled.name))
            .ok_or_else(|| FindError::Name { name: spelled.name.clone(), known: self.known() })?;
        let About { name, options, .. } = network.about();
        match spelled.options.chosen().find(|option| !options.contains(option)) {
            None => Ok(network),
            Some(refused) => Err(FindError::Option {
                spelled: spelled.to_string(),
                name,
                refused,
                takes: takes(options),
            }),
        }
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
        self.everything()
            .map(|network| Listing {
                about: network.about(),
                nodes: network.nodes(),
                missing: self.missing(network, &Site::default(), probe),
            })
            .collect()
    }
}

/// Whether this is a network's name: all of it, or what it begins with and an argument.
fn has_name(network: &dyn Network, name: &str) -> bool {
    match network.scheme() {
        None => network.about().name == name,
        Some(scheme) => name.strip_prefix(scheme).is_some_and(|argument| !argument.is_empty()),
    }
}

/// What a network takes, for whoever asked for something else.
fn takes(options: &[NetworkOption]) -> String {
    if options.is_empty() {
        "it has no options".to_owned()
    } else {
        format!("it takes {}", listed(options))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mock::Mock;
    use crate::{Error, Need, Shape, Topology};

    #[test]
    fn what_there_is_is_said_to_whom_asks_for_something_else() {
        let registry = Registry::new(vec![Box::new(Mock::new("mock"))]);
        let find = |text: &str| registry.find(&text.parse().unwrap()).map(Network::about);
        assert_eq!(find("mock+plain").unwrap().name, "mock");
        assert_eq!(
            find("mick+plain").unwrap_err().to_string(),
            "unknown network `mick`: this build knows mock"
        );
        assert_eq!(
            find("mock+plain+rate=1gbit").unwrap_err().to_string(),
            "`mock+plain+rate=1gbit`: mock does not take +rate=RATE (every container's link \
             limited, in each direction, as in +rate=970mbit); it takes +plain (without netfilter)"
        );
    }

    /// A network of any file.
    struct OfFile;

    impl Network for OfFile {
        fn about(&self) -> About {
            About { name: "file:PATH", ..Mock::new("mock").about() }
        }

        fn scheme(&self) -> Option<&'static str> {
            Some("file:")
        }

        fn needs(&self, site: &Site) -> Vec<Need> {
            Mock::new("mock").needs(site)
        }

        fn raise(&self, shape: &Shape, site: &Site) -> Result<Topology, Error> {
            Mock::new("mock").raise(shape, site)
        }

        fn commands(&self, shape: &Shape, site: &Site) -> Vec<String> {
            Mock::new("mock").commands(shape, site)
        }
    }

    #[test]
    fn a_network_with_an_argument_is_none_of_all() {
        let registry = Registry::new(vec![Box::new(Mock::new("mock")), Box::new(OfFile)]);
        let find = |text: &str| registry.find(&text.parse().unwrap()).map(Network::about);
        assert_eq!(registry.names(), ["mock"]);
        assert_eq!(find("file:/etc/x").unwrap().name, "file:PATH");
        for incomplete in ["file:", "file", "file:PATH+plain+rate=1gbit"] {
            assert!(find(incomplete).is_err(), "{incomplete}");
        }
        assert!(find("fail:x").unwrap_err().to_string().contains("knows mock, file:PATH"));
        let spelled = "file:/etc/x".parse().unwrap();
        assert_eq!(Site::of(&spelled, Vec::new()).argument.as_deref(), Some("/etc/x"));
    }

    #[test]
    fn a_network_without_options_says_so() {
        assert_eq!(takes(&[]), "it has no options");
    }
}
