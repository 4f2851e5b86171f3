//! Fuzz targets for `fuzz/`: the parsers of data from other nodes, and of what plugins and programs say, as functions that
//! must neither panic nor loop forever. Compiled only for fuzzing.

pub use crate::cni::fuzzing::{configuration, plugin_answer};
pub use crate::networks::external::fuzzing::exec_answer;
pub use crate::stand_ins::weave_sleeve::fuzzing::packet;
