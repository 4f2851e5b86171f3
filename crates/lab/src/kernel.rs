//! What this machine's kernel and programs have, found out without changing either.
//!
//! Asking the kernel for a device type or a netfilter expression can make it load a module, even for an ordinary user.
//! So nothing is asked of it before the module is known to be there: loaded (/proc/modules), built in
//! (modules.builtin, or a symbol of it in /proc/kallsyms). A module that lies ready but is not loaded counts as
//! missing, unless the user has allowed to load it.

use crate::enter::{Settings, refusal};
use crate::{program, spawner, sys};
use rustix::fs::{Access, access};
use rustix::io::Errno;
use rustix::thread::CapabilitySet;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use tare_network::{Error, Missing, Need, Probe};

/// Whether kernel modules may be loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Modules {
    /// Never: what is not loaded is missing.
    #[default]
    Never,
    /// When a network is raised that needs them (`--load-modules`).
    Load,
}

/// A module that the lab may need.
struct Feature {
    module: &'static str,
    /// By which one recognises it where it is built in.
    symbol: &'static str,
    /// What switches it on in a kernel's configuration.
    option: &'static str,
}

/// A row of the table below.
const fn feature(module: &'static str, symbol: &'static str, option: &'static str) -> Feature {
    Feature { module, symbol, option }
}

/// All of them. On Debian's and Ubuntu's kernels each is a module of its own, but for `nft_counter` from 5.17 on.
const FEATURES: &[Feature] = &[
    feature("veth", "veth_xmit", "CONFIG_VETH"),
    feature("bridge", "br_dev_xmit", "CONFIG_BRIDGE"),
    feature("br_netfilter", "br_nf_pre_routing", "CONFIG_BRIDGE_NETFILTER"),
    feature("nf_tables", "nft_do_chain", "CONFIG_NF_TABLES"),
    feature("nft_counter", "nft_counter_init", "CONFIG_NF_TABLES"),
    feature("nft_chain_nat", "nft_nat_do_chain", "CONFIG_NFT_NAT"),
    feature("nft_nat", "nft_nat_init", "CONFIG_NFT_NAT"),
    feature("nft_masq", "nft_masq_init", "CONFIG_NFT_MASQ"),
    feature("nft_ct", "nft_ct_get_init", "CONFIG_NFT_CT"),
    feature("nft_fib_ipv4", "nft_fib4_eval_type", "CONFIG_NFT_FIB_IPV4"),
    feature("nft_fib_ipv6", "nft_fib6_eval_type", "CONFIG_NFT_FIB_IPV6"),
    feature("nft_compat", "nft_match_eval", "CONFIG_NFT_COMPAT"),
    feature("xt_addrtype", "addrtype_mt_v1", "CONFIG_NETFILTER_XT_MATCH_ADDRTYPE"),
    feature("xt_comment", "comment_mt", "CONFIG_NETFILTER_XT_MATCH_COMMENT"),
    feature("xt_conntrack", "conntrack_mt_check", "CONFIG_NETFILTER_XT_MATCH_CONNTRACK"),
    feature("xt_tcpudp", "tcp_mt", "CONFIG_NETFILTER_XTABLES"),
    feature("sch_tbf", "tbf_enqueue", "CONFIG_NET_SCH_TBF"),
    feature("sch_netem", "netem_enqueue", "CONFIG_NET_SCH_NETEM"),
    feature("vxlan", "vxlan_xmit", "CONFIG_VXLAN"),
    feature("geneve", "geneve_xmit", "CONFIG_GENEVE"),
    feature("ipip", "ipip_tunnel_xmit", "CONFIG_NET_IPIP"),
    feature("ip_gre", "ipgre_xmit", "CONFIG_NET_IPGRE"),
    feature("wireguard", "wg_xmit", "CONFIG_WIREGUARD"),
    feature("xfrm_user", "xfrm_add_sa", "CONFIG_XFRM_USER"),
    feature("esp4", "esp_output", "CONFIG_INET_ESP"),
    feature("macvlan", "macvlan_start_xmit", "CONFIG_MACVLAN"),
    feature("ipvlan", "ipvlan_start_xmit", "CONFIG_IPVLAN"),
    feature("8021q", "vlan_dev_hard_start_xmit", "CONFIG_VLAN_8021Q"),
    feature("vrf", "vrf_xmit", "CONFIG_NET_VRF"),
    feature("openvswitch", "ovs_dp_process_packet", "CONFIG_OPENVSWITCH"),
    feature("vport_vxlan", "vxlan_tnl_create", "CONFIG_OPENVSWITCH_VXLAN"),
    feature("dummy", "dummy_xmit", "CONFIG_DUMMY"),
    feature("tun", "tun_net_xmit", "CONFIG_TUN"),
    feature("netkit", "netkit_xmit", "CONFIG_NETKIT, in Linux 6.7 and later"),
];

