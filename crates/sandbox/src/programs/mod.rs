//! Programs in a network namespace: the context in which they run, their logs, and waiting for their end.
//!
//! The programs of one network namespace share a mount namespace ([`MountNamespace`]): `/run` and `/tmp` are empty and
//! private, `/run/NAME` ([`runtime_directory`], NAME is the namespace's) exists for sockets and databases, and
//! `/run/netns` lists other namespaces by their names. None of these files is on a disk, and all are removed with the
//! last of the programs.

mod child_process;
mod cpu_time;
mod exec_context;
mod log;
mod mount_namespace;
mod process_endpoints;
mod process_sockets;
mod process_tree;

pub use child_process::{describe_exit, kill_group, wait_timeout};
pub use cpu_time::process_cpu_time;
pub use exec_context::{
    CommandOutput, ExecContext, START_TIMEOUT, find_program, run_outside_sandbox,
};
pub use log::Log;
pub use mount_namespace::{MountNamespace, PRIVATE_DIRECTORIES, runtime_directory};
pub use process_endpoints::{holds_tap, is_executable_of, listens_on};
pub use process_sockets::{ProcessSocket, SocketEnd, process_sockets};
pub use process_tree::{descendants, kill_descendants};
