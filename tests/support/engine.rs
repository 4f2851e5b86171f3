//! A Docker Engine of the test's own, in namespaces of its own: the machine's firewall, devices and engines know nothing
//! of it. It ends with the test, also when that is killed.

use super::machine::patience;
use super::program::{Outcome, Running, Tare, User, binary, tied};
use super::scratch::Scratch;
use super::short_run;
use super::swarm::Underlay;
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Longer than an engine takes to start on the busiest machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// An uplink with nobody at its other end.
const ALONE: &str = r#"
ip link add eth0 type veth peer name wire0
ip address add 192.0.2.1/24 dev eth0
ip link set eth0 up
ip link set wire0 up
ip route add default via 192.0.2.2
"#;

/// An uplink that somebody outside plugs in before saying the machine's number: its last address digit, and its name.
const PLUGGED: &str = r#"
echo here
read -r number
echo "node-$number" >/proc/sys/kernel/hostname
ip address add "192.0.2.$number/24" dev eth0
ip link set eth0 up
ip route add default via 192.0.2.254
"#;

/// The first process of the engine's namespaces: it gets an uplink, starts the engine, and waits. Its arguments are a
/// directory, the control groups' name, and flags of dockerd's.
const INIT: &str = r#"
directory=$1 group=$2
shift 2
mount -t tmpfs tmpfs /run
ip link set lo up
uplink
containers
dockerd --data-root "$directory/data" --exec-root /run/docker --pidfile "$directory/pid" \
    --host "unix://$directory/docker.sock" --cgroup-parent "/$group" "$@" >"$directory/log" 2>&1 </dev/null &
echo started
exec cat
"#;

/// dockerd gives its containerd 10 s to start, far too little where software emulates the processor: there that is started
/// before it. It does without what no engine here uses and what takes longest.
const CONTAINERS: &str = r#"
if grep -q 'QEMU TCG CPU' /proc/cpuinfo; then
    echo 'disabled_plugins = ["cri", "aufs", "btrfs", "devmapper", "zfs"]' >/run/containerd.toml
    containerd --config /run/containerd.toml --root "$directory/data/containerd" --state /run/containerd \
        --address /run/containerd.sock >"$directory/containerd.log" 2>&1 </dev/null &
    until [ -S /run/containerd.sock ] || ! kill -0 $! 2>/dev/null; do sleep 0.2; done
    set -- --containerd /run/containerd.sock "$@"
fi
"#;

/// Removes the control groups that the engine's containers were in, when the pipe to it ends.
const SWEEP: &str = r#"
read -r _
for attempt in 1 2 3 4 5 6 7 8 9 10; do
    find /sys/fs/cgroup -depth -type d -path "*/$1/*" -exec rmdir {} + 2>/dev/null
    find /sys/fs/cgroup -depth -type d -path "*/$1" -exec rmdir {} + 2>/dev/null
    [ -n "$(find /sys/fs/cgroup -type d -path "*/$1" 2>/dev/null)" ] || exit 0
    sleep 1
done
"#;

/// An engine. Dropping it ends it and whatever runs on it.
pub(crate) struct Engine {
    init: Child,
    sweeper: Child,
    scratch: Scratch,
}

impl Engine {
    /// An engine as it is without configuration.
    pub(crate) fn start() -> Self {
        Self::with(&[])
    }

    /// An engine with flags of dockerd's.
    pub(crate) fn with(flags: &[&str]) -> Self {
        Self::prepared("", flags)
    }

    /// An engine whose machine a shell script prepares first; in it, `$directory` is where its files will be.
    pub(crate) fn prepared(script: &str, flags: &[&str]) -> Self {
        let mut engine = Self::begun(script, ALONE, flags);
        engine.expect_line("started");
        engine.wait_until_it_answers();
        engine
    }

    /// An engine on a machine whose uplink is plugged into an underlay, under this number. It may not answer yet.
    pub(crate) fn plugged(underlay: &Underlay, number: u8, script: &str, flags: &[&str]) -> Self {
        let mut engine = Self::begun(script, PLUGGED, flags);
        engine.expect_line("here");
        underlay.plug(number, engine.first_process());
        let input = engine.init.stdin.as_mut().expect("it is piped");
        writeln!(input, "{number}").expect("it listens");
        engine.expect_line("started");
        engine
    }

