//! Tests of the commands for devices and routes. That the commands work is tested by running them
//! (tests/lab/scripts.rs).

use super::{script, script_or_comment};
use crate::plan::address::LabSubnet;
use crate::plan::wiring::{
    ChildDevice, DevicePair, DevicePairEnd, DeviceSysctl, IpRoute, KernelObjects, NamespaceId,
    ParentDevice, VrfDevice, Wiring,
};
use netlink_packet_route::link::{InfoData, InfoKind};
use std::net::Ipv6Addr;
use tare_network::Family;
use tare_sandbox::addressing::{RouteDestination, RouteKind};
use tare_sandbox::devices::{ChildDeviceKind, Macvlan, Netkit, ParentRole, Vlan};

/// Returns a wiring with a node and a client, and their namespaces.
fn two() -> (Wiring, NamespaceId, NamespaceId) {
    let mut wiring = Wiring::new(Family::Ipv4, 1500);
    let [node, client] = ["node-0", "client-0"].map(|name| wiring.add_namespace(name, &[]));
    (wiring, node, client)
}

/// Returns the lines after those that make the two namespaces.
fn lines(wiring: &Wiring) -> Vec<String> {
    script(wiring).unwrap().split_off(8)
}

#[test]
fn a_link_in_another_namespace_than_its_parents() {
    let (mut wiring, node, client) = two();
    wiring.add_bridge(node, "br0", None);
    let parent = ParentDevice::new(node, "br0");
    let mac = LabSubnet::UNDERLAY.slot(7).mac();
    wiring.child_devices = vec![
        ChildDevice::new(client, "eth0", parent.clone(), Macvlan).with_mac(mac),
        ChildDevice::new(node, "vlan7", parent, Vlan { id: 7 }),
    ];
    let expected = [
        "ip -n node-0 link add br0 mtu 1500 up type bridge",
        "ip -n node-0 link add link br0 name eth0 address 02:42:0a:14:00:07 mtu 1500 index 101 \
         netns client-0 up type macvlan mode bridge",
        "ip -n node-0 link add link br0 name vlan7 mtu 1500 up type vlan id 7",
    ];
    assert_eq!(lines(&wiring), expected);
}

#[test]
fn a_cable_plugged_in_at_both_ends() {
    let (mut wiring, node, client) = two();
    wiring.vrfs.push(VrfDevice { space: node, name: "blue".to_owned(), table: 10 });
    wiring.add_bridge(client, "br0", None);
    let near = DevicePairEnd::new(node, "nk0").attached_to("blue");
    let far = DevicePairEnd::new(client, "eth0").attached_to("br0");
    let mut cable = DevicePair { kind: &Netkit, ..DevicePair::new(near, far) };
    cable.mtu = Some(1450);
    wiring.device_pairs.push(cable);
    let expected = [
        "ip -n client-0 link add br0 mtu 1500 up type bridge",
        "ip -n node-0 link add blue up type vrf table 10",
        "ip -n node-0 link add nk0 mtu 1450 master blue up type netkit peer name eth0 mtu 1450 \
         netns client-0",
        "ip -n client-0 link set eth0 master br0 up",
    ];
    assert_eq!(lines(&wiring), expected);
}

#[test]
fn routes_and_settings_of_devices() {
    let (mut wiring, node, client) = two();
    wiring.add_bridge(client, "eth0", None);
    wiring.settings.push(DeviceSysctl::required(node, "net.ipv4.conf.eth0.proxy_arp", "1"));
    let to = LabSubnet::UNDERLAY.slot(0).address(Family::Ipv4);
    let gateway = LabSubnet::UNDERLAY.slot(1).address(Family::Ipv4);
    let other = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1).into();
    let link = RouteDestination::Net(gateway, 32);
    wiring.routes = vec![
        IpRoute::by_device(client, link, "eth0"),
        IpRoute {
            device: Some("eth0".to_owned()),
            onlink: true,
            ..IpRoute::default_via(client, gateway)
        },
        IpRoute { kind: RouteKind::Blackhole, ..IpRoute::to(node, RouteDestination::Net(to, 26)) },
        IpRoute { table: Some(10), ..IpRoute::default_via(node, other) },
    ];
    let expected = [
        "ip -n client-0 link add eth0 mtu 1500 up type bridge",
        "ip netns exec node-0 sysctl -qw net.ipv4.conf.eth0.proxy_arp=1",
        "ip -n client-0 route add 10.20.0.1/32 dev eth0",
        "ip -n client-0 route add default via 10.20.0.1 dev eth0 onlink",
        "ip -n node-0 route add blackhole 10.20.0.0/26",
        "ip -6 -n node-0 route add default via fd00::1 table 10",
    ];
    assert_eq!(lines(&wiring), expected);
}

#[test]
fn a_bridge_that_is_wider_than_its_ports_stays_so() {
    let (mut wiring, node, client) = two();
    wiring.add_bridge(node, "br0", None);
    wiring.add_bridge(node, "br1", None);
    wiring.bridges[0].mtu = Some(1600);
    let plug = |bridge: &str, end: &str| {
        let near = DevicePairEnd::new(node, bridge.replace("br", "veth")).attached_to(bridge);
        DevicePair::new(near, DevicePairEnd::new(client, end))
    };
    wiring.device_pairs.extend([plug("br0", "eth0"), plug("br1", "eth1")]);
    let widened: Vec<String> =
        lines(&wiring).into_iter().filter(|line| line.contains("link set br")).collect();
    assert_eq!(widened, ["ip -n node-0 link set br0 mtu 1600"]);
    wiring.device_pairs[0].mtu = Some(1600);
    assert_eq!(wiring.wide_bridges().count(), 0);
}

/// Kind of device that this crate does not know.
#[derive(Debug)]
struct MockKind;

impl ChildDeviceKind for MockKind {
    fn link_info(&self, parent: u32) -> (InfoKind, InfoData) {
        (InfoKind::Other("mock".to_owned()), InfoData::Other(parent.to_ne_bytes().to_vec()))
    }

    fn words(&self, parent: &str) -> String {
        format!("mock beside {parent}")
    }

    fn parent_role(&self) -> ParentRole {
        ParentRole::Underlay
    }
}

#[test]
fn a_kind_of_device_from_outside_is_made_and_shown_like_the_others() {
    let (mut wiring, node, client) = two();
    wiring.add_bridge(node, "br0", None);
    wiring.add_bridge(client, "br1", None);
    let device = ChildDevice::new(client, "mock0", ParentDevice::new(node, "br0"), MockKind);
    wiring.child_devices.push(ChildDevice { controller: Some("br1".to_owned()), ..device });
    let expected = [
        "ip -n node-0 link add name mock0 mtu 1500 index 102 netns client-0 up type mock beside br0",
        "ip -n client-0 link set mock0 master br1",
    ];
    assert_eq!(lines(&wiring)[2..], expected);
    let objects = KernelObjects::new(&wiring);
    let request = objects.child_devices().unwrap()[0].device.request("client-0", None);
    let request = format!("{request:?}");
    assert!(request.contains("create the mock device client-0:mock0"), "{request}");
    assert!(request.contains(&format!("{:?}", 100_u32.to_ne_bytes())), "{request}");
}

#[test]
fn a_device_that_is_missing_is_an_error() {
    let (mut wiring, node, _) = two();
    wiring.child_devices.push(ChildDevice::new(
        node,
        "macvlan0",
        ParentDevice::new(node, "eth7"),
        Macvlan,
    ));
    assert!(script(&wiring).unwrap_err().to_string().contains("find the device eth7"));
    assert!(script_or_comment(&wiring)[0].starts_with("# "));
}
