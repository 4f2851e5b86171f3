//! Nodes of a cluster that a network connects.

use crate::NodeFacts;
use crate::finding::kind::{FindingKind, FindingScope, FindingWeight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Nodes of the ends of a network between machines of a cluster. Where they differ, a ratio holds for this pair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodePairFacts {
    /// Node of the first client.
    pub client: NodeFacts,
    /// Node of its server.
    pub server: NodeFacts,
}

impl fmt::Display for NodePairFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { client, server } = self;
        if client.is_like(server) {
            write!(f, "the nodes of both ends are alike: {client}")?;
        } else {
            write!(f, "the nodes differ: the client's has {client}; the server's {server}")?;
        }
        match (&client.zone, &server.zone) {
            (Some(one), Some(other)) if one == other => f.write_str("; they are in one zone"),
            (Some(_), Some(_)) => f.write_str("; they are in two zones"),
            _ => Ok(()),
        }
    }
}

impl FindingKind for NodePairFacts {
    fn weight(&self) -> FindingWeight {
        if self.client.is_like(&self.server) {
            FindingWeight::Background
        } else {
            FindingWeight::Reading
        }
    }

    fn scope(&self) -> FindingScope {
        FindingScope::Machine
    }

    fn subject(&self) -> String {
        self.to_string()
    }
}
