//! Open vSwitch on a node: its two daemons, private to the node, and the steps that make its bridges.
//!
//! All of its files are below the node's own directory
//! ([`runtime_directory`](tare_sandbox::programs::runtime_directory)): the database, the sockets, the logs. An Open
//! vSwitch of the machine itself is neither queried nor changed. Sources: ovsdb-server(1), ovs-vswitchd(8),
//! ovs-vsctl(8), ovs-vswitchd.conf.db(5).

use crate::plan::layout::Waypoint;
use crate::plan::wiring::{NamespaceId, Wiring};
use crate::programs::{PacketCounter, Program, ReadyCondition};
use tare_network::{Hop, HopKind, Requirement};
use tare_sandbox::netlink::MacAddress;
use tare_sandbox::programs::runtime_directory;

/// Name of the bridge for the containers.
pub(crate) const SWITCH: &str = "ovs0";

/// Name of the bridge for a node's uplink, if the daemon itself sends the tunnels' packets.
pub(crate) const UPLINKS: &str = "phy0";

/// Longest time that ovs-vsctl may wait for the daemon, seconds: more than it takes, also under emulation.
const PATIENCE: u32 = 60;

/// Datapath that forwards the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OvsDatapath {
    /// The kernel's module openvswitch.
    Kernel,
    /// The daemon itself, through sockets on the ports.
    Userspace,
}

impl OvsDatapath {
    /// Returns the datapath type in the database.
    fn kind(self) -> &'static str {
        match self {
            Self::Kernel => "system",
            Self::Userspace => "netdev",
        }
    }

    /// Returns the requirements of the datapath, without those of the ports.
    pub(crate) fn requirements(self) -> Vec<Requirement> {
        let kernel = match self {
            Self::Kernel => Requirement::Kernel { module: "openvswitch" },
            // The bridge itself is a TUN device.
            Self::Userspace => Requirement::DeviceFile { path: "/dev/net/tun", module: "tun" },
        };
        let program = |name| Requirement::Program { name, package: "openvswitch-switch" };
        let programs = ["ovs-vswitchd", "ovsdb-server", "ovsdb-tool", "ovs-vsctl", "ovs-ofctl"];
        std::iter::once(kernel).chain(programs.map(program)).collect()
    }
}

/// Port of a bridge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OvsPort {
    /// Name of the device.
    pub(crate) name: String,
    /// Columns of the interface, as ovs-vsctl(8) sets them: `type=vxlan`, `options:remote_ip=10.20.0.2`.
    pub(crate) columns: Vec<String>,
    /// Ports to which this port forwards frames.
    pub(crate) protection: PortProtection,
}

/// Ports of a bridge to which another port forwards frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PortProtection {
    /// All ports.
    #[default]
    Unprotected,
    /// Only ports that are not tunnels: frames from one tunnel go to no other tunnel, or they would loop for ever.
    Protected,
}

impl OvsPort {
    /// Returns a port for a device that exists.
    pub(crate) fn device(name: impl Into<String>) -> Self {
        Self { name: name.into(), columns: Vec::new(), protection: PortProtection::Unprotected }
    }

    /// Returns a port whose device the daemon makes, with this MTU.
    pub(crate) fn internal(name: impl Into<String>, mtu: u32) -> Self {
        let columns = vec!["type=internal".to_owned(), format!("mtu_request={mtu}")];
        Self { columns, ..Self::device(name) }
    }

    /// Returns a port for a tunnel. The columns define its kind and its remote address.
    pub(crate) fn tunnel(name: impl Into<String>, columns: Vec<String>) -> Self {
        Self { name: name.into(), columns, protection: PortProtection::Protected }
    }
}

/// Bridge to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OvsBridgeSpec {
    /// Name of the bridge.
    pub(crate) name: &'static str,
    /// Link-layer address of its own port, if other hosts must know it.
    pub(crate) mac: Option<MacAddress>,
    /// Ports of the bridge.
    pub(crate) ports: Vec<OvsPort>,
}

impl OvsBridgeSpec {
    /// Returns the bridge for the containers.
    pub(crate) fn for_containers(ports: Vec<OvsPort>) -> Self {
        Self { name: SWITCH, mac: None, ports }
    }
}

/// Returns the control socket of the daemon in a namespace.
pub(crate) fn control_socket(wiring: &Wiring, space: NamespaceId) -> String {
    format!("{}/ovs-vswitchd.ctl", runtime_directory(wiring.name(space)))
}

