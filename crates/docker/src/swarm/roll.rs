//! Who has come home, and who is lost: what the home's server tells, kept for whoever asks.

use crate::exec::{Lines, Output};
use crate::home::Told;
use crate::look::Seen;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Longer than any run: the server speaks only when something happens.
const EVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// What is known of the tasks.
#[derive(Default)]
pub(super) struct Roll {
    state: Mutex<State>,
    /// Whether a program in a task ended when nobody had asked it to.
    suspect: AtomicBool,
}

#[derive(Default)]
struct State {
    open: bool,
    tasks: HashMap<String, Result<Seen, String>>,
    /// Why the server itself speaks no more.
    over: Option<String>,
}

impl Roll {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what the server says, until it ends.
    pub(super) async fn keep(&self, output: Output) {
        let mut lines = Lines::of(output);
        loop {
            match lines.next(EVER).await {
                Ok(line) => self.hear(&line),
                Err(why) => {
                    self.state().over = Some(why);
                    return;
                }
            }
        }
    }

    fn hear(&self, line: &str) {
        let mut state = self.state();
        match serde_json::from_str(line) {
            Ok(Told::Open) => state.open = true,
            Ok(Told::Came(hello)) => drop(state.tasks.insert(hello.task, Ok(hello.seen))),
            Ok(Told::Gone { task, why }) => drop(state.tasks.insert(task, Err(why))),
            Err(error) => state.over = Some(format!("{error}: {line}")),
        }
    }

    /// Whether the server listens; why not, where it has ended.
    pub(super) fn is_open(&self) -> Result<bool, String> {
        let state = self.state();
        state.over.clone().map_or(Ok(state.open), Err)
    }

    /// What a task saw when it came, why it is lost, or nothing where it has not come.
    pub(super) fn of(&self, task: &str) -> Option<Result<Seen, String>> {
        let state = self.state();
        let over = || state.over.clone().map(Err);
        match state.tasks.get(task) {
            Some(Ok(seen)) => Some(over().unwrap_or_else(|| Ok(seen.clone()))),
            other => other.cloned().or_else(over),
        }
    }

    /// Forgets a task that is removed.
    pub(super) fn forget(&self, task: &str) {
        self.state().tasks.remove(task);
    }

    /// Remembers that a program ended when nobody had asked it to.
    pub(super) fn suspect(&self) {
        self.suspect.store(true, Ordering::Relaxed);
    }

    /// Whether one has since this was last asked.
    pub(super) fn was_suspect(&self) -> bool {
        self.suspect.swap(false, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_comes_and_is_lost_and_is_forgotten() {
        let roll = Roll::default();
        assert_eq!((roll.is_open(), roll.of("a")), (Ok(false), None));
        roll.hear("\"open\"");
        roll.hear(r#"{"came":{"task":"a","seen":{}}}"#);
        assert_eq!((roll.is_open(), roll.of("a")), (Ok(true), Some(Ok(Seen::default()))));
        roll.hear(r#"{"gone":{"task":"a","why":"it has ended"}}"#);
        assert_eq!(roll.of("a"), Some(Err("it has ended".to_owned())));
        roll.forget("a");
        assert_eq!(roll.of("a"), None);
        roll.hear("nonsense");
        assert!(roll.is_open().is_err() && roll.of("b").is_some_and(|one| one.is_err()));
    }
}
