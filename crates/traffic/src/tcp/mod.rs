//! Common parts of the workloads over TCP: sockets and their options, the greeting, and the server's accept loop.

mod granted_options;
mod greeting;
mod server;
mod socket;
mod state_log;

pub(crate) use granted_options::GrantedOptions;
#[cfg(test)]
pub(crate) use greeting::receive_greeting;
pub(crate) use greeting::{AcceptedFlow, FlowDirection, FlowOrigin};
pub(crate) use server::{AcceptedFlows, DRAIN_TIMEOUT, TcpServerThread, accept_one as accept};
pub(crate) use socket::{
    CONGESTION, TcpOptions, connect, connect_directed, listen, set_congestion, shut_down,
};
pub(crate) use state_log::TcpStateLog;
