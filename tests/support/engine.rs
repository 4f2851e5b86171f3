//! Docker Engines of the tests, each in its own namespaces: the machine's firewall, devices and engines are not
//! changed. An engine ends with the test, even if that is killed, or with the test runner if tests share it.

use self::scripts::{ALONE, CONTAINERS, INIT, PLUGGED, PODMAN, SWEEP};
use super::program::{ProgramOutcome, RunningProgram, Tare, User, binary, tied_command};
use super::shared::{SharedGuard, SharedResource};
use super::short_run;
use super::swarm::Underlay;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use tare_dev::{ScratchDirectory, eventually};

mod ends;
pub mod release;
pub mod runtime;
mod scripts;

/// Engine on its own simulated machine. If the test started the engine, dropping it ends it and everything that runs on
/// it.
pub struct Engine {
    /// Process of the engine, if the test started it.
    _process: Option<EngineProcess>,
    /// First process of the engine's namespaces, as numbered by the host.
    first_process: u32,
    /// Directory of the engine's files.
    directory: PathBuf,
    /// Directory of the test's files.
    scratch: ScratchDirectory,
}

/// Process of an engine. Dropping it ends the engine and removes its files.
struct EngineProcess {
    init: Child,
    sweeper: Child,
    files: ScratchDirectory,
}

impl Engine {
    /// Takes the engine that the tests of this run share.
    #[track_caller]
    pub fn shared() -> SharedGuard<Self> {
        SharedGuard::take()
    }

    /// Starts an engine without configuration for one test, because the test changes it.
    pub fn alone() -> Self {
        Self::with(&[])
    }

    /// Starts an engine with flags of dockerd.
    pub fn with(flags: &[&str]) -> Self {
        Self::prepared("", flags)
    }

    /// Starts an engine after a shell script has prepared its machine. In the script, `$directory` is the future
    /// directory of the engine's files.
    pub fn prepared(script: &str, flags: &[&str]) -> Self {
        let engine = Self::begun(script, ALONE, flags).started();
        engine.wait_until_it_answers();
        engine
    }

    /// Starts an engine on a machine whose uplink is connected to an underlay, with this number. It may not answer yet.
    pub fn plugged(underlay: &Underlay, number: u8, script: &str, flags: &[&str]) -> Self {
        let mut process = Self::begun(script, PLUGGED, flags);
        process.expect_line("here");
        underlay.plug(number, process.first_process());
        process.send_line(&number.to_string());
        process.started()
    }

    /// Starts a Podman service, which answers to Docker's API as an engine does.
    pub fn podman() -> Self {
        let mut process = Self::initiated(&PODMAN.replace("\nuplink\n", ALONE), &[]);
        process.expect_line("started");
        let engine = process.into_engine();
        engine.wait_until_it_answers();
        engine
    }

    fn begun(script: &str, uplink: &str, flags: &[&str]) -> EngineProcess {
        let script = script.replace("$directory", "$1");
        let containers = if is_emulated() { CONTAINERS } else { "\n" };
        let init = INIT.replace("\nuplink\n", uplink).replace("\ncontainers\n", containers);
        Self::initiated(&format!("{script}\n{init}"), flags)
    }

