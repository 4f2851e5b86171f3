//! The lab's networks, one file each.
//!
//! A network of the lab is a [`Recipe`]: words, needs, and a layout. [`Laid`] makes a [`Network`] of it: it checks the
//! needs, builds the layout, proves that packets pass and where, and hands out containers; or it prints the layout as
//! commands.

mod agents;
mod bridge;
mod bridge_plain;
mod calico;
mod calico_ipip;
mod calico_vxlan;
mod cni;
mod cni_published;
mod exec;
mod flannel;
mod flannel_host_gw;
mod flannel_ipip;
mod flannel_udp;
mod flannel_vxlan;
mod flannel_wireguard;
mod foreign;
mod geneve;
mod gre;
mod host;
mod ipip;
mod ipsec;
mod ipsec_user;
mod ipvlan_l2;
mod ipvlan_l3;
mod link;
mod loopback;
mod macvlan;
mod macvlan_nat;
mod native;
mod netkit;
mod ovs;
mod ovs_bridge;
mod ovs_bridge_vxlan;
mod ovs_nodes;
mod ovs_user;
mod ovs_user_vxlan;
mod ovs_vxlan;
mod pairs;
mod pipework;
mod pipework_macvlan;
mod published;
mod published_proxy;
mod routed;
mod shared;
mod tunnels;
mod up;
mod veth;
mod vlan;
mod vrf;
mod vxlan;
mod vxlan_encrypted;
mod weave;
mod weave_fastdp;
mod weave_sleeve;
mod weave_sleeve_encrypted;
mod wireguard;
mod wireguard_user;

use crate::build::build;
use crate::kernel::KernelProbe;
use crate::lab::Lab;
use crate::layout::{Layout, Waypoint};
use crate::namespace::Namespace;
use crate::netlink::Socket;
use crate::programs::{self, Ready};
use crate::prove::prove;
use crate::tap::{self, Secrecy};
use crate::underlay::{link_needs, link_of};
use crate::watch::Watcher;
use crate::{burner, clamp, cores, nft, offload, shell, varied};
use std::ops::RangeInclusive;
use std::sync::Arc;
use tare_network::{About, Error, Finding, Hop, HopKind, Need, Network, Shape, Site, Topology};
use up::Up;

pub(crate) use native::PLACE as CALLER;

/// What a network of the lab has of its own.
trait Recipe: Send + Sync + 'static {
    /// What it is.
    fn about(&self) -> About;
    /// What it needs beside private namespaces.
    fn needs(&self, site: &Site) -> Vec<Need>;
    /// How many nodes it joins.
    fn nodes(&self) -> RangeInclusive<u32> {
        1..=1
    }
    /// Whether those who listen between nodes can read what it carries.
    fn secrecy(&self) -> Secrecy {
        Secrecy::Plain
    }
    /// How it is laid out.
    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error>;
}

/// All networks of the lab; without a lab they can be listed and shown, not raised.
#[must_use]
pub fn networks(lab: Option<Arc<Lab>>) -> Vec<Box<dyn Network>> {
    vec![
        laid(native::Native, &lab),
        laid(loopback::Loopback, &lab),
        laid(host::Host, &lab),
        laid(shared::Shared, &lab),
        laid(veth::Veth, &lab),
        laid(bridge::Bridge, &lab),
        laid(bridge_plain::BridgePlain, &lab),
        laid(published::Published, &lab),
        laid(published_proxy::PublishedProxy, &lab),
        laid(link::Link, &lab),
        laid(pipework::Pipework, &lab),
        laid(pipework_macvlan::PipeworkMacvlan, &lab),
        laid(macvlan::Macvlan, &lab),
        laid(macvlan_nat::MacvlanNat, &lab),
        laid(ipvlan_l2::IpvlanL2, &lab),
        laid(ipvlan_l3::IpvlanL3, &lab),
        laid(vlan::Vlan, &lab),
        laid(vrf::Vrf, &lab),
        laid(netkit::Netkit, &lab),
        laid(ovs::Ovs, &lab),
        laid(ovs_user::OvsUser, &lab),
        laid(ovs_bridge::OvsBridge { lab: lab.clone() }, &lab),
        Box::new(cni::Cni { lab: lab.clone(), dialled: cni::Dialled::Directly }),
        Box::new(cni_published::cni_published(&lab)),
        Box::new(exec::Exec { lab: lab.clone() }),
        laid(routed::Routed, &lab),
        laid(vxlan::Vxlan, &lab),
        laid(vxlan_encrypted::VxlanEncrypted, &lab),
        laid(geneve::NETWORK, &lab),
        laid(ipip::NETWORK, &lab),
        laid(gre::NETWORK, &lab),
        laid(wireguard::Wireguard, &lab),
        laid(wireguard_user::WireguardUser, &lab),
        laid(ipsec::Ipsec, &lab),
        laid(ipsec_user::IpsecUser, &lab),
        laid(calico::NETWORK, &lab),
        laid(calico_vxlan::NETWORK, &lab),
        laid(calico_ipip::NETWORK, &lab),
        laid(flannel_vxlan::NETWORK, &lab),
        laid(flannel_udp::NETWORK, &lab),
        laid(flannel_host_gw::NETWORK, &lab),
        laid(flannel_ipip::NETWORK, &lab),
        laid(flannel_wireguard::NETWORK, &lab),
        laid(weave_sleeve::network(&lab), &lab),
        laid(weave_sleeve_encrypted::network(&lab), &lab),
        laid(weave_fastdp::network(&lab), &lab),
        laid(ovs_vxlan::network(&lab), &lab),
        laid(ovs_user_vxlan::network(&lab), &lab),
        laid(ovs_bridge_vxlan::network(&lab), &lab),
    ]
}

