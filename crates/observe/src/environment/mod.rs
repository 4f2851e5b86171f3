//! Environment of a run: every property of the machine that may move a figure, read once into an [`Environment`].
//!
//! It is read before the lab is entered, as the calling user, in the caller's own network namespace: the devices are
//! the host's. Nothing is changed, and devices are only queried for what they report to every user.

pub(crate) mod cpu;
mod devices;
mod ethtool;
mod invocation;
mod programs;
pub(crate) mod system;

pub(crate) use cpu::sibling_threads;
pub(crate) use programs::find_program;

use crate::files::MachineFiles;
use crate::headroom;
use std::collections::BTreeMap;
use tare_record::Environment;

/// Sysctls that move figures, as paths below `/proc/sys`.
const SYSCTLS: &[&str] = &[
    "kernel/sched_autogroup_enabled",
    "net/bridge/bridge-nf-call-arptables",
    "net/bridge/bridge-nf-call-ip6tables",
    "net/bridge/bridge-nf-call-iptables",
    "net/core/busy_poll",
    "net/core/busy_read",
    "net/core/default_qdisc",
    "net/core/dev_weight",
    "net/core/netdev_budget",
    "net/core/netdev_budget_usecs",
    "net/core/netdev_max_backlog",
    "net/core/optmem_max",
    "net/core/rmem_default",
    "net/core/rmem_max",
    "net/core/rps_sock_flow_entries",
    "net/core/somaxconn",
    "net/core/wmem_default",
    "net/core/wmem_max",
    "net/ipv4/tcp_autocorking",
    "net/ipv4/tcp_limit_output_bytes",
    "net/ipv4/tcp_mem",
    "net/ipv4/tcp_mtu_probing",
    "net/ipv4/tcp_notsent_lowat",
    "net/ipv4/tcp_rmem",
    "net/ipv4/tcp_sack",
    "net/ipv4/tcp_slow_start_after_idle",
    "net/ipv4/tcp_timestamps",
    "net/ipv4/tcp_window_scaling",
    "net/ipv4/tcp_wmem",
    "net/ipv4/udp_mem",
    "net/netfilter/nf_conntrack_max",
    "vm/overcommit_memory",
    "vm/swappiness",
];

/// Reads the environment of this machine.
#[must_use]
pub fn read() -> Environment {
    let files = MachineFiles::machine();
    let uname = rustix::system::uname();
    Environment {
        kernel: uname.release().to_string_lossy().into_owned(),
        kernel_build: uname.version().to_string_lossy().into_owned(),
        architecture: uname.machine().to_string_lossy().into_owned(),
        programs: programs::versions(&files),
        root: is_root(),
        command: invocation::command_line(),
        binary: invocation::binary_sha256(),
        ..from_files(&files)
    }
}

/// Returns the current time in RFC 3339, UTC, to the second.
#[must_use]
pub fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Returns `true` if this process has root's privileges on the host: user 0, and not only inside a user namespace.
#[must_use]
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root() && system::has_whole_uid_map(&MachineFiles::machine())
}

/// Reads the part of the environment that comes from files.
pub(crate) fn from_files(files: &MachineFiles) -> Environment {
    let allowed = files.text("proc/sys/net/ipv4/tcp_allowed_congestion_control");
    Environment {
        tare: env!("CARGO_PKG_VERSION").to_owned(),
        distribution: system::distribution(files),
        cpu: cpu::model(files),
        cores: cpu::cores(files),
        memory: crate::meminfo::memory(files).map(|memory| memory.total),
        virtualisation: system::virtualisation(files),
        emulated: cpu::is_emulated(files),
        mitigations: cpu::mitigations(files),
        governor: cpu::governor(files),
        boost: cpu::boost(files),
        congestion_control: files.text("proc/sys/net/ipv4/tcp_congestion_control"),
        congestion_controls_allowed: words(&allowed.unwrap_or_default()),
        sysctls: sysctls(files),
        devices: devices::devices(files),
        clock: cpu::clock(files),
        load: load(files),
        headroom: headroom::from_files(files),
        time: now(),
        ..Environment::default()
    }
}

/// Returns the load averages over 1, 5 and 15 minutes.
pub(crate) fn load(files: &MachineFiles) -> Option<[f64; 3]> {
    system::load(&files.text("proc/loadavg")?)
}

fn sysctls(files: &MachineFiles) -> BTreeMap<String, String> {
    SYSCTLS
        .iter()
        .filter_map(|path| {
            let value = words(&files.text(format!("proc/sys/{path}"))?).join(" ");
            Some((path.replace('/', "."), value))
        })
        .collect()
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::write_test_files;

    #[test]
    fn this_machine_has_a_kernel_and_a_time() {
        let environment = read();
        let says = |option: &str| {
            let output = std::process::Command::new("uname").arg(option).output().unwrap();
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        assert_eq!(environment.kernel, says("-r"));
        assert_eq!(environment.kernel_build, says("-v"));
        assert_eq!(environment.architecture, says("-m"));
        let mask = rustix::thread::sched_getaffinity(None).unwrap();
        let allowed = |core: &u32| mask.is_set(*core as usize);
        assert_eq!(environment.cores.len(), mask.count() as usize, "{:?}", environment.cores);
        assert!(environment.cores.iter().all(allowed), "{:?}", environment.cores);
        let time: jiff::Timestamp = environment.time.parse().unwrap();
        assert!(time <= jiff::Timestamp::now());
    }

    #[test]
    fn a_machine_without_files_has_no_figures() {
        let root = tempfile::tempdir().unwrap();
        let environment = from_files(&MachineFiles::under(root.path()));
        let expected = Environment {
            tare: environment.tare.clone(),
            time: environment.time.clone(),
            ..Environment::default()
        };
        assert_eq!(environment, expected);
    }

    #[test]
    fn sysctls_are_named_with_dots_and_spaced_once() {
        let root = tempfile::tempdir().unwrap();
        let files = write_test_files(
            root.path(),
            &[
                ("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n"),
                ("proc/sys/net/core/default_qdisc", "fq_codel\n"),
                ("proc/sys/net/ipv4/tcp_congestion_control", "bbr\n"),
                ("proc/sys/net/ipv4/tcp_allowed_congestion_control", "reno cubic\n"),
            ],
        );
        let environment = from_files(&files);
        assert_eq!(environment.sysctls["net.ipv4.tcp_rmem"], "4096 131072 6291456");
        assert_eq!(environment.sysctls["net.core.default_qdisc"], "fq_codel");
        assert_eq!(environment.sysctls.len(), 2);
        assert_eq!(environment.congestion_control.as_deref(), Some("bbr"));
        assert_eq!(environment.congestion_controls_allowed, ["reno", "cubic"]);
    }
}
