//! `cni:FILE`: whatever a CNI configuration describes, raised by its own plugins. `cni-published:FILE` differs in who dials.

use super::foreign::{Built, Ground, entered};
use super::{cni_published, wired};
use crate::cni::{
    Answer, Attachment, DEVICE, List, PortMapping, Runtime, STATE, plugins_path, script,
};
use crate::lab::Lab;
use crate::layout::{Endpoint, Layout, Waypoint, routes};
use crate::namespace::Namespace;
use crate::shell;
use crate::wiring::SpaceId;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use tare_network::{About, Error, Hop, HopKind, Missing, Need, Network, Shape, Site, Topology};

pub(super) const ABOUT: About = About {
    name: "cni:FILE",
    summary: "containers attached by the plugins of a CNI configuration or list",
    stands_for: "whatever the configuration describes, by its real plugins",
    source: "containernetworking/cni, SPEC.md",
    options: &[],
};

/// Who dials.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialled {
    /// A container of the network's, by the server's own address.
    Directly,
    /// The node, by a port that is published there.
    ByPublishedPort,
}

pub(super) struct Cni {
    pub(super) lab: Option<Arc<Lab>>,
    pub(super) dialled: Dialled,
}

impl Cni {
    fn list(site: &Site) -> Result<Arc<List>, Error> {
        let file = site.argument.as_deref().unwrap_or_default();
        List::read(Path::new(file)).map(Arc::new)
    }

    /// What each container is told, with the addresses that the node has for it.
    fn ground(&self, shape: &Shape) -> Result<(Ground, Vec<IpAddr>), Error> {
        let mut ground = Ground::of(self.about().name, shape)?;
        // Only who dials a container needs one of its own.
        if self.dialled == Dialled::ByPublishedPort {
            ground.clients.clear();
        }
        let node = ground.node;
        let outer = node.addresses(&mut ground.wiring, shape.servers)?;
        Ok((ground, outer.iter().map(|slot| slot.address(shape.family)).collect()))
    }

    /// What plugins are told of a server, which may be published on an address of the node.
    fn runtime(&self, shape: &Shape, site: &Site, on: IpAddr) -> Runtime {
        let ports = match self.dialled {
            Dialled::Directly => Vec::new(),
            Dialled::ByPublishedPort => {
                site.ports.iter().map(|&port| PortMapping { on, port }).collect()
            }
        };
        Runtime { ports, ..unpublished(shape) }
    }

    /// What is missing of a list, or of what it must be able to do.
    fn lacks(&self, list: &List) -> Option<Missing> {
        let publishes = list.has_capability("portMappings");
        (self.dialled == Dialled::ByPublishedPort && !publishes)
            .then(|| Missing {
                reason: format!(
                    "none of the plugins of {} has the capability portMappings",
                    list.name
                ),
                remedy: "add portmap with `\"capabilities\": {\"portMappings\": true}`".to_owned(),
            })
            .or_else(|| list.missing())
    }
}

/// What plugins are told of a container: an MTU where one is asked for, else nothing.
fn unpublished(shape: &Shape) -> Runtime {
    let asked = shape.mtu != Shape::default().mtu;
    Runtime { ports: Vec::new(), mtu: asked.then_some(shape.mtu) }
}

/// The kernel features and programs of the plugins that everybody has.
fn needs_of(list: &List) -> Vec<Need> {
    let mut needs = wired();
    for program in list.programs() {
        let modules: &[&'static str] = match program {
            "macvlan" => &["macvlan"],
            "ipvlan" => &["ipvlan"],
            "vlan" => &["8021q"],
            "vrf" => &["vrf"],
            "bandwidth" => &["sch_tbf"],
            _ => &[],
        };
        needs.extend(modules.iter().map(|module| Need::Kernel { module }));
        if program == "portmap" {
            needs.push(Need::Program { name: "iptables", package: "iptables" });
        }
    }
    needs
}

impl Network for Cni {
    fn about(&self) -> About {
        match self.dialled {
            Dialled::Directly => ABOUT,
            Dialled::ByPublishedPort => cni_published::ABOUT,
        }
    }

