//! Shell lines that wire containers of Docker's by hand, as root beside the engine.
//!
//! Each container is a shell variable with the number of its first process; the same lines are shown to a reader, who
//! gets the numbers from `docker inspect`.

use crate::work::Running;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use tare_network::{Error, Family, Shape};

/// The device that is put into a container.
pub(super) const DEVICE: &str = "eth1";

/// The variable that holds a container's process: `client-0` is `client_0`.
pub(super) fn variable(name: &str) -> String {
    name.replace('-', "_")
}

/// A command in a container's network namespace.
pub(super) fn within(name: &str, command: &str) -> String {
    format!("nsenter --net=/proc/${}/ns/net {command}", variable(name))
}

/// The variables of containers that run.
pub(super) fn assigned<'a>(
    containers: impl IntoIterator<Item = &'a Running>,
) -> Result<Vec<String>, Error> {
    let line = |container: &Running| {
        let what = || format!("find the process of {}", container.name);
        match container.pid {
            Some(pid) if Path::new(&format!("/proc/{pid}")).exists() => {
                Ok(format!("{}={pid}", variable(&container.name)))
            }
            Some(pid) => {
                let why = format!("Docker says that it is {pid}, and there is none of that number");
                Err(Error::new(what(), why)
                    .with_remedy("run tare in the PID namespace in which the engine runs"))
            }
            None => Err(Error::new(what(), "Docker says that it does not run")),
        }
    };
    containers.into_iter().map(line).collect()
}

/// The variables, asked of Docker.
pub(super) fn asked(names: impl IntoIterator<Item = String>) -> Vec<String> {
    let line = |name: String| {
        format!("{}=$(docker inspect --format '{{{{.State.Pid}}}}' {name})", variable(&name))
    };
    names.into_iter().map(line).collect()
}

/// The address of the n-th container, from 0: of the blocks for benchmarks (RFC 2544, C.2.2), or a unique local one.
pub(super) fn address(number: usize, family: Family) -> IpAddr {
    let number = u32::try_from(number).unwrap_or(u32::MAX).saturating_add(1);
    match family {
        Family::Ipv4 => Ipv4Addr::from(u32::from(Ipv4Addr::new(198, 18, 0, 0)) + number).into(),
        Family::Ipv6 => {
            let first = u128::from(Ipv6Addr::new(0xfd00, 0x7461, 0x7265, 0, 0, 0, 0, 0));
            Ipv6Addr::from(first + u128::from(number)).into()
        }
    }
}

/// How many bits of such an address are the network's.
fn prefix(family: Family) -> u8 {
    match family {
        Family::Ipv4 => 15,
        Family::Ipv6 => 64,
    }
}

/// Gives a device of a container its address, and brings it up. A container that Docker has given no network has IPv6
/// switched off.
fn addressed(name: &str, device: &str, address: IpAddr, prefix: u8) -> Vec<String> {
    let no_waiting = if address.is_ipv6() { " nodad" } else { "" };
    let mut lines = Vec::new();
    if address.is_ipv6() {
        let switch = format!("sh -c 'echo 0 >/proc/sys/net/ipv6/conf/{device}/disable_ipv6'");
        lines.push(within(name, &switch));
    }
    lines
        .push(within(name, &format!("ip address add {address}/{prefix} dev {device}{no_waiting}")));
    lines.push(within(name, &format!("ip link set {device} up")));
    lines
}

/// A pair of devices straight between a client and a server; `number` is the server's how-manieth.
pub(super) fn pair(
    (client, near): (&str, IpAddr),
    (server, far): (&str, IpAddr),
    number: usize,
    shape: &Shape,
) -> Vec<String> {
    let other = format!("eth{}", number + 1);
    let whole = if near.is_ipv4() { 32 } else { 128 };
    let mtu = shape.mtu;
    let add = format!(
        "ip link add {DEVICE} mtu {mtu} type veth peer name {other} mtu {mtu} netns ${}",
        variable(server)
    );
    let mut lines = vec![within(client, &add)];
    lines.extend(addressed(client, DEVICE, near, whole));
    lines.extend(addressed(server, &other, far, whole));
    lines.push(within(client, &format!("ip route add {far} dev {DEVICE}")));
    lines.push(within(server, &format!("ip route add {near} dev {other}")));
    lines
}

/// A pair of devices whose one end is left in the node's namespace, as pipework names and places it; `plug` attaches
/// that end to a switch.
pub(super) fn plugged(
    node: &str,
    (name, address): (&str, IpAddr),
    shape: &Shape,
    plug: impl Fn(&str) -> Vec<String>,
) -> Vec<String> {
    let process = variable(name);
    let (left, given) = (format!("v1pl${process}"), format!("v1pg${process}"));
    let mtu = shape.mtu;
    let mut lines = vec![within(
        node,
        &format!("ip link add {left} mtu {mtu} type veth peer name {given} mtu {mtu}"),
    )];
    lines.extend(plug(&left));
    lines.push(within(node, &format!("ip link set {left} up")));
    lines.push(within(node, &format!("ip link set {given} netns ${process}")));
    lines.push(within(name, &format!("ip link set {given} name {DEVICE}")));
    lines.extend(addressed(name, DEVICE, address, prefix(shape.family)));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_container_has_an_address_of_its_own() {
        assert_eq!(address(0, Family::Ipv4), IpAddr::from([198, 18, 0, 1]));
        assert_eq!(address(299, Family::Ipv4), IpAddr::from([198, 18, 1, 44]));
        assert_eq!(address(1, Family::Ipv6).to_string(), "fd00:7461:7265::2");
    }

    #[test]
    fn a_pair_is_what_the_one_node_study_made() {
        let ends = [0, 1].map(|number| address(number, Family::Ipv4));
        let lines = pair(("client-0", ends[1]), ("server-0", ends[0]), 0, &Shape::default());
        assert_eq!(
            lines[0],
            "nsenter --net=/proc/$client_0/ns/net ip link add eth1 mtu 1500 type veth peer name \
             eth1 mtu 1500 netns $server_0"
        );
        assert!(lines.iter().any(|line| line.ends_with("ip route add 198.18.0.1 dev eth1")));
    }
}
