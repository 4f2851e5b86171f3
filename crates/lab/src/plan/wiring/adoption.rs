//! Namespaces that a program of the network makes.

use crate::plan::namespace_id::NamespaceId;

/// Origin of a namespace that a program makes: the lab takes it over when the program is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Adoption {
    /// Namespace of the node on which the program runs.
    pub(crate) node: NamespaceId,
    /// File of the node with the PID of a process in the namespace.
    pub(crate) pid_file: String,
}
