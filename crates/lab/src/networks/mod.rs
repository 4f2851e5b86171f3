//! Networks of the lab, one file each.
//!
//! A network of the lab is defined by a [`LabNetworkDefinition`]: its description, requirements and layout.
//! [`LabNetwork`] implements [`Network`] for it: it checks the requirements, builds the layout, proves that packets
//! take the intended path, and returns the containers; or it prints the layout as commands.

mod built_network;
mod calico;
mod external;
mod flannel;
mod historic;
mod ipsec;
mod multi_host;
mod ovs;
mod single_host;
mod weave;

use crate::build::build;
use crate::kernel::KernelProbe;
use crate::lab::Lab;
use crate::namespace::Namespace;
use crate::netlink::NetlinkSocket;
use crate::plan::layout::{Layout, Waypoint};
use crate::plan::network_options;
use crate::plan::underlay::{link_requirements, parse_link};
use crate::programs::{self, ReadyCondition};
use crate::verify::capture;
use crate::verify::capture::Confidentiality;
use crate::verify::counter_watch::NetworkWatcher;
use crate::verify::path_proof::prove_path;
use crate::{cpu_affinity, cpu_load, mss_clamp, nft, offload, shell};
use built_network::BuiltNetwork;
use std::ops::RangeInclusive;
use std::sync::Arc;
use tare_network::{
    AgentNamespaces, Error, Finding, Hop, HopKind, Network, NetworkInfo, NetworkParameters,
    Requirement, Shape, Topology,
};

pub(crate) use single_host::native::PLACE as CALLER;

/// Definition of a network of the lab.
trait LabNetworkDefinition: Send + Sync + 'static {
    /// Returns the description of the network.
    fn info(&self) -> NetworkInfo;
    /// Returns the network's requirements in addition to private namespaces.
    fn requirements(&self, site: &NetworkParameters) -> Vec<Requirement>;
    /// Returns the numbers of nodes that it can join.
    fn nodes(&self) -> RangeInclusive<u32> {
        1..=1
    }
    /// Returns the namespaces in which its agents run.
    fn agent_namespaces(&self) -> AgentNamespaces {
        AgentNamespaces::Lab
    }
    /// Returns whether its traffic between nodes can be read there.
    fn confidentiality(&self) -> Confidentiality {
        Confidentiality::Plain
    }
    /// Lays the network out for a shape and a site. Fails if the shape does not fit.
    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error>;
}

/// Returns all networks of the lab. Without a lab they can be listed and shown, but not set up.
#[must_use]
pub fn networks(lab: Option<Arc<Lab>>) -> Vec<Box<dyn Network>> {
    vec![
        boxed_network(single_host::native::NativeNetwork, &lab),
        boxed_network(single_host::loopback::LoopbackNetwork, &lab),
        boxed_network(single_host::host::HostNetwork, &lab),
        boxed_network(single_host::shared::SharedNamespaceNetwork, &lab),
        boxed_network(single_host::veth::VethNetwork, &lab),
        boxed_network(single_host::bridge::DockerBridgeNetwork, &lab),
        boxed_network(single_host::bridge_plain::PlainBridgeNetwork, &lab),
        boxed_network(single_host::published::PublishedPortNetwork, &lab),
        boxed_network(single_host::published_proxy::PublishedProxyNetwork, &lab),
        boxed_network(historic::link::LegacyLinkNetwork, &lab),
        boxed_network(historic::pipework::PipeworkNetwork, &lab),
        boxed_network(historic::pipework_macvlan::PipeworkMacvlanNetwork, &lab),
        boxed_network(single_host::macvlan::MacvlanNetwork, &lab),
        boxed_network(historic::macvlan_nat::MacvlanNatNetwork, &lab),
        boxed_network(single_host::ipvlan_l2::IpvlanL2Network, &lab),
        boxed_network(single_host::ipvlan_l3::IpvlanL3Network, &lab),
        boxed_network(single_host::vlan::VlanNetwork, &lab),
        boxed_network(single_host::vrf::VrfNetwork, &lab),
        boxed_network(single_host::netkit::NetkitNetwork, &lab),
        boxed_network(ovs::OvsNetwork, &lab),
        boxed_network(ovs::ovs_user::UserspaceOvsNetwork, &lab),
        boxed_network(ovs::ovs_bridge::OvsBridgeNetwork { lab: lab.clone() }, &lab),
        Box::new(external::cni::cni(&lab)),
        Box::new(external::cni_published::cni_published(&lab)),
        Box::new(external::exec::ExecNetwork { lab: lab.clone() }),
        boxed_network(multi_host::routed::RoutedNetwork, &lab),
        boxed_network(multi_host::vxlan::VxlanNetwork, &lab),
        boxed_network(multi_host::vxlan_encrypted::EncryptedVxlanNetwork, &lab),
        boxed_network(multi_host::geneve::NETWORK, &lab),
        boxed_network(multi_host::ipip::NETWORK, &lab),
        boxed_network(multi_host::gre::NETWORK, &lab),
        boxed_network(multi_host::wireguard::WireguardNetwork, &lab),
        boxed_network(multi_host::wireguard_user::UserspaceWireguardNetwork, &lab),
        boxed_network(ipsec::IpsecNetwork, &lab),
        boxed_network(ipsec::ipsec_user::UserspaceIpsecNetwork, &lab),
        boxed_network(calico::NETWORK, &lab),
        boxed_network(calico::calico_vxlan::NETWORK, &lab),
        boxed_network(calico::calico_ipip::NETWORK, &lab),
        boxed_network(flannel::flannel_vxlan::NETWORK, &lab),
        boxed_network(flannel::flannel_udp::NETWORK, &lab),
        boxed_network(flannel::flannel_host_gw::NETWORK, &lab),
        boxed_network(flannel::flannel_ipip::NETWORK, &lab),
        boxed_network(flannel::flannel_wireguard::NETWORK, &lab),
        boxed_network(weave::weave_sleeve::network(&lab), &lab),
        boxed_network(weave::weave_sleeve_encrypted::network(&lab), &lab),
        boxed_network(weave::weave_fastdp::network(&lab), &lab),
        boxed_network(ovs::ovs_vxlan::network(&lab), &lab),
        boxed_network(ovs::ovs_user_vxlan::network(&lab), &lab),
        boxed_network(ovs::ovs_bridge_vxlan::network(&lab), &lab),
    ]
}

