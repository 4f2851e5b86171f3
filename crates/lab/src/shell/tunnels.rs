//! Tunnels, their forwarding entries and impairments, as commands.

use crate::wiring::{Forwarding, Impairment, Proxy, Wiring, Wrap};

/// A tunnel, as `ip link add … type` takes it, that hangs on this device where the kernel must be told.
pub(super) fn kind(wrap: &Wrap, parent: &str) -> String {
    match wrap {
        Wrap::Vxlan { id, local, port, proxy } => {
            let proxy = if *proxy == Proxy::Answers { " proxy" } else { "" };
            format!("vxlan id {id} local {local} dev {parent} dstport {port} nolearning{proxy}")
        }
        Wrap::Geneve { id, remote } => format!("geneve id {id} remote {remote}"),
        Wrap::Ipip { local, remote } => {
            format!("ipip local {local} remote {remote} dev {parent} pmtudisc")
        }
        Wrap::Gre { local, remote } => {
            format!("gre local {local} remote {remote} dev {parent} pmtudisc")
        }
        Wrap::Wireguard => "wireguard".to_owned(),
    }
}

pub(super) fn impairment(wiring: &Wiring, one: &Impairment) -> String {
    let place = wiring.name(one.space);
    format!("tc -n {place} qdisc add dev {} root netem {}", one.device, one.netem)
}

pub(super) fn forwarding(wiring: &Wiring, one: &Forwarding) -> String {
    let Forwarding { space, device, mac, remote } = one;
    let place = wiring.name(*space);
    format!("bridge -n {place} fdb append {mac} dev {device} dst {remote} self permanent")
}
