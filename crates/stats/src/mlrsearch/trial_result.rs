//! Result of a trial: its intended load and duration, and its counts of datagrams.

use std::time::Duration;

/// Input and output of a trial (RFC 9971, section 4.5.10).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialResult {
    /// Intended load, datagrams per second (4.5.2), not the offered one.
    pub load: f64,
    /// Intended duration (4.5.1), which is also the effective duration (4.5.8).
    pub duration: Duration,
    /// Datagrams expected to be forwarded. If a sender fell well behind, give the intended number: the RFC recommends
    /// to count a severe shortfall as loss (4.9.1).
    pub sent: u64,
    /// Datagrams of `sent` that did not arrive.
    pub lost: u64,
}

impl TrialResult {
    /// Returns the share of the datagrams that was lost, 0–1 (4.5.6). If none was sent, none is known to have passed,
    /// and the ratio is 1.
    #[must_use]
    pub fn loss_ratio(&self) -> f64 {
        if self.sent == 0 { 1.0 } else { (self.lost as f64 / self.sent as f64).min(1.0) }
    }

    /// Returns the load times the share that arrived, datagrams per second (4.5.7).
    #[must_use]
    pub fn forwarding_rate(&self) -> f64 {
        self.load * (1.0 - self.loss_ratio())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_sent_did_not_pass() {
        let trial =
            |sent, lost| TrialResult { load: 100.0, duration: Duration::from_secs(1), sent, lost };
        assert_eq!(trial(0, 0).loss_ratio(), 1.0);
        assert_eq!(trial(100, 25).loss_ratio(), 0.25);
        assert_eq!(trial(100, 25).forwarding_rate(), 75.0);
        assert_eq!(trial(100, 200).loss_ratio(), 1.0, "more lost than sent is all of it");
    }
}
