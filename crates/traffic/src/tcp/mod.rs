//! What the workloads over TCP share: sockets and their options, the greeting, and accepting.

mod hello;
mod serve;
mod socket;

pub(crate) use hello::Accepted;
#[cfg(test)]
pub(crate) use hello::welcome;
pub(crate) use serve::{GRACE, Serving, accept_one as accept};
pub(crate) use socket::{Granted, Options, connect, listen, shut};
