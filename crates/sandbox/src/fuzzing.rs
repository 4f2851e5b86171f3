//! Fuzz targets for `fuzz/`: the parsers of data from the kernel, as functions of bytes that must neither panic nor
//! loop forever. Compiled only for fuzzing.

pub use crate::counters::fuzzing::rules;
pub use crate::drops::fuzzing::types;
pub use crate::netlink::fuzzing::answer;
