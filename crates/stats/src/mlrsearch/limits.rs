//! Limits of a search.

use std::time::Duration;

/// Limits of a search: loads and time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchLimits {
    /// Smallest load (RFC 9971, section 4.6.8.2), datagrams per second. It should send several datagrams even in the
    /// shortest trial.
    pub min: f64,
    /// Largest load (4.6.8.1), datagrams per second: the most that the sender can do.
    pub max: f64,
    /// Time for all trials together with their pauses.
    pub budget: Duration,
    /// Longest time that a trial takes beyond its duration: the wait for the last datagrams, and for the network to
    /// calm down.
    pub pause: Duration,
}
