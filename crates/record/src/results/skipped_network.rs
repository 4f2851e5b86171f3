//! Networks of a plan that cannot run on this machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Network that cannot run on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkippedNetwork {
    /// Network's name with its options; several names separated by commas after grouping.
    pub network: String,
    /// Network's name in the run, if it has one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Reason why it cannot run.
    pub reason: String,
    /// Action that would make it run.
    pub remedy: String,
}

impl SkippedNetwork {
    /// Creates the entry of a network that was to run under a label, which may be its own name.
    #[must_use]
    pub fn new(label: &str, network: String, reason: String, remedy: String) -> Self {
        let label = (label != network).then(|| label.to_owned());
        Self { network, label, reason, remedy }
    }

    /// Returns the name under which the network was to run.
    #[must_use]
    pub fn label(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.network)
    }

    /// Merges networks with the same reason and remedy into one entry for display. The entry stands where the first of
    /// them stood; its `network` lists their names, separated by commas.
    #[must_use]
    pub fn group_by_reason(skipped: &[Self]) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for one in skipped {
            let same = |group: &&mut Self| group.reason == one.reason && group.remedy == one.remedy;
            match groups.iter_mut().find(same) {
                Some(group) => group.network = format!("{}, {}", group.network, one.network),
                None => groups.push(one.clone()),
            }
        }
        groups
    }
}
