//! `cni:FILE`: containers attached by the plugins of a CNI configuration. `cni-published:FILE` differs in the address
//! that clients dial.

use crate::cni::{
    Attachment, CniResult, DEVICE, NetworkConfigList, PortMapping, RuntimeConfig, STATE_DIRECTORY,
    find_plugin, plugins_path, script,
};
use crate::networks::external::namespaces::{
    BuiltNamespaces, UnconnectedNamespaces, require_sandbox,
};
use crate::networks::veth_and_bridge_requirements;
use crate::plan::layout::{Layout, NamespaceEndpoint, Waypoint, client_routes};
use crate::plan::wiring::NamespaceId;
use crate::shell;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use tare_network::{
    Error, Hop, HopKind, Network, NetworkInfo, NetworkParameters, Requirement, Shape, Topology,
    UnmetRequirement,
};
use tare_sandbox::{Namespace, Sandbox};

pub(crate) const INFO: NetworkInfo = NetworkInfo {
    name: "cni:FILE",
    summary: "containers attached by the plugins of a CNI configuration or list",
    stands_for: "whatever the configuration describes, by its real plugins",
    source: "containernetworking/cni, SPEC.md",
    options: &[],
};

/// Address that clients dial.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum DialTarget {
    /// Clients are containers of the network, and dial the server's own address.
    ContainerAddress,
    /// Clients run on the node, and dial a port that is published there.
    PublishedPort,
}

pub(crate) struct CniNetwork {
    pub(crate) sandbox: Option<Arc<Sandbox>>,
    pub(crate) info: NetworkInfo,
    /// Prefix of its name, before the file.
    pub(crate) scheme: &'static str,
    pub(crate) dial_target: DialTarget,
}

/// Returns the network of `cni:FILE`.
pub(crate) fn cni(sandbox: &Option<Arc<Sandbox>>) -> CniNetwork {
    CniNetwork {
        sandbox: sandbox.clone(),
        info: INFO,
        scheme: "cni:",
        dial_target: DialTarget::ContainerAddress,
    }
}

impl CniNetwork {
    fn read_list(site: &NetworkParameters) -> Result<Arc<NetworkConfigList>, Error> {
        let file = site.argument.as_deref().unwrap_or_default();
        NetworkConfigList::read(Path::new(file)).map(Arc::new)
    }

    /// Returns the node and container namespaces, and the node's address for each server.
    fn namespaces(
        &self,
        shape: &Shape,
        site: &NetworkParameters,
    ) -> Result<(UnconnectedNamespaces, Vec<IpAddr>), Error> {
        let mut ground = UnconnectedNamespaces::for_shape(self.info().name, shape, site)?;
        // Clients on the node have no container.
        if self.dial_target == DialTarget::PublishedPort {
            ground.clients.clear();
        }
        let node = ground.node;
        let outer = node.addresses(&mut ground.wiring, shape.servers)?;
        Ok((ground, outer.iter().map(|slot| slot.address(shape.family)).collect()))
    }

    /// Returns the runtime's values for a server: its ports are published on the node's address `on`, if clients dial
    /// that.
    fn server_runtime(&self, shape: &Shape, site: &NetworkParameters, on: IpAddr) -> RuntimeConfig {
        let ports = match self.dial_target {
            DialTarget::ContainerAddress => Vec::new(),
            DialTarget::PublishedPort => {
                site.ports.iter().map(|&port| PortMapping { host_address: on, port }).collect()
            }
        };
        RuntimeConfig { ports, ..client_runtime(shape) }
    }

    /// Returns what a list lacks: the capability to publish ports, if clients dial them, or a program. Returns `None`
    /// if it lacks nothing.
    fn missing(&self, list: &NetworkConfigList) -> Option<UnmetRequirement> {
        let publishes = list.has_capability("portMappings");
        (self.dial_target == DialTarget::PublishedPort && !publishes)
            .then(|| UnmetRequirement {
                reason: format!(
                    "no plugin of the CNI network {} has the capability portMappings",
                    list.name
                ),
                remedy: "add the plugin portmap with `\"capabilities\": {\"portMappings\": true}`"
                    .to_owned(),
            })
            .or_else(|| list.missing())
    }
}

/// Returns the runtime's values for a container without published ports: the MTU, if the shape asks for one.
fn client_runtime(shape: &Shape) -> RuntimeConfig {
    let asked = shape.mtu != Shape::default().mtu;
    RuntimeConfig { ports: Vec::new(), mtu: asked.then_some(shape.mtu) }
}

/// Returns the kernel features and programs that the common plugins of a list need.
fn plugin_requirements(list: &NetworkConfigList) -> Vec<Requirement> {
    let mut needs = veth_and_bridge_requirements();
    for program in list.programs() {
        let modules: &[&'static str] = match program {
            "macvlan" => &["macvlan"],
            "ipvlan" => &["ipvlan"],
            "vlan" => &["8021q"],
            "vrf" => &["vrf"],
            "bandwidth" => &["sch_tbf"],
            _ => &[],
        };
        needs.extend(modules.iter().map(|module| Requirement::Kernel { module }));
        if program == "portmap" {
            needs.push(Requirement::Program { name: "iptables", package: "iptables" });
        }
    }
    needs
}

