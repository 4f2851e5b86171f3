//! Options that change a network, spelled after a `+`.

use crate::{BitsPerSecond, FirewallBackend, Offload, Offloads, RedirectProgram, RuntimeName};
use std::fmt;

/// Option that a network can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NetworkOption {
    /// No netfilter.
    Plain,
    /// Rate limit on every container's link, in each direction.
    Rate,
    /// Offloads of the network's devices switched off.
    Without,
    /// No security profile of the engine for its containers.
    Unconfined,
    /// Netfilter rules without connection tracking.
    Untracked,
    /// MTU of the containers.
    Mtu,
    /// Received packets spread over all cores.
    Rps,
    /// Packets redirected between containers by a classifier.
    RedirectPeer,
    /// Packets redirected between containers by an XDP program.
    Xdp,
    /// Data redirected between sockets.
    Sockmap,
    /// Idle containers beside those that are measured.
    Idle,
    /// Connections spliced between sockets, without packets.
    Splice,
    /// OCI runtime that starts the engine's containers.
    Runtime,
    /// Firewall backend whose rules the network has.
    Firewall,
    /// Further published ports of each server.
    Ports,
    /// Services of the cluster, those that are measured included.
    Services,
    /// Network policies that select the servers.
    Policies,
    /// Traffic policy `Local` of the service.
    Local,
    /// Proxies of a service mesh beside the ends.
    Mesh,
}

impl NetworkOption {
    /// All options.
    pub const ALL: [Self; 19] = [
        Self::Plain,
        Self::Rate,
        Self::Without,
        Self::Unconfined,
        Self::Untracked,
        Self::Mtu,
        Self::Rps,
        Self::RedirectPeer,
        Self::Xdp,
        Self::Sockmap,
        Self::Idle,
        Self::Splice,
        Self::Runtime,
        Self::Firewall,
        Self::Ports,
        Self::Services,
        Self::Policies,
        Self::Local,
        Self::Mesh,
    ];

    /// Options of a network that tare wires and filters itself, and that rewrites no addresses.
    pub const WIRED: [Self; 6] =
        [Self::Plain, Self::Rate, Self::Without, Self::Untracked, Self::Mtu, Self::Rps];

    /// Options of a network that tare wires with veth or netkit pairs.
    pub const DEVICE_PAIRS: [Self; 4] = [Self::Rate, Self::Without, Self::Mtu, Self::Rps];

    /// Options of a network that tare wires with veth pairs, behind Docker's rules.
    pub const DOCKER_RULES: [Self; 5] =
        [Self::Rate, Self::Without, Self::Mtu, Self::Rps, Self::Firewall];

    /// Options of a network that tare wires with veth pairs, whose servers publish ports.
    pub const PUBLISHED: [Self; 7] =
        [Self::Rate, Self::Without, Self::Mtu, Self::Rps, Self::Idle, Self::Firewall, Self::Ports];

    /// Options of a bridge that tare wires and filters itself.
    pub const BRIDGE: [Self; 10] = [
        Self::Plain,
        Self::Rate,
        Self::Without,
        Self::Untracked,
        Self::Mtu,
        Self::Rps,
        Self::RedirectPeer,
        Self::Xdp,
        Self::Idle,
        Self::Firewall,
    ];

    /// Options of a bridge without netfilter.
    pub const PLAIN_BRIDGE: [Self; 7] = [
        Self::Rate,
        Self::Without,
        Self::Mtu,
        Self::Rps,
        Self::RedirectPeer,
        Self::Xdp,
        Self::Idle,
    ];

    /// Options of a network that tare wires with veth pairs, whose servers are behind Kubernetes' services.
    pub const SERVICES: [Self; 5] =
        [Self::Rate, Self::Without, Self::Mtu, Self::Rps, Self::Services];

    /// Options of a network whose containers have child devices of an uplink.
    pub const UPLINK: [Self; 3] = [Self::Without, Self::Mtu, Self::Rps];

    /// Options of a network whose ends share a namespace.
    pub const SHARED: [Self; 2] = [Self::Without, Self::Sockmap];