/// The pairs of places `CLIENT/SERVER`, for those who name them: most are much like one of the networks.
#[must_use]
pub fn pairs(lab: Option<Arc<Lab>>) -> Vec<Box<dyn Network>> {
    pairs::PAIRS.into_iter().map(|pair| laid(pair, &lab)).collect()
}

/// Asks the lab's own probe, which looks only once and may have modules loaded; without a lab a new one.
fn ask_kernel<T>(lab: Option<&Arc<Lab>>, question: impl FnOnce(&KernelProbe) -> T) -> T {
    match lab {
        Some(lab) => question(lab.kernel()),
        None => question(&KernelProbe::default()),
    }
}

fn laid(recipe: impl Recipe, lab: &Option<Arc<Lab>>) -> Box<dyn Network> {
    Box::new(Laid { recipe, lab: lab.clone() })
}

/// A recipe, and the lab to carry it out in.
struct Laid<R> {
    recipe: R,
    lab: Option<Arc<Lab>>,
}

impl<R: Recipe> Laid<R> {
    /// How it is laid out, with what the shape asks of every network.
    fn laid_out(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        let shape = varied::shape(shape, &site.options);
        let mut layout = self.recipe.layout(&shape, site)?;
        clamp::clamp(&mut layout, &shape)?;
        varied::vary(&mut layout, &site.options);
        Ok(layout)
    }

    /// That it encrypts, and who does: the daemons, where one of them carries the packets; no device of the lab's has a
    /// cipher of its own.
    fn encrypted(&self, layout: &Layout) -> Option<Finding> {
        let forwards = |one: &Waypoint| match one {
            Waypoint::Device { kind, .. } => *kind == HopKind::Forwarder,
            Waypoint::Other(hop) => hop.kind == HopKind::Forwarder,
        };
        let daemons = layout.wiring.programs.iter().filter(|one| one.ready != Ready::Ended);
        let mut programs: Vec<&str> = daemons.map(|program| program.name.as_str()).collect();
        programs.sort_unstable();
        programs.dedup();
        let by = if layout.path.iter().any(forwards) {
            programs.join(", ")
        } else {
            "the kernel".to_owned()
        };
        let encrypts = self.recipe.secrecy() == Secrecy::Encrypted;
        encrypts.then_some(Finding::EncryptedInSoftware { by })
    }

    /// What it needs beside private namespaces, its options included.
    fn beside_namespaces(&self, site: &Site) -> Vec<Need> {
        let mut needs = self.recipe.needs(site);
        needs.extend(site.options.rate.map(|_| Need::Kernel { module: "sch_tbf" }));
        needs.extend(varied::needs(&site.options));
        needs
    }
}

impl<R: Recipe> Network for Laid<R> {
    fn about(&self) -> About {
        self.recipe.about()
    }

    fn needs(&self, site: &Site) -> Vec<Need> {
        let mut needs = vec![Need::Namespaces];
        needs.extend(self.beside_namespaces(site));
        needs
    }

    fn nodes(&self) -> RangeInclusive<u32> {
        self.recipe.nodes()
    }