/// Returns the networks `CLIENT/SERVER`, found by their names only: most are much like one of the others.
#[must_use]
pub fn pairs(lab: Option<Arc<Lab>>) -> Vec<Box<dyn Network>> {
    historic::pairs::PAIRS.into_iter().map(|pair| boxed_network(pair, &lab)).collect()
}

/// Queries the lab's own probe, which checks each feature once and may load modules. Without a lab, queries a new
/// probe.
fn query_probe<T>(lab: Option<&Arc<Lab>>, question: impl FnOnce(&KernelProbe) -> T) -> T {
    match lab {
        Some(lab) => question(lab.kernel()),
        None => question(&KernelProbe::default()),
    }
}

fn boxed_network(recipe: impl LabNetworkDefinition, lab: &Option<Arc<Lab>>) -> Box<dyn Network> {
    Box::new(LabNetwork { recipe, lab: lab.clone() })
}

/// Network of the lab: its definition, and the lab in which to build it.
struct LabNetwork<R> {
    recipe: R,
    lab: Option<Arc<Lab>>,
}

impl<R: LabNetworkDefinition> LabNetwork<R> {
    /// Returns the layout with the network's options and the shape's MSS clamping applied.
    fn complete_layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        let shape = network_options::apply_to_shape(shape, &site.options);
        let mut layout = self.recipe.layout(&shape, site)?;
        mss_clamp::add_clamp_rules(&mut layout, &shape)?;
        network_options::apply_to_layout(&mut layout, &site.options);
        Ok(layout)
    }

    /// Returns the finding that traffic is encrypted in software, and by what: by the daemons, if one of them forwards
    /// the packets, otherwise by the kernel; no device of the lab has a cipher. Returns `None` if traffic is in plain
    /// text.
    fn encryption_finding(&self, layout: &Layout) -> Option<Finding> {
        let forwards = |one: &Waypoint| match one {
            Waypoint::Device { kind, .. } => *kind == HopKind::Forwarder,
            Waypoint::Other(hop) => hop.kind == HopKind::Forwarder,
        };
        let daemons =
            layout.wiring.programs.iter().filter(|one| one.ready != ReadyCondition::Exited);
        let mut programs: Vec<&str> = daemons.map(|program| program.name.as_str()).collect();
        programs.sort_unstable();
        programs.dedup();
        let by = if layout.path.iter().any(forwards) {
            programs.join(", ")
        } else {
            "the kernel".to_owned()
        };
        let encrypts = self.recipe.confidentiality() == Confidentiality::Encrypted;
        encrypts.then_some(Finding::EncryptedInSoftware { by })
    }

    /// Returns the requirements in addition to private namespaces, those of the network's options included.
    fn requirements_beyond_namespaces(&self, site: &NetworkParameters) -> Vec<Requirement> {
        let mut needs = self.recipe.requirements(site);
        needs.extend(site.options.rate.map(|_| Requirement::Kernel { module: "sch_tbf" }));
        needs.extend(network_options::requirements(&site.options));
        needs
    }
}

impl<R: LabNetworkDefinition> Network for LabNetwork<R> {
    fn info(&self) -> NetworkInfo {
        self.recipe.info()
    }

    fn agent_namespaces(&self) -> AgentNamespaces {
        self.recipe.agent_namespaces()
    }

    fn requirements(&self, site: &NetworkParameters) -> Vec<Requirement> {
        let mut needs = vec![Requirement::Namespaces];
        needs.extend(self.requirements_beyond_namespaces(site));
        needs
    }