    /// Starts the first process of an engine's namespaces, which runs a shell script.
    fn initiated(script: &str, flags: &[&str]) -> EngineProcess {
        let files = ScratchDirectory::new();
        let group = cgroup_name(&files);
        let sweeper = start_sweeper(&group);
        let init = format!("set -eu\n{script}");
        let namespaces =
            ["--net", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"];
        let init = tied_command(User::Caller, "unshare")
            .args(namespaces)
            .args(["/bin/sh", "-c", &init, "engine"])
            .arg(files.root())
            .arg(&group)
            .args(flags)
            .env("PATH", path())
            .env("LD_LIBRARY_PATH", libraries())
            // containerd would write there, outside of the engine's own /run.
            .env_remove("XDG_RUNTIME_DIR")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare is there");
        EngineProcess { init, sweeper, files }
    }

    /// Waits until the engine answers.
    #[track_caller]
    pub fn wait_until_it_answers(&self) {
        eventually("the engine answers", || {
            let log = || fs::read_to_string(self.directory.join("log")).unwrap_or_default();
            if self.client(&["version"]).status.success() { Ok(()) } else { Err(log()) }
        });
    }

    /// Returns the value of DOCKER_HOST for the engine.
    pub fn host(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    /// Returns the path of the engine's socket.
    fn socket(&self) -> PathBuf {
        self.directory.join("docker.sock")
    }

    /// Allows every user to use the engine, until the guard is dropped.
    pub fn open_to_everybody(&self) -> OpenSocket {
        let socket = self.socket();
        let before = fs::metadata(&socket).expect("the engine has a socket").permissions();
        let everybody = fs::Permissions::from_mode(0o666);
        fs::set_permissions(&socket, everybody).expect("root may change it");
        OpenSocket { socket, before }
    }

    /// Returns the directory of the test's files.
    pub fn scratch(&self) -> &ScratchDirectory {
        &self.scratch
    }

    /// Returns the program under test, connected to the engine from the host's namespaces.
    pub fn tare(&self) -> Tare {
        Tare::in_directory(self.scratch.root()).with_variable("DOCKER_HOST", &self.host())
    }

    /// Runs networks once over TCP on the engine, and returns the document.
    #[track_caller]
    pub fn run_once(&self, networks: &str, more: &[&str]) -> Value {
        let asked = ["--network", networks, "--workload", "tcp-stream", "--blocks", "1", "--json"];
        let asked = [&asked[..], &["--out", networks], more].concat();
        self.tare().run(&short_run(&asked)).expect_measured().json()
    }

    /// Runs the program under test to its end on the engine's own machine: in all its namespaces.
    pub fn tare_beside(&self, arguments: &[&str]) -> ProgramOutcome {
        self.start_tare_beside(arguments).wait()
    }

    /// Starts the program under test on the engine's own machine. A program that enters a mount namespace starts in its
    /// root directory.
    pub fn start_tare_beside(&self, arguments: &[&str]) -> RunningProgram {
        let mut command = self.command_beside(&binary());
        command.args(arguments).env("DOCKER_HOST", self.host());
        RunningProgram::spawn(&mut command)
    }

    /// Returns a command that runs on the engine's own machine.
    pub fn command_beside(&self, program: &Path) -> Command {
        let target = self.first_process.to_string();
        let mut command = tied_command(User::Caller, "nsenter");
        command.args(["--target", &target, "--net", "--mount", "--pid", "--"]).arg(program);
        command.env("PATH", path());
        command
    }

    /// Returns the output of a shell line on the engine's own machine.
    #[track_caller]
    pub fn shell_output(&self, line: &str) -> String {
        let output = self
            .command_beside(Path::new("/bin/sh"))
            .args(["-euc", line])
            .output()
            .expect("a shell");
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Returns the output of Docker's own client.
    #[track_caller]
    pub fn docker(&self, arguments: &[&str]) -> String {
        let output = self.client(arguments);
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "docker {arguments:?}: {complaint}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Returns the error of Docker's own client. Empty if it succeeds.
    pub fn docker_error(&self, arguments: &[&str]) -> String {
        let output = self.client(arguments);
        let complaint = String::from_utf8_lossy(&output.stderr);
        if output.status.success() { String::new() } else { complaint.trim().to_owned() }
    }

    /// Runs Docker's own client, with a directory of its own for its output files.
    #[track_caller]
    pub fn docker_with(&self, directory: &Path, arguments: &[&str]) {
        let output = self.client_with(directory, arguments);
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "docker {arguments:?}: {complaint}");
    }

    /// Starts Docker's own client without waiting for its end. Its standard output is redirected to standard error,
    /// which is read line by line.
    pub fn follow(&self, arguments: &[&str]) -> RunningProgram {
        let mut command = tied_command(User::Caller, "/bin/sh");
        command.args(["-c", "exec docker \"$@\" >&2", "docker"]).args(arguments);
        RunningProgram::spawn(self.as_client(&mut command, self.scratch.root()))
    }

    fn client(&self, arguments: &[&str]) -> Output {
        self.client_with(self.scratch.root(), arguments)
    }

    fn client_with(&self, directory: &Path, arguments: &[&str]) -> Output {
        let mut command = tied_command(User::Caller, "docker");
        self.as_client(command.args(arguments), directory)
            .stdin(Stdio::null())
            .output()
            .expect("docker's client is there: make system-tools")
    }

    fn as_client<'a>(&self, command: &'a mut Command, directory: &Path) -> &'a mut Command {
        let variables = [("DOCKER_HOST", self.host()), ("PATH", path())];
        command.envs(variables).env("DOCKER_CONFIG", directory)
    }

    /// Kills the engine's daemon, like a crash. Processes that it started live on for a moment.
    pub fn kill_daemon(&self) {
        self.shell_output("kill -KILL $(pidof dockerd)");
    }
}

impl SharedResource for Engine {
    const KIND: &str = "engine";

    fn start() -> Self {
        Self::alone()
    }

    fn handle(&self) -> Value {
        json!({"first_process": self.first_process, "directory": self.directory})
    }

    fn join(handle: &Value) -> Self {
        let number = handle["first_process"].as_u64().and_then(|number| u32::try_from(number).ok());
        let directory = handle["directory"].as_str().expect("a handle of an engine").into();
        let first_process = number.expect("a handle of an engine");
        Self { _process: None, first_process, directory, scratch: ScratchDirectory::new() }
    }

