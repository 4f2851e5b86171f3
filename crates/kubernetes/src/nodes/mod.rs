//! Nodes of a run's pods: rules for the scheduler, and the pairs of nodes that they give.

mod choice;
mod pairs;

pub use pairs::NamedNodes;

pub(crate) use choice::{NodeChoice, NodeRules, ZONE};
pub(crate) use pairs::NodePairs;
