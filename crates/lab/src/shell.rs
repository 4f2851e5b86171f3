//! A wiring as the commands by which a reader could build it: ip(8), sysctl(8), tc(8) and nft(8), in order.

use crate::bucket::TokenBucket;
use crate::wiring::{Bridge, Cable, End, Presence, Space, Wiring};
use std::net::IpAddr;

/// The lines of a shell script that builds the same, with namespaces by name.
pub(crate) fn script(wiring: &Wiring) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(wiring.spaces.iter().flat_map(namespace));
    lines.extend(wiring.bridges.iter().map(|one| bridge(wiring, one)));
    lines.extend(wiring.cables.iter().flat_map(|one| cable(wiring, one)));
    lines.extend(wiring.cables.iter().flat_map(|one| queues(wiring, one)));
    lines.extend(wiring.addresses.iter().map(|one| {
        let (space, address) = (wiring.name(one.space), one.address);
        let nodad = if address.is_ipv6() { " nodad" } else { "" };
        format!("ip -n {space} address add {address}/{} dev {}{nodad}", one.prefix, one.device)
    }));
    lines.extend(wiring.routes.iter().map(|one| {
        let (space, gateway) = (wiring.name(one.space), one.gateway);
        format!("ip {}-n {space} route add default via {gateway}", family_flag(gateway))
    }));
    lines.extend(wiring.neighbours.iter().map(|one| {
        let space = wiring.name(one.space);
        format!(
            "ip -n {space} neighbour replace {} lladdr {} nud permanent dev {}",
            one.address, one.mac, one.device
        )
    }));
    for rules in &wiring.rules {
        lines.push(format!("ip netns exec {} nft -f - <<'END'", wiring.name(rules.space)));
        lines.extend(rules.text.lines().map(str::to_owned));
        lines.push("END".to_owned());
    }
    lines
}

fn family_flag(address: IpAddr) -> &'static str {
    if address.is_ipv6() { "-6 " } else { "" }
}

fn namespace(space: &Space) -> Vec<String> {
    let name = &space.name;
    let mut lines = vec![format!("ip netns add {name}"), format!("ip -n {name} link set lo up")];
    lines.extend(space.sysctls.iter().map(|sysctl| {
        let set = format!("ip netns exec {name} sysctl -qw {}={}", sysctl.key, sysctl.value);
        match sysctl.presence {
            Presence::Required => set,
            Presence::IfThere => {
                format!("[ ! -e /proc/sys/{} ] || {set}", sysctl.key.replace('.', "/"))
            }
        }
    }));
    lines
}

fn bridge(wiring: &Wiring, bridge: &Bridge) -> String {
    let mac = bridge.mac.map(|mac| format!(" address {mac}")).unwrap_or_default();
    format!(
        "ip -n {} link add {}{mac} mtu {} up type bridge",
        wiring.name(bridge.space),
        bridge.name,
        wiring.mtu
    )
}

fn cable(wiring: &Wiring, cable: &Cable) -> [String; 2] {
    let end = |end: &End| {
        let mac = end.mac.map(|mac| format!(" address {mac}")).unwrap_or_default();
        format!("{}{mac} mtu {}", end.device, wiring.mtu)
    };
    let master = cable.bridge.map(|bridge| format!(" master {bridge}")).unwrap_or_default();
    let far = wiring.name(cable.far.space);
    [
        format!(
            "ip -n {} link add {}{master} up type veth peer name {} netns {far}",
            wiring.name(cable.near.space),
            end(&cable.near),
            end(&cable.far),
        ),
        format!("ip -n {far} link set {} up", cable.far.device),
    ]
}

/// The queues of a limited cable, one at each end.
fn queues(wiring: &Wiring, cable: &Cable) -> Vec<String> {
    let queue = |bucket: TokenBucket| {
        [&cable.near, &cable.far].map(|end| {
            let place = wiring.name(end.space);
            format!("tc -n {place} qdisc add dev {} root tbf {bucket}", end.device)
        })
    };
    cable.bucket(wiring.mtu).into_iter().flat_map(queue).collect()
}
