//! Child process of an external program: its output is captured, its end is awaited with a deadline, and every error
//! has the end of its output.
//!
//! The process dies with the thread of the agent that started it, however that thread ends.

use crate::command::ToolCommand;
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
use tare_traffic::Error;

/// Maximum of standard output that is kept, bytes: the end of it.
const MAX_OUTPUT: usize = 64 << 20;
/// Maximum of standard error that is kept, bytes.
const MAX_ERROR_OUTPUT: usize = 16 << 10;
/// Maximum of output that an error quotes, bytes.
const MAX_ERROR_SUMMARY: usize = 300;
/// Time for which children of an ended program may still hold its output open. When hundreds of programs end together
/// on few cores, the output of the last takes seconds to arrive.
const OUTPUT_DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// Period at which a waiting call checks whether to go on.
const TICK: Duration = Duration::from_millis(50);

/// Output and CPU time of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProgramOutput {
    /// Standard output.
    pub(crate) output: String,
    /// Standard error.
    pub(crate) errors: String,
    /// User and system time.
    pub(crate) cpu: Duration,
}

/// Running program. Dropping it kills the program.
pub(crate) struct ChildProcess {
    name: String,
    id: u32,
    /// Process file descriptor, readable when the process has ended.
    end: OwnedFd,
    output: CapturedStream,
    errors: CapturedStream,
    reaped: bool,
}

impl ChildProcess {
    /// Starts a program.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub(crate) fn start(call: &ToolCommand) -> Result<Self, Error> {
        let name = call.name();
        let refused = |error: std::io::Error| Error::io(format!("start {name}"), error);
        let mut child = call.to_command().spawn().map_err(refused)?;
        if let Some((mut input, text)) = child.stdin.take().zip(call.input()) {
            // A program that has ended already reads nothing: its output says why it ended.
            let _ = input.write_all(text.as_bytes());
        }
        let output = capture(child.stdout.take(), MAX_OUTPUT);
        let errors = capture(child.stderr.take(), MAX_ERROR_OUTPUT);
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

    /// Returns the CPU time of the process so far.
    pub(crate) fn cpu(&self) -> Duration {
        sys::child_cpu_time(self.id).unwrap_or_default()
    }

