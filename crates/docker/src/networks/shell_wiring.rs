//! Shell lines that wire Docker containers as root on the engine's machine.
//!
//! Each container is a shell variable with the pid of its first process. The same lines are shown to a reader, who gets
//! the pids from `docker inspect`.

use crate::container_handle::ContainerHandle;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use tare_network::{Error, Family, Shape};

/// Device that is put into a container.
pub(super) const DEVICE: &str = "eth1";

/// Returns the variable that holds a container's pid: `client_0` for `client-0`.
pub(super) fn pid_variable(name: &str) -> String {
    name.replace('-', "_")
}

/// Returns a command that runs in a container's network namespace.
pub(super) fn in_namespace(name: &str, command: &str) -> String {
    format!("nsenter --net=/proc/${}/ns/net {command}", pid_variable(name))
}

/// Returns assignments of the pids of running containers. Fails if a process cannot be found.
pub(super) fn pid_assignments<'a>(
    containers: impl IntoIterator<Item = &'a ContainerHandle>,
) -> Result<Vec<String>, Error> {
    let line = |container: &ContainerHandle| {
        let what = || format!("find the process of {}", container.name);
        match container.pid {
            Some(pid) if Path::new(&format!("/proc/{pid}")).exists() => {
                Ok(format!("{}={pid}", pid_variable(&container.name)))
            }
            Some(pid) => {
                let why = format!("Docker reports the process id {pid}, which does not exist here");
                Err(Error::new(what(), why)
                    .with_remedy("run tare in the PID namespace in which the engine runs"))
            }
            None => Err(Error::new(what(), "Docker reports that the container does not run")),
        }
    };
    containers.into_iter().map(line).collect()
}

/// Returns assignments that get the pids from Docker.
pub(super) fn pid_queries(names: impl IntoIterator<Item = String>) -> Vec<String> {
    let line = |name: String| {
        format!("{}=$(docker inspect --format '{{{{.State.Pid}}}}' {name})", pid_variable(&name))
    };
    names.into_iter().map(line).collect()
}

/// Returns the address of a container by its number, from 0: in the block for benchmarks (RFC 2544, C.2.2), or a unique
/// local one.
pub(super) fn container_address(number: usize, family: Family) -> IpAddr {
    let number = u32::try_from(number).unwrap_or(u32::MAX).saturating_add(1);
    match family {
        Family::Ipv4 => Ipv4Addr::from(u32::from(Ipv4Addr::new(198, 18, 0, 0)) + number).into(),
        Family::Ipv6 => {
            let first = u128::from(Ipv6Addr::new(0xfd00, 0x7461, 0x7265, 0, 0, 0, 0, 0));
            Ipv6Addr::from(first + u128::from(number)).into()
        }
    }
}

/// Returns the prefix length of such an address, bits.
fn prefix_length(family: Family) -> u8 {
    match family {
        Family::Ipv4 => 15,
        Family::Ipv6 => 64,
    }
}

/// Returns the lines that give a device of a container its address, and bring it up. IPv6 is disabled in a container
/// that Docker gave no network.
fn address_lines(name: &str, device: &str, address: IpAddr, prefix: u8) -> Vec<String> {
    let no_waiting = if address.is_ipv6() { " nodad" } else { "" };
    let mut lines = Vec::new();
    if address.is_ipv6() {
        let switch = format!("sh -c 'echo 0 >/proc/sys/net/ipv6/conf/{device}/disable_ipv6'");
        lines.push(in_namespace(name, &switch));
    }
    lines.push(in_namespace(
        name,
        &format!("ip address add {address}/{prefix} dev {device}{no_waiting}"),
    ));
    lines.push(in_namespace(name, &format!("ip link set {device} up")));
    lines
}

/// Returns the line that makes a veth pair, each end in its container's network namespace under its name.
fn pair_line((near, device): (&str, &str), (far, other): (&str, &str), shape: &Shape) -> String {
    let mtu = shape.mtu;
    let far = pid_variable(far);
    let add = format!(
        "ip link add {device} mtu {mtu} type veth peer name {other} mtu {mtu} netns ${far}"
    );
    in_namespace(near, &add)
}

/// Returns the lines that make a veth pair between a client and a server; `number` counts the pairs of this server,
/// from 0.
pub(super) fn veth_pair_lines(
    (client, near): (&str, IpAddr),
    (server, far): (&str, IpAddr),
    number: usize,
    shape: &Shape,
) -> Vec<String> {
    let other = format!("eth{}", number + 1);
    let whole = if near.is_ipv4() { 32 } else { 128 };
    let mut lines = vec![pair_line((client, DEVICE), (server, &other), shape)];
    lines.extend(address_lines(client, DEVICE, near, whole));
    lines.extend(address_lines(server, &other, far, whole));
    lines.push(in_namespace(client, &format!("ip route add {far} dev {DEVICE}")));
    lines.push(in_namespace(server, &format!("ip route add {near} dev {other}")));
    lines
}

/// Returns the lines that make a veth pair of which one end stays in the node's network namespace, with the names that
/// pipework uses. `plug` attaches that end to a switch. The other end is made where it belongs, so that the pair goes with
/// its container whenever a run is killed; pipework makes it on the node and moves it.
pub(super) fn switch_port_lines(
    node: &str,
    (name, address): (&str, IpAddr),
    shape: &Shape,
    plug: impl Fn(&str) -> Vec<String>,
) -> Vec<String> {
    let port = format!("v1pl${}", pid_variable(name));
    let mut lines = vec![pair_line((node, &port), (name, DEVICE), shape)];
    lines.extend(plug(&port));
    lines.push(in_namespace(node, &format!("ip link set {port} up")));
    lines.extend(address_lines(name, DEVICE, address, prefix_length(shape.family)));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_container_has_an_address_of_its_own() {
        assert_eq!(container_address(0, Family::Ipv4), IpAddr::from([198, 18, 0, 1]));
        assert_eq!(container_address(299, Family::Ipv4), IpAddr::from([198, 18, 1, 44]));
        assert_eq!(container_address(1, Family::Ipv6).to_string(), "fd00:7461:7265::2");
    }

    #[test]
    fn a_pair_is_what_the_one_node_study_made() {
        let ends = [0, 1].map(|number| container_address(number, Family::Ipv4));
        let lines =
            veth_pair_lines(("client-0", ends[1]), ("server-0", ends[0]), 0, &Shape::default());
        assert_eq!(
            lines[0],
            "nsenter --net=/proc/$client_0/ns/net ip link add eth1 mtu 1500 type veth peer name \
             eth1 mtu 1500 netns $server_0"
        );
        assert!(lines.iter().any(|line| line.ends_with("ip route add 198.18.0.1 dev eth1")));
    }

    #[test]
    fn a_port_of_a_switch_goes_with_its_container() {
        let at = container_address(0, Family::Ipv4);
        let plug = |port: &str| vec![format!("plug {port}")];
        let lines = switch_port_lines("node", ("client-0", at), &Shape::default(), plug);
        assert_eq!(
            lines[0],
            "nsenter --net=/proc/$node/ns/net ip link add v1pl$client_0 mtu 1500 type veth peer \
             name eth1 mtu 1500 netns $client_0"
        );
        assert_eq!(lines[1], "plug v1pl$client_0");
    }
}