/// Adds Open vSwitch with these bridges to a node.
pub(crate) fn add(
    wiring: &mut Wiring,
    space: NamespaceId,
    datapath: OvsDatapath,
    bridges: &[OvsBridgeSpec],
) {
    let own = runtime_directory(wiring.name(space));
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
    let control = control_socket(wiring, space);
    let switch = [database.clone(), format!("--unixctl={control}")];
    wiring.programs.extend([
        Program::step(space, "ovsdb-tool", ["create".to_owned(), format!("{own}/conf.db")]),
        Program::daemon(
            space,
            "ovsdb-server",
            server,
            ReadyCondition::ListensOn(format!("{own}/db.sock")),
        ),
        vsctl(vec!["--no-wait".to_owned(), "init".to_owned()]).with_name("ovs-vsctl-init"),
        // In this directory the daemon puts the management sockets of the bridges.
        Program::daemon(space, "ovs-vswitchd", switch, ReadyCondition::ListensOn(control))
            .with_variable("OVS_RUNDIR", own.as_str()),
        vsctl(transaction(datapath, bridges)).with_name("ovs-vsctl-bridge"),
    ]);
}

/// Adds the counter that proves that packets pass the bridge of a node.
pub(crate) fn add_bridge_counter(wiring: &mut Wiring, space: NamespaceId) {
    let words = ["dump-flows".to_owned(), management_socket(wiring, space)];
    wiring.counters.push(PacketCounter {
        description: format!("packets through {}:{SWITCH}", wiring.name(space)),
        program: Program::step(space, "ovs-ofctl", words),
        prefix: "n_packets=",
    });
}

/// Adds the counter that proves that packets arrive by a port of a node's bridge.
pub(crate) fn add_port_counter(wiring: &mut Wiring, space: NamespaceId, port: &str) {
    let words = ["dump-ports".to_owned(), management_socket(wiring, space), port.to_owned()];
    wiring.counters.push(PacketCounter {
        description: format!("packets by {port} into {}:{SWITCH}", wiring.name(space)),
        program: Program::step(space, "ovs-ofctl", words),
        prefix: "rx pkts=",
    });
}

/// Returns the management socket of a node's bridge.
fn management_socket(wiring: &Wiring, space: NamespaceId) -> String {
    format!("unix:{}/{SWITCH}.mgmt", runtime_directory(wiring.name(space)))
}

/// Returns the arguments of ovs-vsctl that make the bridges in one transaction.
fn transaction(datapath: OvsDatapath, bridges: &[OvsBridgeSpec]) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut command = |line: String| {
        if !words.is_empty() {
            words.push("--".to_owned());
        }
        words.extend(line.split(' ').map(str::to_owned));
    };
    for OvsBridgeSpec { name, mac, ports } in bridges {
        command(format!("add-br {name}"));
        command(format!("set bridge {name} datapath_type={}", datapath.kind()));
        if let Some(mac) = mac {
            command(format!("set bridge {name} other-config:hwaddr={mac}"));
        }
        for OvsPort { name: port, columns, protection: reach } in ports {
            command(format!("add-port {name} {port}"));
            if *reach == PortProtection::Protected {
                command(format!("set port {port} protected=true"));
            }
            if !columns.is_empty() {
                command(format!("set interface {port} {}", columns.join(" ")));
            }
        }
    }
    words
}

/// Returns the waypoint of the bridge on a packet's path.
pub(crate) fn waypoint(place: &str, datapath: OvsDatapath) -> Waypoint {
    let (kind, detail) = match datapath {
        OvsDatapath::Kernel => {
            (HopKind::Bridge, "the kernel's datapath, flows set by ovs-vswitchd")
        }
        OvsDatapath::Userspace => (HopKind::Forwarder, "the process ovs-vswitchd, datapath netdev"),
    };
    Waypoint::Other(Hop::new(kind, SWITCH, place).with_detail(detail))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::address::LabSubnet;

    #[test]
    fn bridges_are_one_transaction() {
        let tunnel =
            OvsPort::tunnel("vx0", vec!["type=vxlan".to_owned(), "options:key=42".to_owned()]);
        let containers = OvsBridgeSpec::for_containers(vec![OvsPort::device("veth-c0"), tunnel]);
        let mac = Some(LabSubnet::UNDERLAY.slot(1).mac());
        let uplinks = OvsBridgeSpec { name: UPLINKS, mac, ports: vec![OvsPort::device("eth0")] };
        let words = transaction(OvsDatapath::Userspace, &[containers, uplinks]);
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
