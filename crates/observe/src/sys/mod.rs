//! The system calls that the compiler cannot vouch for: reading the processor's counters.
//!
//! Everything `unsafe` of this crate is here, each block with the reason why it is sound.
#![allow(unsafe_code)]

pub(crate) mod perf;
