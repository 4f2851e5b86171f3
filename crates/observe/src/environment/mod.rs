//! The machine as it is before a run: everything that may move a figure, read once into a [`Environment`].
//!
//! It is read before the lab is entered, as the calling user, in the caller's own network namespace: the devices
//! are the host's. Nothing is changed, and no device is asked for anything but what it reports to everybody.

mod cpu;
mod devices;
mod ethtool;
mod programs;
mod started;
mod system;

pub(crate) use cpu::sibling_threads;
pub(crate) use programs::find as find_program;

use crate::files::Files;
use crate::headroom;
use std::collections::BTreeMap;
use tare_record::Environment;

/// The sysctls that move figures, as paths below `/proc/sys`.
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

/// Reads the machine.
#[must_use]
pub fn read() -> Environment {
    let files = Files::machine();
    let uname = rustix::system::uname();
    Environment {
        kernel: uname.release().to_string_lossy().into_owned(),
        kernel_build: uname.version().to_string_lossy().into_owned(),
        architecture: uname.machine().to_string_lossy().into_owned(),
        programs: programs::versions(&files),
        root: root(),
        command: started::command(),
        binary: started::binary(),
        ..from_files(&files)
    }
}

/// This moment in RFC 3339, UTC, to the second.
#[must_use]
pub fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Whether this process has root's privileges on the host: user 0, and not only inside a user namespace.
#[must_use]
pub fn root() -> bool {
    rustix::process::geteuid().is_root() && system::whole_uid_map(&Files::machine())
}

/// What the files say.
pub(crate) fn from_files(files: &Files) -> Environment {
    let allowed = files.text("proc/sys/net/ipv4/tcp_allowed_congestion_control");
    Environment {
        tare: env!("CARGO_PKG_VERSION").to_owned(),
        distribution: system::distribution(files),
        cpu: cpu::model(files),
        cores: cpu::cores(files),
        memory: system::memory(files).map(|memory| memory.total),
        virtualisation: system::virtualisation(files),
        emulated: cpu::emulated(files),
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

/// The load averages over 1, 5 and 15 minutes.
pub(crate) fn load(files: &Files) -> Option<[f64; 3]> {
    system::load(&files.text("proc/loadavg")?)
}

/// The memory there is and the memory that is available, bytes.
pub(crate) fn memory(files: &Files) -> Option<system::Memory> {
    system::memory(files)
}

fn sysctls(files: &Files) -> BTreeMap<String, String> {
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
    use crate::files::lay_out;

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
        let environment = from_files(&Files::under(root.path()));
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
        let files = lay_out(
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
