//! Open vSwitch on a node: its two daemons, private to the node, and the steps that make a bridge of them.
//!
//! Everything of it is below the node's own directory ([`programs::directory`]): the database, the sockets, the logs.
//! The machine's own Open vSwitch, where one runs, is neither asked nor changed. Sources: ovsdb-server(1),
//! ovs-vswitchd(8), ovs-vsctl(8), ovs-vswitchd.conf.db(5).

use crate::address::Mac;
use crate::layout::Waypoint;
use crate::programs::{Counter, Program, Ready, directory};
use crate::wiring::{SpaceId, Wiring};
use tare_network::{Hop, HopKind, Need};

/// The name of the bridge that containers are on.
pub(crate) const SWITCH: &str = "ovs0";

/// The name of the bridge that a node's uplink is on, where the daemon itself sends what its tunnels carry.
pub(crate) const UPLINKS: &str = "phy0";

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

/// A port of a bridge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Port {
    /// The device's name.
    pub(crate) name: String,
    /// Columns of its interface, as ovs-vsctl(8) sets them: `type=vxlan`, `options:remote_ip=10.20.0.2`.
    pub(crate) columns: Vec<String>,
    /// To which ports it passes frames on.
    pub(crate) reach: Reach,
}

/// To which ports of its bridge a port passes frames on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Reach {
    /// To all.
    #[default]
    All,
    /// To none of those that are like it: what one tunnel brings goes to no other, or it would go round for ever.
    Unlike,
}

impl Port {
    /// A device that is there.
    pub(crate) fn device(name: impl Into<String>) -> Self {
        Self { name: name.into(), columns: Vec::new(), reach: Reach::All }
    }

    /// A tunnel; its columns say of what kind and to whom.
    pub(crate) fn tunnel(name: impl Into<String>, columns: Vec<String>) -> Self {
        Self { name: name.into(), columns, reach: Reach::Unlike }
    }
}

/// A bridge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bridge {
    /// Its name.
    pub(crate) name: &'static str,
    /// The link-layer address of its own port, where anybody must know it.
    pub(crate) mac: Option<Mac>,
    /// Its ports.
    pub(crate) ports: Vec<Port>,
}

impl Bridge {
    /// The one that containers are on.
    pub(crate) fn of_containers(ports: Vec<Port>) -> Self {
        Self { name: SWITCH, mac: None, ports }
    }
}

/// Where the daemon of a namespace is asked what it knows.
pub(crate) fn control(wiring: &Wiring, space: SpaceId) -> String {
    format!("{}/ovs-vswitchd.ctl", directory(wiring.name(space)))
}

/// Adds Open vSwitch to a node, with these bridges.
pub(crate) fn add(wiring: &mut Wiring, space: SpaceId, datapath: Datapath, bridges: &[Bridge]) {
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
    let control = control(wiring, space);
    let switch = [database.clone(), format!("--unixctl={control}")];
    wiring.programs.extend([
        Program::step(space, "ovsdb-tool", ["create".to_owned(), format!("{own}/conf.db")]),
        Program::daemon(space, "ovsdb-server", server, Ready::Listens(format!("{own}/db.sock"))),
        vsctl(vec!["--no-wait".to_owned(), "init".to_owned()]).named("ovs-vsctl-init"),
        // Where it puts the sockets by which bridges are managed.
        Program::daemon(space, "ovs-vswitchd", switch, Ready::Listens(control))
            .with_variable("OVS_RUNDIR", own.as_str()),
        vsctl(transaction(datapath, bridges)).named("ovs-vsctl-bridge"),
    ]);
}

/// Adds the counter that shows that packets pass a node's bridge.
pub(crate) fn count(wiring: &mut Wiring, space: SpaceId) {
    let words = ["dump-flows".to_owned(), management(wiring, space)];
    wiring.counters.push(Counter {
        what: format!("packets through {}:{SWITCH}", wiring.name(space)),
        asked: Program::step(space, "ovs-ofctl", words),
        before: "n_packets=",
    });
}

/// Adds the counter that shows that packets come by a port of a node's bridge.
pub(crate) fn count_port(wiring: &mut Wiring, space: SpaceId, port: &str) {
    let words = ["dump-ports".to_owned(), management(wiring, space), port.to_owned()];
    wiring.counters.push(Counter {
        what: format!("packets by {port} into {}:{SWITCH}", wiring.name(space)),
        asked: Program::step(space, "ovs-ofctl", words),
        before: "rx pkts=",
    });
}

/// Where a node's bridge is managed.
fn management(wiring: &Wiring, space: SpaceId) -> String {
    format!("unix:{}/{SWITCH}.mgmt", directory(wiring.name(space)))
}

/// What makes the bridges, in one transaction, for ovs-vsctl.
fn transaction(datapath: Datapath, bridges: &[Bridge]) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut command = |line: String| {
        if !words.is_empty() {
            words.push("--".to_owned());
        }
        words.extend(line.split(' ').map(str::to_owned));
    };
    for Bridge { name, mac, ports } in bridges {
        command(format!("add-br {name}"));
        command(format!("set bridge {name} datapath_type={}", datapath.kind()));
        if let Some(mac) = mac {
            command(format!("set bridge {name} other-config:hwaddr={mac}"));
        }
        for Port { name: port, columns, reach } in ports {
            command(format!("add-port {name} {port}"));
            if *reach == Reach::Unlike {
                command(format!("set port {port} protected=true"));
            }
            if !columns.is_empty() {
                command(format!("set interface {port} {}", columns.join(" ")));
            }
        }
    }
    words
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
    use crate::address::Subnet;

    #[test]
    fn bridges_are_one_transaction() {
        let tunnel =
            Port::tunnel("vx0", vec!["type=vxlan".to_owned(), "options:key=42".to_owned()]);
        let containers = Bridge::of_containers(vec![Port::device("veth-c0"), tunnel]);
        let mac = Some(Subnet::UNDERLAY.slot(1).mac());
        let uplinks = Bridge { name: UPLINKS, mac, ports: vec![Port::device("eth0")] };
        let words = transaction(Datapath::Userspace, &[containers, uplinks]);
        assert_eq!(
            words.join(" "),
            "add-br ovs0 -- set bridge ovs0 datapath_type=netdev -- add-port ovs0 veth-c0 \
             -- add-port ovs0 vx0 -- set port vx0 protected=true \
             -- set interface vx0 type=vxlan options:key=42 \
             -- add-br phy0 -- set bridge phy0 datapath_type=netdev \
             -- set bridge phy0 other-config:hwaddr=02:42:0a:14:00:01 -- add-port phy0 eth0"
        );
    }
}
