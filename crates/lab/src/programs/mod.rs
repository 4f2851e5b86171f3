//! Programs of a network: daemons that carry its packets or configure the kernel, and the steps that set them up.
//!
//! A wiring lists them as [`Program`]s. They are started ([`start()`]) after everything in the wiring is built. Each
//! runs in a network namespace of the wiring and, as all programs of the lab, in the lab's PID namespace: it ends with
//! tare, however tare ends. The programs of one network namespace share a mount namespace ([`MountNamespace`]): `/run`
//! and `/tmp` are empty and private, `/run/NAME` ([`runtime_directory`], NAME is the namespace's) exists for sockets
//! and databases, and `/run/netns` lists every namespace of the wiring by its name. None of these files is on a disk,
//! and all are removed with the last of the programs.
//!
//! The programs of a namespace are started one after the other, each when the one before is ready ([`ReadyCondition`]);
//! namespaces do not wait for each other. A program's output goes to its [`Log`]. If something fails, the line of it
//! that best explains the failure becomes part of the error.
//!
//! [`RunningPrograms`] holds the programs. Dropping it kills them and their descendants.

mod exec_context;
mod halt;
mod log;
mod mount_namespace;
mod process;
mod program;
mod readiness;
mod running_programs;

pub(crate) use exec_context::{CommandOutput, ExecContext, START_TIMEOUT, run_outside_lab};
pub(crate) use log::Log;
pub(crate) use mount_namespace::MountNamespace;
pub(crate) use program::{PacketCounter, Program, ReadyCondition, runtime_directory};
pub(crate) use running_programs::{RunningPrograms, start};