    /// Returns the effect of the option, in words.
    #[must_use]
    pub fn summary(self) -> &'static str {
        match self {
            Self::Plain => "without netfilter",
            Self::Rate => "every container's link limited, in each direction",
            Self::Without => "an offload switched off on every device of the path",
            Self::Unconfined => "without the engine's seccomp and AppArmor profiles",
            Self::Untracked => "with its netfilter rules, without connection tracking",
            Self::Mtu => "the containers' MTU",
            Self::Rps => "received packets spread over all cores: receive packet steering",
            Self::RedirectPeer => {
                "packets redirected from container to container by an eBPF classifier, past bridge and netfilter"
            }
            Self::Xdp => {
                "packets redirected from container to container by an XDP program, past bridge and netfilter"
            }
            Self::Sockmap => {
                "what TCP sockets send redirected to one another by an eBPF program, without packets"
            }
            Self::Idle => "idle containers on the same bridge, beside those that are measured",
            Self::Splice => {
                "the port published on the loopback address, whose connections pasta splices without packets"
            }
            Self::Runtime => "the OCI runtime that starts the containers",
            Self::Firewall => "the firewall backend of Docker whose rules it has",
            Self::Ports => "ports that each server publishes beside those of the workloads",
            Self::Services => "services of the cluster, those that are measured included",
            Self::Policies => {
                "network policies that select the servers, of which one admits the clients"
            }
            Self::Local => {
                "the service's traffic policy Local: endpoints on the node that packets reach, and the client's own address"
            }
            Self::Mesh => "the cluster's service mesh, whose proxies carry the connections",
        }
    }
}

impl fmt::Display for NetworkOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain => write!(f, "+plain ({})", self.summary()),
            Self::Unconfined => write!(f, "+unconfined ({})", self.summary()),
            Self::Untracked => write!(f, "+untracked ({})", self.summary()),
            Self::Rps => write!(f, "+rps ({})", self.summary()),
            Self::RedirectPeer => write!(f, "+redirect-peer ({})", self.summary()),
            Self::Xdp => write!(f, "+xdp ({})", self.summary()),
            Self::Sockmap => write!(f, "+sockmap ({})", self.summary()),
            Self::Splice => write!(f, "+splice ({})", self.summary()),
            Self::Local => write!(f, "+local ({})", self.summary()),
            Self::Mesh => write!(f, "+mesh ({})", self.summary()),
            Self::Mtu => write!(f, "+mtu=BYTES ({}, for example +mtu=9000)", self.summary()),
            Self::Idle => write!(f, "+idle=COUNT ({}, for example +idle=998)", self.summary()),
            Self::Runtime => {
                write!(f, "+runtime=NAME ({}, for example +runtime=runsc)", self.summary())
            }
            Self::Ports => write!(f, "+ports=COUNT ({}, for example +ports=31)", self.summary()),
            Self::Services => {
                write!(f, "+services=COUNT ({}, for example +services=1000)", self.summary())
            }
            Self::Policies => {
                write!(f, "+policies=COUNT ({}, for example +policies=100)", self.summary())
            }
            Self::Firewall => write!(
                f,
                "+firewall=BACKEND ({}: {})",
                self.summary(),
                FirewallBackend::ALL.map(FirewallBackend::name).join(", ")
            ),
            Self::Rate => write!(f, "+rate=RATE ({}, for example +rate=970mbit)", self.summary()),
            Self::Without => write!(
                f,
                "+without=OFFLOAD ({}: {}; may be repeated)",
                self.summary(),
                Offload::ALL.map(Offload::name).join(", ")
            ),
        }
    }
}

