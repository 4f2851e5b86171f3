//! Fuzz targets for `fuzz/`: the parsers of data from the kernel and from other nodes, as functions of bytes that must
//! neither panic nor loop forever. Compiled only for fuzzing.

pub use crate::counters::fuzzing::rules;
pub use crate::drops::fuzzing::types;
pub use crate::netlink::fuzzing::answer;
pub use crate::stand_ins::weave_sleeve::fuzzing::packet;
