//! Commands by which a reader can build a wiring: ip(8), sysctl(8), tc(8), bridge(8) and nft(8), in order.

mod programs;
#[cfg(test)]
mod tests;

use crate::offload;
use crate::plan::layout::Layout;
use crate::plan::wiring::{Adoption, KernelObjects, Objects, PlannedNamespace, Wiring};
use tare_network::{Error, Offload, Offloads};
use tare_sandbox::NamespaceChange;
use tare_sandbox::ebpf::NewSocketRedirect;

/// Returns the lines of a shell script that builds the wiring, with namespaces by name. Fails if the wiring refers to a
/// device that it does not have.
pub(crate) fn script(wiring: &Wiring) -> Result<Vec<String>, Error> {
    let objects = KernelObjects::new(wiring);
    let (adopted, made): (Vec<_>, Vec<_>) =
        wiring.spaces.iter().partition(|space| space.adopted.is_some());
    let mut lines: Vec<String> = made.into_iter().flat_map(namespace).collect();
    lines.extend(device_commands(wiring, &objects)?);
    let settings = wiring.settings.iter();
    lines.extend(settings.map(|one| one.sysctl.command(wiring.name(one.space))));
    lines.extend(commands(wiring, objects.addresses())?);
    lines.extend(commands(wiring, objects.routes())?);
    lines.extend(commands(wiring, objects.neighbours())?);
    lines.extend(commands(wiring, objects.vxlan_fdb_entries())?);
    lines.extend(commands(wiring, objects.fdb_entries())?);
    for rules in &wiring.rules {
        lines.push(format!("ip netns exec {} nft -f - <<'END'", wiring.name(rules.space)));
        lines.extend(rules.text.lines().map(str::to_owned));
        lines.push("END".to_owned());
    }
    lines.extend(wiring.without_tx_offload.iter().map(|(space, device)| {
        format!("ip netns exec {} ethtool -K {device} tx off", wiring.name(*space))
    }));
    lines.extend(programs::lines(wiring));
    lines.extend(adopted.into_iter().flat_map(adopted_namespace));
    Ok(lines)
}

/// Returns the lines of [`script`], or its error as a comment.
pub(crate) fn script_or_comment(wiring: &Wiring) -> Vec<String> {
    script(wiring).unwrap_or_else(|error| vec![format!("# {error}")])
}

/// Returns the commands that create all devices, their queues and redirections.
fn device_commands(wiring: &Wiring, objects: &KernelObjects<'_>) -> Result<Vec<String>, Error> {
    let mut lines = commands(wiring, objects.bridges())?;
    lines.extend(commands(wiring, objects.vrfs())?);
    let pairs = objects.device_pairs()?;
    let place = |space| wiring.name(space);
    lines.extend(pairs.iter().map(|one| one.pair.command(place(one.near), place(one.far))));
    lines.extend(pairs.iter().map(|one| one.pair.far.attachment().command(place(one.far))));
    lines.extend(commands(wiring, objects.bridge_mtus())?);
    for one in objects.child_devices()? {
        lines.extend(one.device.commands(place(one.from), place(one.space)));
    }
    lines.extend(commands(wiring, objects.token_buckets())?);
    lines.extend(commands(wiring, objects.impairments())?);
    lines.extend(commands(wiring, objects.ingress_hooks())?);
    lines.extend(commands(wiring, objects.redirections())?);
    let receivers = objects.xdp_receivers()?;
    lines.extend(receivers.iter().map(|(space, one)| one.command(place(*space))));
    let redirects = objects.redirects()?;
    lines.extend(redirects.iter().map(|(space, one)| one.command(place(*space))));
    let sockets = wiring.socket_redirects.iter();
    lines.extend(sockets.flat_map(|space| NewSocketRedirect.commands(place(*space))));
    Ok(lines)
}

fn commands<T: NamespaceChange>(
    wiring: &Wiring,
    objects: Objects<T>,
) -> Result<Vec<String>, Error> {
    Ok(objects?.into_iter().map(|(space, one)| one.command(wiring.name(space))).collect())
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

/// Returns the commands that name a namespace which a program has made.
fn adopted_namespace(space: &PlannedNamespace) -> Vec<String> {
    let Some(Adoption { pid_file, .. }) = &space.adopted else { return Vec::new() };
    let name = &space.name;
    let mut lines = vec![format!("ip netns attach {name} $(cat {pid_file})")];
    lines.extend(space.sysctls.iter().map(|one| one.command(name)));
    lines
}

fn namespace(space: &PlannedNamespace) -> Vec<String> {
    let name = &space.name;
    let mut lines = vec![format!("ip netns add {name}"), format!("ip -n {name} link set lo up")];
    lines.extend(space.sysctls.iter().map(|one| one.command(name)));
    lines
}
