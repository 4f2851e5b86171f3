//! Statistical methods: numbers in, numbers out. The crate knows nothing about the origin of its samples.
//!
//! - [`describe`]: mean, median, standard deviation, quantiles and fairness of a sample.
//! - [`paired_ratio`]: paired comparison of two samples. [`contrast`]: comparison of two samples that cannot be paired.
//! - [`holm`]: correction for many comparisons.
//! - [`kendall`](kendall()): agreement of two lists on an order.
//! - [`bootstrap`]: confidence intervals of medians.
//! - [`confidence_sequence`]: confidence intervals of means that may be looked at after every block.
//! - [`group_sequential`]: levels of a few planned interim analyses.
//! - [`sample_size`]: number of blocks that a question takes.
//! - [`warm_up`]: end of the warm-up. [`shift`]: changes after it.
//! - [`mlrsearch`]: search for the load at which loss begins.
//!
//! Every method names its source; every promised error rate is simulated in the tests. `docs/METHOD-RATIONALE.md`
//! gives the reasons for the choice of methods.
#![forbid(unsafe_code)]

pub mod bootstrap;
pub mod confidence_sequence;
pub mod contrast;
pub mod covariate;
pub mod describe;
pub mod group_sequential;
pub mod holm;
mod kendall;
pub mod mlrsearch;
pub mod paired_ratio;
mod quadrature;
pub mod sample_size;
pub mod shift;
pub mod student;
pub mod warm_up;

#[cfg(test)]
mod noise;

pub use contrast::Contrast;
pub use kendall::{RankCorrelation, kendall};
pub use paired_ratio::PairedRatio;
