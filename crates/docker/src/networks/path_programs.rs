//! Programs of the engine that carry packets of a network on this machine: the userland proxy of a published port, a stack
//! in user space, the kernel of a sandbox. They are found among the machine's processes by their arguments, so that
//! their CPU time is told from that of other work.

use super::layout::NetworkLayout;
use super::sandbox_kernel::SANDBOX_KERNEL;
use rustix::process::Pid;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;
use tare_network::{Error, Hop, HopKind, NetworkDaemons};
use tare_sandbox::programs::{descendants, process_cpu_time};

/// Programs beside a container, whose arguments name it too: they carry no packets.
const SUPERVISORS: [&str; 2] = ["containerd-shim", "conmon"];

/// Programs that carry the packets of a network.
pub(super) struct PathPrograms {
    /// Processes by the name of their hop.
    processes: BTreeMap<String, Vec<Pid>>,
}

/// Process of the machine.
struct MachineProcess {
    pid: Pid,
    /// Name, of which the kernel keeps 15 bytes.
    name: String,
    arguments: Vec<String>,
}

impl PathPrograms {
    /// Finds the programs of a path's hops. Returns `None` if this machine shows none of them: the engine is on another one,
    /// or no program is on the path.
    pub(super) fn find(hops: &[Hop], laid: &NetworkLayout) -> Option<Self> {
        let programs = hops.iter().filter(|hop| hop.kind == HopKind::Forwarder);
        let names: BTreeSet<&str> = programs.map(|hop| hop.name.as_str()).collect();
        if names.is_empty() {
            return None;
        }
        let keys = ContainerKeys::of_layout(laid);
        let all = machine_processes();
        let of_name = |name: &str| -> Vec<Pid> {
            all.iter().filter(|one| keys.is_program(name, one)).map(|one| one.pid).collect()
        };
        let found = names.into_iter().map(|name| (name.to_owned(), of_name(name)));
        let processes: BTreeMap<String, Vec<Pid>> =
            found.filter(|(_, pids)| !pids.is_empty()).collect();
        (!processes.is_empty()).then_some(Self { processes })
    }
}

impl NetworkDaemons for PathPrograms {
    /// A program that has ended breaks its connections, which says it.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    fn last_messages(&self) -> Option<String> {
        None
    }

    fn cpu_time(&self) -> Duration {
        self.cpu_times().into_values().sum()
    }

    fn cpu_times(&self) -> BTreeMap<String, Duration> {
        let time = |pid: Pid| process_cpu_time(pid.as_raw_nonzero().get()).map(|(_, time)| time);
        let times = self.processes.iter().map(|(name, roots)| {
            (name.clone(), descendants(roots).into_iter().filter_map(time).sum())
        });
        times.collect()
    }
}

/// Words by which the arguments of a program name a network's containers.
struct ContainerKeys {
    ids: BTreeSet<String>,
    namespaces: BTreeSet<String>,
    ports: BTreeSet<String>,
}

impl ContainerKeys {
    fn of_layout(laid: &NetworkLayout) -> Self {
        let containers = || laid.servers.iter().chain(&laid.clients).map(|end| &end.container);
        Self {
            ids: containers().map(|one| one.id.clone()).collect(),
            namespaces: containers().filter_map(|one| one.namespace.clone()).collect(),
            ports: laid.routes.iter().map(|route| route.dial.port().to_string()).collect(),
        }
    }

    /// Returns true if the process is the program of a hop for these containers.
    fn is_program(&self, hop: &str, process: &MachineProcess) -> bool {
        let MachineProcess { name, arguments, .. } = process;
        if hop == SANDBOX_KERNEL {
            let is_supervisor = SUPERVISORS.iter().any(|supervisor| name.starts_with(supervisor));
            let names = |id: &String| arguments.iter().any(|word| word.contains(id.as_str()));
            return !is_supervisor && self.ids.iter().any(names);
        }
        let is_named = |word: &String| self.namespaces.contains(word) || self.ports.contains(word);
        // pasta runs as the variant that suits the processor.
        let is_hop = name.starts_with(hop);
        is_hop && arguments.iter().any(is_named)
    }
}

/// Returns the processes of the machine that this one may see.
fn machine_processes() -> Vec<MachineProcess> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    numbers.filter_map(machine_process).collect()
}

fn machine_process(number: i32) -> Option<MachineProcess> {
    let name = fs::read_to_string(format!("/proc/{number}/comm")).ok()?;
    let line = fs::read(format!("/proc/{number}/cmdline")).ok()?;
    let arguments = line.split(|&byte| byte == 0).skip(1);
    Some(MachineProcess {
        pid: Pid::from_raw(number)?,
        name: name.trim_end().to_owned(),
        arguments: arguments.map(|word| String::from_utf8_lossy(word).into_owned()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_by_what_its_arguments_name() {
        let set = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        let keys = ContainerKeys {
            ids: set(&["0123456789abcdef"]),
            namespaces: set(&["/run/netns/netns-1"]),
            ports: set(&["5201"]),
        };
        let is = |hop: &str, name: &str, arguments: &str| {
            let arguments = arguments.split(' ').map(str::to_owned).collect();
            let pid = rustix::process::getpid();
            keys.is_program(hop, &MachineProcess { pid, name: name.to_owned(), arguments })
        };
        let proxy = "-proto tcp -host-ip 10.0.0.1 -host-port 5201 -container-port 5201";
        assert!(is("docker-proxy", "docker-proxy", proxy));
        assert!(!is("docker-proxy", "docker-proxy", "-host-port 5202"), "another port");
        assert!(!is("docker-proxy", "iperf3", "-p 5201"), "another program");
        assert!(is("pasta", "pasta.avx2", "--config-net --netns /run/netns/netns-1"));
        let boot = "--root=/run/runsc boot --bundle=/run/c 0123456789abcdef";
        assert!(is(SANDBOX_KERNEL, "exe", boot));
        assert!(is(SANDBOX_KERNEL, "qemu-system-x86", "-name sandbox-0123456789abcdef,debug=on"));
        assert!(!is(SANDBOX_KERNEL, "containerd-shim", "-id 0123456789abcdef"));
        assert!(!is(SANDBOX_KERNEL, "exe", "boot fedcba9876543210"), "another container");
    }
}
