//! Program under test, and the result of its run.

use super::{list, schema};
use tare_dev::{ScratchDirectory, TestNamespace, scaled_timeout};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open};
use serde_json::Value;
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;
pub use tare_dev::is_root;

/// Time longer than any command says nothing on the busiest machine, until it ends or tells of the next block. A command that
/// hangs fails, and the test continues.
const PATIENCE: Duration = Duration::from_secs(240);

/// User id of the ordinary user as whom root runs the program.
const NOBODY: u32 = 65534;

/// User as whom a program is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// User who runs the tests.
    Caller,
    /// Ordinary user: the caller, or another user if the caller is root.
    Ordinary,
}

impl User {
    /// Returns root and an ordinary user if root runs the tests, else only the caller.
    pub fn all() -> &'static [Self] {
        if is_root() { &[Self::Caller, Self::Ordinary] } else { &[Self::Ordinary] }
    }

    /// Returns the id of the user to switch to. Returns `None` to stay the caller.
    pub fn id(self) -> Option<u32> {
        (self == Self::Ordinary && is_root()).then_some(NOBODY)
    }
}

/// Returns the program under test: `TARE_BINARY`, else the program installed by `make build`.
///
/// # Panics
///
/// Panics if there is no such program.
pub fn binary() -> PathBuf {
    let built = || schema::repository().join("target/bin/tare");
    let program = std::env::var_os("TARE_BINARY").map_or_else(built, PathBuf::from);
    assert!(program.exists(), "{} is missing: make build", program.display());
    program
}

/// Makes a command that the kernel kills when the thread that starts it ends.
pub fn tied_command(user: User, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    if let Some(id) = user.id() {
        let id = id.to_string();
        command.args(["--reuid", &id, "--regid", &id, "--clear-groups"]);
    }
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command
}

/// Program under test, with the user, directory and environment that it is run with.
#[derive(Clone)]
pub struct Tare {
    program: PathBuf,
    directory: PathBuf,
    user: User,
    variables: Vec<(String, String)>,
}

impl Tare {
    /// Returns the program, run by the caller in this directory.
    pub fn in_directory(directory: &Path) -> Self {
        let variables = Vec::new();
        Self { program: binary(), directory: directory.to_owned(), user: User::Caller, variables }
    }

    /// Copies the program to a directory that belongs to this user, executable by all users. No other process on the
    /// machine runs this copy.
    pub fn copied(scratch: &ScratchDirectory, user: User) -> Self {
        let program = scratch.path("tare");
        // cp is a separate process: a child that another test starts in the meantime would inherit our writable
        // descriptor, and a program that is open for writing cannot be executed.
        let mut copy = std::process::Command::new("cp");
        let copied = copy.arg(binary()).arg(&program).status();
        assert!(copied.is_ok_and(|status| status.success()), "room for a copy of the program");
        let directory = scratch.create_directory("home", user.id());
        Self { program, directory, user, variables: Vec::new() }
    }

    /// Adds a variable to the program's environment.
    pub fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the cache of databases' contents to the program's directory, instead of the user's cache.
    pub fn with_cache_of_its_own(self) -> Self {
        let cache = self.directory.join("cache");
        self.with_variable("XDG_CACHE_HOME", cache.to_str().expect("a path in ASCII"))
    }

    /// Returns the path of the program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Returns the directory in which the program runs.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Runs the program to its end.
    pub fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> ProgramOutcome {
        self.start(arguments).wait()
    }

    /// Starts the program, in its own process group.
    pub fn start<S: AsRef<OsStr>>(&self, arguments: &[S]) -> RunningProgram {
        let mut command = tied_command(self.user, &self.program);
        command.args(arguments).current_dir(&self.directory);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        RunningProgram::spawn(command.process_group(0))
    }

    /// Runs the program to its end before all other work, which only root can ensure: for a test that needs more packets
    /// than a busy machine sends. Niceness applies among the processes of a session only (sched(7), autogroups), a
    /// real-time policy among all.
    pub fn run_ahead_of_other_work<S: AsRef<OsStr>>(&self, arguments: &[S]) -> ProgramOutcome {
        if !is_root() {
            return self.run(arguments);
        }
        let mut command = tied_command(self.user, "chrt");
        command.args(["--rr", "1"]).arg(&self.program).args(arguments);
        RunningProgram::spawn(command.current_dir(&self.directory)).wait()
    }

