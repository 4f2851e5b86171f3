//! The Container Network Interface, as a runtime speaks it to plugins (containernetworking/cni, SPEC.md).
//!
//! A [`List`] is a network's configuration: one plugin, or several of which each is told what the one before has done.
//! [`Attachment`] is one container attached by it: plugins are programs, run on the node with the container's namespace
//! and `ADD` in their environment, their configuration on standard input, their answer on standard output. [`Answer`]
//! says which addresses and devices came of it.

mod answer;
mod attach;
mod config;
mod script;

pub(crate) use answer::Answer;
pub(crate) use attach::{Attachment, PortMapping, Runtime};
pub(crate) use config::{List, plugins_path};
pub(crate) use script::script;

/// The name of a container's device.
pub(crate) const DEVICE: &str = "eth0";

/// Where a runtime and its plugins keep their state.
pub(crate) const STATE: &str = "/var/lib/cni";
