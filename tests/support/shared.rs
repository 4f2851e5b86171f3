//! Engines, Swarms and files that all tests of one run share.
//!
//! The test runner starts each test as a process of its own. The first test that needs a shared resource starts its *keeper*
//! (`keeper.rs`), a process in a session of its own that holds the resource until the runner ends, also when that is killed.
//! Later tests find the resource by a directory that is named after the run. A test has it alone: it holds a lock on that
//! directory. What a test that failed or was killed has used is not used again: the next test starts another keeper.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::ops::Deref;
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tare_dev::eventually;

/// Kind of directory that only holds files.
const FILES: &str = "files";

/// Resource that a keeper can hold for the tests of a run.
pub trait Resource: Sized {
    /// Name of the kind.
    const KIND: &str;

    /// Starts one.
    fn start() -> Self;

    /// Data by which other processes join it.
    fn handle(&self) -> Value;

    /// Joins the one that a keeper holds.
    fn join(handle: &Value) -> Self;

    /// Inventory of everything that a test could leave on it.
    fn everything(&self) -> Vec<String>;

    /// Waits until the inventory is the same as before.
    ///
    /// # Panics
    ///
    /// Something is left, or is missing.
    #[track_caller]
    fn nothing_is_left(&self, before: &[String]) {
        eventually("nothing is left", || {
            let now = self.everything();
            if now == before { Ok(()) } else { Err(format!("{now:#?}, not {before:#?}")) }
        });
    }
}

/// Exclusive use of a shared resource by one test. The guard checks that nothing is left of earlier tests when it is made,
/// and of this test when it is dropped.
pub struct SharedGuard<T: Resource> {
    resource: T,
    before: Vec<String>,
    lease: Lease,
}

impl<T: Resource> SharedGuard<T> {
    /// Takes the resource that the tests of this run share.
    #[track_caller]
    pub fn take() -> Self {
        let lease = Lease::take(T::KIND);
        let resource = T::join(&lease.state["handle"]);
        let before = serde_json::from_value(lease.state["everything"].clone());
        let before: Vec<String> = before.expect("the keeper has written lines");
        resource.nothing_is_left(&before);
        Self { resource, before, lease }
    }
}

impl<T: Resource> Deref for SharedGuard<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.resource
    }
}

impl<T: Resource> Drop for SharedGuard<T> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.resource.nothing_is_left(&self.before);
            self.lease.give_back();
        }
    }
}

/// Directory of files that the first test of a run makes and all tests of the run may read.
///
/// # Panics
///
/// The files cannot be made.
pub fn files(name: &str, make: impl FnOnce(&Path)) -> PathBuf {
    let lease = Lease::take(&format!("{FILES}-{name}"));
    let files = lease.directory.join("content");
    let made = lease.directory.join("made");
    if !made.exists() {
        let _ = fs::remove_dir_all(&files);
        fs::create_dir(&files).expect("a directory in the run's");
        make(&files);
        fs::write(made, "").expect("room for an empty file");
    }
    lease.give_back();
    files
}

/// Use of a shared resource by one test.
struct Lease {
    directory: PathBuf,
    state: Value,
    /// The lock is released when the file is closed.
    _lock: File,
}

impl Lease {
    /// Waits for the lock, and sees that there is a keeper whose resource was given back by every test that has used it.
    #[allow(clippy::print_stdout, reason = "a test's output is shown where it fails")]
    fn take(kind: &str) -> Self {
        let directory = directory(kind);
        fs::create_dir_all(&directory).expect("a temporary directory");
        let lock = File::create(directory.join("lock")).expect("a file in the run's directory");
        lock.lock().expect("a file system with locks");
        let user = directory.join("user");
        if let Ok(earlier) = fs::read_to_string(&user) {
            println!("{earlier} has not given back {kind}: another one is started");
            end_keeper(&directory);
        }
        let state = state(&directory).unwrap_or_else(|| start_keeper(kind, &directory));
        let name = std::thread::current().name().unwrap_or("a test").to_owned();
        fs::write(user, name).expect("room for a name");
        Self { directory, state, _lock: lock }
    }

