//! Open vSwitch on a node: its two daemons, private to the node, and the steps that make a bridge of them.
//!
//! Everything of it is below the node's own directory ([`programs::directory`]): the database, the sockets, the logs.
//! The machine's own Open vSwitch, where one runs, is neither asked nor changed. Sources: ovsdb-server(1),
//! ovs-vswitchd(8), ovs-vsctl(8), ovs-vswitchd.conf.db(5).

use crate::layout::Waypoint;
use crate::programs::{Counter, Program, Ready, directory};
use crate::wiring::{SpaceId, Wiring};
use tare_network::{Hop, HopKind, Need};

/// The name of the bridge on a node.
pub(crate) const SWITCH: &str = "ovs0";

/// How long ovs-vsctl may wait for the daemon, seconds: longer than it takes, also under emulation.
const PATIENCE: u32 = 60;

/// What forwards the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Datapath {
    /// The kernel's module openvswitch.
    Kernel,
    /// The daemon itself, through sockets on the ports.
    Userspace,
}

impl Datapath {
    /// As the database spells it.
    fn kind(self) -> &'static str {
        match self {
            Self::Kernel => "system",
            Self::Userspace => "netdev",
        }
    }

    /// What it needs, beside what its ports need.
    pub(crate) fn needs(self) -> Vec<Need> {
        let kernel = match self {
            Self::Kernel => Need::Kernel { module: "openvswitch" },
            // The bridge itself is a device of that kind.
            Self::Userspace => Need::DeviceFile { path: "/dev/net/tun", module: "tun" },
        };
        let program = |name| Need::Program { name, package: "openvswitch-switch" };
        let programs = ["ovs-vswitchd", "ovsdb-server", "ovsdb-tool", "ovs-vsctl", "ovs-ofctl"];
        std::iter::once(kernel).chain(programs.map(program)).collect()
    }
}

/// A port of the bridge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Port {
    /// The device's name.
    pub(crate) name: String,
    /// Columns of its interface, as ovs-vsctl(8) sets them: `type=vxlan`, `options:remote_ip=10.20.0.2`.
    pub(crate) columns: Vec<String>,
}

impl Port {
    /// A device that is there.
    pub(crate) fn device(name: impl Into<String>) -> Self {
        Self { name: name.into(), columns: Vec::new() }
    }
}

/// Adds Open vSwitch to a node, with one bridge of these ports, and the counter that shows that packets pass it.
pub(crate) fn add(wiring: &mut Wiring, space: SpaceId, datapath: Datapath, ports: &[Port]) {
    let own = directory(wiring.name(space));
    let database = format!("unix:{own}/db.sock");
    let vsctl = |rest: Vec<String>| {
        let common = [format!("--db={database}"), format!("--timeout={PATIENCE}")];
        Program::step(space, "ovs-vsctl", common.into_iter().chain(rest))
    };
    let server = [
        format!("{own}/conf.db"),
        format!("--remote=punix:{own}/db.sock"),
        format!("--unixctl={own}/ovsdb-server.ctl"),
    ];
    let switch = [database.clone(), format!("--unixctl={own}/ovs-vswitchd.ctl")];
    let listens = |socket: &str| Ready::Listens(format!("{own}/{socket}"));
    wiring.programs.extend([
        Program::step(space, "ovsdb-tool", ["create".to_owned(), format!("{own}/conf.db")]),
        Program::daemon(space, "ovsdb-server", server, listens("db.sock")),
        vsctl(vec!["--no-wait".to_owned(), "init".to_owned()]).named("ovs-vsctl-init"),
        // Where it puts the sockets by which bridges are managed.
        Program::daemon(space, "ovs-vswitchd", switch, listens("ovs-vswitchd.ctl"))
            .with_variable("OVS_RUNDIR", own.as_str()),
        vsctl(bridge(datapath, ports)).named("ovs-vsctl-bridge"),
    ]);
    let flows = ["dump-flows".to_owned(), format!("unix:{own}/{SWITCH}.mgmt")];
    wiring.counters.push(Counter {
        what: format!("packets through {}:{SWITCH}", wiring.name(space)),
        asked: Program::step(space, "ovs-ofctl", flows),
        before: "n_packets=",
    });
}

/// What makes the bridge, in one transaction, for ovs-vsctl.
fn bridge(datapath: Datapath, ports: &[Port]) -> Vec<String> {
    let kind = format!("datapath_type={}", datapath.kind());
    let mut words = vec!["add-br", SWITCH, "--", "set", "bridge", SWITCH, &kind];
    for Port { name, columns } in ports {
        words.extend(["--", "add-port", SWITCH, name]);
        if !columns.is_empty() {
            words.extend(["--", "set", "interface", name]);
            words.extend(columns.iter().map(String::as_str));
        }
    }
    words.into_iter().map(str::to_owned).collect()
}

/// The bridge on the path of a packet.
pub(crate) fn waypoint(place: &str, datapath: Datapath) -> Waypoint {
    let (kind, detail) = match datapath {
        Datapath::Kernel => (HopKind::Bridge, "the kernel's datapath, flows set by ovs-vswitchd"),
        Datapath::Userspace => (HopKind::Forwarder, "the process ovs-vswitchd, datapath netdev"),
    };
    Waypoint::Other(Hop::new(kind, SWITCH, place).with_detail(detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bridge_is_one_transaction() {
        let tunnel = Port { columns: vec!["type=vxlan".to_owned()], ..Port::device("vx0") };
        let words = bridge(Datapath::Userspace, &[Port::device("veth-c0"), tunnel]);
        assert_eq!(
            words.join(" "),
            "add-br ovs0 -- set bridge ovs0 datapath_type=netdev -- add-port ovs0 veth-c0 \
             -- add-port ovs0 vx0 -- set interface vx0 type=vxlan"
        );
    }
}
