//! Records in, cells out: what a run's journal says, in figures.
//!
//! [`estimate`] turns one trial into one figure a metric; [`document`] gathers all trials into cells with intervals,
//! ratios and verdicts; [`pairs`] sets every network beside every other; [`picture`] is what lies beneath the
//! figures; [`spreads`] tells from a pilot how much the ratios vary; [`compare`](compare()) sets two sides of runs
//! beside each other. Everything is derived from the records alone, without chance and without I/O: the same journal always
//! gives the same document. `docs/METHOD.md` says why it is done so.
#![forbid(unsafe_code)]

mod ablation;
mod asked;
mod beginning;
mod best;
mod block;
mod by_cores;
mod causes;
mod cell;
mod clients;
mod compare;
mod distribution;
mod document;
mod drift;
mod error;
mod estimate;
mod family;
mod figures;
mod findings;
mod fragments;
mod frequency;
mod group;
mod machine;
mod pair;
mod picture;
mod placed;
mod raising;
mod reasons;
mod rerun;
mod scopes;
mod spread;
mod traffic;
mod verdict;

#[cfg(test)]
mod made_up;

pub use clients::Clients;
pub use compare::{Asked, Named, compare};
pub use distribution::distributions;
pub use document::document;
pub use error::Error;
pub use estimate::{Estimate, Figure, estimate};
pub use pair::pairs;
pub use picture::picture;
pub use spread::{Spread, narrow_enough, spreads};
pub use verdict::verdict;
