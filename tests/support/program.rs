//! The program under test, and how it ended.

use super::schema;
use tare_dev::{Namespace, Scratch, patience};

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

/// Longer than any command here takes on the busiest machine: what hangs fails, and the test goes on.
const PATIENCE: Duration = Duration::from_secs(240);

/// The ordinary user as whom root runs the program.
const NOBODY: u32 = 65534;

/// As whom a program is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// Whoever runs the tests.
    Caller,
    /// An ordinary user: the caller, or, where that is root, another one.
    Ordinary,
}

impl User {
    /// Root and an ordinary user where root runs the tests; else the ordinary user that the caller is.
    pub fn all() -> &'static [Self] {
        if is_root() { &[Self::Caller, Self::Ordinary] } else { &[Self::Ordinary] }
    }

    /// The number of the user to become; nothing to stay who one is.
    pub fn id(self) -> Option<u32> {
        (self == Self::Ordinary && is_root()).then_some(NOBODY)
    }
}

/// Program under test: `TARE_BINARY`, else the one that `make build` has made.
///
/// # Panics
///
/// There is none.
pub fn binary() -> PathBuf {
    let built = || schema::repository().join("target/bin/tare");
    let program = std::env::var_os("TARE_BINARY").map_or_else(built, PathBuf::from);
    assert!(program.exists(), "{} is missing: make build", program.display());
    program
}

/// A program that the kernel kills when the thread that starts it ends.
pub fn tied(user: User, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    if let Some(id) = user.id() {
        let id = id.to_string();
        command.args(["--reuid", &id, "--regid", &id, "--clear-groups"]);
    }
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command
}

/// The program under test, run by somebody somewhere.
#[derive(Clone)]
pub struct Tare {
    program: PathBuf,
    directory: PathBuf,
    user: User,
    variables: Vec<(String, String)>,
}

impl Tare {
    /// The program, run by the caller in this directory.
    pub fn in_directory(directory: &Path) -> Self {
        let variables = Vec::new();
        Self { program: binary(), directory: directory.to_owned(), user: User::Caller, variables }
    }

    /// A copy of the program that everybody may run, in a directory that belongs to this user. Nothing else on the
    /// machine runs this copy.
    pub fn copied(scratch: &Scratch, user: User) -> Self {
        let program = scratch.path("tare");
        // By a process of its own: a child that another test starts meanwhile would inherit our descriptor for writing,
        // and nobody may run a program that is being written.
        let mut copy = std::process::Command::new("cp");
        let copied = copy.arg(binary()).arg(&program).status();
        assert!(copied.is_ok_and(|status| status.success()), "room for a copy of the program");
        let directory = scratch.directory_of("home", user.id());
        Self { program, directory, user, variables: Vec::new() }
    }

    /// The same, with a variable in its environment.
    pub fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same, keeping databases' contents where it runs, and not with the user's own.
    pub fn with_cache_of_its_own(self) -> Self {
        let cache = self.directory.join("cache");
        self.with_variable("XDG_CACHE_HOME", cache.to_str().expect("a path in ASCII"))
    }

    /// Where the program is.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Where it runs.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Runs it to its end.
    pub fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Outcome {
        self.start(arguments).wait()
    }

    /// Starts it, in a process group of its own.
    pub fn start<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Running {
        let mut command = tied(self.user, &self.program);
        command.args(arguments).current_dir(&self.directory);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        Running::of(command.process_group(0))
    }

    /// Starts it in a network namespace of the test's own.
    pub fn start_inside<S: AsRef<OsStr>>(&self, namespace: &Namespace, arguments: &[S]) -> Running {
        let words = namespace.enter();
        let mut command = tied(User::Caller, &words[0]);
        // Only the caller may enter the namespace, so that another user is become inside.
        let inside = tied(self.user, &self.program);
        command.args(&words[1..]).arg(inside.get_program()).args(inside.get_args());
        Running::of(command.args(arguments).current_dir(&self.directory))
    }

    /// Runs it to its end by a shell script, in which it is `"$tare"`, in namespaces of its own: a mount namespace
    /// and, for an ordinary user, a user namespace.
    pub fn in_private_mounts(&self, script: &str) -> Outcome {
        let mut command = tied(self.user, "unshare");
        if !is_root() || self.user == User::Ordinary {
            command.args(["--user", "--map-root-user"]);
        }
        self.by_script(command.arg("--mount"), script)
    }

