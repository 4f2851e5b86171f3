//! Counters of one network namespace: devices, queues, netfilter rules, connection tracking and protocols.
//!
//! Nothing here makes the kernel load a module.

#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod namespace_reader;
mod rules;

pub use namespace_reader::{NamespaceReader, NamespaceReading};