/// What switches a module on in a kernel's configuration.
fn option_of(module: &str) -> String {
    let known = FEATURES.iter().find(|feature| feature.module == module);
    known.map(|feature| format!(" ({})", feature.option)).unwrap_or_default()
}

/// Part of nf_tables since Linux 5.17, a module of its own before.
const MERGED: (&str, &str) = ("nft_counter", "nf_tables");

/// Nothing in the kernel asks for this module: only modprobe loads it.
const NOT_ON_DEMAND: &str = "br_netfilter";

/// How a module stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    /// Loaded or built in.
    Present,
    /// It could be loaded.
    Loadable,
    /// This kernel does not have it.
    Absent,
}

/// The machine's answers. Read once: what is loaded meanwhile is not seen.
struct Catalogue {
    /// /proc/modules; nothing where the kernel cannot load modules at all.
    loaded: Option<HashSet<String>>,
    /// modules.builtin, or else the features that /proc/kallsyms has a symbol of.
    built_in: HashSet<String>,
    /// modules.dep; nothing where the modules' directory is not to be seen.
    loadable: Option<HashSet<String>>,
}

impl Catalogue {
    fn read() -> Self {
        let release = rustix::system::uname().release().to_string_lossy().into_owned();
        let list = |file: &str| {
            let text = fs::read_to_string(format!("/lib/modules/{release}/{file}")).ok()?;
            Some(text.lines().filter_map(module_of_path).collect::<HashSet<_>>())
        };
        let loaded = fs::read_to_string("/proc/modules").ok().map(|text| {
            text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
        });
        let built_in = list("modules.builtin").unwrap_or_else(|| features_of_this_kernel().clone());
        Self { loaded, built_in, loadable: list("modules.dep") }
    }

    fn status(&self, module: &str) -> Status {
        let loaded = self.loaded.as_ref().is_some_and(|loaded| loaded.contains(module));
        if loaded || self.built_in.contains(module) {
            return Status::Present;
        }
        match (&self.loaded, &self.loadable) {
            (Some(_), Some(loadable)) if loadable.contains(module) => Status::Loadable,
            (Some(_), Some(_)) if module == MERGED.0 => self.status(MERGED.1),
            // A container without /lib/modules: the host may well have it.
            (Some(_), None) => Status::Loadable,
            (Some(_), Some(_)) | (None, _) => Status::Absent,
        }
    }
}

/// The module of a line of modules.builtin or modules.dep: `kernel/drivers/net/veth.ko.xz: …` is `veth`.
fn module_of_path(line: &str) -> Option<String> {
    let path = line.split(':').next()?;
    let file = path.rsplit('/').next()?;
    Some(file.split(".ko").next()?.replace('-', "_"))
}

/// The features that this kernel has a symbol of: looked up once in a process, for it takes tens of milliseconds.
fn features_of_this_kernel() -> &'static HashSet<String> {
    static FOUND: OnceLock<HashSet<String>> = OnceLock::new();
    FOUND.get_or_init(|| features_of(&fs::read_to_string("/proc/kallsyms").unwrap_or_default()))
}

/// The features that a symbol table, of some hundred thousand lines, has a symbol of.
fn features_of(symbols: &str) -> HashSet<String> {
    let wanted: HashMap<&str, &str> =
        FEATURES.iter().map(|feature| (feature.symbol, feature.module)).collect();
    let names = symbols.lines().filter_map(|line| {
        let name = line.splitn(3, ' ').nth(2)?;
        Some(name.split_once('\t').map_or(name, |(name, _)| name))
    });
    names.filter_map(|name| wanted.get(name)).map(|&module| module.to_owned()).collect()
}