    fn scheme(&self) -> Option<&'static str> {
        Some(match self.dialled {
            Dialled::Directly => "cni:",
            Dialled::ByPublishedPort => cni_published::SCHEME,
        })
    }

    fn runs_its_argument(&self) -> bool {
        true
    }

    fn needs(&self, site: &Site) -> Vec<Need> {
        let lacking = |missing: Missing| vec![Need::Namespaces, Need::Lacking(missing)];
        if site.argument.is_none() {
            return any_plugins().map_or(vec![Need::Namespaces], lacking);
        }
        match Self::list(site) {
            Err(Error { what, why, remedy }) => {
                lacking(Missing { reason: format!("{what}: {why}"), remedy })
            }
            Ok(list) => match self.lacks(&list) {
                Some(missing) => lacking(missing),
                None => std::iter::once(Need::Namespaces).chain(needs_of(&list)).collect(),
            },
        }
    }

    fn raise(&self, shape: &Shape, site: &Site) -> Result<Topology, Error> {
        let lab = entered(self.about().name, &self.lab)?;
        let list = Self::list(site)?;
        let (ground, outer) = self.ground(shape)?;
        let built = Built::new(lab, &ground, &needs_of(&list), &["/run", STATE])?;
        let attach = |space: SpaceId, runtime: Runtime| {
            Attachment::make(&built.station, &list, ground.wiring.name(space), runtime)
        };
        let servers = ground.servers.iter().zip(&outer);
        let servers: Vec<Attachment> = servers
            .map(|(&space, &on)| attach(space, self.runtime(shape, site, on)))
            .collect::<Result<_, _>>()?;
        let clients: Vec<Attachment> = ground
            .clients
            .iter()
            .map(|&space| attach(space, unpublished(shape)))
            .collect::<Result<_, _>>()?;
        let attached =
            Attached { list: &list, servers: &servers, clients: &clients, outer: &outer };
        attached.has_mtu(&ground, shape, &built.spaces)?;
        let layout = attached.layout(ground, shape, site, &built.spaces)?;
        // They are detached in the opposite order.
        built.finish(layout, shape.without, (clients, servers))
    }

    fn commands(&self, shape: &Shape, site: &Site) -> Vec<String> {
        let lines = || {
            let list = Self::list(site)?;
            let (ground, outer) = self.ground(shape)?;
            let node = ground.wiring.name(ground.node.space);
            let mut lines = shell::script(&ground.wiring);
            for (&space, &on) in ground.servers.iter().zip(&outer) {
                let runtime = self.runtime(shape, site, on);
                lines.extend(script(&list, node, ground.wiring.name(space), &runtime));
            }
            for &space in &ground.clients {
                let name = ground.wiring.name(space);
                lines.extend(script(&list, node, name, &unpublished(shape)));
            }
            Ok(lines)
        };
        lines().unwrap_or_else(|error: Error| vec![format!("# {error}")])
    }
}

/// Where there are no plugins at all, what to do.
fn any_plugins() -> Option<Missing> {
    let path = plugins_path();
    let any = std::env::split_paths(&path).any(|directory| directory.is_dir());
    (!any).then(|| Missing {
        reason: format!("there are no CNI plugins in {path}"),
        remedy: "sudo apt-get install containernetworking-plugins, or set CNI_PATH".to_owned(),
    })
}

/// What came of attaching all containers.
struct Attached<'a> {
    list: &'a List,
    servers: &'a [Attachment],
    clients: &'a [Attachment],
    /// The node's addresses, one for each server.
    outer: &'a [IpAddr],
}

