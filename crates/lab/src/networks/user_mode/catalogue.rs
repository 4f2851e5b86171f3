//! Networks with a user-mode stack, by name.

use super::identity;
use super::layout::{Side, lay_out};
use super::pasta::PastaStack;
use super::rootlesskit::RootlessKitStack;
use super::slirp4netns::Slirp4netnsStack;
use super::stack::UserModeStack;
use crate::networks::{LabNetworkDefinition, veth_and_bridge_requirements};
use crate::plan::layout::Layout;
use tare_network::{
    Error, NetworkInfo, NetworkOption, NetworkOptions, NetworkParameters, Requirement, Shape,
};

/// Network with a user-mode stack on one side or on both.
pub(crate) struct UserModeNetwork {
    name: &'static str,
    summary: &'static str,
    kind: StackKind,
    client: Side,
    server: Side,
    /// Prefix of a name that continues with the path of the stack's program.
    scheme: Option<&'static str>,
}

/// Kind of a user-mode stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StackKind {
    Pasta,
    Slirp4netns,
    RootlessKit,
    RootlessKitSlirp,
}

/// Options of a network with packets only.
const PACKETS: &[NetworkOption] = &[NetworkOption::Mtu];
/// Options of a server behind pasta.
const PACKETS_OR_SPLICED: &[NetworkOption] = &[NetworkOption::Mtu, NetworkOption::Splice];

impl StackKind {
    /// Returns the stack with these options.
    fn stack(self, options: &NetworkOptions) -> &'static dyn UserModeStack {
        match self {
            Self::Pasta if options.splice => &PastaStack::Spliced,
            Self::Pasta => &PastaStack::Packets,
            Self::Slirp4netns => &Slirp4netnsStack,
            Self::RootlessKit => &RootlessKitStack::Builtin,
            Self::RootlessKitSlirp => &RootlessKitStack::Slirp,
        }
    }

    /// Returns the real system that the network stands for.
    fn stands_for(self) -> &'static str {
        match self {
            Self::Pasta => "podman run --network pasta, rootless: the default since Podman 5",
            Self::Slirp4netns => {
                "podman run --network slirp4netns:port_handler=slirp4netns, rootless"
            }
            Self::RootlessKit => {
                "rootless Docker by its defaults, without the bridge inside: slirp4netns, builtin port driver"
            }
            Self::RootlessKitSlirp => {
                "rootless Docker with DOCKERD_ROOTLESS_ROOTLESSKIT_PORT_DRIVER=slirp4netns, without the bridge inside"
            }
        }
    }

    fn source(self) -> &'static str {
        match self {
            Self::Pasta => "https://passt.top/passt/about/",
            Self::Slirp4netns => {
                "https://github.com/rootless-containers/slirp4netns/blob/master/slirp4netns.1.md"
            }
            Self::RootlessKit | Self::RootlessKitSlirp => {
                "https://github.com/rootless-containers/rootlesskit/blob/master/docs/port.md"
            }
        }
    }
}

const fn published(name: &'static str, kind: StackKind, summary: &'static str) -> UserModeNetwork {
    UserModeNetwork { name, summary, kind, client: Side::Node, server: Side::Stack, scheme: None }
}

const fn outbound(name: &'static str, kind: StackKind, summary: &'static str) -> UserModeNetwork {
    UserModeNetwork { name, summary, kind, client: Side::Stack, server: Side::Node, scheme: None }
}

const fn both(name: &'static str, kind: StackKind, summary: &'static str) -> UserModeNetwork {
    UserModeNetwork { name, summary, kind, client: Side::Stack, server: Side::Stack, scheme: None }
}

const fn at_path(
    name: &'static str,
    scheme: &'static str,
    kind: StackKind,
    summary: &'static str,
) -> UserModeNetwork {
    UserModeNetwork { scheme: Some(scheme), ..published(name, kind, summary) }
}

/// Networks with a client on the node and a published port.
pub(crate) const NETWORKS: [UserModeNetwork; 7] = [
    published(
        "pasta",
        StackKind::Pasta,
        "a client on the node, a server behind a port that pasta publishes",
    ),
    published(
        "slirp4netns",
        StackKind::Slirp4netns,
        "a client on the node, a server behind a port that slirp4netns publishes",
    ),
    published(
        "rootlesskit",
        StackKind::RootlessKit,
        "a client on the node, a server behind a port that RootlessKit's own driver publishes",
    ),
    published(
        "rootlesskit-slirp",
        StackKind::RootlessKitSlirp,
        "a client on the node, a server behind a port that RootlessKit has slirp4netns publish",
    ),
    at_path("pasta:PATH", "pasta:", StackKind::Pasta, "pasta, by the program at this path"),
    at_path(
        "slirp4netns:PATH",
        "slirp4netns:",
        StackKind::Slirp4netns,
        "slirp4netns, by the program at this path",
    ),
    at_path(
        "rootlesskit:PATH",
        "rootlesskit:",
        StackKind::RootlessKit,
        "rootlesskit, by the program at this path",
    ),
];

/// Networks `CLIENT/SERVER`, found by their names only.
pub(crate) const PAIRS: [UserModeNetwork; 9] = [
    published(
        "host/pasta",
        StackKind::Pasta,
        "a client on the node, a server behind a port that pasta publishes",
    ),
    outbound("pasta/host", StackKind::Pasta, "a client behind pasta, a server on the node"),
    both("pasta/pasta", StackKind::Pasta, "a client behind pasta, a server behind another pasta"),
    published(
        "host/slirp4netns",
        StackKind::Slirp4netns,
        "a client on the node, a server behind a port that slirp4netns publishes",
    ),
    outbound(
        "slirp4netns/host",
        StackKind::Slirp4netns,
        "a client behind slirp4netns, a server on the node",
    ),
    both(
        "slirp4netns/slirp4netns",
        StackKind::Slirp4netns,
        "a client behind slirp4netns, a server behind another slirp4netns",
    ),
    published(
        "host/rootlesskit",
        StackKind::RootlessKit,
        "a client on the node, a server behind a port that RootlessKit's own driver publishes",
    ),
    outbound(
        "rootlesskit/host",
        StackKind::RootlessKit,
        "a client in RootlessKit's namespace, behind slirp4netns, a server on the node",
    ),
    both(
        "rootlesskit/rootlesskit",
        StackKind::RootlessKit,
        "a client in RootlessKit's namespace, a server in another one, behind a published port",
    ),
];

impl LabNetworkDefinition for UserModeNetwork {
    fn info(&self) -> NetworkInfo {
        let splices = self.kind == StackKind::Pasta && self.client == Side::Node;
        NetworkInfo {
            name: self.name,
            summary: self.summary,
            stands_for: self.kind.stands_for(),
            source: self.kind.source(),
            options: if splices { PACKETS_OR_SPLICED } else { PACKETS },
        }
    }

    fn scheme(&self) -> Option<&'static str> {
        self.scheme
    }

    fn requirements(&self, site: &NetworkParameters) -> Vec<Requirement> {
        let mut needs = veth_and_bridge_requirements();
        needs.push(Requirement::DeviceFile { path: "/dev/net/tun", module: "tun" });
        let stack = self.kind.stack(&site.options);
        needs.extend(identity::requirements(stack.program(), site.argument.as_deref()));
        needs.extend(stack.further_requirements());
        needs
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        let stack = self.kind.stack(&site.options);
        lay_out(self.name, stack, (self.client, self.server), shape, site)
    }
}
