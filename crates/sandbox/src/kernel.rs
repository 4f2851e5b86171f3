//! Features of this machine's kernel, and its programs, detected without a change to either.
//!
//! A query for a device type or a netfilter expression can make the kernel load a module, even for an ordinary user. So
//! a query is made only after the module is known to be present: loaded (/proc/modules), or built in (modules.builtin,
//! or a symbol of it in /proc/kallsyms). A module that is installed but not loaded counts as missing, unless the user
//! has allowed tare to load it.

use crate::private_namespaces::{UserNamespaceSettings, refusal};
use crate::{program, sys};
use rustix::fs::{Access, access};
use rustix::io::Errno;
use rustix::thread::CapabilitySet;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use tare_network::{Error, INTERNAL, Requirement, RequirementProbe, UnmetRequirement};

/// Permission to load kernel modules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModuleLoading {
    /// Never: a module that is not loaded is missing.
    #[default]
    Never,
    /// On setup of a network that needs them (`--load-modules`).
    Load,
}

/// Kernel module that a network may need.
struct KernelFeature {
    module: &'static str,
    /// Symbol by which the module is recognised if it is built in.
    symbol: &'static str,
    /// Option that enables it in a kernel's configuration.
    option: &'static str,
}

/// Returns a row of the table below.
const fn feature(
    module: &'static str,
    symbol: &'static str,
    option: &'static str,
) -> KernelFeature {
    KernelFeature { module, symbol, option }
}

/// All features. On kernels of Debian and Ubuntu each is a separate module, except `nft_counter` from 5.17 on.
const FEATURES: &[KernelFeature] = &[
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
    feature("nft_reject", "nft_reject_init", "CONFIG_NFT_REJECT"),
    feature("nft_numgen", "nft_ng_inc_init", "CONFIG_NFT_NUMGEN"),
    feature("nft_compat", "nft_match_eval", "CONFIG_NFT_COMPAT"),
    feature("xt_addrtype", "addrtype_mt_v1", "CONFIG_NETFILTER_XT_MATCH_ADDRTYPE"),
    feature("xt_comment", "comment_mt", "CONFIG_NETFILTER_XT_MATCH_COMMENT"),
    feature("xt_conntrack", "conntrack_mt_check", "CONFIG_NETFILTER_XT_MATCH_CONNTRACK"),
    feature("xt_mark", "mark_mt", "CONFIG_NETFILTER_XT_MARK"),
    feature("xt_nat", "xt_dnat_target_v2", "CONFIG_NETFILTER_XT_NAT"),
    feature("xt_MASQUERADE", "masquerade_tg", "CONFIG_NETFILTER_XT_TARGET_MASQUERADE"),
    feature("xt_tcpudp", "tcp_mt", "CONFIG_NETFILTER_XTABLES"),
    feature("sch_tbf", "tbf_enqueue", "CONFIG_NET_SCH_TBF"),
    feature("sch_ingress", "ingress_init", "CONFIG_NET_SCH_INGRESS"),
    feature("cls_u32", "u32_classify", "CONFIG_NET_CLS_U32"),
    feature("act_mirred", "tcf_mirred_act", "CONFIG_NET_ACT_MIRRED"),
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

/// Returns the option that enables a module in a kernel's configuration.
fn config_option(module: &str) -> String {
    let known = FEATURES.iter().find(|feature| feature.module == module);
    known.map(|feature| format!(" ({})", feature.option)).unwrap_or_default()
}

/// Module that is part of nf_tables since Linux 5.17, and was a separate module before.
const MERGED: (&str, &str) = ("nft_counter", "nf_tables");

/// Module that the kernel never requests: only modprobe loads it.
const NOT_ON_DEMAND: &str = "br_netfilter";

/// Status of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ModuleStatus {
    /// The module is loaded or built in.
    Present,
    /// The module can be loaded.
    Loadable,
    /// This kernel does not have the module.
    Absent,
}

/// Modules of the machine. They are read once: a module that is loaded later is not seen.
struct ModuleCatalogue {
    /// Modules in /proc/modules. `None` if the kernel cannot load modules at all.
    loaded: Option<HashSet<String>>,
    /// Modules in modules.builtin, or else the features with a symbol in /proc/kallsyms.
    built_in: HashSet<String>,
    /// Modules in modules.dep. `None` if the modules' directory is not visible.
    loadable: Option<HashSet<String>>,
}

impl ModuleCatalogue {
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

    fn status(&self, module: &str) -> ModuleStatus {
        let loaded = self.loaded.as_ref().is_some_and(|loaded| loaded.contains(module));
        if loaded || self.built_in.contains(module) {
            return ModuleStatus::Present;
        }
        match (&self.loaded, &self.loadable) {
            (Some(_), Some(loadable)) if loadable.contains(module) => ModuleStatus::Loadable,
            (Some(_), Some(_)) if module == MERGED.0 => self.status(MERGED.1),
            // In a container without /lib/modules, the host may have the module.
            (Some(_), None) => ModuleStatus::Loadable,
            (Some(_), Some(_)) | (None, _) => ModuleStatus::Absent,
        }
    }
}

