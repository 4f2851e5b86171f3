//! Networks of rootless containers: a process on the node, started by its user, carries the container's traffic through
//! sockets of its own.
//!
//! A network is named after its stack: `pasta` has a client on the node, and a server whose port the node publishes.
//! `pasta/host` has the client behind the stack and the server on the node, and `pasta/pasta` has a stack on each side.
//! The path is proved by the process that holds the tap device and listens on the published port.

mod catalogue;
mod identity;
mod layout;
mod pasta;
mod port_request;
mod rootlesskit;
mod rootlesskit_slirp;
mod slirp4netns;
mod stack;

pub(crate) use catalogue::{NETWORKS, PAIRS};
pub use port_request::request_port;
