//! Programs of a network: daemons that carry its packets or tell the kernel how to, and the steps that set them up.
//!
//! A wiring lists them ([`Program`]), and they are started ([`start()`]) once all that is wired is there. Each runs in a
//! namespace of the wiring and, as everything in the lab, inside of its PID namespace: it ends with tare, however tare
//! ends. The programs of one namespace have a view of files of their own ([`Mounts`]): `/run` and `/tmp` are empty and
//! theirs alone, `/run/NAME` ([`directory`], NAME is the namespace's) is there for sockets and databases, and
//! `/run/netns` has every namespace of the wiring by its name. Nothing of it is on any disk, and all of it ends with
//! the last of them.
//!
//! The programs of a namespace are started one after the other, each when the one before is ready ([`Ready`]);
//! namespaces do not wait for each other. What a program says goes to its [`Log`], and, when something fails, the line
//! that tells most of it becomes the error's.
//!
//! [`Running`] holds them. Dropping it kills them and whatever they have started.

mod halt;
mod log;
mod mounts;
mod plan;
mod process;
mod ready;
mod running;
mod station;

pub(crate) use log::Log;
pub(crate) use mounts::{Mounts, View};
pub(crate) use plan::{Counter, Program, Ready, directory};
pub(crate) use running::{Running, start};
pub(crate) use station::{Output, Station};