/// Returns the module of a line of modules.builtin or modules.dep: `kernel/drivers/net/veth.ko.xz: …` is `veth`.
fn module_of_path(line: &str) -> Option<String> {
    let path = line.split(':').next()?;
    let file = path.rsplit('/').next()?;
    Some(file.split(".ko").next()?.replace('-', "_"))
}

/// Returns the features with a symbol in this kernel. They are looked up once in a process, because that takes tens of
/// milliseconds.
fn features_of_this_kernel() -> &'static HashSet<String> {
    static FOUND: OnceLock<HashSet<String>> = OnceLock::new();
    FOUND.get_or_init(|| features_of(&fs::read_to_string("/proc/kallsyms").unwrap_or_default()))
}

/// Returns the features with a symbol in a symbol table, which has some hundred thousand lines.
fn features_of(symbols: &str) -> HashSet<String> {
    let wanted: HashMap<&str, &str> =
        FEATURES.iter().map(|feature| (feature.symbol, feature.module)).collect();
    let names = symbols.lines().filter_map(|line| {
        let name = line.splitn(3, ' ').nth(2)?;
        Some(name.split_once('\t').map_or(name, |(name, _)| name))
    });
    names.filter_map(|name| wanted.get(name)).map(|&module| module.to_owned()).collect()
}

/// Probe for the requirements of networks on this machine.
#[derive(Default)]
pub struct KernelProbe {
    modules: ModuleLoading,
    catalogue: OnceLock<ModuleCatalogue>,
}

impl KernelProbe {
    /// Returns a probe. `modules` decides whether a module that is not loaded is missing.
    #[must_use]
    pub fn new(modules: ModuleLoading) -> Self {
        Self { modules, catalogue: OnceLock::new() }
    }

    fn catalogue(&self) -> &ModuleCatalogue {
        self.catalogue.get_or_init(ModuleCatalogue::read)
    }

    /// Returns the modules that networks may need, that are not loaded and that `modprobe` would load.
    #[must_use]
    pub fn loadable(&self) -> Vec<&'static str> {
        FEATURES
            .iter()
            .map(|feature| feature.module)
            .filter(|module| self.catalogue().status(module) == ModuleStatus::Loadable)
            .collect()
    }

    /// Returns `true` if a module is loaded or built in. Then a query for its features loads nothing.
    pub fn is_present(&self, module: &str) -> bool {
        self.catalogue().status(module) == ModuleStatus::Present
    }

    fn check_module(&self, module: &str) -> Result<(), UnmetRequirement> {
        match (self.catalogue().status(module), self.modules) {
            (ModuleStatus::Present, _) | (ModuleStatus::Loadable, ModuleLoading::Load) => Ok(()),
            (ModuleStatus::Loadable, ModuleLoading::Never) => Err(self.unloaded_module(module)),
            (ModuleStatus::Absent, _) => Err(UnmetRequirement {
                reason: format!("this kernel has no {module}"),
                remedy: format!(
                    "boot a kernel with {module}{}; on Ubuntu, install \
                     linux-modules-extra-$(uname -r)",
                    config_option(module)
                ),
            }),
        }
    }

    /// Checks that a device file can be used. A device file of a module may not exist before the module is loaded.
    fn check_device_file(&self, path: &str, module: &str) -> Result<(), UnmetRequirement> {
        self.check_module(module)?;
        let yet_to_come = self.catalogue().status(module) == ModuleStatus::Loadable;
        match access(path, Access::READ_OK | Access::WRITE_OK) {
            Err(Errno::NOENT) if yet_to_come => Ok(()),
            Ok(()) => Ok(()),
            Err(errno) => Err(UnmetRequirement {
                reason: format!("{path} cannot be opened for reading and writing: {errno}"),
                remedy: format!("sudo setfacl -m u:$USER:rw {path}, or run tare as root"),
            }),
        }
    }

    /// Returns the error for a module that is not loaded. The remedy names all modules that are not loaded, so that one
    /// command is enough.
    fn unloaded_module(&self, module: &str) -> UnmetRequirement {
        let others = FEATURES.iter().map(|feature| feature.module).filter(|&other| {
            other != module && self.catalogue().status(other) == ModuleStatus::Loadable
        });
        let all: Vec<&str> = std::iter::once(module).chain(others).collect();
        UnmetRequirement {
            reason: format!("the kernel module {module} is not loaded"),
            remedy: format!("sudo modprobe -a {}, or pass --load-modules", all.join(" ")),
        }
    }

    /// Checks that these requirements are met, and loads modules if that is allowed.
    ///
    /// An ordinary user cannot load a module by name. The kernel then loads it on demand, with one exception.
    ///
    /// # Errors
    /// The first requirement that is not met, with its remedy, or the module that modprobe(8) could not load.
    pub fn ensure(&self, needs: &[Requirement]) -> Result<(), Error> {
        for need in needs {
            let refused = |missing: UnmetRequirement| {
                let what = match need {
                    Requirement::Unmet(_) => "meet a requirement of the network".to_owned(),
                    other => format!("use {other}"),
                };
                Error::new(what, missing.reason).with_remedy(missing.remedy)
            };
            self.check(need).map_err(refused)?;
            let (module, on_demand) = match need {
                Requirement::Kernel { module } => (module, *module != NOT_ON_DEMAND),
                // An existing device file loads its module when it is opened.
                Requirement::DeviceFile { path, module } => (module, Path::new(path).exists()),
                _ => continue,
            };
            let loadable = self.catalogue().status(module) == ModuleStatus::Loadable;
            if loadable && !modprobe(module) && !on_demand {
                return Err(refused(self.unloaded_module(module)));
            }
        }
        Ok(())
    }
}

