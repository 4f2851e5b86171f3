//! Traffic between any two machines, without a lab: a listener that serves any number of clients, and the probe, its
//! client.
//!
//! A probe opens one TCP connection, the *control connection*, and speaks the line protocol of [`message`] on it:
//! versions, proof of the token, one trial after another. The listener never opens a connection. For a trial it runs
//! the serving side of a workload, on ports that it chooses, of the address that the client dialled. When the control
//! connection ends, for whatever reason, the serving side ends too. `docs/PROTOCOL.md` describes the protocol in full.
//!
//! A client that has not proved the token is in a bounded queue: its lines are short, one deadline covers the whole
//! handshake, and when the queue is full a connection of the address range that holds the most is closed. Every failed
//! proof delays the next one of its address. A client that has proved the token is held to the [`Caps`], and to what
//! other clients leave of them.
#![forbid(unsafe_code)]

mod address_range;
mod admission;
mod caps;
mod client;
mod client_handshake;
mod connection;
mod control_connection;
mod failed_proofs;
#[cfg(fuzzing)]
pub mod fuzzing;
mod handshake_queue;
mod line_limit;
mod listener;
mod listener_state;
mod machine_limits;
pub mod message;
mod notice;
mod ports;
mod quota;
mod report_check;
mod token;
mod version;

pub use caps::Caps;
pub use client::{ProbeClient, ProbeOutcome};
pub use listener::Listener;
pub use listener_state::ListenerConfig;
pub use notice::ListenerNotice;
pub use ports::TrialPorts;
pub use token::{Bits256, Token};

/// Default port of a listener. No service is registered for it.
pub const PORT: u16 = 8273;
