//! What the workloads over TCP share: sockets and their options, the greeting, and accepting.

mod hello;
mod serve;
mod socket;
mod state;

#[cfg(test)]
pub(crate) use hello::welcome;
pub(crate) use hello::{Accepted, Way};
pub(crate) use serve::{GRACE, Gathered, Serving};
pub(crate) use socket::{Granted, Options, connect, connect_as, shut};
pub(crate) use state::StateLog;
