//! Wait for a program to become ready: its condition is polled, and so is its exit.

use super::ReadyCondition;
use super::halt::HaltFlag;
use std::fs;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};
use std::time::{Duration, Instant};
use tare_network::Error;
use tare_sandbox::programs::{ExecContext, Log, START_TIMEOUT, describe_exit, find_program};

/// Interval between two polls: daemons are ready within tens of milliseconds.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Waits until a daemon is ready. Returns false if a program of another namespace failed in the meantime.
///
/// Fails if the daemon exits first or is not ready in time. The calling thread must be in the mount namespace of
/// `station`.
pub(super) fn wait(
    station: &ExecContext,
    ready: &ReadyCondition,
    child: &mut Child,
    log: &Log,
    halt: &HaltFlag,
) -> Result<bool, Error> {
    let what = || format!("wait for the program to {}", describe(ready));
    let until = Instant::now() + START_TIMEOUT;
    while !is_ready(station, ready, log)? {
        let status = child.try_wait().map_err(|error| Error::new(what(), error))?;
        if let Some(status) = status {
            return Err(Error::new(what(), describe_exit(status)));
        }
        if halt.is_set() {
            return Ok(false);
        }
        if Instant::now() > until {
            let limit = START_TIMEOUT.as_secs();
            let why = format!("the program did not {} within {limit} s", describe(ready));
            return Err(Error::new(what(), why));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(true)
}

fn is_ready(station: &ExecContext, ready: &ReadyCondition, log: &Log) -> Result<bool, Error> {
    Ok(match ready {
        ReadyCondition::Exited => true,
        ReadyCondition::ListensOn(socket) => UnixStream::connect(socket).is_ok(),
        ReadyCondition::FileWritten(file) => fs::metadata(file).is_ok_and(|data| data.len() > 0),
        ReadyCondition::OutputContains(words) => {
            let text = log.text();
            words.iter().all(|words| text.contains(words.as_str()))
        }
        ReadyCondition::CommandSucceeds(words) => command_succeeds(station, words)?,
    })
}

/// Runs a command and returns true if it exits with success.
fn command_succeeds(station: &ExecContext, words: &[String]) -> Result<bool, Error> {
    let Some((program, arguments)) = words.split_first() else { return Ok(true) };
    let mut command = Command::new(find_program(program)?);
    command.args(arguments);
    Ok(station.run(command, "")?.status.success())
}

fn describe(ready: &ReadyCondition) -> String {
    match ready {
        ReadyCondition::Exited => "end".to_owned(),
        ReadyCondition::ListensOn(socket) => format!("listen on {socket}"),
        ReadyCondition::FileWritten(file) => format!("write {file}"),
        ReadyCondition::OutputContains(words) => format!("print `{}`", words.join("` and `")),
        ReadyCondition::CommandSucceeds(words) => format!("pass the check `{}`", words.join(" ")),
    }
}
