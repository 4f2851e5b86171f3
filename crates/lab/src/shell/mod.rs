//! Commands by which a reader can build a wiring: ip(8), sysctl(8), tc(8), bridge(8) and nft(8), in order.

mod devices;
mod programs;
#[cfg(test)]
mod tests;
mod tunnels;

use crate::offload;
use crate::plan::layout::Layout;
use crate::plan::wiring::{
    DeviceSysctl, IpRoute, PlannedNamespace, RouteDestination, RouteKind, SysctlPresence, Wiring,
};
use devices::DeviceCommands;
pub(crate) use programs::quote;
use tare_network::{Family, Offload, Offloads};

/// Returns the lines of a shell script that builds the wiring, with namespaces by name.
pub(crate) fn script(wiring: &Wiring) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(wiring.spaces.iter().flat_map(namespace));
    lines.extend(DeviceCommands::new(wiring).lines());
    lines.extend(wiring.settings.iter().map(|one| {
        let DeviceSysctl { space, key, value, presence } = one;
        setting(wiring.name(*space), key, value, *presence)
    }));
    lines.extend(wiring.addresses.iter().map(|one| {
        let (space, address) = (wiring.name(one.space), one.address);
        let nodad = if address.is_ipv6() { " nodad" } else { "" };
        format!("ip -n {space} address add {address}/{} dev {}{nodad}", one.prefix, one.device)
    }));
    lines.extend(wiring.routes.iter().map(|one| route(wiring, one)));
    lines.extend(wiring.neighbours.iter().map(|one| {
        let space = wiring.name(one.space);
        format!(
            "ip -n {space} neighbour replace {} lladdr {} nud permanent dev {}",
            one.address, one.mac, one.device
        )
    }));
    lines.extend(wiring.vxlan_fdb_entries.iter().map(|one| tunnels::forwarding(wiring, one)));
    lines.extend(wiring.fdb_entries.iter().map(|one| {
        let space = wiring.name(one.space);
        format!("bridge -n {space} fdb replace {} dev {} master static", one.mac, one.port)
    }));
    for rules in &wiring.rules {
        lines.push(format!("ip netns exec {} nft -f - <<'END'", wiring.name(rules.space)));
        lines.extend(rules.text.lines().map(str::to_owned));
        lines.push("END".to_owned());
    }
    lines.extend(wiring.without_tx_offload.iter().map(|(space, device)| {
        format!("ip netns exec {} ethtool -K {device} tx off", wiring.name(*space))
    }));
    lines.extend(programs::lines(wiring));
    lines
}

/// Returns the commands that switch offloads off, by ethtool(8).
pub(crate) fn offload_commands(layout: &Layout, offloads: Offloads) -> Vec<String> {
    let mut lines = Vec::new();
    for (space, device) in offload::devices(layout) {
        let place = layout.wiring.name(space);
        for offload in offloads.iter() {
            lines.push(if device == "lo" && offload == Offload::Checksum {
                format!("# {place}:lo keeps its checksum offload: the kernel cannot switch it off")
            } else {
                let off: String =
                    offload.features().iter().map(|feature| format!(" {feature} off")).collect();
                format!("ip netns exec {place} ethtool -K {device}{off}")
            });
        }
    }
    lines
}

fn namespace(space: &PlannedNamespace) -> Vec<String> {
    let name = &space.name;
    let mut lines = vec![format!("ip netns add {name}"), format!("ip -n {name} link set lo up")];
    let settings = space.sysctls.iter();
    lines.extend(settings.map(|one| setting(name, one.key, &one.value, one.presence)));
    lines
}

fn setting(place: &str, key: &str, value: &str, presence: SysctlPresence) -> String {
    let set = format!("ip netns exec {place} sysctl -qw {key}={value}");
    match presence {
        SysctlPresence::Required => set,
        SysctlPresence::IfThere => {
            let file = format!("/proc/sys/{}", key.replace('.', "/"));
            format!("ip netns exec {place} test ! -e {file} || {set}")
        }
    }
}

fn route(wiring: &Wiring, route: &IpRoute) -> String {
    let family = match (route.to, route.via) {
        (RouteDestination::Net(address, _), _) | (RouteDestination::Default, Some(address)) => {
            if address.is_ipv6() {
                Family::Ipv6
            } else {
                Family::Ipv4
            }
        }
        (RouteDestination::Default, None) => wiring.family,
    };
    let mut words = vec!["ip".to_owned()];
    words.extend((family == Family::Ipv6).then(|| "-6".to_owned()));
    words.push(format!("-n {} route add", wiring.name(route.space)));
    words.extend((route.kind == RouteKind::Blackhole).then(|| "blackhole".to_owned()));
    words.push(route.to.to_string());
    words.extend(route.via.map(|via| format!("via {via}")));
    words.extend(route.device.as_ref().map(|device| format!("dev {device}")));
    words.extend(route.table.map(|table| format!("table {table}")));
    words.extend(route.onlink.then(|| "onlink".to_owned()));
    words.join(" ")
}
