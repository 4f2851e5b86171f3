//! All networks of all places, in one list that is handed about, never global.

use crate::options::{NetworkOption, listed};
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

    /// The network of this name, which takes these options.
    ///
    /// # Errors
    /// When there is none, or it does not take one of the options; the error says what there is.
    pub fn find(&self, spelled: &Spelled) -> Result<&dyn Network, FindError> {
        let network = self
            .networks
            .iter()
            .map(AsRef::as_ref)
            .find(|network| network.about().name == spelled.name)
            .ok_or_else(|| FindError::Name {
                name: spelled.name.clone(),
                known: self.names().join(", "),
            })?;
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
        self.networks
            .iter()
            .map(|network| Listing {
                about: network.about(),
                missing: self.missing(network.as_ref(), &Site::default(), probe),
            })
            .collect()
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

    #[test]
    fn a_network_without_options_says_so() {
        assert_eq!(takes(&[]), "it has no options");
    }
}