    /// Says that the resource may be used again.
    fn give_back(&self) {
        fs::remove_file(self.directory.join("user")).expect("this test is the user");
    }
}

/// Directory of a kind of resource in this run of the test runner, or in this run of the process that has started the test.
fn directory(kind: &str) -> PathBuf {
    let run = std::env::var("NEXTEST_RUN_ID").unwrap_or_else(|_| parent_id().to_string());
    std::env::temp_dir().join(format!("tare-tests-{run}-{kind}"))
}

/// State that the keeper has written, if the keeper still runs.
fn state(directory: &Path) -> Option<Value> {
    let state = fs::read(directory.join("state")).ok()?;
    let state: Value = serde_json::from_slice(&state).expect("the keeper writes JSON");
    let arguments = fs::read(format!("/proc/{}/cmdline", state["keeper"])).ok()?;
    let directory = directory.as_os_str().as_encoded_bytes();
    arguments.split(|&byte| byte == 0).any(|argument| argument == directory).then_some(state)
}

/// Ends the keeper, with everything that it holds.
fn end_keeper(directory: &Path) {
    if let Some(state) = state(directory) {
        let number = state["keeper"].as_i64().and_then(|number| i32::try_from(number).ok());
        let pid = number.and_then(Pid::from_raw).expect("the keeper has written its number");
        // It may have ended just now.
        let _ = kill_process(pid, Signal::TERM);
        eventually("the keeper ends", || self::state(directory).is_none());
    }
    for name in ["state", "made"] {
        let _ = fs::remove_file(directory.join(name));
    }
}

/// Starts a keeper and waits until it holds its resource.
fn start_keeper(kind: &str, directory: &Path) -> Value {
    let path = directory.join("log");
    let log = File::create(&path).expect("a file in the run's directory");
    let mut keeper = Command::new("setsid")
        .arg(program())
        .args([kind.as_ref(), directory.as_os_str(), parent_id().to_string().as_ref()])
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("a descriptor"))
        .stderr(log)
        .spawn()
        .expect("setsid is there");
    eventually("the keeper holds its resource", || {
        let log = || fs::read_to_string(&path).unwrap_or_default();
        let ended = keeper.try_wait().expect("it is a child");
        assert!(ended.is_none(), "the keeper of {kind} has ended: {}", log());
        state(directory).ok_or_else(log)
    })
}

/// Program of the keeper. Cargo builds it with the tests, and puts it beside the directory in which they are.
fn program() -> PathBuf {
    let test = std::env::current_exe().expect("/proc is there");
    let mut directories = test.ancestors().skip(1).map(|directory| directory.join("keeper"));
    directories.find(|program| program.is_file()).expect("cargo has built `keeper`")
}

/// Holds a resource until the test runner ends: the whole work of a keeper.
///
/// # Panics
///
/// The resource cannot be made.
pub fn keep<T: Resource>(directory: &Path, runner: Pid) {
    let resource = T::start();
    let state = json!({"handle": resource.handle(), "everything": resource.everything()});
    hold(directory, runner, state);
    drop(resource);
    // Tests that still run when their runner was killed may write into it meanwhile.
    let _ = fs::remove_dir_all(directory);
}

/// Keeps a directory of files until the test runner ends.
pub fn keep_files(directory: &Path, runner: Pid) {
    hold(directory, runner, json!({}));
    let _ = fs::remove_dir_all(directory);
}

/// Whether a kind of resource is a directory of files.
pub fn is_files(kind: &str) -> bool {
    kind.starts_with(FILES)
}

/// Tells the state to the tests and waits for the end of the runner.
fn hold(directory: &Path, runner: Pid, mut state: Value) {
    // A runner that is there no more has ended.
    let Ok(runner) = pidfd_open(runner, PidfdFlags::empty()) else { return };
    state["keeper"] = std::process::id().into();
    let (fresh, whole) = (directory.join("state.new"), directory.join("state"));
    fs::write(&fresh, state.to_string()).expect("room for a small file");
    fs::rename(fresh, whole).expect("both are in one directory");
    while poll(&mut [PollFd::new(&runner, PollFlags::IN)], None).is_err() {}
}
