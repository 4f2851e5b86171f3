//! User-mode stacks: what each has in common, and what it is asked for.

use crate::plan::wiring::{NamespaceId, Wiring};
use crate::programs::Program;
use std::net::IpAddr;
use tare_network::{Error, Family, Requirement};
use tare_sandbox::programs::runtime_directory;

/// MTU of the tap device unless the user sets one, bytes: what Podman and RootlessKit give pasta and slirp4netns.
pub(super) const ENGINE_MTU: u32 = 65_520;

/// Name of the tap device in the container.
pub(super) const TAP: &str = "tap0";

/// Ports of a container that its node publishes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Publication {
    /// Address of the node that clients dial.
    pub(super) host: IpAddr,
    /// Ports, the same on the node and in the container, for TCP and UDP.
    pub(super) ports: Vec<u16>,
}

/// Container that a user-mode stack attaches to its node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StackAttachment {
    /// Namespace of the node.
    pub(super) node: NamespaceId,
    /// Name of the node's namespace.
    pub(super) node_name: String,
    /// Namespace of the container.
    pub(super) space: NamespaceId,
    /// Name of the container's namespace.
    pub(super) name: String,
    /// IP family of its traffic.
    pub(super) family: Family,
    /// MTU of its device, bytes.
    pub(super) mtu: u32,
    /// The stack's own program: its name, or an absolute path.
    pub(super) program: String,
    /// Ports that the node publishes. `None` for a container that has clients only.
    pub(super) publication: Option<Publication>,
}

impl StackAttachment {
    /// Returns the path of a file of this container's stack on the node.
    pub(super) fn file(&self, program: &str, extension: &str) -> String {
        format!("{}/{program}-{}.{extension}", runtime_directory(&self.node_name), self.name)
    }

    /// Returns the address of the container's tap device, as slirp4netns has it by default.
    pub(super) fn tap_address(&self) -> IpAddr {
        match self.family {
            Family::Ipv4 => IpAddr::from([10, 0, 2, 100]),
            Family::Ipv6 => IpAddr::from([0xfd00, 0, 0, 2, 0, 0, 0, 0x100]),
        }
    }

    /// Returns the address of the gateway that the stack plays.
    pub(super) fn gateway(&self) -> IpAddr {
        match self.family {
            Family::Ipv4 => IpAddr::from([10, 0, 2, 2]),
            Family::Ipv6 => IpAddr::from([0xfd00, 0, 0, 2, 0, 0, 0, 2]),
        }
    }
}

/// Device of the container by which published ports are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServedDevice {
    /// Tap device: the stack writes packets.
    Tap,
    /// Loopback device: the stack has a socket in the container's namespace, and copies between sockets.
    Loopback,
}

/// User-mode stack: a process on the node that carries a container's traffic through sockets of its own.
pub(super) trait UserModeStack: Send + Sync {
    /// Returns the program and the Debian package that contains it.
    fn program(&self) -> StackProgram;

    /// Returns the program that listens on published ports, if it is another one.
    fn other_listener(&self) -> Option<&'static str> {
        None
    }

    /// Returns the program that holds the tap device, if it is another one.
    fn other_tap_holder(&self) -> Option<&'static str> {
        None
    }

    /// Returns the requirements beyond its own program and the device file of tap devices.
    fn further_requirements(&self) -> Vec<Requirement> {
        Vec::new()
    }

    /// Returns true if ports are published on loopback addresses of the node.
    fn splices_loopback(&self) -> bool {
        false
    }

    /// Fails if the stack cannot attach such a container.
    fn check(&self, to: &StackAttachment) -> Result<(), Error>;

    /// Returns the device by which a published port is reached.
    fn served_device(&self) -> ServedDevice {
        ServedDevice::Tap
    }

    /// Adds the programs that attach the container.
    fn attach(&self, wiring: &mut Wiring, to: &StackAttachment);
}

/// Program of a user-mode stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StackProgram {
    /// Name on the PATH.
    pub(super) name: &'static str,
    /// Debian package that contains it.
    pub(super) package: &'static str,
}

/// Returns the arguments that publish each port by `spell`.
pub(super) fn for_each_port(
    publication: Option<&Publication>,
    spell: impl Fn(IpAddr, u16) -> Vec<String>,
) -> Vec<String> {
    let ports = publication
        .into_iter()
        .flat_map(|published| published.ports.iter().map(|&port| (published.host, port)));
    ports.flat_map(|(host, port)| spell(host, port)).collect()
}

/// Fails if the container's traffic is IPv6, because the stack carries none to containers.
pub(super) fn refuse_ipv6(program: &str, to: &StackAttachment) -> Result<(), Error> {
    if to.family == Family::Ipv4 {
        return Ok(());
    }
    let why = format!("{program} reaches containers over IPv4 only");
    Err(Error::new(format!("attach {} by {program}", to.name), why)
        .with_remedy("use --family ipv4, or pasta"))
}

/// Adds a program of the stack, on the node, under this name with the container's.
pub(super) fn add(wiring: &mut Wiring, to: &StackAttachment, name: &str, program: Program) {
    wiring.programs.push(program.with_name(format!("{name}-{}", to.name)));
}
