//! Labels of everything that a run makes in a cluster.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};

/// Label whose value is the run's number.
pub const RUN_LABEL: &str = "tare.run";

/// Label whose value is the network of a pod or a service, without its prefix.
pub(crate) const NETWORK_LABEL: &str = "tare.network";

/// Label whose value is the role of a pod: `server` or `client`.
pub(crate) const ROLE_LABEL: &str = "tare.role";

/// Number of a run, which no other run has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunId(String);

impl RunId {
    /// Makes the number of a new run.
    pub(crate) fn fresh() -> Self {
        // The hasher's keys are random, and the process id differs between two runs that start at the same moment.
        Self(format!("{:010x}", RandomState::new().hash_one(std::process::id()) >> 24))
    }

    /// Returns the number that objects have which are only shown.
    pub(crate) fn example() -> Self {
        Self("example".to_owned())
    }

    /// Returns the labels of everything that the run makes: the recommended ones, and the run's own.
    pub(crate) fn labels(&self) -> BTreeMap<String, String> {
        let own = [
            ("app.kubernetes.io/name", "tare"),
            ("app.kubernetes.io/instance", &self.0),
            ("app.kubernetes.io/version", env!("CARGO_PKG_VERSION")),
            ("app.kubernetes.io/managed-by", "tare"),
            (RUN_LABEL, &self.0),
        ];
        own.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }

    /// Returns the selector of everything that the run makes.
    pub(crate) fn selector(&self) -> String {
        format!("{RUN_LABEL}={}", self.0)
    }

    /// Returns the name of the object that owns everything else.
    pub(crate) fn owner_name(&self) -> String {
        format!("tare-{}", self.0)
    }

    /// Returns the name of an object that the run makes.
    pub(crate) fn object_name(&self, network: &str, rest: &str) -> String {
        format!("tare-{}-{network}-{rest}", self.0)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
