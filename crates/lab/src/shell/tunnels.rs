//! Commands for tunnels, their forwarding entries and impairments.

use crate::plan::wiring::{Encapsulation, Impairment, NeighbourProxy, VxlanFdbEntry, Wiring};

/// Returns the kind of a tunnel, as `ip link add … type` takes it. `parent` is the parent device, for kinds that need
/// one.
pub(super) fn kind(wrap: &Encapsulation, parent: &str) -> String {
    match wrap {
        Encapsulation::Vxlan { id, local, port, proxy } => {
            let proxy = if *proxy == NeighbourProxy::Answers { " proxy" } else { "" };
            format!("vxlan id {id} local {local} dev {parent} dstport {port} nolearning{proxy}")
        }
        Encapsulation::Geneve { id, remote } => format!("geneve id {id} remote {remote}"),
        Encapsulation::Ipip { local, remote } => {
            format!("ipip local {local} remote {remote} dev {parent} pmtudisc")
        }
        Encapsulation::Gre { local, remote } => {
            format!("gre local {local} remote {remote} dev {parent} pmtudisc")
        }
        Encapsulation::Wireguard => "wireguard".to_owned(),
    }
}

pub(super) fn impairment(wiring: &Wiring, one: &Impairment) -> String {
    let place = wiring.name(one.space);
    format!("tc -n {place} qdisc add dev {} root netem {}", one.device, one.netem)
}

pub(super) fn forwarding(wiring: &Wiring, one: &VxlanFdbEntry) -> String {
    let VxlanFdbEntry { space, device, mac, remote } = one;
    let place = wiring.name(*space);
    format!("bridge -n {place} fdb append {mac} dev {device} dst {remote} self permanent")
}
