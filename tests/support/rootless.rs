//! Ordinary user with Podman on a simulated machine of its own: no service runs, no socket is there, and everything that
//! this user makes is in namespaces that end with the test.

use super::endless_trial;
use super::program::{ProgramOutcome, RunningProgram, User, binary, tied_command};
use super::schema::repository;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use tare_dev::{ScratchDirectory, eventually};

/// Name of the program under test in the user's directory.
const PROGRAM: &str = "tare";

/// Id of the user, whom no machine has.
const USER: u32 = 23_456;

/// Enters the root file system `$2` under a layer of its own, with the home `$1` at its place, by pivot_root: the kernel
/// forbids user namespaces to processes after chroot.
const ENTER_ROOT: &str = r#"
mount --make-rprivate /
mount -t tmpfs tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay overlay -o "lowerdir=$2,upperdir=/mnt/upper,workdir=/mnt/work" /mnt/root
mkdir -p "/mnt/root$1" /mnt/root/old
mount --bind "$1" "/mnt/root$1"
mount --rbind /sys /mnt/root/sys
mount --rbind /dev /mnt/root/dev
mount -t proc proc /mnt/root/proc
cd /mnt/root
pivot_root . old
cd /
umount -l /old
"#;

/// First process of the namespaces, with the user's home as its argument. crun refuses a mixture of cgroup versions. The
/// user has subordinate ids, may open the tun device, and gets limits that a process of any machine may have.
const INIT: &str = r#"
home=$1 user=23456
mount --make-rprivate /
mount -t tmpfs tmpfs /run
mkdir /run/groups
mount --rbind /sys/fs/cgroup /run/groups
umount /run/groups/unified 2>/dev/null || :
mount -t sysfs sysfs /sys
mount --rbind /run/groups /sys/fs/cgroup
ip link set lo up
ip link add eth0 type veth peer name wire0
ip address add 192.0.2.1/24 dev eth0
ip link set eth0 up
ip link set wire0 up
ip route add default via 192.0.2.2
mkdir -p /run/made /run/user/$user "$home/tmp"
mknod -m 666 /run/made/tun c 10 200
mount --bind /run/made/tun /dev/net/tun
cp /etc/passwd /run/made/passwd
echo "tare-user:x:$user:$user::$home:/bin/sh" >>/run/made/passwd
mount --bind /run/made/passwd /etc/passwd
echo "tare-user:300000:65536" >/run/made/ids
for file in /etc/subuid /etc/subgid; do
    [ -e "$file" ] || touch "$file"
    mount --bind /run/made/ids "$file"
done
cat >"$home/containers.conf" <<END
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_backend = "netavark"
END
chmod 700 /run/user/$user
chown "$user:$user" /run/user/$user "$home/containers.conf" "$home/tmp"
echo ready
exec cat
"#;

/// Ordinary user with Podman on a machine of its own. Dropping it ends everything of the user's.
pub struct RootlessPodman {
    init: Child,
    first_process: u32,
    home: PathBuf,
    _files: ScratchDirectory,
}

impl RootlessPodman {
    /// Makes the machine, with the programs of this one. Only root can.
    pub fn new() -> Self {
        Self::started("", None)
    }

    /// Makes a machine of Debian 13, with its Podman 5.
    pub fn of_debian_13() -> Self {
        Self::started(ENTER_ROOT, Some(podman_5_root()))
    }

    fn started(enter: &str, root: Option<PathBuf>) -> Self {
        let files = ScratchDirectory::new();
        let home = files.create_directory("home", Some(USER));
        let namespaces =
            ["--net", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"];
        copy_program(&home);
        let mut init = tied_command(User::Caller, "unshare")
            .args(namespaces)
            .args(["/bin/sh", "-c", &format!("set -eu\n{enter}\n{INIT}"), "rootless"])
            .arg(&home)
            .args(root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare is there");
        let mut line = String::new();
        let output = init.stdout.as_mut().expect("it is piped");
        BufReader::new(output).read_line(&mut line).expect("it speaks");
        assert_eq!(line.trim_end(), "ready", "root may make namespaces");
        let children = format!("/proc/{0}/task/{0}/children", init.id());
        let text = fs::read_to_string(children).expect("it runs");
        let first = text.split_whitespace().next().and_then(|pid| pid.parse().ok());
        Self { init, first_process: first.expect("it has a child"), home, _files: files }
    }

    /// Returns a command that the user runs on this machine.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let (target, user) = (self.first_process.to_string(), USER.to_string());
        let path = std::env::var("PATH").unwrap_or_default();
        let configuration = self.home.join("containers.conf");
        let mut command = tied_command(User::Caller, "nsenter");
        command
            .args(["--target", &target, "--net", "--mount", "--uts", "--pid", "--"])
            .args(["setpriv", "--reuid", &user, "--regid", &user, "--clear-groups", "--"])
            // nsenter leaves the directory in which it was started.
            .args(["env", "--chdir"])
            .arg(&self.home)
            .arg(program)
            .env_clear()
            .env("PATH", format!("{path}:/usr/sbin:/sbin"))
            .env("HOME", &self.home)
            .env("TMPDIR", self.home.join("tmp"))
            .env("XDG_RUNTIME_DIR", format!("/run/user/{USER}"))
            .env("CONTAINERS_CONF", configuration)
            .env("STORAGE_DRIVER", "vfs")
            .env("PODMAN_IGNORE_CGROUPSV1_WARNING", "true");
        command
    }

    /// Returns the path of a file in the user's home directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.home.join(name)
    }