    fn has_room(&self, shape: &Shape, site: &Site) -> Result<(), Error> {
        self.laid_out(shape, site).map(drop)
    }

    fn raise(&self, shape: &Shape, site: &Site) -> Result<Topology, Error> {
        let name = self.about().name;
        let lab = self.lab.as_ref().ok_or_else(|| {
            Error::new(format!("raise {name}"), "this process has not entered a lab")
        })?;
        let layout = self.laid_out(shape, site)?;
        lab.kernel().ensure(&self.beside_namespaces(site))?;
        if shape.clamp_mss {
            lab.kernel().ensure(&clamp::needs())?;
        }
        lab.kernel().ensure(&link_needs(&link_of(shape)?))?;
        let spaces = build(lab, &layout.wiring)?;
        let offloads = shape.without.and(site.options.without);
        let switched = offload::switch_off(&layout, &spaces, offloads)?;
        let (cores, logs) = (cores::of(&shape.cpus), site.logs.as_deref());
        let programs = Arc::new(programs::start(lab, &layout.wiring, &spaces, cores, logs)?);
        prove(lab, &layout, &spaces, &programs)?;
        if shape.nodes > 1 {
            tap::listen(&layout, &spaces, self.recipe.secrecy())?;
        }
        let homes: Vec<_> = layout.wiring.nodes().map(|(node, _)| spaces[node.0].clone()).collect();
        let burners = burner::start(lab, shape, &homes)?;
        let hops = hops(&layout, &spaces, &switched)?;
        let up = Up { lab, layout: &layout, spaces: &spaces, programs: &programs };
        Ok(Topology {
            servers: up.containers("server", &layout.servers),
            clients: up.containers("client", &layout.clients),
            nodes: up.nodes(),
            hops,
            findings: switched
                .finding(&layout.wiring)
                .into_iter()
                .chain(self.encrypted(&layout))
                .collect(),
            watch: Some(Box::new(Watcher::watch(lab, &layout, &spaces))),
            routes: layout.routes,
            // The programs go before what they run in.
            guard: Box::new((burners, programs, spaces)),
        })
    }

    fn commands(&self, shape: &Shape, site: &Site) -> Vec<String> {
        match self.laid_out(shape, site) {
            Ok(layout) => {
                let mut lines = shell::script(&layout.wiring);
                let offloads = shape.without.and(site.options.without);
                lines.extend(shell::without(&layout, offloads));
                lines
            }
            Err(error) => vec![format!("# {error}")],
        }
    }
}

/// The path, with each device's MTU as the kernel has it now.
fn hops(
    layout: &Layout,
    spaces: &[Arc<Namespace>],
    switched: &offload::Outcome,
) -> Result<Vec<Hop>, Error> {
    let hop = |waypoint: &Waypoint| match waypoint {
        Waypoint::Other(hop) => Ok(hop.clone()),
        Waypoint::Device { kind, space, name, detail } => {
            let (place, device) = match space {
                Some(space) => (layout.wiring.name(*space), spaces[space.0].device(name)?),
                None => (native::PLACE, Socket::open()?.device(name)?),
            };
            let device = device.filter(|device| device.running).ok_or_else(|| {
                Error::new(format!("find {place}:{name} running"), "the kernel does not list it so")
            })?;
            let hop = Hop::new(*kind, name, place).with_mtu(device.mtu);
            let hop = Hop { detail: detail.clone(), ..hop };
            Ok(match space {
                Some(space) => switched.told(*space, hop),
                None => hop,
            })
        }
    };
    layout.path_with_queues().iter().map(hop).collect()
}

/// The kernel features of every network with devices of its own.
fn wired() -> Vec<Need> {
    ["veth", "bridge"].into_iter().map(|module| Need::Kernel { module }).collect()
}

/// The kernel features of a network whose containers hang on an uplink by this driver.
fn hung(driver: &'static str) -> Vec<Need> {
    let mut needs = wired();
    needs.push(Need::Kernel { module: driver });
    needs
}

/// The program and the kernel features of rules with these modules.
fn filtered(modules: &[&'static str]) -> Vec<Need> {
    let (name, package) = nft::NFT;
    let always = ["nf_tables", "nft_counter", "nft_chain_nat", "nft_nat"];
    let kernel = always.iter().chain(modules).map(|module| Need::Kernel { module });
    std::iter::once(Need::Program { name, package }).chain(kernel).collect()
}
