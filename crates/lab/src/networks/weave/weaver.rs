//! Weave Net on every node: the real router `weaver`, if it is on the PATH and the kernel meets its requirements;
//! otherwise, for sleeve mode, tare's own forwarder ([`crate::sleeve`]) stands in for it.
//!
//! Sources: weaveworks/weave, `prog/weaver`, `net/bridge.go`, `docs/router-encapsulation.md`.

use crate::plan::nodes::LabNode;
use crate::plan::underlay::Underlay;
use crate::plan::wiring::{DevicePair, DevicePairEnd, Wiring};
use crate::programs::{Program, ReadyCondition, StandIn};
use crate::stand_ins::weave_sleeve;
use crate::stand_ins::weave_sleeve::PORT;
use std::net::SocketAddrV4;
use tare_network::{Requirement, RequirementProbe};
use tare_sandbox::program;
use tare_sandbox::programs::runtime_directory;

/// Bridge of a node, named as in Weave.
pub(crate) const BRIDGE: &str = "weave";

/// Veth pair between the bridge and the process that carries its frames in sleeve mode.
pub(crate) const CABLE: [&str; 2] = ["vethwe-bridge", "vethwe-pcap"];

/// Veth pair with the fast data path: its other end is a port of Open vSwitch.
pub(crate) const FAST_CABLE: [&str; 2] = ["vethwe-bridge", "vethwe-datapath"];

/// Weave's datapath in the kernel's Open vSwitch.
pub(crate) const DATAPATH: &str = "datapath";

/// Port of the datapath to other nodes: VXLAN, on the port after that of the router.
pub(crate) const TUNNEL: &str = "vxlan-6784";

/// Address at which a router reports its status. The `weave` script uses it, too.
const STATUS: &str = "127.0.0.1:6784";

/// Modules for the router's rules and its bridge. The bridge takes its MTU from a dummy device that is a port for a
/// moment.
const MODULES: [&str; 9] = [
    "dummy",
    "nf_tables",
    "nft_counter",
    "nft_chain_nat",
    "nft_compat",
    "xt_addrtype",
    "xt_comment",
    "xt_conntrack",
    "xt_tcpudp",
];

/// Program of the router.
const WEAVER: &str = "weaver";

/// Size of the headers of IPv4 and UDP, bytes.
const UDP: u32 = 28;

/// Mode in which frames go between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WeaveMode {
    /// In UDP, by a process.
    Sleeve,
    /// In UDP, by a process, encrypted.
    SleeveEncrypted,
    /// In VXLAN, by the kernel's Open vSwitch.
    Fastdp,
}

/// Implementation of the router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WeaveRouter {
    /// The real router.
    Weaver,
    /// tare's own forwarder.
    StandIn,
}

impl WeaveMode {
    /// Returns the implementation that runs on this machine.
    pub(crate) fn router(self, probe: &dyn RequirementProbe) -> WeaveRouter {
        let runs = || missing_weaver(probe).is_none();
        if self == Self::Fastdp || runs() { WeaveRouter::Weaver } else { WeaveRouter::StandIn }
    }

    /// Returns the requirements of the mode, without those of containers on bridges.
    pub(crate) fn requirements(self, probe: &dyn RequirementProbe) -> Vec<Requirement> {
        match (self, self.router(probe)) {
            (_, WeaveRouter::StandIn) => Vec::new(),
            (Self::Fastdp, WeaveRouter::Weaver) => {
                let mut needs = weaver_requirements();
                needs.extend(
                    ["openvswitch", "vxlan", "vport_vxlan"]
                        .map(|module| Requirement::Kernel { module }),
                );
                // curl shows whether frames already go by the fast data path.
                needs.push(Requirement::Program { name: "curl", package: "curl" });
                needs
            }
            (_, WeaveRouter::Weaver) => weaver_requirements(),
        }
    }
}

/// Returns the reason why no real router runs on this machine. Returns `None` if one does.
pub(crate) fn missing_weaver(probe: &dyn RequirementProbe) -> Option<String> {
    let needs = weaver_requirements();
    needs.iter().find_map(|need| probe.check(need).err()).map(|missing| missing.reason)
}

/// Returns the requirements of a real router in any mode. Those that are cheap to check are first.
fn weaver_requirements() -> Vec<Requirement> {
    let mut needs: Vec<Requirement> =
        program::missing_program(WEAVER).map(Requirement::Unmet).into_iter().collect();
    needs.push(Requirement::Program { name: "ip", package: "iproute2" });
    needs.push(Requirement::Program { name: "iptables", package: "iptables" });
    needs.extend(MODULES.map(|module| Requirement::Kernel { module }));
    needs
}

/// Password for encryption, the same on all nodes. `None` for no encryption.
pub(crate) type WeaveKey<'a> = Option<&'a str>;

fn others(underlay: &Underlay, node: LabNode) -> impl Iterator<Item = LabNode> + '_ {
    underlay.nodes.iter().copied().filter(move |other| *other != node)
}