    /// Lists containers, networks, images and volumes, and the engine's changes of its machine: devices, rules, a
    /// socket.
    fn inventory(&self) -> Vec<String> {
        let mode = fs::metadata(self.socket()).map(|socket| socket.permissions().mode());
        vec![
            self.docker(&["ps", "--all", "--format", "container {{.Names}}"]),
            self.docker(&["network", "ls", "--format", "network {{.Name}}"]),
            self.docker(&["image", "ls", "--all", "--format", "image {{.Repository}}:{{.Tag}}"]),
            self.docker(&["volume", "ls", "--format", "volume {{.Name}}"]),
            self.shell_output("ip -brief link | cut -d '@' -f 1 | cut -d ' ' -f 1 | sort"),
            self.shell_output("iptables-save | grep -v '^[#:]' | sort"),
            format!("socket of mode {:o}", mode.unwrap_or_default()),
        ]
    }
}

impl EngineProcess {
    /// Waits for a line of the first process, which then waits for an answer.
    fn expect_line(&mut self, words: &str) {
        let mut line = String::new();
        let output = self.init.stdout.as_mut().expect("it is piped");
        BufReader::new(output).read_line(&mut line).expect("it speaks");
        assert_eq!(
            line.trim_end(),
            words,
            "root may make namespaces, and dockerd is there: make system-tools"
        );
    }

    /// Sends a line to the first process.
    fn send_line(&mut self, line: &str) {
        let input = self.init.stdin.as_mut().expect("it is piped");
        writeln!(input, "{line}").expect("it listens");
    }

    /// Waits until the daemon is started, and returns the engine.
    fn started(mut self) -> Engine {
        if is_emulated() {
            self.expect_line("containers");
            eventually("containerd listens", || {
                let log = || fs::read_to_string(self.files.path("containerd.log"));
                let is_there = self.files.path("containerd.sock").exists();
                if is_there { Ok(()) } else { Err(log().unwrap_or_default()) }
            });
            self.send_line("");
        }
        self.expect_line("started");
        self.into_engine()
    }

    /// Returns the engine, whose daemon is started.
    fn into_engine(self) -> Engine {
        let first_process = self.first_process();
        let directory = self.files.root().to_owned();
        Engine { _process: Some(self), first_process, directory, scratch: ScratchDirectory::new() }
    }

    /// Returns the first process of the namespaces, as numbered by the host.
    fn first_process(&self) -> u32 {
        let children = format!("/proc/{0}/task/{0}/children", self.init.id());
        let text = fs::read_to_string(children).expect("the engine runs");
        text.split_whitespace().next().and_then(|pid| pid.parse().ok()).expect("it has a child")
    }
}

impl Drop for EngineProcess {
    fn drop(&mut self) {
        let _ = self.init.kill();
        let _ = self.init.wait();
        drop(self.sweeper.stdin.take());
        let _ = self.sweeper.wait();
    }
}

/// Guard of a socket that every user may use. Dropping it restores the permissions.
pub struct OpenSocket {
    socket: PathBuf,
    before: fs::Permissions,
}

impl Drop for OpenSocket {
    fn drop(&mut self) {
        // An engine that has ended has no socket.
        let _ = fs::set_permissions(&self.socket, self.before.clone());
    }
}

/// Returns true if the processor is emulated by software.
fn is_emulated() -> bool {
    fs::read_to_string("/proc/cpuinfo").is_ok_and(|text| text.contains("QEMU TCG CPU"))
}

/// Starts the process that removes the control groups of this name when its input ends, even with a test that is killed.
pub fn start_sweeper(group: &str) -> Child {
    Command::new("/bin/sh")
        .args(["-c", SWEEP, "sweeper", group])
        .stdin(Stdio::piped())
        .spawn()
        .expect("a shell")
}

/// Returns a unique name for control groups.
pub fn cgroup_name(scratch: &ScratchDirectory) -> String {
    let name = scratch.root().file_name().expect("it has a name");
    name.to_string_lossy().into_owned()
}

/// Returns the directory in which `make system-tools` has unpacked an engine, if none is installed.
fn unpacked() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/docker")
}

/// Returns the search path of system programs and of the engine's, wherever it is.
pub fn path() -> String {
    let unpacked = unpacked();
    let own = ["usr/bin", "usr/sbin", "sbin"].map(|name| unpacked.join(name).display().to_string());
    let path = std::env::var("PATH").unwrap_or_default();
    format!("{}:{path}:/usr/sbin:/sbin", own.join(":"))
}

fn libraries() -> String {
    let unpacked = unpacked();
    let machine = format!("{}-linux-gnu", std::env::consts::ARCH);
    ["lib", "usr/lib"]
        .map(|name| unpacked.join(name).join(&machine).display().to_string())
        .join(":")
}
