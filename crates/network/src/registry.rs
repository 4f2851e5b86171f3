//! Registry of all networks of all places. It is passed as a value, never global.

use crate::options::{NetworkOption, describe_options};
use crate::{
    Network, NetworkInfo, NetworkParameters, NetworkSpec, RequirementProbe, UnmetRequirement,
};
use std::ops::RangeInclusive;

/// Networks that this build knows.
#[derive(Default)]
pub struct NetworkRegistry {
    networks: Vec<Box<dyn Network>>,
    /// Networks that are measured only if the user names them.
    opt_in: Vec<Box<dyn Network>>,
}

/// A network, and whether it runs here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkAvailability {
    /// Description of the network.
    pub about: NetworkInfo,
    /// Range of the number of nodes that the network can join.
    pub nodes: RangeInclusive<u32>,
    /// Requirement that is not met here. `None` if the network runs here.
    pub missing: Option<UnmetRequirement>,
}

/// Similarity (Jaro) from which a name is offered in the place of an unknown one, and the most that are.
const SIMILAR: f64 = 0.7;
const MOST_SIMILAR: usize = 3;

/// Error for a network that this build does not know as it is spelled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    /// No network has the name.
    #[error(
        "unknown network `{name}`: {}`tare list networks` has all names",
        did_you_mean(similar)
    )]
    UnknownName {
        /// Name that was not found.
        name: String,
        /// Similar names that this build knows, the most similar first.
        similar: Vec<String>,
    },
    /// The network has no such option.
    #[error("`{spelled}`: {name} does not take {refused}; {takes}")]
    UnsupportedOption {
        /// Network with its options, as the user spelled it.
        spelled: String,
        /// Name of the network.
        name: &'static str,
        /// Option that the network does not take.
        refused: NetworkOption,
        /// Options that the network takes instead.
        takes: String,
    },
}

impl NetworkRegistry {
    /// Returns a registry of these networks.
    #[must_use]
    pub fn new(networks: Vec<Box<dyn Network>>) -> Self {
        Self { networks, opt_in: Vec::new() }
    }

    /// Returns the same registry with networks that `all` does not include: they are measured only if the user names
    /// them.
    #[must_use]
    pub fn with_opt_in(mut self, networks: Vec<Box<dyn Network>>) -> Self {
        self.opt_in.extend(networks);
        self
    }

    /// Iterates over all networks. Networks that `all` does not include are last.
    fn iter_all(&self) -> impl Iterator<Item = &dyn Network> {
        self.networks.iter().chain(&self.opt_in).map(AsRef::as_ref)
    }

    /// Returns the same registry with another place's networks after its own.
    #[must_use]
    pub fn with_networks(mut self, networks: Vec<Box<dyn Network>>) -> Self {
        self.networks.extend(networks);
        self
    }

    /// Returns the names that `all` includes: those that are complete without an argument, in order.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        let complete = self.networks.iter().filter(|network| network.scheme().is_none());
        complete.map(|network| network.info().name).collect()
    }

    /// Finds the network of this name, and checks that it takes these options.
    ///
    /// # Errors
    /// There is no such network, or it does not take one of the options. The error lists similar names, or the options that
    /// exist.
    pub fn find(&self, spelled: &NetworkSpec) -> Result<&dyn Network, FindError> {
        let network =
            self.iter_all().find(|network| has_name(*network, &spelled.name)).ok_or_else(|| {
                let known = self.iter_all().map(|network| network.info().name);
                FindError::unknown_name(&spelled.name, known)
            })?;
        let NetworkInfo { name, options, .. } = network.info();
        match spelled.options.chosen().find(|option| !options.contains(option)) {
            None => Ok(network),
            Some(refused) => Err(FindError::UnsupportedOption {
                spelled: spelled.to_string(),
                name,
                refused,
                takes: describe_supported(options),
            }),
        }
    }

    /// Returns the first requirement of a network that is not met here. Returns `None` if all are met.
    #[must_use]
    pub fn unmet_requirement(
        &self,
        network: &dyn Network,
        site: &NetworkParameters,
        probe: &dyn RequirementProbe,
    ) -> Option<UnmetRequirement> {
        network.requirements(site).iter().find_map(|need| probe.check(need).err())
    }

    /// Returns all networks, each with the requirement that is not met here.
    #[must_use]
    pub fn availability(&self, probe: &dyn RequirementProbe) -> Vec<NetworkAvailability> {
        self.iter_all()
            .map(|network| NetworkAvailability {
                about: network.info(),
                nodes: network.nodes(),
                missing: self.unmet_requirement(network, &NetworkParameters::default(), probe),
            })
            .collect()
    }
}