/// Lists options in one line of prose, for a user who can choose from them.
pub(crate) fn describe_options(options: &[NetworkOption]) -> String {
    options.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Options that the user chose for a network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct NetworkOptions {
    /// Leaves out netfilter (`+plain`).
    pub plain: bool,
    /// Limit of every container's link, in each direction (`+rate=`). `None` means no limit.
    pub rate: Option<BitsPerSecond>,
    /// Offloads to switch off (`+without=`, once for each).
    pub without: Offloads,
    /// Leaves out the engine's security profile (`+unconfined`).
    pub unconfined: bool,
    /// Installs the netfilter rules without connection tracking (`+untracked`).
    pub untracked: bool,
    /// MTU of the containers, bytes (`+mtu=`). `None` stands for the MTU of the shape.
    pub mtu: Option<u32>,
    /// Spreads received packets over all cores (`+rps`).
    pub rps: bool,
    /// eBPF program that redirects packets or data (`+redirect-peer`, `+xdp`, `+sockmap`). `None` for none.
    pub redirect: Option<RedirectProgram>,
    /// Number of idle containers beside those that are measured (`+idle=`). `None` means none.
    pub idle: Option<u32>,
    /// Publishes the port on the loopback address, whose connections are spliced (`+splice`).
    pub splice: bool,
    /// OCI runtime that starts the engine's containers (`+runtime=`). `None` stands for the engine's default.
    pub runtime: Option<RuntimeName>,
    /// Firewall backend of Docker whose rules the network has (`+firewall=`). `None` stands for iptables.
    pub firewall: Option<FirewallBackend>,
    /// Number of ports that each server publishes beside those of the workloads (`+ports=`). `None` means none.
    pub ports: Option<u16>,
    /// Number of services of the cluster, those that are measured included (`+services=`). `None` means only those.
    pub services: Option<u16>,
    /// Number of network policies that select the servers, of which one admits the clients (`+policies=`). `None` stands
    /// for that one.
    pub policies: Option<u16>,
    /// Gives the service the traffic policy `Local` (`+local`).
    pub local: bool,
    /// Asks the cluster's service mesh for its proxies (`+mesh`).
    pub mesh: bool,
}

impl NetworkOptions {
    /// Returns `true` if the option was chosen.
    #[must_use]
    pub fn has(&self, option: NetworkOption) -> bool {
        match option {
            NetworkOption::Plain => self.plain,
            NetworkOption::Rate => self.rate.is_some(),
            NetworkOption::Without => !self.without.is_empty(),
            NetworkOption::Unconfined => self.unconfined,
            NetworkOption::Untracked => self.untracked,
            NetworkOption::Mtu => self.mtu.is_some(),
            NetworkOption::Rps => self.rps,
            NetworkOption::RedirectPeer => self.redirect == Some(RedirectProgram::Peer),
            NetworkOption::Xdp => self.redirect == Some(RedirectProgram::Xdp),
            NetworkOption::Sockmap => self.redirect == Some(RedirectProgram::Sockmap),
            NetworkOption::Idle => self.idle.is_some(),
            NetworkOption::Splice => self.splice,
            NetworkOption::Runtime => self.runtime.is_some(),
            NetworkOption::Firewall => self.firewall.is_some(),
            NetworkOption::Ports => self.ports.is_some(),
            NetworkOption::Services => self.services.is_some(),
            NetworkOption::Policies => self.policies.is_some(),
            NetworkOption::Local => self.local,
            NetworkOption::Mesh => self.mesh,
        }
    }

    /// Returns the options that were chosen.
    pub fn chosen(&self) -> impl Iterator<Item = NetworkOption> {
        NetworkOption::ALL.into_iter().filter(|option| self.has(*option))
    }
}

impl fmt::Display for NetworkOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.plain {
            f.write_str("+plain")?;
        }
        self.rate.map_or(Ok(()), |rate| write!(f, "+rate={rate}"))?;
        self.without.iter().try_for_each(|offload| write!(f, "+without={offload}"))?;
        f.write_str(if self.unconfined { "+unconfined" } else { "" })?;
        f.write_str(if self.untracked { "+untracked" } else { "" })?;
        self.mtu.map_or(Ok(()), |mtu| write!(f, "+mtu={mtu}"))?;
        f.write_str(if self.rps { "+rps" } else { "" })?;
        self.redirect.map_or(Ok(()), |program| write!(f, "+{}", program.name()))?;
        self.idle.map_or(Ok(()), |idle| write!(f, "+idle={idle}"))?;
        f.write_str(if self.splice { "+splice" } else { "" })?;
        self.runtime.map_or(Ok(()), |runtime| write!(f, "+runtime={runtime}"))?;
        self.firewall.map_or(Ok(()), |firewall| write!(f, "+firewall={firewall}"))?;
        self.ports.map_or(Ok(()), |ports| write!(f, "+ports={ports}"))?;
        self.services.map_or(Ok(()), |services| write!(f, "+services={services}"))?;
        self.policies.map_or(Ok(()), |policies| write!(f, "+policies={policies}"))?;
        f.write_str(if self.local { "+local" } else { "" })?;
        f.write_str(if self.mesh { "+mesh" } else { "" })
    }
}