    /// Waits for the end of the process, at most for `limit`. Returns whether it has ended.
    pub(crate) fn ended_within(&self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let mut ends = [PollFd::new(&self.end, PollFlags::IN)];
            match poll(&mut ends, Timespec::try_from(left).ok().as_ref()) {
                Ok(0) => return false,
                Err(rustix::io::Errno::INTR) => {}
                // If poll(2) fails, nothing can be awaited here: the call that reaps the process waits.
                Ok(_) | Err(_) => return true,
            }
        }
    }

    /// Waits for the end of the process and returns its output. The process must succeed.
    ///
    /// # Errors
    /// When the process fails, with the end of its output. When it takes too long or the caller cancels: the process is
    /// then killed.
    pub(crate) fn finish(
        self,
        limit: Duration,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<ProgramOutput, Error> {
        let until = Instant::now() + limit;
        while !self.ended_within(TICK) {
            if cancelled() {
                return Err(Error::Cancelled);
            }
            if Instant::now() >= until {
                let name = self.name.clone();
                let words =
                    self.stop(Signal::KILL, Duration::ZERO).map(|(_, said)| said.error_summary());
                let words = words.unwrap_or_default();
                return Err(Error::Job(format!("{name} took longer than {limit:?}{words}")));
            }
        }
        let name = self.name.clone();
        match self.reap()? {
            (status, said) if status.success() => Ok(said),
            (status, said) => Err(exit_error(&name, status, &said)),
        }
    }

    /// Sends a signal, and kills the process if it has not ended within `grace`. Returns its exit status and its
    /// output.
    pub(crate) fn stop(
        self,
        signal: Signal,
        grace: Duration,
    ) -> Result<(ExitStatus, ProgramOutput), Error> {
        self.signal(signal);
        if !self.ended_within(grace) {
            self.signal(Signal::KILL);
        }
        self.reap()
    }

    /// Returns the error that the process ended too early, with the end of its output.
    pub(crate) fn into_early_end(self) -> Error {
        let name = self.name.clone();
        match self.stop(Signal::KILL, Duration::ZERO) {
            Ok((status, said)) => exit_error(&name, status, &said),
            Err(error) => error,
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = i32::try_from(self.id).ok().and_then(Pid::from_raw) {
            // Until the process is reaped, no other process has its number. If it has ended already, nothing is left to
            // do.
            let _ = kill_process(pid, signal);
        }
    }

    fn reap(mut self) -> Result<(ExitStatus, ProgramOutput), Error> {
        self.reaped = true;
        let (status, cpu) = sys::reap_child(self.id)
            .map_err(|error| Error::io(format!("wait for {}", self.name), error))?;
        Ok((
            status,
            ProgramOutput {
                output: self.output.text(OUTPUT_DRAIN_TIMEOUT),
                errors: self.errors.text(OUTPUT_DRAIN_TIMEOUT),
                cpu,
            },
        ))
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        if !self.reaped {
            self.signal(Signal::KILL);
            let _ = sys::reap_child(self.id);
        }
    }
}

/// End of a stream that a thread captures, and the signal that the stream has ended.
struct CapturedStream {
    kept: Arc<Mutex<VecDeque<u8>>>,
    ended: Receiver<()>,
}

impl CapturedStream {
    /// Returns the captured text. Waits for the end of the stream, at most for `patience`: other processes may hold it
    /// open.
    fn text(&self, patience: Duration) -> String {
        // The thread sends at the end of the stream. Without a stream the channel is closed at once.
        let _ = self.ended.recv_timeout(patience);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(kept.make_contiguous()).into_owned()
    }
}

/// Captures the last `most` bytes of a stream, on a thread of its own.
fn capture(stream: Option<impl Read + Send + 'static>, most: usize) -> CapturedStream {
    let (told, ended) = channel();
    let kept = Arc::new(Mutex::new(VecDeque::new()));
    if let Some(stream) = stream {
        let kept = Arc::clone(&kept);
        thread::spawn(move || {
            read_tail(stream, most, &kept);
            // The receiver is gone if the program was abandoned.
            let _ = told.send(());
        });
    }
    CapturedStream { kept, ended }
}

/// Reads a stream to its end, and keeps its last `most` bytes.
fn read_tail(mut stream: impl Read, most: usize, all: &Mutex<VecDeque<u8>>) {
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

impl ProgramOutput {
    /// Returns the end of standard error, or of standard output if that is empty, as one line to append to an error.
    /// Returns an empty text if both are empty.
    pub(crate) fn error_summary(&self) -> String {
        let spoken = [&self.errors, &self.output].into_iter().find(|text| !text.trim().is_empty());
        let Some(text) = spoken else { return String::new() };
        let mut lines: Vec<&str> = Vec::new();
        for line in text.lines().rev().map(str::trim).filter(|line| !line.is_empty()) {
            if lines.iter().map(|line| line.len()).sum::<usize>() + line.len() > MAX_ERROR_SUMMARY {
                break;
            }
            lines.push(line);
        }
        if lines.is_empty() {
            let last = text.lines().map(str::trim).rfind(|line| !line.is_empty());
            lines.extend(last.map(|line| truncate(line, MAX_ERROR_SUMMARY)));
        }
        lines.reverse();
        format!(": {}", lines.join("; "))
    }
}

/// Returns the beginning of a text, whole characters of at most `most` bytes.
fn truncate(text: &str, most: usize) -> &str {
    let end = (0..=most).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    &text[..end]
}

fn exit_error(name: &str, status: ExitStatus, said: &ProgramOutput) -> Error {
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "no exit code".to_owned(),
    };
    Error::Job(format!("{name} ended with {how}{}", said.error_summary()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(240);

    fn shell(script: &str) -> ToolCommand {
        ToolCommand::new("/bin/sh".into(), ["-c", script])
    }

    fn run(script: &str) -> Result<ProgramOutput, Error> {
        ChildProcess::start(&shell(script))?.finish(PATIENCE, &|| false)
    }

    #[test]
    fn what_a_program_says_is_kept() {
        let said = run("echo one; echo two >&2").unwrap();
        assert_eq!((said.output.as_str(), said.errors.as_str()), ("one\n", "two\n"));
    }

    #[test]
    fn a_program_is_told_what_nobody_else_shall_know() {
        let call = shell("cat; echo .").with_input("a password".to_owned());
        assert!(!format!("{call:?}").contains("a password"));
        let said = ChildProcess::start(&call).unwrap().finish(PATIENCE, &|| false).unwrap();
        assert_eq!(said.output, "a password.\n");
        // A program that does not read its input is not waited for.
        let deaf = shell("exit 3").with_input("a password".to_owned());
        let error = ChildProcess::start(&deaf).unwrap().finish(PATIENCE, &|| false).unwrap_err();
        assert!(error.to_string().contains("exit code 3"), "{error}");
    }

    #[test]
    fn a_program_that_fails_has_last_words() {
        let error = run("echo first >&2; echo last >&2; exit 3").unwrap_err().to_string();
        assert_eq!(error, "sh ended with exit code 3: first; last");
        let missing =
            ChildProcess::start(&ToolCommand::new("/no/such".into(), [""; 0])).err().unwrap();
        assert!(missing.to_string().starts_with("cannot start such: "), "{missing}");
    }

    #[test]
    fn a_long_last_line_is_cut_at_a_character() {
        let summary =
            |errors: String| ProgramOutput { errors, ..ProgramOutput::default() }.error_summary();
        let start = "x".repeat(MAX_ERROR_SUMMARY - 1);
        // The limit is inside of the first `é`.
        assert_eq!(summary(format!("first\n{start}éé\nlast\n")), ": last");
        assert_eq!(summary(format!("first\n{start}éé\n")), format!(": {start}"));
        let long = "y".repeat(2 * MAX_ERROR_SUMMARY);
        assert_eq!(summary(format!("{long}\n \n")), format!(": {}", &long[..MAX_ERROR_SUMMARY]));
    }

    #[test]
    fn nobody_waits_for_ever() {
        let start = |script| ChildProcess::start(&shell(script)).unwrap();
        let error = start("echo here; exec sleep 1000")
            .finish(Duration::from_millis(100), &|| false)
            .unwrap_err();
        assert!(error.to_string().contains("longer than 100ms"), "{error}");
        let given_up = start("exec sleep 1000").finish(PATIENCE, &|| true);
        assert!(matches!(given_up, Err(Error::Cancelled)));
    }

    #[test]
    fn cpu_time_is_counted_with_that_of_children() {
        // The kernel ends the inner shell after a second of CPU time, counted in ticks: half of it is certain.
        let said = run("(ulimit -t 1; while :; do :; done); exit 0").unwrap();
        assert!(said.cpu >= Duration::from_millis(500), "{said:?}");
        let running = ChildProcess::start(&shell("while :; do :; done")).unwrap();
        let so_far = tare_dev::eventually("it takes CPU time", || {
            Some(running.cpu()).filter(|time| *time >= Duration::from_millis(20))
        });
        let (status, said) = running.stop(Signal::TERM, PATIENCE).unwrap();
        assert_eq!(status.signal(), Some(Signal::TERM.as_raw()));
        // At the end the kernel reports user and system time, each rounded down to a microsecond.
        assert!(said.cpu + Duration::from_micros(2) >= so_far, "{said:?}, {so_far:?}");
    }

    #[test]
    fn the_end_of_a_long_story_is_kept() {
        assert_eq!(capture(Some("0123456789".as_bytes()), 4).text(PATIENCE), "6789");
    }

    #[test]
    fn what_was_said_is_heard_though_somebody_holds_the_stream_open() {
        let (stream, mut held) = std::io::pipe().unwrap();
        held.write_all(b"said").unwrap();
        let heard = capture(Some(stream), 100);
        tare_dev::eventually("it is heard", || heard.text(Duration::from_millis(1)) == "said");
        drop(held);
    }
}