impl FindError {
    /// Returns the error for a name that is not among the known ones.
    pub fn unknown_name<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> Self {
        let mut similar: Vec<(f64, &str)> =
            known.map(|other| (strsim::jaro(name, other), other)).collect();
        similar.retain(|(similarity, _)| *similarity > SIMILAR);
        similar.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        let similar = similar.iter().take(MOST_SIMILAR).map(|(_, other)| (*other).to_owned());
        Self::UnknownName { name: name.to_owned(), similar: similar.collect() }
    }
}

/// Asks if one of these names was meant. Empty without names.
fn did_you_mean(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((last, [])) => format!("did you mean {last}? "),
        Some((last, others)) => format!("did you mean {} or {last}? ", others.join(", ")),
    }
}

/// Returns `true` if this is the network's name: the whole name, or its scheme and an argument.
fn has_name(network: &dyn Network, name: &str) -> bool {
    match network.scheme() {
        None => network.info().name == name,
        Some(scheme) => name.strip_prefix(scheme).is_some_and(|argument| !argument.is_empty()),
    }
}

/// Describes the options that a network takes, for an error about another option.
fn describe_supported(options: &[NetworkOption]) -> String {
    if options.is_empty() {
        "the network has no options".to_owned()
    } else {
        format!("the network takes {}", describe_options(options))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mock::MockNetwork;
    use crate::{Error, Requirement, Shape, Topology};

    #[test]
    fn the_most_similar_names_are_offered_and_no_others() {
        let known =
            ["bridge", "bridge-plain", "host", "docker:bridge", "swarm:overlay", "ovs-bridge"];
        let error = |name: &str| FindError::unknown_name(name, known.into_iter()).to_string();
        assert_eq!(
            error("bidge"),
            "unknown network `bidge`: did you mean `bridge` or `bridge-plain`? \
             `tare list networks` has all names"
        );
        assert_eq!(error("zzz"), "unknown network `zzz`: `tare list networks` has all names");
    }

    #[test]
    fn what_there_is_is_said_to_whom_asks_for_something_else() {
        let registry = NetworkRegistry::new(vec![Box::new(MockNetwork::new("mock"))]);
        let find = |text: &str| registry.find(&text.parse().unwrap()).map(Network::info);
        assert_eq!(find("mock+plain").unwrap().name, "mock");
        assert_eq!(
            find("mick+plain").unwrap_err().to_string(),
            "unknown network `mick`: did you mean `mock`? `tare list networks` has all names"
        );
        assert_eq!(
            find("mock+plain+rate=1gbit").unwrap_err().to_string(),
            "`mock+plain+rate=1gbit`: mock does not take +rate=RATE (every container's link \
             limited, in each direction, for example +rate=970mbit); the network takes +plain \
             (without netfilter)"
        );
    }

    /// Network whose argument is a file.
    struct FileNetwork;

    impl Network for FileNetwork {
        fn info(&self) -> NetworkInfo {
            NetworkInfo { name: "file:PATH", ..MockNetwork::new("mock").info() }
        }

        fn scheme(&self) -> Option<&'static str> {
            Some("file:")
        }

        fn requirements(&self, site: &NetworkParameters) -> Vec<Requirement> {
            MockNetwork::new("mock").requirements(site)
        }

        fn set_up(&self, shape: &Shape, site: &NetworkParameters) -> Result<Topology, Error> {
            MockNetwork::new("mock").set_up(shape, site)
        }

        fn commands(&self, shape: &Shape, site: &NetworkParameters) -> Vec<String> {
            MockNetwork::new("mock").commands(shape, site)
        }
    }

    #[test]
    fn a_network_with_an_argument_is_none_of_all() {
        let registry =
            NetworkRegistry::new(vec![Box::new(MockNetwork::new("mock")), Box::new(FileNetwork)]);
        let find = |text: &str| registry.find(&text.parse().unwrap()).map(Network::info);
        assert_eq!(registry.names(), ["mock"]);
        assert_eq!(find("file:/etc/x").unwrap().name, "file:PATH");
        for incomplete in ["file:", "file", "file:PATH+plain+rate=1gbit"] {
            assert!(find(incomplete).is_err(), "{incomplete}");
        }
        assert!(find("fail:x").unwrap_err().to_string().contains("did you mean `file:PATH`?"));
        let spelled = "file:/etc/x".parse().unwrap();
        assert_eq!(
            NetworkParameters::from_spec(&spelled, Vec::new()).argument.as_deref(),
            Some("/etc/x")
        );
    }

    #[test]
    fn a_network_without_options_says_so() {
        assert_eq!(describe_supported(&[]), "the network has no options");
    }
}
