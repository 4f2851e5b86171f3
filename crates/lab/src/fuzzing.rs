//! Fuzz target for `fuzz/`: the parser of data from other nodes, as a function of bytes that must neither panic nor
//! loop forever. Compiled only for fuzzing.

pub use crate::stand_ins::weave_sleeve::fuzzing::packet;
