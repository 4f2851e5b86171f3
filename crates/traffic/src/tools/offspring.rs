//! A program of others that runs: its output kept, its end awaited with a deadline, its last words in every error.
//!
//! It dies with the agent's thread that started it, whatever becomes of that.

use super::call::Call;
use crate::Error;
use crate::sys;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The most that is kept of an output, bytes: of what comes beyond it the end.
const MOST_KEPT: usize = 64 << 20;
/// The most that is kept of what a program says to its standard error.
const MOST_ERRORS: usize = 16 << 10;
/// How much of its last words an error tells.
const LAST_WORDS: usize = 300;
/// How long children that a program left behind may still hold its output open. Hundreds of programs that end together on few
/// cores need seconds until the last of them is heard.
const STRAGGLERS: Duration = Duration::from_secs(10);
/// How often a waiter looks whether it shall go on.
const TICK: Duration = Duration::from_millis(50);

/// What a program said, and what CPU time it took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    /// On its standard output.
    pub(crate) output: String,
    /// On its standard error.
    pub(crate) errors: String,
    /// User and system time.
    pub(crate) cpu: Duration,
}

/// A program that runs. Dropping it ends it.
pub(crate) struct Offspring {
    name: String,
    id: u32,
    /// Readable when it has ended.
    end: OwnedFd,
    output: Heard,
    errors: Heard,
    reaped: bool,
}

impl Offspring {
    /// Starts it.
    ///
    /// # Errors
    /// When that is refused.
    pub(crate) fn start(call: &Call) -> Result<Self, Error> {
        let name = call.name();
        let refused = |error: std::io::Error| Error::io(format!("start {name}"), error);
        let mut child = call.prepared().spawn().map_err(refused)?;
        if let Some((mut input, text)) = child.stdin.take().zip(call.input()) {
            // One that has ended already reads nothing: its own words say why.
            let _ = input.write_all(text.as_bytes());
        }
        let output = listen(child.stdout.take(), MOST_KEPT);
        let errors = listen(child.stderr.take(), MOST_ERRORS);
        let id = child.id();
        let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
        let end =
            pid.map_or(Err(rustix::io::Errno::SRCH), |pid| pidfd_open(pid, PidfdFlags::empty()));
        let end = end.map_err(|errno| {
            let _ = child.kill();
            let _ = child.wait();
            refused(errno.into())
        })?;
        Ok(Self { name, id, end, output, errors, reaped: false })
    }

    /// The CPU time that it has taken so far.
    pub(crate) fn cpu(&self) -> Duration {
        sys::cpu_time(self.id).unwrap_or_default()
    }

