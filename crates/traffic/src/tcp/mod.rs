//! Common parts of the workloads over TCP: sockets and their options, the greeting, and the server's accept loop.

mod granted_options;
pub(crate) mod greeting;
mod greeting_queue;
mod patient_reader;
mod server;
mod socket;
mod state_log;

pub(crate) use granted_options::GrantedOptions;
#[cfg(test)]
pub(crate) use greeting::receive_greeting;
pub(crate) use greeting::{
    AcceptedFlow, FlowDirection, FlowOrigin, GREETING_LENGTH, GREETING_TIMEOUT, Greeting,
};
pub(crate) use greeting_queue::GreetingQueue;
pub(crate) use patient_reader::PatientReader;
pub(crate) use server::{AcceptedFlows, DRAIN_TIMEOUT, TcpServerThread};
pub use socket::default_congestion;
pub(crate) use socket::{
    CONGESTION, TcpOptions, connect, connect_directed, is_shut_by_peer, listen, set_congestion,
    shut_down,
};
pub(crate) use state_log::TcpStateLog;
