//! Skips that are expected on a machine: a table of reasons, with the feature that the machine lacks in each case.
//!
//! A skipped test is an error, because it hides a fault, if its reason is not in the table or if this machine has the
//! feature.

use crate::engine_programs;
use crate::ignored_tests::IgnoredTest;
use crate::repository::Repository;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Feature that a machine may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MachineFeature {
    /// Kernel module, and a symbol that identifies it if it is built in.
    Module(&'static str, &'static str),
    /// Program on the PATH.
    Program(&'static str),
    /// Programs of Docker Engine 29, which `cargo xtask engine-programs` builds if there is a Go compiler.
    EnginePrograms,
    /// Device file that ordinary users may read and write.
    UserDevice(&'static str),
    /// Root's privileges.
    Root,
    /// Complement of another row: every machine lacks one of the two.
    Opposite,
}

use MachineFeature::{EnginePrograms, Module, Opposite, Program, Root, UserDevice};

/// First words of a reason after `needs`, and the feature.
const TABLE: &[(&str, MachineFeature)] = &[
    ("kernel support for 8021q", Module("8021q", "vlan_dev_hard_start_xmit")),
    ("kernel support for dummy", Module("dummy", "dummy_xmit")),
    ("kernel support for esp4", Module("esp4", "esp_output")),
    ("kernel support for geneve", Module("geneve", "geneve_xmit")),
    ("kernel support for ip_gre", Module("ip_gre", "ipgre_xmit")),
    ("kernel support for ip_vs", Module("ip_vs", "ip_vs_in_hook")),
    ("kernel support for ipip", Module("ipip", "ipip_tunnel_xmit")),
    ("kernel support for ipvlan", Module("ipvlan", "ipvlan_start_xmit")),
    ("kernel support for netkit", Module("netkit", "netkit_xmit")),
    ("kernel support for openvswitch", Module("openvswitch", "ovs_dp_process_packet")),
    ("kernel support for vport_vxlan", Module("vport_vxlan", "vxlan_tnl_create")),
    ("kernel support for vrf", Module("vrf", "vrf_xmit")),
    ("kernel support for wireguard", Module("wireguard", "wg_xmit")),
    ("kernel support for xfrm_user", Module("xfrm_user", "xfrm_add_sa")),
    // Programs that `cargo xtask programs` builds if there is a Go compiler.
    ("the program flanneld", Program("flanneld")),
    ("the program fortio", Program("fortio")),
    // `make setup-kubernetes` builds it.
    ("the program kube-apiserver", Program("kube-apiserver")),
    ("the program weaver", Program("weaver")),
    ("the programs of Docker Engine 29", EnginePrograms),
    ("the program wireguard-go", Program("wireguard-go")),
    // Debian has no free package of netperf.
    ("the program netperf", Program("netperf")),
    ("/dev/net/tun", UserDevice("/dev/net/tun")),
    ("a user who may not open /dev/net/tun", Opposite),
    ("root", Root),
];

/// Machine on which tests were skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SkipMachine {
    /// This machine.
    Host,
    /// The virtual machine: this machine's programs, root, and a kernel with all modules.
    Guest,
}

/// Returns the problems of unexpected skips, each with the name of its test.
pub(crate) fn unexpected(
    repository: &Repository,
    place: SkipMachine,
    skips: &[IgnoredTest],
) -> Vec<String> {
    skips
        .iter()
        .filter_map(|skip| problem(skip, |feature| has(repository, place, feature)))
        .collect()
}

fn problem(skip: &IgnoredTest, has: impl Fn(MachineFeature) -> bool) -> Option<String> {
    let IgnoredTest { binary, name, reason } = skip;
    let shown = format!("{binary} {name}: skipped unexpectedly");
    match feature_of(reason) {
        None => Some(format!(
            "{shown}: the reason {reason:?} is not in xtask/src/expected_skips.rs: add it, or make the test run"
        )),
        Some(feature) if has(feature) => {
            Some(format!("{shown}: {reason:?}, but this machine has it: mend the test's probe"))
        }
        Some(_) => None,
    }
}

/// Returns the feature of the row whose words begin the reason.
fn feature_of(reason: &str) -> Option<MachineFeature> {
    let needed = reason.strip_prefix("needs ")?;
    let row = TABLE.iter().find(|(prefix, _)| {
        let rest = needed.strip_prefix(prefix);
        rest.is_some_and(|rest| {
            !rest.starts_with(|c: char| c.is_alphanumeric() || "_-".contains(c))
        })
    });
    row.map(|(_, feature)| *feature)
}

fn has(repository: &Repository, place: SkipMachine, feature: MachineFeature) -> bool {
    match (feature, place) {
        (Module(..) | Root, SkipMachine::Guest) => true,
        (Module(name, symbol), SkipMachine::Host) => has_module(name, symbol),
        (UserDevice(path), SkipMachine::Host) => is_open_to_all(path),
        // The guest has no udev, which would open device files to users.
        (UserDevice(_), SkipMachine::Guest) | (Opposite, _) => false,
        (Root, SkipMachine::Host) => rustix::process::geteuid().is_root(),
        (EnginePrograms, _) => engine_programs::are_built(repository),
        (Program(name), _) => repository.find_program(name).is_some(),
    }
}

fn is_open_to_all(path: &str) -> bool {
    let mode = fs::metadata(path).map(|metadata| metadata.permissions().mode());
    mode.is_ok_and(|mode| mode & 0o006 == 0o006)
}

/// Returns true if a module is loaded or built in. A loadable module does not count: tests load none.
fn has_module(name: &str, symbol: &str) -> bool {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    Path::new("/sys/module").join(name).exists()
        || lists_loaded(&read("/proc/modules"), name)
        || lists_built_in(&read(&format!("/lib/modules/{release}/modules.builtin")), name)
        || lists_symbol(&read("/proc/kallsyms"), symbol)
}

fn lists_loaded(modules: &str, name: &str) -> bool {
    modules.lines().any(|line| line.split(' ').next() == Some(name))
}

/// Returns true if a line such as `kernel/drivers/net/ipvlan/ipvlan.ko` names the module.
fn lists_built_in(builtin: &str, name: &str) -> bool {
    builtin.lines().any(|line| {
        let file = line.rsplit('/').next().unwrap_or(line);
        file.strip_suffix(".ko").is_some_and(|module| module.replace('-', "_") == name)
    })
}

fn lists_symbol(symbols: &str, symbol: &str) -> bool {
    symbols.lines().any(|line| line.split_whitespace().nth(2) == Some(symbol))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_begins_with_the_words_of_its_row() {
        let openvswitch = Module("openvswitch", "ovs_dp_process_packet");
        for (reason, feature) in [
            ("needs kernel support for openvswitch", Some(openvswitch)),
            ("needs kernel support for openvswitch, which this kernel lacks", Some(openvswitch)),
            ("needs kernel support for openvswitches", None),
            ("needs the program wireguard-go is not installed", Some(Program("wireguard-go"))),
            ("needs kernel support for wireguard", Some(Module("wireguard", "wg_xmit"))),
            ("kernel support for openvswitch", None),
            ("needs the programs of Docker Engine 29: make setup-engine", Some(EnginePrograms)),
            ("no reason given", None),
        ] {
            assert_eq!(feature_of(reason), feature, "{reason}");
        }
    }

    #[test]
    fn only_what_the_machine_lacks_may_be_skipped() {
        let skip = IgnoredTest::from_listed(
            "tare-lab::lab",
            "[needs kernel support for ipvlan] carries::ipvlan-l2",
        );
        assert_eq!(problem(&skip, |_| false), None);
        let present = problem(&skip, |_| true).unwrap();
        assert!(present.starts_with("tare-lab::lab carries::ipvlan-l2: "), "{present}");
        let unknown = IgnoredTest::from_listed("tare-tests::tools", "wrk");
        assert!(problem(&unknown, |_| false).unwrap().contains("tare-tests::tools wrk: "));
    }

    #[test]
    fn modules_are_found_where_the_kernel_lists_them() {
        assert!(lists_loaded("veth 4096 0 - Live 0x0\nipvlan 1 0 - Live 0x0\n", "ipvlan"));
        assert!(!lists_loaded("ipvlan_x 1 0\n", "ipvlan"));
        assert!(lists_built_in("kernel/net/openvswitch/vport-vxlan.ko\n", "vport_vxlan"));
        assert!(!lists_built_in("kernel/ipvlan/ipvtap.ko\n", "ipvlan"));
        assert!(lists_symbol("ffff t wg_xmit\n0 t x [y]\n", "wg_xmit"));
        assert!(!lists_symbol("ffff t wg_xmit_more\n", "wg_xmit"));
    }

    #[test]
    fn the_guest_has_every_module_and_root() {
        let repository = Repository::find().unwrap();
        assert!(has(&repository, SkipMachine::Guest, Module("none", "none")));
        assert!(has(&repository, SkipMachine::Guest, Root));
        assert!(!has(&repository, SkipMachine::Host, Module("none", "none")));
        assert!(!has(&repository, SkipMachine::Guest, UserDevice("/dev/null")));
        assert!(has(&repository, SkipMachine::Host, UserDevice("/dev/null")));
        assert!(!has(&repository, SkipMachine::Guest, Program("no-such-program-anywhere")));
    }
}
