//! Machine of an engine, as a container in its own network namespace sees it.

use super::address::{self, DockerSubnet};
use super::layout::{NODE, is_in_family};
use crate::container_handle::ContainerHandle;
use crate::engine_resources::EngineResources;
use crate::exec::{self, ExecCommand};
use crate::image::PROGRAM;
use std::net::IpAddr;
use tare_netns_probe::NetnsSnapshot;
use tare_network::{Error, Family, FirewallBackend, Hop, HopKind, INTERNAL};

/// Snapshot of the machine's network, and the container that took it.
pub(crate) struct MachineSnapshot {
    pub(crate) container: ContainerHandle,
    pub(crate) snapshot: NetnsSnapshot,
}

impl MachineSnapshot {
    /// Takes a snapshot of the machine's network.
    pub(crate) fn take(work: &EngineResources) -> Result<Self, Error> {
        let container = work.run_container()?;
        let seen = Self::snapshot_container(work, &container)?;
        Ok(Self { container, snapshot: seen })
    }

    /// Takes a snapshot of a container's network.
    pub(crate) fn snapshot_container(
        work: &EngineResources,
        container: &ContainerHandle,
    ) -> Result<NetnsSnapshot, Error> {
        let what = || format!("read the network state of {}", container.name);
        let command = [PROGRAM, INTERNAL, "netns-probe"].map(str::to_owned).to_vec();
        let words = ExecCommand { command, ..ExecCommand::default() };
        let engine = work.engine();
        let words = container.exec_command(words);
        let exec = engine.request(what(), exec::start(engine.docker(), &container.id, words))?;
        engine.wait(exec::read_snapshot(exec)).map_err(|why| Error::new(what(), why))
    }
}

/// Returns the address to which clients on the machine connect.
pub(crate) fn address_for_clients(
    seen: &NetnsSnapshot,
    dockers: &[DockerSubnet],
    family: Family,
) -> Result<IpAddr, Error> {
    let addresses: Vec<IpAddr> =
        seen.addresses.iter().copied().filter(|address| is_in_family(address, family)).collect();
    address::machine_address(&addresses, dockers).ok_or_else(|| {
        let why = format!("the machine has no {family} address except loopback addresses");
        Error::new("find an address of the engine's machine", why)
    })
}

/// Returns the parent device for a network of containers: the uplink, or else the only device that is suitable.
///
/// # Errors
/// No device is suitable, or several are.
pub fn uplink_device(seen: &NetnsSnapshot) -> Result<String, Error> {
    if let Some(uplink) = &seen.uplink {
        return Ok(uplink.clone());
    }
    let candidates: Vec<&str> = seen
        .devices
        .iter()
        .filter(|device| !device.bridge && device.name != "lo" && !device.name.starts_with("veth"))
        .map(|device| device.name.as_str())
        .collect();
    match candidates.as_slice() {
        [one] => Ok((*one).to_owned()),
        _ => Err(Error::new(
            "find the uplink of the engine's machine",
            format!("the machine has no default route; its devices are {}", candidates.join(", ")),
        )
        .with_remedy("name the device with --parent")),
    }
}

/// Returns the hop of a bridge of the machine.
pub(crate) fn bridge_hop(seen: &NetnsSnapshot, name: &str) -> Hop {
    let mut bridge = Hop::new(HopKind::Bridge, name, NODE).with_detail("driver bridge");
    bridge.mtu = seen.device(name).and_then(|device| device.mtu);
    bridge
}

/// Returns the hops between two containers on a bridge of the machine, with netfilter if bridged packets of the family pass it.
pub(crate) fn bridged_hops(
    seen: &NetnsSnapshot,
    name: &str,
    firewall: FirewallBackend,
    family: Family,
) -> Vec<Hop> {
    let mut hops = vec![bridge_hop(seen, name)];
    if seen.bridged_past_netfilter.contains(&family) {
        let switch = match family {
            Family::Ipv4 => "bridge-nf-call-iptables=1",
            Family::Ipv6 => "bridge-nf-call-ip6tables=1",
        };
        hops.push(Hop::new(HopKind::Conntrack, "nf_conntrack", NODE).with_detail(switch));
        let filter = Hop::new(HopKind::Filter, firewall.forward_rules(), NODE);
        hops.push(match firewall.chain_into(name) {
            Some(chain) => filter.with_detail(format!("chain {chain}")),
            None => filter,
        });
    }
    hops
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_netns_probe::DeviceSnapshot;

    fn device(name: &str) -> DeviceSnapshot {
        DeviceSnapshot { name: name.to_owned(), ..DeviceSnapshot::default() }
    }

    #[test]
    fn bridged_packets_pass_the_chain_of_their_bridge() {
        let mut seen = NetnsSnapshot::default();
        let filter = |seen: &NetnsSnapshot, firewall| {
            let hop = bridged_hops(seen, "docker0", firewall, Family::Ipv4).into_iter().nth(2)?;
            Some((hop.name, hop.detail))
        };
        assert_eq!(filter(&seen, FirewallBackend::Nftables), None);
        seen.bridged_past_netfilter = vec![Family::Ipv6];
        assert_eq!(filter(&seen, FirewallBackend::Nftables), None, "the switch is of IPv6 alone");
        seen.bridged_past_netfilter.push(Family::Ipv4);
        let shared = ("filter/FORWARD".to_owned(), None);
        assert_eq!(filter(&seen, FirewallBackend::Iptables), Some(shared));
        let own = Some("chain filter-forward-in__docker0".to_owned());
        let expected = ("docker-bridges/filter-FORWARD".to_owned(), own);
        assert_eq!(filter(&seen, FirewallBackend::Nftables), Some(expected));
    }

    #[test]
    fn an_uplink_is_found_or_asked_for() {
        let mut seen = NetnsSnapshot {
            devices: ["lo", "eth0", "veth12"].map(device).to_vec(),
            ..NetnsSnapshot::default()
        };
        assert_eq!(uplink_device(&seen).unwrap(), "eth0");
        seen.devices.push(device("eth1"));
        assert!(uplink_device(&seen).unwrap_err().remedy.contains("--parent"));
        seen.uplink = Some("eth1".to_owned());
        assert_eq!(uplink_device(&seen).unwrap(), "eth1");
    }
}