/// Adds tare's own forwarder to a node, at one end of a veth pair whose other end is attached to the bridge. `reason` says
/// why there is no real router.
pub(crate) fn add_stand_in(
    wiring: &mut Wiring,
    underlay: &Underlay,
    node: LabNode,
    key: WeaveKey<'_>,
    reason: &str,
) {
    let [near, far] = CABLE;
    wiring.add_bridge(node.space, BRIDGE, None);
    let near = DevicePairEnd::new(node.space, near).attached_to(BRIDGE);
    wiring.device_pairs.push(DevicePair::new(near, DevicePairEnd::new(node.space, far)));
    let at = |node: LabNode| SocketAddrV4::new(node.ipv4(), PORT);
    let file = format!("{}/key", runtime_directory(wiring.name(node.space)));
    let told = weave_sleeve::SleeveArguments {
        device: far.to_owned(),
        node: node.number(),
        listen: at(node),
        room: usize::try_from(underlay.link.mtu() - UDP).unwrap_or(usize::MAX),
        peers: others(underlay, node).map(|other| (other.number(), at(other))).collect(),
        key: key.map(|_| file.clone()),
    };
    let own = std::env::current_exe().unwrap_or_else(|_| "tare".into());
    let ready = ReadyCondition::OutputContains(vec![weave_sleeve::READY.to_owned()]);
    let program = Program::daemon(
        node.space,
        &own.to_string_lossy(),
        weave_sleeve::command_line(&told),
        ready,
    );
    let program = program.with_name("sleeve").standing_in(StandIn {
        used: weave_sleeve::PROCESS_NAME.to_owned(),
        original: WEAVER.to_owned(),
        reason: reason.to_owned(),
    });
    wiring.programs.push(match key {
        Some(key) => program.with_file(file, format!("{key}\n")),
        None => program,
    });
}

/// Adds a real router to a node. The router makes the bridge; `ports`, the devices of the containers, are attached
/// afterwards.
pub(crate) fn add_weaver(
    wiring: &mut Wiring,
    underlay: &Underlay,
    node: LabNode,
    mode: WeaveMode,
    key: WeaveKey<'_>,
    ports: &[&str],
) {
    let name = |node: LabNode| format!("0a:00:00:00:00:{:02x}", node.number() + 1);
    let place = runtime_directory(wiring.name(node.space));
    let mut arguments = vec![
        format!("--name={}", name(node)),
        format!("--nickname=n{}", node.number()),
        format!("--db-prefix={place}/weave"),
        format!("--mtu={}", wiring.mtu),
        format!("--host={}", node.ipv4()),
        format!("--http-addr={STATUS}"),
    ];
    let off = ["docker-api", "ipalloc-range", "status-addr", "metrics-addr"];
    arguments.extend(off.map(|flag| format!("--{flag}=")));
    arguments.extend(["--no-discovery", "--no-dns"].map(str::to_owned));
    arguments.push(match mode {
        WeaveMode::Fastdp => format!("--datapath={DATAPATH}"),
        WeaveMode::Sleeve | WeaveMode::SleeveEncrypted => "--no-fastdp".to_owned(),
    });
    // One of two routers connects to the other, as with `weave launch`: if both connect at once, one connection is
    // dropped, and the remaining one may never switch to the fast data path.
    let called = others(underlay, node).filter(|other| other.number() < node.number());
    arguments.extend(called.map(|other| other.ipv4().to_string()));
    let established = |other: LabNode| {
        format!("|{}(n{})]: connection fully established", name(other), other.number())
    };
    let ready = match mode {
        WeaveMode::Fastdp => fastdp_ready(others(underlay, node).count()),
        WeaveMode::Sleeve | WeaveMode::SleeveEncrypted => {
            ReadyCondition::OutputContains(others(underlay, node).map(established).collect())
        }
    };
    // The router leaves a file in its working directory.
    let mut program = Program::daemon(node.space, WEAVER, arguments, ready).in_runtime_directory();
    program = program.with_variable("CHECKPOINT_DISABLE", "1");
    if let Some(key) = key {
        // Every user can read the arguments of a process.
        program = program.with_variable("WEAVE_PASSWORD", key);
    }
    wiring.programs.push(program);
    for port in ports {
        let plug = ["link", "set", port, "master", BRIDGE];
        wiring.programs.push(Program::step(node.space, "ip", plug).with_name(format!("ip-{port}")));
    }
}

/// Returns the condition that this many connections use the fast data path. Until its first packets are acknowledged,
/// frames go by sleeve mode, which is also reported as established.
fn fastdp_ready(connections: usize) -> ReadyCondition {
    let asked = format!("curl -sf http://{STATUS}/status/connections");
    let test = format!("test \"$({asked} | grep -c 'established *fastdp')\" -eq {connections}");
    ReadyCondition::CommandSucceeds(["sh", "-c", &test].map(str::to_owned).to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_network::{PermissiveProbe, UnmetRequirement};

    /// Probe of a kernel without dummy devices, on which all programs are installed.
    struct NoDummy;

    impl RequirementProbe for NoDummy {
        fn check(&self, need: &Requirement) -> Result<(), UnmetRequirement> {
            match need {
                Requirement::Kernel { module: "dummy" } => {
                    Err(UnmetRequirement { reason: "no dummy".to_owned(), remedy: String::new() })
                }
                _ => Ok(()),
            }
        }
    }

    #[test]
    fn a_real_router_is_taken_where_all_that_it_needs_is_there() {
        for mode in [WeaveMode::Sleeve, WeaveMode::SleeveEncrypted] {
            assert_eq!(mode.router(&PermissiveProbe), WeaveRouter::Weaver);
            assert_eq!(mode.router(&NoDummy), WeaveRouter::StandIn);
            assert_eq!(mode.requirements(&NoDummy), []);
        }
        // tare has no stand-in for this mode, so the missing requirement is reported.
        assert_eq!(WeaveMode::Fastdp.router(&NoDummy), WeaveRouter::Weaver);
        assert!(
            WeaveMode::Fastdp
                .requirements(&NoDummy)
                .contains(&Requirement::Kernel { module: "dummy" })
        );
    }
}