    /// Starts the program in the network namespace of the test.
    pub fn start_inside<S: AsRef<OsStr>>(
        &self,
        namespace: &TestNamespace,
        arguments: &[S],
    ) -> RunningProgram {
        let words = namespace.enter_command();
        let mut command = tied_command(User::Caller, &words[0]);
        // Only the caller may enter the namespace, so the user is switched inside.
        let inside = tied_command(self.user, &self.program);
        command.args(&words[1..]).arg(inside.get_program()).args(inside.get_args());
        RunningProgram::spawn(command.args(arguments).current_dir(&self.directory))
    }

    /// Runs the program to its end from a shell script, as `"$tare"`, in a new mount namespace and, for an ordinary
    /// user, a new user namespace.
    pub fn in_private_mounts(&self, script: &str) -> ProgramOutcome {
        let mut command = tied_command(self.user, "unshare");
        if !is_root() || self.user == User::Ordinary {
            command.args(["--user", "--map-root-user"]);
        }
        self.by_script(command.arg("--mount"), script)
    }

    /// Runs the program to its end from a shell script, as `"$tare"`, in a new user namespace.
    pub fn in_private_user(&self, script: &str) -> ProgramOutcome {
        let mut command = tied_command(self.user, "unshare");
        self.by_script(command.args(["--user", "--map-root-user"]), script)
    }

    fn by_script(&self, command: &mut Command, script: &str) -> ProgramOutcome {
        command.args(["--", "/bin/sh", "-eu", "-c", script]).env("tare", &self.program);
        RunningProgram::spawn(command.current_dir(&self.directory)).wait()
    }
}

/// Running program. Dropping it ends the program.
pub struct RunningProgram {
    child: Child,
    stdout: Option<JoinHandle<Vec<u8>>>,
    /// Lines of standard error. The sender is dropped when the program has ended.
    lines: Receiver<String>,
    said: String,
}

impl RunningProgram {
    /// Starts a command, and collects its output.
    pub fn spawn(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("start {command:?}: {error}"));
        let stdout = child.stdout.take().map(all_of);
        let lines = lines_of(child.stderr.take().expect("it is piped"));
        Self { child, stdout, lines, said: String::new() }
    }

    /// Returns the process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal to the process.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it has not been waited for");
    }

    /// Sends a signal to the process and its children, as a terminal does. It must have been started in its own process
    /// group.
    pub fn signal_group(&self, signal: Signal) {
        kill_process_group(Pid::from_child(&self.child), signal).expect("it has a group");
    }

    /// Waits until the program has written these words to standard error.
    pub fn wait_for(&mut self, words: &str) {
        while !self.said.contains(words) {
            let line = self.lines.recv_timeout(scaled_timeout(PATIENCE));
            let line = line.unwrap_or_else(|_| panic!("`{words}` was not said:\n{}", self.said));
            self.said.push_str(&line);
        }
    }

    /// Waits until the program writes words again that it has written before.
    pub fn wait_for_again(&mut self, words: &str) {
        self.said.clear();
        self.wait_for(words);
    }

    /// Returns the part of standard error that was read while waiting.
    pub fn awaited_output(&self) -> String {
        self.said.clone()
    }

    /// Returns true if the program still runs.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("it is ours").is_none()
    }

    /// Takes what the program has written to standard error since it was asked last, and returns whether there was any.
    fn has_said_more(&mut self) -> bool {
        let before = self.said.len();
        self.said.extend(self.lines.try_iter());
        self.said.len() > before
    }

    /// Waits for the end of the program.
    pub fn wait(mut self) -> ProgramOutcome {
        let (pid, limit) = (Pid::from_child(&self.child), scaled_timeout(PATIENCE));
        let mut in_time = ends_within(pid, limit);
        while !in_time && self.has_said_more() {
            in_time = ends_within(pid, limit);
        }
        if !in_time {
            self.child.kill().expect("it is ours");
        }
        let status = self.child.wait().expect("it is ours");
        let stdout = self.stdout.take().map(|thread| thread.join().expect("it reads"));
        self.said.extend(self.lines.iter());
        assert!(in_time, "it neither ended nor said more within {limit:?}:\n{}", self.said);
        ProgramOutcome {
            code: status.code(),
            signal: status.signal(),
            stdout: stdout.unwrap_or_default(),
            stderr: std::mem::take(&mut self.said),
        }
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns true if a process ends within this time.
pub fn ends_within(pid: Pid, time: Duration) -> bool {
    // A process that no longer exists has ended.
    let Ok(descriptor) = pidfd_open(pid, PidfdFlags::empty()) else { return true };
    let limit = Timespec::try_from(time).expect("no eternity");
    let ended = poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], Some(&limit));
    ended.expect("it can be waited for") > 0
}

