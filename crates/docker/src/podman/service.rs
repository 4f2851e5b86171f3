//! Podman's service for the time of a command. Podman has no daemon: where none listens on a socket, tare starts the
//! service itself, as the user who runs tare.

use crate::address::EngineAddress;
use crate::podman::properties::PodmanProperties;
use std::fs::{DirBuilder, File};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Read as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tare_network::{UnmetRequirement, scaled_timeout};
use tare_sandbox::program;

/// Name of the program.
const PROGRAM: &str = "podman";

/// Shell that runs the service for as long as its standard input is open: it ends with tare, even if tare is killed, and
/// the directory goes with it. The directory of a service that ends by itself stays, with its complaint. The first argument
/// is the directory, the others are the service's command.
const SUPERVISOR: &str = r#"
directory=$1
shift
exec 3<&0
"$@" </dev/null 3<&- &
service=$!
(read -r _ <&3; : >"$directory/ending"; kill "$service" 2>/dev/null) &
stopper=$!
exec 3<&-
wait "$service"
if [ -e "$directory/ending" ]; then rm -rf "$directory"; else kill "$stopper"; fi
"#;

/// Timeout of the first answer: Podman makes its storage and user namespace before it listens.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Interval at which the socket is tried.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Most bytes of the service's complaint that are read, from its end.
const MOST_COMPLAINT: usize = 4096;

/// Service of Podman that belongs to this process. Dropping it ends the service and removes its directory.
pub(crate) struct PodmanService {
    program: PathBuf,
    directory: PathBuf,
    running: Mutex<Option<Child>>,
}

impl PodmanService {
    /// Prepares the service of the podman on the search path. Returns `None` if there is none.
    pub(crate) fn find() -> Option<Self> {
        let program = program::find(PROGRAM)?;
        let random = RandomState::new().hash_one(std::process::id());
        let directory = std::env::temp_dir().join(format!("tare-podman-{random:016x}"));
        Some(Self { program, directory, running: Mutex::default() })
    }

    /// Returns true if the service was started.
    pub(crate) fn is_started(&self) -> bool {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Returns what Podman will state once the service is started, as far as it shows before: a stack that it knows and
    /// that is installed has an empty version.
    pub(crate) fn expected_properties(&self) -> PodmanProperties {
        let version = Command::new(&self.program).arg("--version").stdin(Stdio::null()).output();
        let version = version.map(|output| output.stdout).unwrap_or_default();
        let knows_pasta = knows_pasta(&String::from_utf8_lossy(&version));
        let installed = |name: &str| program::find(name).map(|_| String::new());
        PodmanProperties {
            rootless: !rustix::process::geteuid().is_root(),
            slirp4netns: installed("slirp4netns"),
            pasta: installed("pasta").filter(|_| knows_pasta),
            ..PodmanProperties::default()
        }
    }

    /// Returns true if this user's Podman has stored anything, which takes a run or another use of Podman.
    pub(crate) fn has_storage(&self) -> bool {
        let home = || std::env::var_os("HOME").map(PathBuf::from);
        let data = || std::env::var_os("XDG_DATA_HOME").map(PathBuf::from);
        let of_user = || data().or_else(|| home().map(|home| home.join(".local/share")));
        let directory =
            if rustix::process::geteuid().is_root() { Some("/var/lib".into()) } else { of_user() };
        directory.is_some_and(|directory| directory.join("containers/storage").exists())
    }

    /// Returns the address at which the service answers once it is started.
    pub(crate) fn address(&self) -> EngineAddress {
        EngineAddress::Unix(self.socket())
    }

    fn socket(&self) -> PathBuf {
        self.directory.join("podman.sock")
    }

    /// Starts the service unless it runs, and returns when it listens.
    ///
    /// # Errors
    /// The service cannot be started or ends at once, with its own complaint.
    pub(crate) fn start(&self) -> Result<(), UnmetRequirement> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.is_some() {
            return Ok(());
        }
        let child = self.spawn().and_then(|child| self.wait_until_it_listens(child));
        let child = child.map_err(|error| UnmetRequirement {
            reason: format!("`podman system service` does not start: {error}"),
            remedy: "run `podman info`, and mend what it complains about".to_owned(),
        })?;
        *running = Some(child);
        Ok(())
    }