impl Attached<'_> {
    /// Whether containers have the MTU that was asked for: the configuration may say another one, or its plugins none.
    fn has_mtu(
        &self,
        ground: &Ground,
        shape: &Shape,
        spaces: &[Arc<Namespace>],
    ) -> Result<(), Error> {
        let device = spaces[ground.servers[0].0].device(DEVICE)?;
        let mtu = device.map_or(shape.mtu, |device| device.mtu);
        if shape.mtu == Shape::default().mtu || shape.mtu == mtu {
            return Ok(());
        }
        let what = format!("attach containers by the CNI network {}", self.list.name);
        Err(Error::new(what, format!("it gives them an MTU of {mtu}, not of {}", shape.mtu))
            .with_remedy(format!("say `\"mtu\": {}` in the configuration", shape.mtu)))
    }

    fn layout(
        &self,
        ground: Ground,
        shape: &Shape,
        site: &Site,
        spaces: &[Arc<Namespace>],
    ) -> Result<Layout, Error> {
        let endpoint = |(attachment, &space): (&Attachment, &SpaceId)| {
            let address = attachment.answer.address(shape.family).ok_or_else(|| {
                let what = format!("attach containers by the CNI network {}", self.list.name);
                Error::new(what, format!("it gives them no {} address", shape.family)).with_remedy(
                    "add a range of that family to its ipam, or choose another --family",
                )
            })?;
            Ok(Endpoint { space: Some(space), address })
        };
        let servers: Vec<Endpoint> =
            self.servers.iter().zip(&ground.servers).map(endpoint).collect::<Result<_, Error>>()?;
        let node = ground.node.space;
        let published = ground.clients.is_empty();
        let clients: Vec<Endpoint> = if published {
            let client = Endpoint { space: Some(node), address: self.outer[0] };
            (0..shape.clients).map(|_| client.clone()).collect()
        } else {
            let clients = self.clients.iter().zip(&ground.clients);
            clients.map(endpoint).collect::<Result<_, Error>>()?
        };
        Ok(Layout {
            routes: routes(shape, site, |_, server| {
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

    /// From client 0 to its server, as the plugins have said it.
    fn path(&self, ground: &Ground, spaces: &[Arc<Namespace>]) -> Result<Vec<Waypoint>, Error> {
        let node = Place { space: ground.node.space, spaces };
        let place = ground.wiring.name(ground.node.space);
        let inside = |space: SpaceId| Place { space, spaces }.waypoint(DEVICE);
        let server = self.servers.first().map(|one| node.outside(&one.answer)).transpose()?;
        let server = server.unwrap_or_default();
        let mut path = Vec::new();
        match self.clients.first() {
            None => path.push(Waypoint::Other(
                Hop::new(HopKind::Nat, "nat/CNI-HOSTPORT-DNAT", place)
                    .with_detail(format!("the port published on {}, by portmap", self.outer[0])),
            )),
            Some(client) => {
                path.push(inside(ground.clients[0])?);
                let mut client = node.outside(&client.answer)?;
                client.reverse();
                if !client.is_empty() && client.last() != server.first() {
                    // No bridge joins the two.
                    let routing = Hop::new(HopKind::Route, "routing", place);
                    client.push(Waypoint::Other(routing));
                }
                path.extend(client);
            }
        }
        // A bridge that both are on is passed once.
        let common = usize::from(path.last().is_some() && path.last() == server.first());
        path.extend(server.into_iter().skip(common));
        path.push(inside(ground.servers[0])?);
        Ok(path)
    }
}

/// A namespace whose devices are asked for.
struct Place<'a> {
    space: SpaceId,
    spaces: &'a [Arc<Namespace>],
}

impl Place<'_> {
    /// A device, of the kind that the kernel says.
    fn waypoint(&self, name: &str) -> Result<Waypoint, Error> {
        let namespace = &self.spaces[self.space.0];
        let device = namespace.device(name)?;
        let device = device.ok_or_else(|| {
            let what = format!("find {}:{name}", namespace.name());
            Error::new(what, "the CNI plugin speaks of it, and it is not there")
        })?;
        Ok(Waypoint::device(device.kind, self.space, name))
    }

    /// The devices outside of a container that its plugins speak of: bridges first, then what leads on to the container.
    fn outside(&self, answer: &Answer) -> Result<Vec<Waypoint>, Error> {
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
