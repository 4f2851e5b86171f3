//! What a listener tells whoever runs it.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// With whom.
    pub peer: SocketAddr,
    /// What, in one line.
    pub what: String,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.peer, printable(&self.what))
    }
}

/// Words of another machine's, without what a terminal would obey.
pub(super) fn printable(text: &str) -> String {
    text.chars().map(|one| if one.is_control() { ' ' } else { one }).collect()
}

/// Passes notices on, of strangers' doings no more than one a second: they shall not fill anybody's log.
pub(super) struct Notices {
    tell: Box<dyn Fn(&Notice) + Send + Sync>,
    last: Mutex<Option<Instant>>,
}

impl Notices {
    const PAUSE: Duration = Duration::from_secs(1);

    pub(super) fn new(tell: impl Fn(&Notice) + Send + Sync + 'static) -> Self {
        Self { tell: Box::new(tell), last: Mutex::new(None) }
    }

    /// Of a client.
    pub(super) fn of_client(&self, peer: SocketAddr, what: String) {
        (self.tell)(&Notice { peer, what });
    }

    /// Of somebody who is none, or is no more.
    pub(super) fn of_stranger(&self, peer: SocketAddr, what: String) {
        self.of_stranger_at(Instant::now(), peer, what);
    }

    /// The same at a given time.
    fn of_stranger_at(&self, now: Instant, peer: SocketAddr, what: String) {
        let mut last = self.last.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if last.is_none_or(|last| now.saturating_duration_since(last) >= Self::PAUSE) {
            *last = Some(now);
            (self.tell)(&Notice { peer, what });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn a_terminal_obeys_nothing_that_a_stranger_says() {
        let notice = Notice { peer: ([1, 2, 3, 4], 5).into(), what: "a\u{1b}[2J\nb".to_owned() };
        assert_eq!(notice.to_string(), "1.2.3.4:5: a [2J b");
    }

    #[test]
    fn strangers_do_not_fill_the_log() {
        let told = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&told);
        let notices = Notices::new(move |_| {
            counter.fetch_add(1, Ordering::Relaxed);
        });
        let peer = ([127, 0, 0, 1], 1).into();
        let start = Instant::now();
        // Two seconds and a half, a notice every millisecond.
        for millis in 0..2500 {
            let now = start + Duration::from_millis(millis);
            notices.of_stranger_at(now, peer, "?".to_owned());
        }
        assert_eq!(told.load(Ordering::Relaxed), 3);
        for _ in 0..10 {
            notices.of_client(peer, "served".to_owned());
        }
        assert_eq!(told.load(Ordering::Relaxed), 13);
    }
}
