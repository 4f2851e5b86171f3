//! Numbers in, numbers out: what follows from samples, and nothing about where they came from.
//!
//! [`describe`] says what a sample is like, [`ratio`] compares two by pairs, [`holm`] corrects for many comparisons,
//! [`size`] says how many repetitions a question takes, [`steady`] finds where a warm-up ends and [`shift`] what
//! changed after it; [`mlrsearch`] searches for the load at which loss begins. Every method names its source; every
//! error rate that is promised is simulated in the tests.
//! `docs/METHOD.md` says why these methods and not others.
#![forbid(unsafe_code)]

pub mod describe;
pub mod holm;
pub mod mlrsearch;
pub mod ratio;
pub mod shift;
pub mod size;
pub mod steady;
pub mod student;

#[cfg(test)]
mod noise;

pub use ratio::PairedRatio;