/// Says whether this machine has what the lab's networks need.
#[derive(Default)]
pub struct KernelProbe {
    modules: Modules,
    catalogue: OnceLock<Catalogue>,
}

impl KernelProbe {
    /// A probe for which a module that is not loaded is missing, or not.
    #[must_use]
    pub fn new(modules: Modules) -> Self {
        Self { modules, catalogue: OnceLock::new() }
    }

    fn catalogue(&self) -> &Catalogue {
        self.catalogue.get_or_init(Catalogue::read)
    }

    /// The modules that networks may need, that are not loaded and that `modprobe` would load.
    #[must_use]
    pub fn loadable(&self) -> Vec<&'static str> {
        FEATURES
            .iter()
            .map(|feature| feature.module)
            .filter(|module| self.catalogue().status(module) == Status::Loadable)
            .collect()
    }

    /// Whether a module is loaded or built in: then the kernel may be asked for what it does.
    pub(crate) fn is_present(&self, module: &str) -> bool {
        self.catalogue().status(module) == Status::Present
    }

    fn module(&self, module: &str) -> Result<(), Missing> {
        match (self.catalogue().status(module), self.modules) {
            (Status::Present, _) | (Status::Loadable, Modules::Load) => Ok(()),
            (Status::Loadable, Modules::Never) => Err(self.not_loaded(module)),
            (Status::Absent, _) => Err(Missing {
                reason: format!("this kernel has no {module}"),
                remedy: format!(
                    "boot a kernel that has it{}; on Ubuntu, install \
                     linux-modules-extra-$(uname -r)",
                    option_of(module)
                ),
            }),
        }
    }

    /// Whether a device file may be used; one that comes with a module is not there before that is loaded.
    fn device_file(&self, path: &str, module: &str) -> Result<(), Missing> {
        self.module(module)?;
        let yet_to_come = self.catalogue().status(module) == Status::Loadable;
        match access(path, Access::READ_OK | Access::WRITE_OK) {
            Err(Errno::NOENT) if yet_to_come => Ok(()),
            Ok(()) => Ok(()),
            Err(errno) => Err(Missing {
                reason: format!("{path} may not be used: {errno}"),
                remedy: format!("sudo setfacl -m u:$USER:rw {path}, or run tare as root"),
            }),
        }
    }

    /// The remedy names all that is not loaded, so that one command helps.
    fn not_loaded(&self, module: &str) -> Missing {
        let others = FEATURES
            .iter()
            .map(|feature| feature.module)
            .filter(|&other| other != module && self.catalogue().status(other) == Status::Loadable);
        let all: Vec<&str> = std::iter::once(module).chain(others).collect();
        Missing {
            reason: format!("the kernel module {module} is not loaded"),
            remedy: format!("sudo modprobe -a {}, or pass --load-modules", all.join(" ")),
        }
    }

    /// Makes sure that these needs can be met without a surprise: checks each, and loads modules where that is allowed.
    ///
    /// An ordinary user cannot load a module by name; the kernel then loads it on demand, but for one.
    pub(crate) fn ensure(&self, needs: &[Need]) -> Result<(), Error> {
        for need in needs {
            let refused = |missing: Missing| {
                Error::new(format!("find {need}"), missing.reason).with_remedy(missing.remedy)
            };
            self.check(need).map_err(refused)?;
            let (module, on_demand) = match need {
                Need::Kernel { module } => (module, *module != NOT_ON_DEMAND),
                // Opening it loads its module, where it is there before.
                Need::DeviceFile { path, module } => (module, Path::new(path).exists()),
                _ => continue,
            };
            let loadable = self.catalogue().status(module) == Status::Loadable;
            if loadable && !modprobe(module) && !on_demand {
                return Err(refused(self.not_loaded(module)));
            }
        }
        Ok(())
    }
}

/// Loads a module; whether that worked.
fn modprobe(module: &str) -> bool {
    let run =
        |path| Command::new(path).args(["-q", "--", module]).stderr(Stdio::null()).status().ok();
    program::find("modprobe").and_then(run).is_some_and(|status| status.success())
}