/// Loads a module. Returns `true` if that succeeded.
fn modprobe(module: &str) -> bool {
    let run =
        |path| Command::new(path).args(["-q", "--", module]).stderr(Stdio::null()).status().ok();
    program::find("modprobe").and_then(run).is_some_and(|status| status.success())
}

impl RequirementProbe for KernelProbe {
    fn check(&self, need: &Requirement) -> Result<(), UnmetRequirement> {
        match need {
            Requirement::Namespaces => check_namespaces(),
            Requirement::Kernel { module } => self.check_module(module),
            Requirement::Program { name, package } => match program::find(name) {
                Some(_) => Ok(()),
                None => Err(UnmetRequirement {
                    reason: format!("the program {name} is not installed"),
                    remedy: format!("sudo apt-get install {package}"),
                }),
            },
            Requirement::DeviceFile { path, module } => self.check_device_file(path, module),
            // A network makes nodes as it needs them.
            Requirement::Nodes(_) => Ok(()),
            Requirement::Unmet(missing) => Err(missing.clone()),
        }
    }
}

/// Checks that private namespaces can be made: by privilege, or by a user namespace, which a child process tries.
fn check_namespaces() -> Result<(), UnmetRequirement> {
    let mine = rustix::thread::capabilities(None);
    if mine.is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN)) {
        return Ok(());
    }
    let mut command = Command::new(program::TARE);
    command
        .args([INTERNAL, "init"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    sys::try_namespaces_before_exec(&mut command);
    match command.spawn() {
        Ok(mut child) => {
            // The child ends at once, because its input is empty. Its exit status does not matter: that it was started
            // is the answer.
            let _ = child.wait();
            Ok(())
        }
        Err(error) => {
            let errno = Errno::from_io_error(&error).unwrap_or(Errno::PERM);
            let refused = refusal(errno, &UserNamespaceSettings::read());
            Err(UnmetRequirement { reason: refused.why, remedy: refused.remedy })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> HashSet<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    fn probe(modules: ModuleLoading, catalogue: ModuleCatalogue) -> KernelProbe {
        let probe = KernelProbe::new(modules);
        assert!(probe.catalogue.set(catalogue).is_ok());
        probe
    }

    fn debian() -> ModuleCatalogue {
        ModuleCatalogue {
            loaded: Some(set(&["nf_tables"])),
            built_in: set(&["bridge"]),
            loadable: Some(set(&["nf_tables", "veth", "br_netfilter"])),
        }
    }

    #[test]
    fn a_module_that_lies_ready_is_missing_until_loading_is_allowed() {
        let never = probe(ModuleLoading::Never, debian());
        let veth = Requirement::Kernel { module: "veth" };
        let missing = never.check(&veth).unwrap_err();
        assert_eq!(missing.reason, "the kernel module veth is not loaded");
        assert_eq!(missing.remedy, "sudo modprobe -a veth br_netfilter, or pass --load-modules");
        assert!(probe(ModuleLoading::Load, debian()).check(&veth).is_ok());
        for module in ["bridge", "nf_tables", "nft_counter"] {
            assert!(never.check(&Requirement::Kernel { module }).is_ok(), "{module}");
        }
        let absent = never.check(&Requirement::Kernel { module: "nft_ct" }).unwrap_err();
        assert_eq!(absent.reason, "this kernel has no nft_ct");
        assert!(absent.remedy.starts_with("boot a kernel with nft_ct (CONFIG_NFT_CT); "));
    }

    #[test]
    fn a_kernel_without_modules_has_what_is_built_in() {
        let catalogue =
            || ModuleCatalogue { loaded: None, built_in: set(&["veth"]), loadable: None };
        let probe = probe(ModuleLoading::Load, catalogue());
        assert!(probe.check(&Requirement::Kernel { module: "veth" }).is_ok());
        assert!(probe.check(&Requirement::Kernel { module: "bridge" }).is_err());
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
        let need = Requirement::Program { name: "no-such-program", package: "some-package" };
        let missing = KernelProbe::default().check(&need).unwrap_err();
        assert!(missing.remedy.ends_with("install some-package"));
    }
}
