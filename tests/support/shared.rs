//! Engines, Swarms and files shared by all tests of one run.
//!
//! The test runner starts each test as a separate process. The first test that needs a shared resource starts its
//! *keeper* (`keeper.rs`), a process in its own session that holds the resource until the runner ends, even if that is
//! killed. Later tests find the resource by a directory named after the run. Access is exclusive: a test holds a lock
//! on that directory. A resource used by a test that failed or was killed is not used again: the next test starts
//! another keeper.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::ops::Deref;
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tare_dev::eventually;

/// Kind of directory that only has files.
const FILES: &str = "files";

/// Resource that a keeper can hold for the tests of a run.
pub trait SharedResource: Sized {
    /// Name of the kind.
    const KIND: &str;

    /// Starts a new resource.
    fn start() -> Self;

    /// Returns the data with which other processes join the resource.
    fn handle(&self) -> Value;

    /// Joins the resource that a keeper holds.
    fn join(handle: &Value) -> Self;

    /// Lists everything that a test could leave on the resource.
    fn inventory(&self) -> Vec<String>;

    /// Waits until the inventory is the same as before.
    ///
    /// # Panics
    ///
    /// Panics if something is left, or is missing.
    #[track_caller]
    fn assert_nothing_left(&self, before: &[String]) {
        eventually("nothing is left", || {
            let now = self.inventory();
            if now == before { Ok(()) } else { Err(format!("{now:#?}, not {before:#?}")) }
        });
    }
}

/// Exclusive use of a shared resource by one test. The guard checks that nothing is left of earlier tests when it is
/// made, and of this test when it is dropped.
pub struct SharedGuard<T: SharedResource> {
    resource: T,
    before: Vec<String>,
    lease: ResourceLease,
}

impl<T: SharedResource> SharedGuard<T> {
    /// Takes the resource that the tests of this run share.
    #[track_caller]
    pub fn take() -> Self {
        let lease = ResourceLease::take(T::KIND);
        let resource = T::join(&lease.state["handle"]);
        let before = serde_json::from_value(lease.state["everything"].clone());
        let before: Vec<String> = before.expect("the keeper has written lines");
        resource.assert_nothing_left(&before);
        Self { resource, before, lease }
    }
}

impl<T: SharedResource> Deref for SharedGuard<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.resource
    }
}

impl<T: SharedResource> Drop for SharedGuard<T> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.resource.assert_nothing_left(&self.before);
            self.lease.give_back();
        }
    }
}

/// Returns a directory of files that the first test of a run makes and all tests of the run may read.
///
/// # Panics
///
/// Panics if the files cannot be made.
pub fn files(name: &str, make: impl FnOnce(&Path)) -> PathBuf {
    let lease = ResourceLease::take(&format!("{FILES}-{name}"));
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

/// Use of a shared resource by one test, under its lock.
struct ResourceLease {
    directory: PathBuf,
    state: Value,
    /// Lock, released when the file is closed.
    _lock: File,
}

impl ResourceLease {
    /// Waits for the lock, and makes sure that there is a keeper whose resource was returned by every test that used
    /// it.
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

    /// Marks the resource as usable again.
    fn give_back(&self) {
        fs::remove_file(self.directory.join("user")).expect("this test is the user");
    }
}

/// Returns the directory of a kind of resource for this run of the test runner, or, without one, for the parent
/// process.
fn directory(kind: &str) -> PathBuf {
    let run = std::env::var("NEXTEST_RUN_ID").unwrap_or_else(|_| parent_id().to_string());
    std::env::temp_dir().join(format!("tare-tests-{run}-{kind}"))
}

/// Returns the state that the keeper has written, or `None` if no keeper runs.
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
        // The keeper may have ended just now.
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

/// Returns the program of the keeper. Cargo builds it with the tests, next to the directory that has them.
fn program() -> PathBuf {
    let test = std::env::current_exe().expect("/proc is there");
    let mut directories = test.ancestors().skip(1).map(|directory| directory.join("keeper"));
    directories.find(|program| program.is_file()).expect("cargo has built `keeper`")
}

/// Holds a resource until the test runner ends: the main function of a keeper.
///
/// # Panics
///
/// Panics if the resource cannot be made.
pub fn keep<T: SharedResource>(directory: &Path, runner: Pid) {
    let resource = T::start();
    let state = json!({"handle": resource.handle(), "everything": resource.inventory()});
    hold(directory, runner, state);
    drop(resource);
    // Tests that still run after their runner was killed may write into the directory in the meantime.
    let _ = fs::remove_dir_all(directory);
}

/// Holds a directory of files until the test runner ends.
pub fn keep_files(directory: &Path, runner: Pid) {
    hold(directory, runner, json!({}));
    let _ = fs::remove_dir_all(directory);
}

/// Returns true if a kind of resource is a directory of files.
pub fn is_files(kind: &str) -> bool {
    kind.starts_with(FILES)
}

/// Writes the state for the tests and waits for the end of the runner.
fn hold(directory: &Path, runner: Pid, mut state: Value) {
    // A runner that no longer exists has ended.
    let Ok(runner) = pidfd_open(runner, PidfdFlags::empty()) else { return };
    state["keeper"] = std::process::id().into();
    let (fresh, whole) = (directory.join("state.new"), directory.join("state"));
    fs::write(&fresh, state.to_string()).expect("room for a small file");
    fs::rename(fresh, whole).expect("both are in one directory");
    while poll(&mut [PollFd::new(&runner, PollFlags::IN)], None).is_err() {}
}
