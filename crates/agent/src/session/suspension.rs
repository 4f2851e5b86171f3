//! Processes that a signal has stopped: an agent, or a program below it, which will not answer until it is continued.

use rustix::process::Pid;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Interval at which agents that do not reply are looked at.
const INTERVAL: Duration = Duration::from_secs(1);

/// Watch over agents that do not reply.
#[derive(Debug)]
pub(super) struct SuspensionWatch {
    next_look: Instant,
    /// Process that was stopped at the last look.
    seen: Option<SuspendedProcess>,
}

impl SuspensionWatch {
    /// Returns a watch that looks for the first time a while after `now`.
    pub(super) fn after(now: Instant) -> Self {
        Self { next_look: now + INTERVAL, seen: None }
    }

    /// Looks for a stopped process if it is time to. Returns a process that was stopped at the look before as well: when
    /// a user continues a suspended run, its processes go on one after another.
    pub(super) fn look<A>(
        &mut self,
        now: Instant,
        find: impl FnOnce() -> Option<(A, SuspendedProcess)>,
    ) -> Option<(A, SuspendedProcess)> {
        if now < self.next_look {
            return None;
        }
        let found = find();
        let process = found.as_ref().map(|(_, process)| process.clone());
        if process.is_some() && process == self.seen {
            return found;
        }
        if process.is_none() {
            self.next_look = now + INTERVAL;
        }
        self.seen = process;
        None
    }
}

/// Process that a signal has stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SuspendedProcess {
    id: Pid,
    /// Name of the process if it is a program of the agent's (at most 15 bytes: the kernel's).
    program: Option<String>,
}

impl SuspendedProcess {
    /// Returns the reason for which the agent will not answer.
    pub(super) fn reason(&self) -> String {
        let what = match &self.program {
            None => "the agent".to_owned(),
            Some(name) => format!("{name}, which the agent runs"),
        };
        format!("a signal (SIGSTOP, SIGTSTP) stopped {what}, and it cannot go on")
    }
}

/// Returns an agent's process if it is stopped.
pub(super) fn suspended_agent(agent: Pid) -> Option<SuspendedProcess> {
    let (_, is_stopped) = name_and_state(agent)?;
    is_stopped.then_some(SuspendedProcess { id: agent, program: None })
}

/// Returns the first stopped process among those that an agent has started, at every depth.
pub(super) fn suspended_program(agent: Pid) -> Option<SuspendedProcess> {
    let mut processes = children(agent);
    while let Some(id) = processes.pop() {
        // A process that has ended meanwhile is not stopped.
        let Some((name, is_stopped)) = name_and_state(id) else { continue };
        if is_stopped {
            return Some(SuspendedProcess { id, program: Some(name) });
        }
        processes.extend(children(id));
    }
    None
}

/// Returns the name of a process, and whether a signal has stopped it.
fn name_and_state(id: Pid) -> Option<(String, bool)> {
    parse_status(&fs::read_to_string(process_directory(id).join("stat")).ok()?)
}

/// Parses the name of a process, and whether a signal has stopped it, from /proc/PID/stat. A debugger's stop is none.
fn parse_status(status: &str) -> Option<(String, bool)> {
    let (before, fields) = status.rsplit_once(") ")?;
    let (_, name) = before.split_once(" (")?;
    Some((name.to_owned(), fields.starts_with("T ")))
}

/// Returns the processes that the threads of a process have started. A kernel without `CONFIG_PROC_CHILDREN` names none.
fn children(id: Pid) -> Vec<Pid> {
    let threads = fs::read_dir(process_directory(id).join("task")).into_iter().flatten();
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("children")).ok());
    lists.flat_map(|list| parse_ids(&list)).collect()
}

fn parse_ids(list: &str) -> Vec<Pid> {
    list.split_whitespace().filter_map(|id| id.parse().ok().and_then(Pid::from_raw)).collect()
}

fn process_directory(id: Pid) -> PathBuf {
    PathBuf::from(format!("/proc/{}", id.as_raw_nonzero()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Signal, getpid, kill_process};
    use std::process::{Child, Command};
    use tare_dev::eventually;

    /// Child process of a test, which is killed at its end.
    struct SleepingChild(Child);

    impl SleepingChild {
        fn start() -> Self {
            Self(Command::new("sleep").arg("1000").spawn().expect("sleep is there"))
        }

        fn id(&self) -> Pid {
            Pid::from_child(&self.0)
        }
    }

    impl Drop for SleepingChild {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn a_process_that_goes_on_a_moment_later_is_not_stopped() {
        let begin = Instant::now();
        let mut watch = SuspensionWatch::after(begin);
        // Returns the process that is believed to be stopped if this one is found after so many tenths of a second.
        let mut look = |tenths: u32, found: Option<i32>| {
            let id = found.and_then(Pid::from_raw);
            let process = id.map(|id| ((), SuspendedProcess { id, program: None }));
            let now = begin + tenths * Duration::from_millis(100);
            watch.look(now, || process).map(|(_, process)| process.id.as_raw_nonzero().get())
        };
        assert_eq!(look(10, Some(7)), None);
        assert_eq!(look(11, None), None, "it goes on");
        assert_eq!(look(20, Some(7)), None, "it is too early to look");
        assert_eq!(look(21, Some(7)), None);
        assert_eq!(look(22, Some(8)), None, "another one");
        assert_eq!(look(23, Some(8)), Some(8));
    }

    #[test]
    fn a_stopped_process_is_told_by_its_state() {
        assert_eq!(parse_status("17 (tare) T 1 17 17 0 -1"), Some(("tare".to_owned(), true)));
        for other in ["17 (tare) S 1 17", "17 (tare) t 1 17", "17 (a) T 1) R 1 17"] {
            assert!(matches!(parse_status(other), Some((_, false))), "{other}");
        }
        assert_eq!(parse_status(""), None);
    }

    #[test]
    fn a_stopped_program_of_an_agent_is_found_and_named() {
        let child = SleepingChild::start();
        kill_process(child.id(), Signal::STOP).expect("it runs");
        eventually("the child is stopped", || suspended_agent(child.id()).is_some());
        assert_eq!(suspended_agent(getpid()), None);
        let found = suspended_program(getpid()).expect("a child of this process is stopped");
        assert_eq!((found.id, found.program.as_deref()), (child.id(), Some("sleep")));
        assert!(found.reason().contains("stopped sleep, which the agent runs"));
        kill_process(child.id(), Signal::CONT).expect("it is there");
        eventually("the child goes on", || suspended_program(getpid()).is_none());
    }
}
