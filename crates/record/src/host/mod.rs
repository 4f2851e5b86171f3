//! The machine: its description, its counters and its activity during a trial.

pub(crate) mod cluster;
pub(crate) mod counters;
pub(crate) mod cpu;
pub(crate) mod engine;
pub(crate) mod environment;
pub(crate) mod hardware;
pub(crate) mod overhead;