    /// Whether it has ended, after waiting no longer than so.
    pub(crate) fn ended_within(&self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let mut ends = [PollFd::new(&self.end, PollFlags::IN)];
            match poll(&mut ends, Timespec::try_from(left).ok().as_ref()) {
                Ok(0) => return false,
                Err(rustix::io::Errno::INTR) => {}
                // Without an answer nothing can be waited for; the one who reaps it will.
                Ok(_) | Err(_) => return true,
            }
        }
    }

    /// Waits for its end, and takes what it said. It has to succeed.
    ///
    /// # Errors
    /// When it fails, with its last words; when it takes too long, or the caller gives up: then it is ended.
    pub(crate) fn finish(
        self,
        limit: Duration,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Said, Error> {
        let until = Instant::now() + limit;
        while !self.ended_within(TICK) {
            if cancelled() {
                return Err(Error::Cancelled);
            }
            if Instant::now() >= until {
                let name = self.name.clone();
                let words =
                    self.stop(Signal::KILL, Duration::ZERO).map(|(_, said)| said.last_words());
                let words = words.unwrap_or_default();
                return Err(Error::Job(format!("{name} took longer than {limit:?}{words}")));
            }
        }
        let name = self.name.clone();
        match self.reap()? {
            (status, said) if status.success() => Ok(said),
            (status, said) => Err(failed(&name, status, &said)),
        }
    }

    /// Asks it to end by a signal, ends it where it does not within this time, and says how it ended and what it said.
    pub(crate) fn stop(self, signal: Signal, grace: Duration) -> Result<(ExitStatus, Said), Error> {
        self.signal(signal);
        if !self.ended_within(grace) {
            self.signal(Signal::KILL);
        }
        self.reap()
    }

    /// That it ended when it should not have, with its last words.
    pub(crate) fn ended_early(self) -> Error {
        let name = self.name.clone();
        match self.stop(Signal::KILL, Duration::ZERO) {
            Ok((status, said)) => failed(&name, status, &said),
            Err(error) => error,
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = i32::try_from(self.id).ok().and_then(Pid::from_raw) {
            // Until it is reaped its number is nobody else's; where it has ended, that was wanted.
            let _ = kill_process(pid, signal);
        }
    }

    fn reap(mut self) -> Result<(ExitStatus, Said), Error> {
        self.reaped = true;
        let (status, cpu) = sys::reap(self.id)
            .map_err(|error| Error::io(format!("wait for {}", self.name), error))?;
        Ok((
            status,
            Said {
                output: self.output.text(STRAGGLERS),
                errors: self.errors.text(STRAGGLERS),
                cpu,
            },
        ))
    }
}

impl Drop for Offspring {
    fn drop(&mut self) {
        if !self.reaped {
            self.signal(Signal::KILL);
            let _ = sys::reap(self.id);
        }
    }
}

/// What was heard of a stream so far, and whether that is all.
struct Heard {
    kept: Arc<Mutex<VecDeque<u8>>>,
    ended: Receiver<()>,
}

impl Heard {
    /// All of it, or what came until those who hold it open had been waited for so long.
    fn text(&self, patience: Duration) -> String {
        // It ends by a word, or at once where there is no stream.
        let _ = self.ended.recv_timeout(patience);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(kept.make_contiguous()).into_owned()
    }
}

/// Keeps the end of what comes on a stream, on a thread of its own.
fn listen(stream: Option<impl Read + Send + 'static>, most: usize) -> Heard {
    let (told, ended) = channel();
    let kept = Arc::new(Mutex::new(VecDeque::new()));
    if let Some(stream) = stream {
        let kept = Arc::clone(&kept);
        thread::spawn(move || {
            keep(stream, most, &kept);
            // Nobody hears it any more where the program was given up.
            let _ = told.send(());
        });
    }
    Heard { kept, ended }
}

/// Reads a stream to its end, and keeps the end of it.
fn keep(mut stream: impl Read, most: usize, all: &Mutex<VecDeque<u8>>) {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => {
                let mut kept = all.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend(&buffer[..read]);
                let surplus = kept.len().saturating_sub(most);
                kept.drain(..surplus);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
}

impl Said {
    /// The last of what it said, in one line that follows another one; nothing where it said nothing.
    pub(crate) fn last_words(&self) -> String {
        let spoken = [&self.errors, &self.output].into_iter().find(|text| !text.trim().is_empty());
        let Some(text) = spoken else { return String::new() };
        let mut lines: Vec<&str> = Vec::new();
        for line in text.lines().rev().map(str::trim).filter(|line| !line.is_empty()) {
            if lines.iter().map(|line| line.len()).sum::<usize>() + line.len() > LAST_WORDS {
                break;
            }
            lines.push(line);
        }
        if lines.is_empty() {
            lines.extend(text.lines().next_back().and_then(|line| line.get(..LAST_WORDS)));
        }
        lines.reverse();
        format!(": {}", lines.join("; "))
    }
}

fn failed(name: &str, status: ExitStatus, said: &Said) -> Error {
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "no exit code".to_owned(),
    };
    Error::Job(format!("{name} ended with {how}{}", said.last_words()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(240);

    fn shell(script: &str) -> Call {
        Call::new("/bin/sh".into(), ["-c", script])
    }

    fn run(script: &str) -> Result<Said, Error> {
        Offspring::start(&shell(script))?.finish(PATIENCE, &|| false)
    }

    #[test]
    fn what_a_program_says_is_kept() {
        let said = run("echo one; echo two >&2").unwrap();
        assert_eq!((said.output.as_str(), said.errors.as_str()), ("one\n", "two\n"));
    }

    #[test]
    fn a_program_is_told_what_nobody_else_shall_know() {
        let call = shell("cat; echo .").reading("a password".to_owned());
        assert!(!format!("{call:?}").contains("a password"));
        let said = Offspring::start(&call).unwrap().finish(PATIENCE, &|| false).unwrap();
        assert_eq!(said.output, "a password.\n");
        // One that does not read it is not waited for.
        let deaf = shell("exit 3").reading("a password".to_owned());
        let error = Offspring::start(&deaf).unwrap().finish(PATIENCE, &|| false).unwrap_err();
        assert!(error.to_string().contains("exit code 3"), "{error}");
    }

    #[test]
    fn a_program_that_fails_has_last_words() {
        let error = run("echo first >&2; echo last >&2; exit 3").unwrap_err().to_string();
        assert_eq!(error, "sh ended with exit code 3: first; last");
        let missing = Offspring::start(&Call::new("/no/such".into(), [""; 0])).err().unwrap();
        assert!(missing.to_string().starts_with("start such: "), "{missing}");
    }

    #[test]
    fn nobody_waits_for_ever() {
        let start = |script| Offspring::start(&shell(script)).unwrap();
        let error = start("echo here; exec sleep 1000")
            .finish(Duration::from_millis(100), &|| false)
            .unwrap_err();
        assert!(error.to_string().contains("longer than 100ms"), "{error}");
        let given_up = start("exec sleep 1000").finish(PATIENCE, &|| true);
        assert!(matches!(given_up, Err(Error::Cancelled)));
    }

    #[test]
    fn cpu_time_is_counted_with_that_of_children() {
        // The kernel ends the inner shell after a second of CPU time, which it counts by ticks: half of it is certain.
        let said = run("(ulimit -t 1; while :; do :; done); exit 0").unwrap();
        assert!(said.cpu >= Duration::from_millis(500), "{said:?}");
        let running = Offspring::start(&shell("while :; do :; done")).unwrap();
        let so_far = tare_dev::eventually("it takes CPU time", || {
            Some(running.cpu()).filter(|time| *time >= Duration::from_millis(20))
        });
        let (status, said) = running.stop(Signal::TERM, PATIENCE).unwrap();
        assert_eq!(status.signal(), Some(Signal::TERM.as_raw()));
        // At the end user and system time are told, each rounded down to a microsecond.
        assert!(said.cpu + Duration::from_micros(2) >= so_far, "{said:?}, {so_far:?}");
    }

    #[test]
    fn the_end_of_a_long_story_is_kept() {
        assert_eq!(listen(Some("0123456789".as_bytes()), 4).text(PATIENCE), "6789");
    }

    #[test]
    fn what_was_said_is_heard_though_somebody_holds_the_stream_open() {
        let (stream, mut held) = std::io::pipe().unwrap();
        held.write_all(b"said").unwrap();
        let heard = listen(Some(stream), 100);
        tare_dev::eventually("it is heard", || heard.text(Duration::from_millis(1)) == "said");
        drop(held);
    }
}
