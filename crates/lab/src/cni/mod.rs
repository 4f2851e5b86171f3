//! Runtime's side of the Container Network Interface (containernetworking/cni, SPEC.md).
//!
//! A [`NetworkConfigList`] is a network's configuration: one plugin, or several, each of which gets the result of the
//! one before. An [`Attachment`] is one container attached by it. Plugins are programs that run on the node; they get
//! the container's namespace and `ADD` in their environment and their configuration on standard input, and return their
//! result on standard output. An [`CniResult`] holds the addresses and devices of that result.

mod attach;
mod config;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod result;
mod script;

pub(crate) use attach::{Attachment, PortMapping, RuntimeConfig};
pub(crate) use config::{NetworkConfigList, find_plugin, plugins_path};
pub(crate) use result::CniResult;
pub(crate) use script::script;

/// Name of a container's device (`CNI_IFNAME`).
pub(crate) const DEVICE: &str = "eth0";

/// Directory in which a runtime and its plugins keep their state.
pub(crate) const STATE_DIRECTORY: &str = "/var/lib/cni";
