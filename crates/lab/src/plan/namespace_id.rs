//! Identity of a namespace in a plan, and the names of those that are nodes.

/// Index of a namespace in a wiring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NamespaceId(pub(crate) usize);

/// Prefix of the names of the nodes' namespaces. A number follows.
pub(crate) const NODE_PREFIX: &str = "node-";