impl Network for CniNetwork {
    fn info(&self) -> NetworkInfo {
        self.info.clone()
    }

    fn scheme(&self) -> Option<&'static str> {
        Some(self.scheme)
    }

    fn programs_of_argument(&self, argument: &str) -> Vec<String> {
        let Ok(list) = NetworkConfigList::read(Path::new(argument)) else {
            return vec![format!("the plugins of {argument}")];
        };
        let path = |name: &&str| find_plugin(name).map(|path| path.display().to_string());
        list.programs().iter().map(|name| path(name).unwrap_or((*name).to_owned())).collect()
    }

    fn requirements(&self, site: &NetworkParameters) -> Vec<Requirement> {
        let lacking =
            |missing: UnmetRequirement| vec![Requirement::Namespaces, Requirement::Unmet(missing)];
        if site.argument.is_none() {
            return missing_plugins().map_or(vec![Requirement::Namespaces], lacking);
        }
        match Self::read_list(site) {
            Err(error) => {
                lacking(UnmetRequirement { reason: error.to_string(), remedy: error.remedy })
            }
            Ok(list) => match self.missing(&list) {
                Some(missing) => lacking(missing),
                None => std::iter::once(Requirement::Namespaces)
                    .chain(plugin_requirements(&list))
                    .collect(),
            },
        }
    }

    fn set_up(&self, shape: &Shape, site: &NetworkParameters) -> Result<Topology, Error> {
        let sandbox = require_sandbox(self.info().name, &self.sandbox)?;
        let list = Self::read_list(site)?;
        let (ground, outer) = self.namespaces(shape, site)?;
        let built = BuiltNamespaces::new(
            sandbox,
            &ground,
            &plugin_requirements(&list),
            &["/run", STATE_DIRECTORY],
        )?;
        let attach = |space: NamespaceId, runtime: RuntimeConfig| {
            Attachment::make(&built.context, &list, ground.wiring.name(space), runtime)
        };
        let servers = ground.servers.iter().zip(&outer);
        let servers: Vec<Attachment> = servers
            .map(|(&space, &on)| attach(space, self.server_runtime(shape, site, on)))
            .collect::<Result<_, _>>()?;
        let clients: Vec<Attachment> = ground
            .clients
            .iter()
            .map(|&space| attach(space, client_runtime(shape)))
            .collect::<Result<_, _>>()?;
        let attached =
            AttachedContainers { list: &list, servers: &servers, clients: &clients, outer: &outer };
        attached.check_mtu(&ground, shape, built.spaces())?;
        let layout = attached.layout(ground, shape, site, built.spaces())?;
        // Containers are detached in the reverse order.
        built.into_topology(layout, shape.without, (clients, servers))
    }

    fn commands(&self, shape: &Shape, site: &NetworkParameters) -> Vec<String> {
        let lines = || {
            let list = Self::read_list(site)?;
            let (ground, outer) = self.namespaces(shape, site)?;
            let node = ground.wiring.name(ground.node.space);
            let mut lines = shell::script_or_comment(&ground.wiring);
            for (&space, &on) in ground.servers.iter().zip(&outer) {
                let runtime = self.server_runtime(shape, site, on);
                lines.extend(script(&list, node, ground.wiring.name(space), &runtime));
            }
            for &space in &ground.clients {
                let name = ground.wiring.name(space);
                lines.extend(script(&list, node, name, &client_runtime(shape)));
            }
            Ok(lines)
        };
        lines().unwrap_or_else(|error: Error| vec![format!("# {error}")])
    }
}

/// Returns how to install plugins if no directory of the search path exists. Returns `None` if one does.
fn missing_plugins() -> Option<UnmetRequirement> {
    let path = plugins_path();
    let any = std::env::split_paths(&path).any(|directory| directory.is_dir());
    (!any).then(|| UnmetRequirement {
        reason: format!("no directory of CNI plugins exists: {path}"),
        remedy: "sudo apt-get install containernetworking-plugins, or set CNI_PATH".to_owned(),
    })
}

/// Attached containers of a network.
struct AttachedContainers<'a> {
    list: &'a NetworkConfigList,
    servers: &'a [Attachment],
    clients: &'a [Attachment],
    /// Addresses of the node, one for each server.
    outer: &'a [IpAddr],
}