    fn begun(script: &str, uplink: &str, flags: &[&str]) -> Self {
        let scratch = Scratch::new();
        let group = group_of(&scratch);
        let sweeper = Command::new("/bin/sh")
            .args(["-c", SWEEP, "sweeper", &group])
            .stdin(Stdio::piped())
            .spawn()
            .expect("a shell");
        let script = script.replace("$directory", "$1");
        let init = INIT.replace("\nuplink\n", uplink).replace("\ncontainers\n", CONTAINERS);
        let init = format!("set -eu\n{script}\n{init}");
        let namespaces =
            ["--net", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"];
        let init = tied(User::Caller, "unshare")
            .args(namespaces)
            .args(["/bin/sh", "-c", &init, "engine"])
            .arg(scratch.root())
            .arg(&group)
            .args(flags)
            .env("PATH", path())
            .env("LD_LIBRARY_PATH", libraries())
            // containerd writes there, and in the engine's own /run it is not.
            .env_remove("XDG_RUNTIME_DIR")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare is there");
        Self { init, sweeper, scratch }
    }

    /// Waits until the first process says this; it says nothing more before it is answered.
    fn expect_line(&mut self, words: &str) {
        let mut line = String::new();
        let output = self.init.stdout.as_mut().expect("it is piped");
        BufReader::new(output).read_line(&mut line).expect("it speaks");
        assert_eq!(
            line.trim_end(),
            words,
            "root may make namespaces, and dockerd is there: make test-tools"
        );
    }

    /// Waits until the engine answers.
    pub(crate) fn wait_until_it_answers(&self) {
        let deadline = Instant::now() + patience(PATIENCE);
        while !self.client(&["version"]).status.success() {
            let log = || std::fs::read_to_string(self.scratch.path("log")).unwrap_or_default();
            assert!(Instant::now() < deadline, "the engine does not answer:\n{}", log());
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// What DOCKER_HOST is for it.
    pub(crate) fn host(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    /// Its socket.
    pub(crate) fn socket(&self) -> PathBuf {
        self.scratch.path("docker.sock")
    }

    /// Its files.
    pub(crate) fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// The program under test, which speaks to it from the machine's own namespaces.
    pub(crate) fn tare(&self) -> Tare {
        Tare::in_directory(self.scratch.root()).with_variable("DOCKER_HOST", &self.host())
    }

    /// Runs networks once over TCP against it, and gives the document.
    #[track_caller]
    pub(crate) fn once(&self, networks: &str, more: &[&str]) -> Value {
        let asked = ["--network", networks, "--workload", "tcp-stream", "--blocks", "1", "--json"];
        let asked = [&asked[..], &["--out", networks], more].concat();
        self.tare().run(&short_run(&asked)).expect(0).json()
    }

    /// The program under test run to its end on the engine's own machine: in all its namespaces.
    pub(crate) fn tare_beside(&self, arguments: &[&str]) -> Outcome {
        let mut command = self.beside(&binary());
        command.args(arguments).current_dir(self.scratch.root()).env("DOCKER_HOST", self.host());
        Running::of(&mut command).wait()
    }

    /// A command on the engine's own machine.
    pub(crate) fn beside(&self, program: &Path) -> Command {
        let target = self.first_process().to_string();
        let mut command = tied(User::Caller, "nsenter");
        command.args(["--target", &target, "--net", "--mount", "--pid", "--"]).arg(program);
        command.env("PATH", path());
        command
    }

    /// What a shell line on the engine's own machine says.
    #[track_caller]
    pub(crate) fn said(&self, line: &str) -> String {
        let output =
            self.beside(Path::new("/bin/sh")).args(["-euc", line]).output().expect("a shell");
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// What Docker's own client says.
    #[track_caller]
    pub(crate) fn docker(&self, arguments: &[&str]) -> String {
        let output = self.client(arguments);
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "docker {arguments:?}: {complaint}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// What Docker's own client complains of; nothing where it succeeds.
    pub(crate) fn refused(&self, arguments: &[&str]) -> String {
        let output = self.client(arguments);
        let complaint = String::from_utf8_lossy(&output.stderr);
        if output.status.success() { String::new() } else { complaint.trim().to_owned() }
    }

    /// Has Docker's own client write into a directory of its own.
    #[track_caller]
    pub(crate) fn docker_with(&self, directory: &Path, arguments: &[&str]) {
        let output = self.client_with(directory, arguments);
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "docker {arguments:?}: {complaint}");
    }

    fn client(&self, arguments: &[&str]) -> Output {
        self.client_with(self.scratch.root(), arguments)
    }

    fn client_with(&self, directory: &Path, arguments: &[&str]) -> Output {
        tied(User::Caller, "docker")
            .args(arguments)
            .env("PATH", path())
            .env("DOCKER_HOST", self.host())
            .env("DOCKER_CONFIG", directory)
            .stdin(Stdio::null())
            .output()
            .expect("docker's client is there: make test-tools")
    }

    /// Everything that is on it: containers, networks and images by name.
    pub(crate) fn everything(&self) -> Everything {
        Everything {
            containers: self.docker(&["ps", "--all", "--format", "{{.Names}}"]),
            networks: self.docker(&["network", "ls", "--format", "{{.Name}}"]),
            images: self.docker(&["image", "ls", "--all", "--format", "{{.Repository}}:{{.Tag}}"]),
            volumes: self.docker(&["volume", "ls", "--quiet"]),
            links: self.said("ip -brief link | cut -d '@' -f 1 | cut -d ' ' -f 1 | sort"),
            rules: self.said("iptables-save | grep -v '^[#:]' | sort"),
        }
    }

    /// Kills the engine's daemon, as a crash does; what it started lives on for a moment.
    pub(crate) fn kill_daemon(&self) {
        self.said("kill -KILL $(pidof dockerd)");
    }

    /// The first process of its namespaces, as the machine numbers it.
    fn first_process(&self) -> u32 {
        let children = format!("/proc/{0}/task/{0}/children", self.init.id());
        let text = std::fs::read_to_string(children).expect("the engine runs");
        text.split_whitespace().next().and_then(|pid| pid.parse().ok()).expect("it has a child")
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.init.kill();
        let _ = self.init.wait();
        drop(self.sweeper.stdin.take());
        let _ = self.sweeper.wait();
    }
}

/// What is on an engine, and what it has made of its machine.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Everything {
    containers: String,
    networks: String,
    images: String,
    volumes: String,
    links: String,
    rules: String,
}

/// A name for control groups that nothing else has.
fn group_of(scratch: &Scratch) -> String {
    let name = scratch.root().file_name().expect("it has a name");
    name.to_string_lossy().into_owned()
}

/// Where `make test-tools` has unpacked an engine, where none is installed.
fn unpacked() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/docker")
}

/// Administrators' programs, and the engine's, wherever it is.
pub(crate) fn path() -> String {
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
