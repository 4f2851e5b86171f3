//! The engine's machine, seen from a container in its own network namespace.

use super::address::{self, Subnet};
use super::laid::{NODE, is_of};
use crate::exec::{self, Words};
use crate::image::PROGRAM;
use crate::look::{self, Seen};
use crate::work::{Running, Work};
use std::net::IpAddr;
use tare_network::{Error, Family, Hop, HopKind};

/// What was seen of the machine, and the container that saw it.
pub(crate) struct Node {
    pub(crate) container: Running,
    pub(crate) seen: Seen,
}

impl Node {
    /// Looks at it.
    pub(crate) fn see(work: &Work) -> Result<Self, Error> {
        let container = work.node()?;
        let seen = Self::look(work, &container)?;
        Ok(Self { container, seen })
    }

    /// What a container sees of its network.
    pub(crate) fn look(work: &Work, container: &Running) -> Result<Seen, Error> {
        let what = || format!("look at the network of {}", container.name);
        let command = [PROGRAM, "look"].map(str::to_owned).to_vec();
        let words = Words { command, ..Words::default() };
        let engine = work.engine();
        let words = container.words(words);
        let exec = engine.get(what(), exec::start(engine.docker(), &container.id, words))?;
        engine.wait(look::read(exec)).map_err(|why| Error::new(what(), why))
    }
}

/// The address that clients on the machine dial.
pub(crate) fn own_address(
    seen: &Seen,
    dockers: &[Subnet],
    family: Family,
) -> Result<IpAddr, Error> {
    let addresses: Vec<IpAddr> =
        seen.addresses.iter().copied().filter(|address| is_of(address, family)).collect();
    address::of_machine(&addresses, dockers).ok_or_else(|| {
        let why = format!("it has none of {family} but loopback's");
        Error::new("find an address of the engine's machine", why)
    })
}

/// The device that a network of the machine's own can sit on: the uplink, or else the only one that can be one.
pub(crate) fn parent(seen: &Seen) -> Result<String, Error> {
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
            format!("it has no default route; its devices are {}", candidates.join(", ")),
        )
        .with_remedy("name the device by --parent")),
    }
}

/// What a packet passes on a bridge of the machine's, with netfilter where bridged packets pass it.
pub(crate) fn bridge_hops(seen: &Seen, name: &str, driver: &str) -> Vec<Hop> {
    let mut bridge = Hop::new(HopKind::Bridge, name, NODE).with_detail(format!("driver {driver}"));
    bridge.mtu = seen.device(name).map(|device| device.mtu);
    let mut hops = vec![bridge];
    if seen.bridged_past_netfilter {
        hops.push(
            Hop::new(HopKind::Conntrack, "nf_conntrack", NODE)
                .with_detail("bridge-nf-call-iptables=1"),
        );
        hops.push(Hop::new(HopKind::Filter, "filter/FORWARD", NODE));
    }
    hops
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::DeviceSeen;

    fn device(name: &str) -> DeviceSeen {
        DeviceSeen { name: name.to_owned(), ..DeviceSeen::default() }
    }

    #[test]
    fn an_uplink_is_found_or_asked_for() {
        let mut seen =
            Seen { devices: ["lo", "eth0", "veth12"].map(device).to_vec(), ..Seen::default() };
        assert_eq!(parent(&seen).unwrap(), "eth0");
        seen.devices.push(device("eth1"));
        assert!(parent(&seen).unwrap_err().remedy.contains("--parent"));
        seen.uplink = Some("eth1".to_owned());
        assert_eq!(parent(&seen).unwrap(), "eth1");
    }
}