impl Probe for KernelProbe {
    fn check(&self, need: &Need) -> Result<(), Missing> {
        match need {
            Need::Namespaces => namespaces(),
            Need::Kernel { module } => self.module(module),
            Need::Program { name, package } => match program::find(name) {
                Some(_) => Ok(()),
                None => Err(Missing {
                    reason: format!("the program {name} is not installed"),
                    remedy: format!("sudo apt-get install {package}"),
                }),
            },
            Need::DeviceFile { path, module } => self.device_file(path, module),
            // The lab makes nodes as it needs them.
            Need::Nodes(_) => Ok(()),
            Need::Lacking(missing) => Err(missing.clone()),
        }
    }
}

/// Whether private namespaces can be had: by right, or, tried out in a child, by a user namespace.
fn namespaces() -> Result<(), Missing> {
    let mine = rustix::thread::capabilities(None);
    if mine.is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN)) {
        return Ok(());
    }
    let mut command = Command::new(spawner::TARE);
    command.arg("keeper").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    sys::try_namespaces_before_exec(&mut command);
    match command.spawn() {
        Ok(mut child) => {
            // It ends at once: its input is empty. How it ends is no matter; that it was started is the answer.
            let _ = child.wait();
            Ok(())
        }
        Err(error) => {
            let errno = Errno::from_io_error(&error).unwrap_or(Errno::PERM);
            let refused = refusal(errno, &Settings::read());
            Err(Missing { reason: refused.why, remedy: refused.remedy })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> HashSet<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    fn probe(modules: Modules, catalogue: Catalogue) -> KernelProbe {
        let probe = KernelProbe::new(modules);
        assert!(probe.catalogue.set(catalogue).is_ok());
        probe
    }

    fn debian() -> Catalogue {
        Catalogue {
            loaded: Some(set(&["nf_tables"])),
            built_in: set(&["bridge"]),
            loadable: Some(set(&["nf_tables", "veth", "br_netfilter"])),
        }
    }

    #[test]
    fn a_module_that_lies_ready_is_missing_until_loading_is_allowed() {
        let never = probe(Modules::Never, debian());
        let veth = Need::Kernel { module: "veth" };
        let missing = never.check(&veth).unwrap_err();
        assert_eq!(missing.reason, "the kernel module veth is not loaded");
        assert_eq!(missing.remedy, "sudo modprobe -a veth br_netfilter, or pass --load-modules");
        assert!(probe(Modules::Load, debian()).check(&veth).is_ok());
        for module in ["bridge", "nf_tables", "nft_counter"] {
            assert!(never.check(&Need::Kernel { module }).is_ok(), "{module}");
        }
        let absent = never.check(&Need::Kernel { module: "nft_ct" }).unwrap_err();
        assert_eq!(absent.reason, "this kernel has no nft_ct");
        assert!(absent.remedy.starts_with("boot a kernel that has it (CONFIG_NFT_CT); "));
    }

    #[test]
    fn a_kernel_without_modules_has_what_is_built_in() {
        let catalogue = || Catalogue { loaded: None, built_in: set(&["veth"]), loadable: None };
        let probe = probe(Modules::Load, catalogue());
        assert!(probe.check(&Need::Kernel { module: "veth" }).is_ok());
        assert!(probe.check(&Need::Kernel { module: "bridge" }).is_err());
    }

    #[test]
    fn modules_are_read_off_paths_and_symbols() {
        let line = "kernel/net/bridge/br-netfilter.ko.xz: kernel/net/bridge/bridge.ko.xz";
        assert_eq!(module_of_path(line).as_deref(), Some("br_netfilter"));
        let symbols = "0000 t veth_xmit\n0000 T br_dev_xmit\t[bridge]\n0000 t veth_xmit_other\n";
        assert_eq!(features_of(symbols), set(&["veth", "bridge"]));
    }

    #[test]
    fn a_program_that_is_not_there_is_missing_with_its_package() {
        let need = Need::Program { name: "no-such-program", package: "some-package" };
        let missing = KernelProbe::default().check(&need).unwrap_err();
        assert!(missing.remedy.ends_with("install some-package"));
    }
}
