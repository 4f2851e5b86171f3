//! System calls that the compiler cannot check: reading the processor's counters.
//!
//! All `unsafe` code of the hardware counters is here, each block with the reason why it is sound.
#![allow(unsafe_code)]

pub(crate) mod perf;
