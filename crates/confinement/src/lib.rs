//! Confinement: rights that a process gives up before it reads what others send, or runs their programs.
//!
//! Three mechanisms of the kernel, each of which holds for the calling thread and for what it starts later: capabilities
//! (capabilities(7)), filters of system calls (seccomp(2)) and rules on files (landlock(7)). What a kernel does not have
//! is left out; [`Mechanism::is_available`] says what it has.

mod agents;
mod capabilities;
mod files;
mod listeners;
mod mechanisms;
#[allow(unsafe_code, reason = "system calls that no library makes with the flags needed here")]
mod sys;
mod system_calls;

pub use agents::{confine_agent, confine_agent_of_many, confine_thread_of_many};
pub use listeners::confine_listener;
pub use mechanisms::Mechanism;