    fn nodes(&self) -> RangeInclusive<u32> {
        self.recipe.nodes()
    }

    fn check_capacity(&self, shape: &Shape, site: &NetworkParameters) -> Result<(), Error> {
        self.complete_layout(shape, site).map(drop)
    }

    fn set_up(&self, shape: &Shape, site: &NetworkParameters) -> Result<Topology, Error> {
        let name = self.info().name;
        let lab = self.lab.as_ref().ok_or_else(|| {
            Error::new(format!("set up {name}"), "this process has not entered a lab")
        })?;
        let layout = self.complete_layout(shape, site)?;
        lab.kernel().ensure(&self.requirements_beyond_namespaces(site))?;
        if shape.clamp_mss {
            lab.kernel().ensure(&mss_clamp::requirements())?;
        }
        lab.kernel().ensure(&link_requirements(&parse_link(shape)?))?;
        let spaces = build(lab, &layout.wiring)?;
        let offloads = shape.without.union(site.options.without);
        let switched = offload::switch_off(&layout, &spaces, offloads)?;
        let (cores, logs) = (cpu_affinity::allowed_cpus(&shape.cpus), site.logs.as_deref());
        let programs = Arc::new(programs::start(lab, &layout.wiring, &spaces, cores, logs)?);
        prove_path(lab, &layout, &spaces, &programs)?;
        if shape.nodes > 1 {
            capture::check_confidentiality(&layout, &spaces, self.recipe.confidentiality())?;
        }
        let homes: Vec<_> = layout.wiring.nodes().map(|(node, _)| spaces[node.0].clone()).collect();
        let burners = cpu_load::start(lab, shape, &homes)?;
        let hops = hops(&layout, &spaces, &switched)?;
        let up = BuiltNetwork { lab, layout: &layout, spaces: &spaces, programs: &programs };
        Ok(Topology {
            servers: up.containers("server", &layout.servers),
            clients: up.containers("client", &layout.clients),
            nodes: up.nodes(),
            hops,
            findings: switched
                .finding(&layout.wiring)
                .into_iter()
                .chain(self.encryption_finding(&layout))
                .collect(),
            watch: Some(Box::new(NetworkWatcher::start(lab, &layout, &spaces))),
            routes: layout.routes,
            // Programs are dropped before the namespaces that they run in.
            guard: Box::new((burners, programs, spaces)),
        })
    }

    fn commands(&self, shape: &Shape, site: &NetworkParameters) -> Vec<String> {
        match self.complete_layout(shape, site) {
            Ok(layout) => {
                let mut lines = shell::script(&layout.wiring);
                let offloads = shape.without.union(site.options.without);
                lines.extend(shell::offload_commands(&layout, offloads));
                lines
            }
            Err(error) => vec![format!("# {error}")],
        }
    }
}

/// Returns the path with each device's MTU as the kernel reports it. Fails if a device is missing or not running.
fn hops(
    layout: &Layout,
    spaces: &[Arc<Namespace>],
    switched: &offload::OffloadChanges,
) -> Result<Vec<Hop>, Error> {
    let hop = |waypoint: &Waypoint| match waypoint {
        Waypoint::Other(hop) => Ok(hop.clone()),
        Waypoint::Device { kind, space, name, detail } => {
            let (place, device) = match space {
                Some(space) => (layout.wiring.name(*space), spaces[space.0].device(name)?),
                None => (single_host::native::PLACE, NetlinkSocket::open()?.device(name)?),
            };
            let device = device.filter(|device| device.running).ok_or_else(|| {
                let what = format!("verify that the device {place}:{name} is up");
                Error::new(what, "the kernel does not list the device as running")
            })?;
            let hop = Hop::new(*kind, name, place).with_mtu(device.mtu);
            let hop = Hop { detail: detail.clone(), ..hop };
            Ok(match space {
                Some(space) => switched.annotate(*space, hop),
                None => hop,
            })
        }
    };
    layout.path_with_queues().iter().map(hop).collect()
}

/// Returns the kernel features of every network with virtual devices.
fn veth_and_bridge_requirements() -> Vec<Requirement> {
    ["veth", "bridge"].into_iter().map(|module| Requirement::Kernel { module }).collect()
}

/// Returns the kernel features of a network whose containers are on an uplink by this driver.
fn uplink_requirements(driver: &'static str) -> Vec<Requirement> {
    let mut needs = veth_and_bridge_requirements();
    needs.push(Requirement::Kernel { module: driver });
    needs
}

/// Returns the program and the kernel features that nftables rules with these modules need.
fn nftables_requirements(modules: &[&'static str]) -> Vec<Requirement> {
    let (name, package) = nft::NFT;
    let always = ["nf_tables", "nft_counter", "nft_chain_nat", "nft_nat"];
    let kernel = always.iter().chain(modules).map(|module| Requirement::Kernel { module });
    std::iter::once(Requirement::Program { name, package }).chain(kernel).collect()
}