    /// Starts the program under test.
    pub fn start(&self, arguments: &[&str]) -> RunningProgram {
        RunningProgram::spawn(self.command(self.home.join(PROGRAM)).args(arguments))
    }

    /// Runs the program under test to its end.
    pub fn run(&self, arguments: &[&str]) -> ProgramOutcome {
        self.start(arguments).wait()
    }

    /// Returns the output of a shell line of the user's.
    #[track_caller]
    pub fn shell_output(&self, line: &str) -> String {
        let Output { status, stdout, stderr } =
            self.command("/bin/sh").args(["-euc", line]).output().expect("a shell");
        assert!(status.success(), "{line}: {}", String::from_utf8_lossy(&stderr));
        String::from_utf8_lossy(&stdout).trim().to_owned()
    }

    /// Lists what a run could leave: objects of Podman, directories of its service, programs that forward.
    pub fn inventory(&self) -> Vec<String> {
        [
            "podman ps --all --format 'container {{.Names}}'",
            "podman pod ls --format 'pod {{.Name}}'",
            "podman images --all --format 'image {{.Repository}}:{{.Tag}}'",
            "podman network ls --format 'network {{.Name}}'",
            "podman volume ls --format 'volume {{.Name}}'",
            "find $TMPDIR -mindepth 1 -maxdepth 1 -name 'tare-*'",
            "ps -eo args | grep -E '^[^ ]*(slirp4netns|pasta|rootlessport|podman) ' | grep -v -- '--rootless-netns' || :",
        ]
        .map(|line| self.shell_output(line))
        .join("\n")
        .lines()
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
    }

    /// Starts a trial that does not end by itself, and waits until the containers of both ends run. The service of a run
    /// that is killed while it raises a network ends between two steps of a container's start.
    #[track_caller]
    pub fn start_endless_trial(&self, network: &str) -> RunningProgram {
        let running = self.start(&endless_trial(network, network));
        eventually("both ends run", || {
            let names =
                self.shell_output("podman ps --filter status=running --format '{{.Names}}'");
            let run = ["-client-0", "-server-0"].iter().all(|end| names.contains(end));
            if run { Ok(()) } else { Err(names) }
        });
        running
    }

    /// Kills every run of the user's.
    pub fn kill_runs(&self) {
        self.shell_output("kill -KILL $(pgrep --full '^[^ ]*tare run ')");
    }

    /// Waits until no container of the user's is there. The first container of a pod stays with its pod.
    #[track_caller]
    pub fn wait_until_no_container_is_left(&self) {
        eventually("no container is left", || {
            let all = self.shell_output("podman ps --all --format '{{.Names}} {{.Status}}'");
            let left: Vec<&str> = all.lines().filter(|line| !line.contains("-infra ")).collect();
            if left.is_empty() { Ok(()) } else { Err(left.join(", ")) }
        });
    }
}

/// Returns the root file system with Podman 5.
///
/// # Panics
/// Panics if it was not made.
fn podman_5_root() -> PathBuf {
    let root = repository().join("target/roots/podman-5");
    let root = fs::canonicalize(root).expect("`cargo xtask test-system --only engines` makes it");
    assert!(root.join("usr/bin/podman").exists(), "Podman is in {}", root.display());
    root
}

/// Copies the program under test to the user's directory, by a process of its own: a child that another test starts in
/// the meantime would inherit a writable descriptor.
fn copy_program(home: &Path) {
    let copied = Command::new("cp").arg(binary()).arg(home.join(PROGRAM)).status();
    assert!(copied.is_ok_and(|status| status.success()), "room for a copy of the program");
}

impl Default for RootlessPodman {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for RootlessPodman {
    fn drop(&mut self) {
        // The namespaces end with their first process.
        let _ = self.init.kill();
        let _ = self.init.wait();
    }
}
