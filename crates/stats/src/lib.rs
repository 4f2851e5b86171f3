//! Numbers in, numbers out: what follows from samples, and nothing about where they came from.
//!
//! [`describe`] says what a sample is like, [`ratio`] compares two by pairs and [`contrast`] two that cannot be paired,
//! [`holm`] corrects for many comparisons, [`kendall`](kendall()) tells whether two lists agree on an order,
//! [`bootstrap`] gives medians an interval, [`sequence`] gives means one that may be looked at after every block,
//! [`size`] says how many repetitions a question takes, [`steady`] finds where a warm-up ends and [`shift`] what
//! changed after it; [`mlrsearch`] searches for the load at which loss begins. Every method names its source; every
//! error rate that is promised is simulated in the tests.
//! `docs/METHOD.md` says why these methods and not others.
#![forbid(unsafe_code)]

pub mod bootstrap;
pub mod contrast;
pub mod describe;
pub mod holm;
mod kendall;
pub mod mlrsearch;
pub mod ratio;
pub mod sequence;
pub mod shift;
pub mod size;
pub mod steady;
pub mod student;

#[cfg(test)]
mod noise;

pub use contrast::Contrast;
pub use kendall::{Agreement, kendall};
pub use ratio::PairedRatio;
