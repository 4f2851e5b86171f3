//! Registry of a run's tasks: which have connected, and which are lost, by the events that the tunnel server reports.

use crate::tunnel::TaskEvent;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tare_docker::exec::{ExecOutput, OutputLines};
use tare_netns_probe::NetnsSnapshot;

/// Timeout longer than any run: the server reports only events.
const NO_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 3600);

/// Registry of a run's tasks.
#[derive(Default)]
pub(crate) struct TaskRegistry {
    state: Mutex<RegistryState>,
    /// True if a program in a task ended without a request to end.
    sudden_end: AtomicBool,
}

#[derive(Default)]
struct RegistryState {
    listening: bool,
    tasks: HashMap<String, Result<NetnsSnapshot, String>>,
    /// Reason why the server has ended.
    ended: Option<String>,
}

impl TaskRegistry {
    fn lock(&self) -> MutexGuard<'_, RegistryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the server's events until it ends.
    pub(crate) async fn read_events(&self, output: ExecOutput) {
        let mut lines = OutputLines::new(output);
        loop {
            match lines.next(NO_TIMEOUT).await {
                Ok(line) => self.handle_line(&line),
                Err(why) => {
                    self.lock().ended = Some(why);
                    return;
                }
            }
        }
    }

    fn handle_line(&self, line: &str) {
        let mut state = self.lock();
        match serde_json::from_str(line) {
            Ok(TaskEvent::Open) => state.listening = true,
            Ok(TaskEvent::Came(hello)) => drop(state.tasks.insert(hello.task, Ok(hello.seen))),
            Ok(TaskEvent::Gone { task, why }) => drop(state.tasks.insert(task, Err(why))),
            Err(error) => state.ended = Some(format!("invalid event `{line}`: {error}")),
        }
    }

    /// Returns whether the server listens. If it has ended, the error says why.
    pub(crate) fn is_listening(&self) -> Result<bool, String> {
        let state = self.lock();
        state.ended.clone().map_or(Ok(state.listening), Err)
    }

    /// Returns the snapshot that a task sent when it connected, or the reason why it is lost. Returns `None` if it has
    /// not connected.
    pub(crate) fn snapshot_of(&self, task: &str) -> Option<Result<NetnsSnapshot, String>> {
        let state = self.lock();
        let over = || state.ended.clone().map(Err);
        match state.tasks.get(task) {
            Some(Ok(seen)) => Some(over().unwrap_or_else(|| Ok(seen.clone()))),
            other => other.cloned().or_else(over),
        }
    }

    /// Removes a task that is taken down.
    pub(crate) fn forget(&self, task: &str) {
        self.lock().tasks.remove(task);
    }

    /// Records that a program ended without a request to end.
    pub(crate) fn record_sudden_end(&self) {
        self.sudden_end.store(true, Ordering::Relaxed);
    }

    /// Returns whether a program has done so since the last call.
    pub(crate) fn take_sudden_end(&self) -> bool {
        self.sudden_end.swap(false, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_comes_and_is_lost_and_is_forgotten() {
        let roll = TaskRegistry::default();
        assert_eq!((roll.is_listening(), roll.snapshot_of("a")), (Ok(false), None));
        roll.handle_line("\"open\"");
        roll.handle_line(r#"{"came":{"task":"a","seen":{}}}"#);
        assert_eq!(
            (roll.is_listening(), roll.snapshot_of("a")),
            (Ok(true), Some(Ok(NetnsSnapshot::default())))
        );
        roll.handle_line(r#"{"gone":{"task":"a","why":"the task closed the connection"}}"#);
        assert_eq!(roll.snapshot_of("a"), Some(Err("the task closed the connection".to_owned())));
        roll.forget("a");
        assert_eq!(roll.snapshot_of("a"), None);
        roll.handle_line("nonsense");
        assert!(
            roll.is_listening().is_err() && roll.snapshot_of("b").is_some_and(|one| one.is_err())
        );
    }
}
