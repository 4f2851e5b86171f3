//! Programs of a network: daemons that carry its packets or configure the kernel, and the steps that set them up.
//!
//! A wiring lists them as [`Program`]s. They are started ([`start()`]) after everything in the wiring is built. Each
//! runs in a network namespace of the wiring and, as all programs of the sandbox, in its PID namespace: it ends with
//! tare, however tare ends. The programs of one network namespace share a mount namespace
//! ([`MountNamespace`](tare_sandbox::programs::MountNamespace)), in which `/run/netns` lists every namespace of the
//! wiring by its name.
//!
//! The programs of a namespace are started one after the other, each when the one before is ready ([`ReadyCondition`]);
//! namespaces do not wait for each other. A program's output goes to its log. If something fails, the line of it that
//! best explains the failure becomes part of the error.
//!
//! [`RunningPrograms`] holds the programs. Dropping it kills them and their descendants.

mod halt;
mod program;
mod readiness;
mod running_programs;
mod stated_version;

pub(crate) use program::{PacketCounter, Program, ReadyCondition, StandIn};
pub(crate) use running_programs::{RunningPrograms, start};
pub(crate) use stated_version::{mismatch, stated_version, version_alone};
