//! The traffic alone, between any two machines: a listener that serves any number of clients, and the probe that asks it.
//!
//! A probe opens one TCP connection, the *control connection*, and speaks the line protocol of [`message`] on it:
//! versions, proof of the token, one trial after another. The listener never dials anybody. For a trial it runs the
//! serving side of a workload on ports of its own choosing, of the address that the client dialled; its end, in
//! whatever way, ends with the control connection. `docs/PROTOCOL.md` says all of it for people.
//!
//! Whoever has not proved the token is held at the door: bounded lines, one deadline for everything, and where the
//! door is crowded the one who stands there longest goes. Whoever has is held to the [`Caps`], and to what other clients
//! have left of them.

mod caps;
mod client;
mod door;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod guest;
mod ledger;
mod listener;
pub mod message;
mod notice;
mod ports;
mod secret;
mod wire;

pub use caps::Caps;
pub use client::{Probe, Probed};
pub use listener::{Listener, Terms};
pub use notice::Notice;
pub use ports::Ports;
pub use secret::{Bits256, Token};

/// The port that a listener has unless told otherwise; nobody has registered it.
pub const PORT: u16 = 8273;
