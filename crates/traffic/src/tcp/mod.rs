//! What the workloads over TCP share: sockets and their options, the greeting, and accepting.

mod hello;
mod serve;
mod socket;
mod state;

#[cfg(test)]
pub(crate) use hello::welcome;
pub(crate) use hello::{Accepted, Way};
pub(crate) use serve::{GRACE, Gathered, Serving, accept_one as accept};
pub(crate) use socket::{Granted, Options, connect, connect_as, listen, shut};
pub(crate) use state::StateLog;