fn all_of(mut stream: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        bytes
    })
}

fn lines_of(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        let mut line = Vec::new();
        while stream.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
            // The receiver may be gone.
            let _ = sender.send(String::from_utf8_lossy(&line).into_owned());
            line.clear();
        }
    });
    lines
}

/// Result of a program's run.
#[derive(Debug)]
pub struct ProgramOutcome {
    /// Exit code, unless a signal ended the program.
    pub code: Option<i32>,
    /// Signal that ended the program.
    pub signal: Option<i32>,
    /// Content of standard output.
    pub stdout: Vec<u8>,
    /// Content of standard error.
    pub stderr: String,
}

impl ProgramOutcome {
    /// Returns the outcome. Fails unless the program ended with this code.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        // The end of a long document says what was skipped and what failed.
        let text = self.text();
        let end = text.char_indices().nth_back(1_000).map_or(0, |(at, _)| at);
        assert_eq!(self.code, Some(code), "{}\n{}", &text[end..], self.stderr);
        self
    }

    /// Returns the outcome of a run. Fails unless every network was measured. A machine that is busy throughout a short
    /// trial leaves it without a figure, and a run without any figure ends with code 1.
    #[track_caller]
    pub fn expect_measured(self) -> Self {
        if self.code == Some(1) && is_without_figures(&self.stdout) { self } else { self.expect(0) }
    }

    /// Returns standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Returns standard output as one JSON document.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}\n{}", self.text(), self.stderr))
    }

    /// Fails unless the program ended with this code and reported an error in one line with all of these words. The
    /// only other line allowed is the note that other tests measure at the same time.
    #[track_caller]
    pub fn assert_error(&self, code: i32, words: &[&str]) {
        let said = &self.stderr;
        assert_eq!(self.code, Some(code), "{said}");
        assert!(self.stdout.is_empty(), "{}", self.text());
        let is_of_others = |line: &&str| line.contains("other tare run");
        assert_eq!(said.lines().filter(|line| !is_of_others(line)).count(), 1, "one line: {said}");
        self.assert_last_line(words);
    }

    /// Fails unless the last line of standard error has all of these words.
    #[track_caller]
    pub fn assert_last_line(&self, words: &[&str]) {
        let last = self.stderr.lines().last().unwrap_or_default();
        assert!(last.starts_with("tare: "), "{}", self.stderr);
        for word in words {
            assert!(last.contains(word), "`{word}` is not in: {last}");
        }
    }
}

/// Returns true if the document of a run has measured networks, none that failed or was skipped, and no trial that was
/// long enough for the machine.
fn is_without_figures(document: &[u8]) -> bool {
    let Ok(document) = serde_json::from_slice::<Value>(document) else { return false };
    let is_too_short = |cell: &Value| {
        let reason = cell["withheld"]["reason"].as_str().unwrap_or_default();
        reason.contains("no trial has a complete interval")
    };
    let is_empty = |key: &str| list(&document, key).is_empty();
    let cells = list(&document, "cells");
    is_empty("failed") && is_empty("skipped") && !cells.is_empty() && cells.iter().all(is_too_short)
}
