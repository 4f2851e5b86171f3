//! Processes that must carry the traffic of a container.

use crate::plan::namespace_id::NamespaceId;
use std::net::SocketAddr;

/// Process that must carry the traffic of a container. What it holds proves that no other program does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Carrier {
    /// Namespace of the node on which it runs.
    pub(crate) node: NamespaceId,
    /// Name of the program, with which the version that it states must begin.
    pub(crate) name: &'static str,
    /// Executable that it must be: a name on the PATH, or an absolute path.
    pub(crate) program: String,
    /// Endpoint that it must hold.
    pub(crate) endpoint: HeldEndpoint,
}

/// Endpoint through which a container's traffic passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HeldEndpoint {
    /// Tap device of a container, by an open descriptor of its character device.
    Tap {
        /// Namespace of the container.
        space: NamespaceId,
        /// Name of the device.
        device: String,
    },
    /// Listening socket on the node.
    Listener(SocketAddr),
}
