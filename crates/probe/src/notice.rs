//! Notices of a listener to its operator.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Event at the listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenerNotice {
    /// Address of the client.
    pub peer: SocketAddr,
    /// Description of the event, in one line.
    pub what: String,
}

impl fmt::Display for ListenerNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.peer, to_printable(&self.what))
    }
}

/// Makes visible what a terminal obeys in a text from another machine, and keeps the text on one line.
pub(crate) fn to_printable(text: &str) -> String {
    tare_record::visible_text(text).replace(['\n', '\t'], " ")
}

/// Passes notices on. Those about connections that are not clients are limited to one per second, so that they cannot
/// fill a log.
pub(crate) struct NoticeLog {
    tell: Box<dyn Fn(&ListenerNotice) + Send + Sync>,
    last: Mutex<Option<Instant>>,
}

impl NoticeLog {
    const PAUSE: Duration = Duration::from_secs(1);

    pub(crate) fn new(tell: impl Fn(&ListenerNotice) + Send + Sync + 'static) -> Self {
        Self { tell: Box::new(tell), last: Mutex::new(None) }
    }

    /// Reports an event of a client.
    pub(crate) fn report_client(&self, peer: SocketAddr, what: String) {
        (self.tell)(&ListenerNotice { peer, what });
    }

    /// Reports an event of a connection that never became a client, or no longer is one. Rate-limited.
    pub(crate) fn report_rejected(&self, peer: SocketAddr, what: String) {
        self.report_rejected_at(Instant::now(), peer, what);
    }

    /// Does the same at a given time.
    fn report_rejected_at(&self, now: Instant, peer: SocketAddr, what: String) {
        let mut last = self.last.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if last.is_none_or(|last| now.saturating_duration_since(last) >= Self::PAUSE) {
            *last = Some(now);
            (self.tell)(&ListenerNotice { peer, what });
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
        let notice =
            ListenerNotice { peer: ([1, 2, 3, 4], 5).into(), what: "a\u{1b}[2J\nb".to_owned() };
        assert_eq!(notice.to_string(), "1.2.3.4:5: a\\u001b[2J b");
    }

    #[test]
    fn strangers_do_not_fill_the_log() {
        let told = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&told);
        let notices = NoticeLog::new(move |_| {
            counter.fetch_add(1, Ordering::Relaxed);
        });
        let peer = ([127, 0, 0, 1], 1).into();
        let start = Instant::now();
        // One notice per millisecond, for two and a half seconds.
        for millis in 0..2500 {
            let now = start + Duration::from_millis(millis);
            notices.report_rejected_at(now, peer, "?".to_owned());
        }
        assert_eq!(told.load(Ordering::Relaxed), 3);
        for _ in 0..10 {
            notices.report_client(peer, "served".to_owned());
        }
        assert_eq!(told.load(Ordering::Relaxed), 13);
    }
}
