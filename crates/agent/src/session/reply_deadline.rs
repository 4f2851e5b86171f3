//! Deadline of replies. Time in which this process did not run counts little: whoever suspended it may have suspended the
//! agents as well, or their replies are unread.

use std::time::{Duration, Instant};

/// Longest time between two looks at the clock that counts in full.
const LONGEST_STEP: Duration = Duration::from_secs(1);

/// Deadline that moves on while this process is suspended.
#[derive(Debug)]
pub(super) struct ReplyDeadline {
    at: Instant,
    last_look: Instant,
}

impl ReplyDeadline {
    /// Returns a deadline so long after now.
    pub(super) fn after(now: Instant, limit: Duration) -> Self {
        Self { at: now + limit, last_look: now }
    }

    /// Lets the time since the last look pass without counting: the way to an agent is broken, and is being repaired.
    pub(super) fn skip(&mut self, now: Instant) {
        self.at += now.saturating_duration_since(self.last_look);
        self.last_look = now;
    }

    /// Looks at the clock, at least several times a second while the process runs. Returns true if the deadline is over.
    pub(super) fn is_over(&mut self, now: Instant) -> bool {
        let step = now.saturating_duration_since(self.last_look);
        self.at += step.saturating_sub(LONGEST_STEP);
        self.last_look = now;
        now >= self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suspension_moves_the_deadline_and_waiting_does_not() {
        let begin = Instant::now();
        let at = |seconds: u64| begin + Duration::from_secs(seconds);
        let mut deadline = ReplyDeadline::after(begin, Duration::from_secs(10));
        assert!((1..9).all(|second| !deadline.is_over(at(second))));
        assert!(!deadline.is_over(at(3600)), "the process was suspended for an hour");
        assert!(deadline.is_over(at(3601)), "of which one second counts");
    }

    #[test]
    fn time_without_a_way_to_an_agent_does_not_count() {
        let begin = Instant::now();
        let at = |seconds: u64| begin + Duration::from_secs(seconds);
        let mut deadline = ReplyDeadline::after(begin, Duration::from_secs(10));
        (1..100).for_each(|second| deadline.skip(at(second)));
        assert!((100..109).all(|second| !deadline.is_over(at(second))));
        assert!(deadline.is_over(at(109)));
    }
}
