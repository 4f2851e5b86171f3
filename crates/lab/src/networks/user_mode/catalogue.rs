//! Networks with a user-mode stack, by name.

use super::identity;
use super::layout::{Side, lay_out};
use super::pasta::PastaStack;
use super::rootlesskit::RootlessKitStack;
use super::rootlesskit_slirp::RootlessKitSlirpStack;
use super::slirp4netns::Slirp4netnsStack;
use super::stack::UserModeStack;
use crate::networks::{LabNetworkDefinition, veth_and_bridge_requirements};
use crate::plan::layout::Layout;
use tare_network::{
    Error, NetworkInfo, NetworkOption, NetworkOptions, NetworkParameters, Requirement, Shape,
};

/// Network with a user-mode stack on one side or on both.
#[derive(Clone, Copy)]
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
            Self::RootlessKit => &RootlessKitStack,
            Self::RootlessKitSlirp => &RootlessKitSlirpStack,
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
    UserModeNetwork { name: "host/pasta", ..NETWORKS[0] },
    outbound("pasta/host", StackKind::Pasta, "a client behind pasta, a server on the node"),
    both("pasta/pasta", StackKind::Pasta, "a client behind pasta, a server behind another pasta"),
    UserModeNetwork { name: "host/slirp4netns", ..NETWORKS[1] },
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
    UserModeNetwork { name: "host/rootlesskit", ..NETWORKS[2] },
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

    // Behind pasta, TCP waits for its timeout most of the time: 20 ms slices say 9.6 Gbit/s, continuous traffic 1.3.
    fn can_be_woven(&self) -> bool {
        false
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::layout::Waypoint;
    use crate::plan::wiring::HeldEndpoint;
    use tare_network::{Family, MtuSource};

    fn site(options: NetworkOptions) -> NetworkParameters {
        NetworkParameters { ports: vec![7001, 7002], options, ..NetworkParameters::default() }
    }

    fn layout(name: &str, shape: &Shape, options: NetworkOptions) -> Result<Layout, Error> {
        let all = NETWORKS.into_iter().chain(PAIRS);
        let network = all.into_iter().find(|one| one.name == name).unwrap();
        network.layout(shape, &site(options))
    }

    /// Returns the path as `place:name`, in order.
    fn path(layout: &Layout) -> Vec<String> {
        let name = |one: &Waypoint| match one {
            Waypoint::Device { space, name, .. } => {
                format!("{}:{name}", space.map_or("", |space| layout.wiring.name(space)))
            }
            Waypoint::Other(hop) => hop.to_string(),
        };
        layout.path.iter().map(name).collect()
    }

    #[test]
    fn a_stack_on_each_side_is_passed_once() {
        let path_of = |name: &str, options| {
            path(&layout(name, &Shape::default(), options).unwrap()).join(" ")
        };
        let plain = NetworkOptions::default();
        assert_eq!(path_of("pasta", plain), "node-0:lo node-0:pasta server-0:tap0");
        assert_eq!(path_of("pasta/host", plain), "client-0:tap0 node-0:pasta node-0:lo");
        assert_eq!(path_of("rootlesskit", plain), "node-0:lo node-0:rootlesskit server-0:lo");
        let both = "client-0:tap0 node-0:slirp4netns node-0:lo node-0:rootlesskit server-0:lo";
        assert_eq!(path_of("rootlesskit/rootlesskit", plain), both);
        let spliced = NetworkOptions { splice: true, ..plain };
        assert_eq!(path_of("pasta", spliced), "node-0:lo node-0:pasta server-0:lo");
    }

    #[test]
    fn every_published_port_and_tap_device_has_a_holder() {
        let shape = Shape { servers: 2, clients: 3, ..Shape::default() };
        let both = layout("pasta/pasta", &shape, NetworkOptions::default()).unwrap();
        let taps =
            |one: &&crate::plan::wiring::Carrier| matches!(one.endpoint, HeldEndpoint::Tap { .. });
        let carriers = &both.wiring.carriers;
        assert_eq!(carriers.iter().filter(taps).count(), 5);
        // Two servers, each with two ports on an address of its own.
        assert_eq!(carriers.len() - carriers.iter().filter(taps).count(), 4);
        for route in &both.routes {
            let listener = HeldEndpoint::Listener(route.dial);
            assert!(carriers.iter().any(|one| one.endpoint == listener), "{route:?}");
        }
    }

    #[test]
    fn spliced_servers_have_loopback_addresses_of_their_own() {
        let spliced = NetworkOptions { splice: true, ..NetworkOptions::default() };
        let shape = Shape { servers: 2, clients: 2, ..Shape::default() };
        let two = layout("pasta", &shape, spliced).unwrap();
        let dialled: Vec<String> = two.routes.iter().map(|route| route.dial.to_string()).collect();
        assert_eq!(
            dialled,
            ["127.0.0.1:7001", "127.0.0.1:7002", "127.0.0.2:7001", "127.0.0.2:7002"]
        );
        let shape = Shape { family: Family::Ipv6, ..shape };
        let error = layout("pasta", &shape, spliced).unwrap_err();
        assert!(error.remedy.contains("--servers 1"), "{}", error.remedy);
    }

    #[test]
    fn no_stack_has_a_larger_mtu_than_the_engines_give_it() {
        let shape = Shape { mtu: 65_535, mtu_by: MtuSource::User, ..Shape::default() };
        let error = layout("pasta", &shape, NetworkOptions::default()).unwrap_err();
        assert!(error.to_string().contains("largest MTU of a user-mode stack is 65520"), "{error}");
    }
}
