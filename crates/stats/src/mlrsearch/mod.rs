//! The highest load that a network carries at given loss ratios: MLRsearch, by RFC 9971.
//!
//! A [`Search`] is told a few [`Goal`]s and says which [`Trial`] to run next, until the bounds of every goal are as
//! close as was asked, or the time is used up. It never sends anything: whoever runs the trials (the RFC's measurer,
//! section 4.9.1) tells it what came of each, and all goals learn from every trial.
//!
//! What a load *is* ([`classify`], section 6.1 and appendix A), which bounds count ([`Bounds`], section 4.8) and the
//! conditional throughput (appendix B) are the RFC's to the letter, so that results compare with other instruments'.
//! Which load is tried next is left free by the RFC (section 4.9.2); how it is done here says [`Search`].

mod bounds;
mod classify;
mod goal;
mod measured;
mod search;
mod target;
mod throughput;
mod trial;

#[cfg(test)]
mod simulated;

pub use bounds::Bounds;
pub use classify::{Class, classify};
pub use goal::{Goal, Refused};
pub use search::{Ask, Ending, Found, Room, Search, Step};
pub use throughput::conditional_throughput;
pub use trial::Trial;