    /// Runs it to its end by a shell script, in which it is `"$tare"`, in a user namespace of its own.
    pub fn in_private_user(&self, script: &str) -> Outcome {
        let mut command = tied(self.user, "unshare");
        self.by_script(command.args(["--user", "--map-root-user"]), script)
    }

    fn by_script(&self, command: &mut Command, script: &str) -> Outcome {
        command.args(["--", "/bin/sh", "-eu", "-c", script]).env("tare", &self.program);
        Running::of(command.current_dir(&self.directory)).wait()
    }
}

/// A program that runs. Dropping it ends it.
pub struct Running {
    child: Child,
    stdout: Option<JoinHandle<Vec<u8>>>,
    /// What it says, line by line; the sender is gone when it has ended.
    lines: Receiver<String>,
    said: String,
}

impl Running {
    /// Starts a command with its output kept.
    pub fn of(command: &mut Command) -> Self {
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

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it has not been waited for");
    }

    /// Sends a signal to it and its children, as a terminal does; it must have been started in a group of its own.
    pub fn signal_group(&self, signal: Signal) {
        kill_process_group(Pid::from_child(&self.child), signal).expect("it has a group");
    }

    /// Waits until it has said these words.
    pub fn wait_for(&mut self, words: &str) {
        while !self.said.contains(words) {
            let line = self.lines.recv_timeout(patience(PATIENCE));
            let line = line.unwrap_or_else(|_| panic!("`{words}` was not said:\n{}", self.said));
            self.said.push_str(&line);
        }
    }

    /// The same, where it has said them before and shall say them once more.
    pub fn wait_for_again(&mut self, words: &str) {
        self.said.clear();
        self.wait_for(words);
    }

    /// What it has said and was waited for.
    pub fn said(&self) -> String {
        self.said.clone()
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("it is ours").is_none()
    }

    /// Waits for its end.
    pub fn wait(mut self) -> Outcome {
        let limit = patience(PATIENCE);
        let in_time = ends_within(Pid::from_child(&self.child), limit);
        if !in_time {
            self.child.kill().expect("it is ours");
        }
        let status = self.child.wait().expect("it is ours");
        let stdout = self.stdout.take().map(|thread| thread.join().expect("it reads"));
        self.said.extend(self.lines.iter());
        assert!(in_time, "it did not end within {limit:?} and said:\n{}", self.said);
        Outcome {
            code: status.code(),
            signal: status.signal(),
            stdout: stdout.unwrap_or_default(),
            stderr: std::mem::take(&mut self.said),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether a process ends within this time.
pub fn ends_within(pid: Pid, time: Duration) -> bool {
    // One that is there no more has ended.
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
            // Nobody may be listening any more.
            let _ = sender.send(String::from_utf8_lossy(&line).into_owned());
            line.clear();
        }
    });
    lines
}

/// How a program ended.
#[derive(Debug)]
pub struct Outcome {
    /// Its exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What it wrote to standard output.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error.
    pub stderr: String,
}

impl Outcome {
    /// The same, if it ended with this code.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        // Of a long document the end tells what was skipped and what failed.
        let text = self.text();
        let end = text.char_indices().nth_back(1_000).map_or(0, |(at, _)| at);
        assert_eq!(self.code, Some(code), "{}\n{}", &text[end..], self.stderr);
        self
    }

    /// What it wrote to standard output, as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// What it wrote to standard output, as one JSON document.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}\n{}", self.text(), self.stderr))
    }

    /// What it said was wrong, in one line with every one of these words, and nothing else but that other tests
    /// measure at the same time.
    #[track_caller]
    pub fn complains(&self, code: i32, words: &[&str]) {
        let said = &self.stderr;
        assert_eq!(self.code, Some(code), "{said}");
        assert!(self.stdout.is_empty(), "{}", self.text());
        let is_of_others = |line: &&str| line.contains("other tare run(s) on this machine");
        assert_eq!(said.lines().filter(|line| !is_of_others(line)).count(), 1, "one line: {said}");
        self.says_at_last(words);
    }

    /// The last line that it said, with every one of these words.
    #[track_caller]
    pub fn says_at_last(&self, words: &[&str]) {
        let last = self.stderr.lines().last().unwrap_or_default();
        assert!(last.starts_with("tare: "), "{}", self.stderr);
        for word in words {
            assert!(last.contains(word), "`{word}` is not in: {last}");
        }
    }
}
