//! The readers of what the kernel and other nodes say, as functions of bytes that must neither panic nor go on for ever: what
//! `fuzz/` calls. Compiled for fuzzing alone.

pub use crate::counters::fuzzing::rules;
pub use crate::drops::fuzzing::types;
pub use crate::netlink::fuzzing::answer;
pub use crate::sleeve::fuzzing::packet;