impl AttachedContainers<'_> {
    /// Checks that containers have the shape's MTU. Fails if the configuration sets another one, or if its plugins
    /// accept none.
    fn check_mtu(
        &self,
        ground: &UnconnectedNamespaces,
        shape: &Shape,
        spaces: &[Arc<Namespace>],
    ) -> Result<(), Error> {
        let device = spaces[ground.servers[0].0].device(DEVICE)?;
        let mtu = device.map_or(shape.mtu, |device| device.mtu);
        if shape.mtu == Shape::default().mtu || shape.mtu == mtu {
            return Ok(());
        }
        let what = format!("attach containers to the CNI network {}", self.list.name);
        Err(Error::new(
            what,
            format!("the network gives the containers an MTU of {mtu}, not of {}", shape.mtu),
        )
        .with_remedy(format!("set `\"mtu\": {}` in the configuration", shape.mtu)))
    }

    fn layout(
        &self,
        ground: UnconnectedNamespaces,
        shape: &Shape,
        site: &NetworkParameters,
        spaces: &[Arc<Namespace>],
    ) -> Result<Layout, Error> {
        let endpoint = |(attachment, &space): (&Attachment, &NamespaceId)| {
            let address = attachment.result.address(shape.family).ok_or_else(|| {
                let what = format!("attach containers to the CNI network {}", self.list.name);
                let why = format!("the network gives the containers no {} address", shape.family);
                Error::new(what, why).with_remedy(
                    "add an address range of that family to the `ipam`, or choose another --family",
                )
            })?;
            Ok(NamespaceEndpoint { space: Some(space), address })
        };
        let servers: Vec<NamespaceEndpoint> =
            self.servers.iter().zip(&ground.servers).map(endpoint).collect::<Result<_, Error>>()?;
        let node = ground.node.space;
        let published = ground.clients.is_empty();
        let clients: Vec<NamespaceEndpoint> = if published {
            let client = NamespaceEndpoint { space: Some(node), address: self.outer[0] };
            (0..shape.clients).map(|_| client.clone()).collect()
        } else {
            let clients = self.clients.iter().zip(&ground.clients);
            clients.map(endpoint).collect::<Result<_, Error>>()?
        };
        Ok(Layout {
            routes: client_routes(shape, site, |_, server| {
                let listen = servers[server].address;
                (listen, if published { self.outer[server] } else { listen })
            }),
            path: self.path(&ground, spaces)?,
            servers,
            clients,
            proof: None,
            wiring: ground.wiring,
        })
    }

    /// Returns the path from client 0 to its server, from the devices in the plugins' results.
    fn path(
        &self,
        ground: &UnconnectedNamespaces,
        spaces: &[Arc<Namespace>],
    ) -> Result<Vec<Waypoint>, Error> {
        let node = NamespaceDevices { space: ground.node.space, spaces };
        let place = ground.wiring.name(ground.node.space);
        let inside = |space: NamespaceId| NamespaceDevices { space, spaces }.waypoint(DEVICE);
        let server = self.servers.first().map(|one| node.node_devices(&one.result)).transpose()?;
        let server = server.unwrap_or_default();
        let mut path = Vec::new();
        match self.clients.first() {
            None => path.push(Waypoint::Other(
                Hop::new(HopKind::Nat, "nat/CNI-HOSTPORT-DNAT", place)
                    .with_detail(format!("the port published on {}, by portmap", self.outer[0])),
            )),
            Some(client) => {
                path.push(inside(ground.clients[0])?);
                let mut client = node.node_devices(&client.result)?;
                client.reverse();
                if !client.is_empty() && client.last() != server.first() {
                    // No bridge joins the two containers: the node routes.
                    let routing = Hop::new(HopKind::Route, "routing", place);
                    client.push(Waypoint::Other(routing));
                }
                path.extend(client);
            }
        }
        // A bridge that both containers are on is passed once.
        let common = usize::from(path.last().is_some() && path.last() == server.first());
        path.extend(server.into_iter().skip(common));
        path.push(inside(ground.servers[0])?);
        Ok(path)
    }
}

/// Namespace in which devices are looked up.
struct NamespaceDevices<'a> {
    space: NamespaceId,
    spaces: &'a [Arc<Namespace>],
}

impl NamespaceDevices<'_> {
    /// Returns a device with its kind as the kernel reports it. Fails if it does not exist.
    fn waypoint(&self, name: &str) -> Result<Waypoint, Error> {
        let namespace = &self.spaces[self.space.0];
        let device = namespace.device(name)?;
        let device = device.ok_or_else(|| {
            let what = format!("find the device {}:{name}", namespace.name());
            Error::new(what, "the CNI plugin reports the device, but the kernel does not list it")
        })?;
        Ok(Waypoint::device(device.kind, self.space, name))
    }

    /// Returns the devices of a result that are outside of the container: bridges first, then those that lead to the
    /// container.
    fn node_devices(&self, answer: &CniResult) -> Result<Vec<Waypoint>, Error> {
        let outside = answer.interfaces.iter().filter(|one| one.sandbox.is_empty());
        let mut devices: Vec<Waypoint> =
            outside.map(|one| self.waypoint(&one.name)).collect::<Result<_, _>>()?;
        devices.sort_by_key(|one| !is_bridge(one));
        Ok(devices)
    }
}

fn is_bridge(waypoint: &Waypoint) -> bool {
    matches!(waypoint, Waypoint::Device { kind: HopKind::Bridge, .. })
}
