//! Slices of a woven trial on one side.

pub(crate) mod client;
pub(crate) mod progress;
pub(crate) mod window;