    fn spawn(&self) -> io::Result<Child> {
        DirBuilder::new().mode(0o700).create(&self.directory)?;
        let complaint = File::create(self.complaint())?;
        let socket = format!("unix://{}", self.socket().display());
        Command::new("/bin/sh")
            .args(["-c", SUPERVISOR, PROGRAM])
            .args([&self.directory, &self.program])
            .args(["system", "service", "--time=0", &socket])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(complaint)
            // Ctrl-C is for tare, which removes its containers by the service.
            .process_group(0)
            .spawn()
    }

    fn wait_until_it_listens(&self, mut child: Child) -> io::Result<Child> {
        let deadline = Instant::now() + scaled_timeout(START_TIMEOUT);
        while UnixStream::connect(self.socket()).is_err() {
            if child.try_wait()?.is_some() {
                return Err(io::Error::other(last_line(&self.complaint())));
            }
            if Instant::now() >= deadline {
                end(child);
                return Err(io::ErrorKind::TimedOut.into());
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(child)
    }

    /// Returns the file of the service's standard error.
    fn complaint(&self) -> PathBuf {
        self.directory.join("log")
    }
}

impl Drop for PodmanService {
    fn drop(&mut self) {
        let running = self.running.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(child) = running.take() {
            end(child);
        }
        // It is not there if the service was never started.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Ends the service with the standard input of its supervisor.
fn end(mut child: Child) {
    drop(child.stdin.take());
    // Its status says nothing: the service ends by the signal.
    let _ = child.wait();
}

/// Returns true if this version of Podman has the network mode `pasta`, by the answer to `podman --version`.
fn knows_pasta(answer: &str) -> bool {
    let version = answer.split_whitespace().last().unwrap_or_default();
    let mut numbers = version.split('.').map_while(|number| number.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(4), Some(4))
}

/// Returns the last line of a file, or what stands for it.
fn last_line(path: &Path) -> String {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|mut file| file.read_to_end(&mut bytes));
    let tail = &bytes[bytes.len().saturating_sub(MOST_COMPLAINT)..];
    let text = read.map(|_| String::from_utf8_lossy(tail).into_owned()).unwrap_or_default();
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    last.unwrap_or("it ended without a message").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::net::UnixListener;

    /// Prepares the service of a shell script that stands for podman.
    fn service(directory: &Path, script: &str) -> PodmanService {
        let program = directory.join(PROGRAM);
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
        PodmanService { program, directory: directory.join("service"), running: Mutex::default() }
    }

    #[test]
    fn pasta_is_known_since_podman_4_4() {
        let knows = |version: &str| knows_pasta(&format!("podman version {version}\n"));
        assert!(knows("4.4.0") && knows("5.0.3") && knows("5.4.2-dev") && knows("10.0"));
        assert!(!knows("4.3.1") && !knows("3.9.0") && !knows_pasta(""));
    }

    #[test]
    fn a_service_that_ends_at_once_says_why() {
        let directory = tempfile::tempdir().unwrap();
        let service = service(directory.path(), "echo first >&2; echo 'no user namespace' >&2");
        let missing = service.start().unwrap_err();
        assert!(missing.reason.ends_with("does not start: no user namespace"), "{missing:?}");
    }

    #[test]
    fn the_service_ends_and_its_directory_goes_when_it_is_dropped() {
        let directory = tempfile::tempdir().unwrap();
        let ended = directory.path().join("ended");
        let script = format!(
            "trap 'kill $!; echo >{}; exit' TERM; sleep 600 & echo ready >&2; wait",
            ended.display()
        );
        let service = service(directory.path(), &script);
        let files = service.directory.clone();
        // The script does not listen; the test does in its place, once the script handles the signal.
        let socket = service.socket();
        let listening = std::thread::spawn(move || {
            while std::fs::read(files.join("log")).unwrap_or_default().is_empty() {
                std::thread::yield_now();
            }
            UnixListener::bind(socket).unwrap()
        });
        service.start().unwrap();
        service.start().unwrap();
        listening.join().unwrap();
        let files = service.directory.clone();
        drop(service);
        assert!(ended.exists() && !files.exists());
    }
}
