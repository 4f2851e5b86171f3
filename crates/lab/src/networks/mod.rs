//! Networks of the lab, one file each.
//!
//! A network of the lab is defined by a [`LabNetworkDefinition`]: its description, requirements and layout.
//! [`LabNetwork`] implements [`Network`] for it: it checks the requirements, builds the layout, proves that packets
//! take the intended path, and returns the containers; or it prints the layout as commands.

mod built_network;
mod calico;
mod etcd;
pub(crate) mod external;
mod flannel;
mod historic;
mod ipsec;
mod multi_host;
mod ovs;
mod services;
mod single_host;
pub(crate) mod user_mode;
mod weave;

use crate::build::adoption;
use crate::build::build;
use crate::counters::NetworkCounters;
use crate::inspector::LabInspector;
use crate::plan::layout::{Layout, Waypoint};
use crate::plan::network_options;
use crate::plan::underlay::{link_requirements, parse_link};
use crate::programs::{self, Program, ReadyCondition, StandIn};
use crate::verify::capture;
use crate::verify::capture::Confidentiality;
use crate::verify::carriers::add_versions;
use crate::verify::path_proof::prove_path;
use crate::{cpu_affinity, cpu_load, mss_clamp, offload, shell};
use built_network::BuiltNetwork;
use std::ops::RangeInclusive;
use std::sync::Arc;
use tare_network::finding::{ProgramStandIn, SoftwareEncryption};
use tare_network::{
    AgentNamespaces, Error, Finding, Hop, HopKind, Network, NetworkInfo, NetworkParameters,
    Requirement, Shape, Topology,
};
use tare_sandbox::netlink::NetlinkSocket;
use tare_sandbox::{KernelProbe, Namespace, Sandbox, nft};

pub(crate) use single_host::native::PLACE as CALLER;

/// Definition of a network of the lab.
trait LabNetworkDefinition: Send + Sync + 'static {
    /// Returns the description of the network.
    fn info(&self) -> NetworkInfo;
    /// Returns the prefix of a name that continues with the path of the network's program.
    fn scheme(&self) -> Option<&'static str> {
        None
    }
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
    /// Returns whether slices of a few milliseconds tell what it carries.
    fn can_be_woven(&self) -> bool {
        true
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
pub fn networks(sandbox: Option<Arc<Sandbox>>) -> Vec<Box<dyn Network>> {
    let mut all = vec![
        boxed_network(single_host::native::NativeNetwork, &sandbox),
        boxed_network(single_host::loopback::LoopbackNetwork, &sandbox),
        boxed_network(single_host::host::HostNetwork, &sandbox),
        boxed_network(single_host::shared::SharedNamespaceNetwork, &sandbox),
        boxed_network(single_host::veth::VethNetwork, &sandbox),
        boxed_network(single_host::bridge::DockerBridgeNetwork, &sandbox),
        boxed_network(single_host::bridge_plain::PlainBridgeNetwork, &sandbox),
        boxed_network(single_host::ptp::PtpNetwork, &sandbox),
        boxed_network(single_host::published::PublishedPortNetwork, &sandbox),
        boxed_network(single_host::published_proxy::PublishedProxyNetwork, &sandbox),
        boxed_network(services::service_iptables::NETWORK, &sandbox),
        boxed_network(services::service_nftables::NETWORK, &sandbox),
        boxed_network(historic::link::LegacyLinkNetwork, &sandbox),
        boxed_network(historic::link_icc::OpenLinkNetwork, &sandbox),
        boxed_network(historic::pipework::PipeworkNetwork, &sandbox),
        boxed_network(historic::pipework_macvlan::PipeworkMacvlanNetwork, &sandbox),
        boxed_network(single_host::macvlan::MacvlanNetwork, &sandbox),
        boxed_network(historic::macvlan_nat::MacvlanNatNetwork, &sandbox),
        boxed_network(single_host::ipvlan_l2::IpvlanL2Network, &sandbox),
        boxed_network(single_host::ipvlan_l3::IpvlanL3Network, &sandbox),
        boxed_network(single_host::vlan::VlanNetwork, &sandbox),
        boxed_network(single_host::vrf::VrfNetwork, &sandbox),
        boxed_network(single_host::netkit::NetkitNetwork, &sandbox),
        boxed_network(ovs::OvsNetwork, &sandbox),
        boxed_network(ovs::ovs_user::UserspaceOvsNetwork, &sandbox),
        boxed_network(ovs::ovs_internal::NETWORK, &sandbox),
        boxed_network(ovs::ovs_user_internal::NETWORK, &sandbox),
        boxed_network(ovs::ovs_bridge::NETWORK, &sandbox),
        boxed_network(ovs::ovs_user_bridge::NETWORK, &sandbox),
        Box::new(external::cni::cni(&sandbox)),
        Box::new(external::cni_published::cni_published(&sandbox)),
        Box::new(external::exec::ExecNetwork { sandbox: sandbox.clone() }),
        boxed_network(multi_host::routed::RoutedNetwork, &sandbox),
        boxed_network(multi_host::vxlan::VxlanNetwork, &sandbox),
        boxed_network(multi_host::vxlan_encrypted::EncryptedVxlanNetwork, &sandbox),
        boxed_network(multi_host::geneve::NETWORK, &sandbox),
        boxed_network(multi_host::ipip::NETWORK, &sandbox),
        boxed_network(multi_host::gre::NETWORK, &sandbox),
        boxed_network(multi_host::wireguard::WireguardNetwork, &sandbox),
        boxed_network(multi_host::wireguard_user::UserspaceWireguardNetwork, &sandbox),
        boxed_network(ipsec::IpsecNetwork, &sandbox),
        boxed_network(ipsec::ipsec_user::UserspaceIpsecNetwork, &sandbox),
        boxed_network(calico::NETWORK, &sandbox),
        boxed_network(calico::calico_vxlan::NETWORK, &sandbox),
        boxed_network(calico::calico_ipip::NETWORK, &sandbox),
        boxed_network(flannel::flannel_vxlan::NETWORK, &sandbox),
        boxed_network(flannel::flannel_udp::NETWORK, &sandbox),
        boxed_network(flannel::flannel_host_gw::NETWORK, &sandbox),
        boxed_network(flannel::flannel_ipip::NETWORK, &sandbox),
        boxed_network(flannel::flannel_wireguard::NETWORK, &sandbox),
        boxed_network(weave::weave_sleeve::network(&sandbox), &sandbox),
        boxed_network(weave::weave_sleeve_encrypted::network(&sandbox), &sandbox),
        boxed_network(weave::weave_fastdp::network(&sandbox), &sandbox),
        boxed_network(ovs::ovs_vxlan::NETWORK, &sandbox),
        boxed_network(ovs::ovs_user_vxlan::NETWORK, &sandbox),
        boxed_network(ovs::ovs_bridge_vxlan::NETWORK, &sandbox),
        boxed_network(ovs::ovs_user_bridge_vxlan::NETWORK, &sandbox),
    ];
    all.extend(user_mode::NETWORKS.into_iter().map(|one| boxed_network(one, &sandbox)));
    all
}

/// Returns the networks `CLIENT/SERVER`, found by their names only: most are much like one of the others.
#[must_use]
pub fn pairs(sandbox: Option<Arc<Sandbox>>) -> Vec<Box<dyn Network>> {
    let placed = historic::pairs::PAIRS.into_iter().map(|pair| boxed_network(pair, &sandbox));
    let user_mode = user_mode::PAIRS.into_iter().map(|pair| boxed_network(pair, &sandbox));
    placed.chain(user_mode).collect()
}

/// Queries the lab's own probe, which checks each feature once and may load modules. Without a lab, queries a new
/// probe.
fn query_probe<T>(sandbox: Option<&Arc<Sandbox>>, question: impl FnOnce(&KernelProbe) -> T) -> T {
    match sandbox {
        Some(sandbox) => question(sandbox.kernel()),
        None => question(&KernelProbe::default()),
    }
}

fn boxed_network(
    recipe: impl LabNetworkDefinition,
    sandbox: &Option<Arc<Sandbox>>,
) -> Box<dyn Network> {
    Box::new(LabNetwork { recipe: Box::new(recipe), sandbox: sandbox.clone() })
}

/// Network of the lab: its definition, and the lab in which to build it.
struct LabNetwork {
    recipe: Box<dyn LabNetworkDefinition>,
    sandbox: Option<Arc<Sandbox>>,
}

impl LabNetwork {
    /// Returns the layout with the network's options and the shape's MSS clamping applied.
    fn complete_layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        let shape = network_options::apply_to_shape(shape, &site.options);
        let mut layout = self.recipe.layout(&shape, site)?;
        mss_clamp::add_clamp_rules(&mut layout, &shape)?;
        network_options::apply_to_layout(&mut layout, &site.options);
        layout.wiring.set_default_congestion(site.congestion.as_deref());
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
        let name = |program: &'_ Program| match &program.stands_in {
            Some(stand_in) => stand_in.used.clone(),
            None => program.name.clone(),
        };
        let mut programs: Vec<String> = daemons.map(name).collect();
        programs.sort_unstable();
        programs.dedup();
        let by = if layout.path.iter().any(forwards) {
            programs.join(", ")
        } else {
            "the kernel".to_owned()
        };
        let encrypts = self.recipe.confidentiality() == Confidentiality::Encrypted;
        encrypts.then_some(Finding::SoftwareEncryption(SoftwareEncryption { by }))
    }

    /// Returns the requirements in addition to private namespaces, those of the network's options included.
    fn requirements_beyond_namespaces(&self, site: &NetworkParameters) -> Vec<Requirement> {
        let mut needs = self.recipe.requirements(site);
        needs.extend(site.options.rate.map(|_| Requirement::Kernel { module: "sch_tbf" }));
        needs.extend(network_options::requirements(&site.options));
        needs
    }
}

impl Network for LabNetwork {
    fn info(&self) -> NetworkInfo {
        self.recipe.info()
    }

    fn agent_namespaces(&self) -> AgentNamespaces {
        self.recipe.agent_namespaces()
    }

    fn can_be_woven(&self) -> bool {
        self.recipe.can_be_woven()
    }

    fn scheme(&self) -> Option<&'static str> {
        self.recipe.scheme()
    }

    fn programs_of_argument(&self, argument: &str) -> Vec<String> {
        vec![external::exec::shown_path(argument)]
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
        let sandbox = self.sandbox.as_ref().ok_or_else(|| {
            Error::new(format!("set up {name}"), "this process has not entered a lab")
        })?;
        let layout = self.complete_layout(shape, site)?;
        sandbox.kernel().ensure(&self.requirements_beyond_namespaces(site))?;
        if shape.clamp_mss {
            sandbox.kernel().ensure(&mss_clamp::requirements())?;
        }
        sandbox.kernel().ensure(&link_requirements(&parse_link(shape)?))?;
        let mut built = build(sandbox, &layout.wiring)?;
        let offloads = shape.without.union(site.options.without);
        let switched = offload::switch_off(&layout, &built.spaces, offloads)?;
        let (cores, logs) = (cpu_affinity::allowed_cpus(&shape.cpus), site.logs.as_deref());
        let programs = programs::start(sandbox, &layout.wiring, &built.spaces, cores, logs)?;
        let programs = Arc::new(programs);
        built.spaces = adoption::adopt(&layout.wiring, built.spaces, &programs)?;
        prove_path(sandbox, &layout, &built, &programs)?;
        let spaces = &built.spaces;
        if shape.nodes > 1 {
            capture::check_confidentiality(&layout, spaces, self.recipe.confidentiality())?;
        }
        let homes: Vec<_> = layout.wiring.nodes().map(|(node, _)| spaces[node.0].clone()).collect();
        let burners = cpu_load::start(sandbox, shape, &homes)?;
        let mut hops = hops(&layout, spaces, &switched)?;
        add_versions(&layout.wiring, &mut hops);
        let up = BuiltNetwork { sandbox, layout: &layout, spaces, programs: &programs };
        Ok(Topology {
            servers: up.containers("server", &layout.servers),
            clients: up.containers("client", &layout.clients),
            nodes: up.nodes(),
            hops,
            findings: switched
                .finding(&layout.wiring)
                .into_iter()
                .chain(self.encryption_finding(&layout))
                .chain(stand_in_finding(&layout))
                .collect(),
            watch: Some(Box::new(NetworkCounters::start(sandbox, &layout, &built, &programs))),
            inspector: Some(Box::new(LabInspector::new(&layout, spaces))),
            routes: layout.routes,
            // Programs are dropped before the namespaces that they run in.
            guard: Box::new((burners, programs, built)),
        })
    }

    fn commands(&self, shape: &Shape, site: &NetworkParameters) -> Vec<String> {
        match self.complete_layout(shape, site) {
            Ok(layout) => {
                let mut lines = shell::script_or_comment(&layout.wiring);
                let offloads = shape.without.union(site.options.without);
                lines.extend(shell::offload_commands(&layout, offloads));
                lines
            }
            Err(error) => vec![format!("# {error}")],
        }
    }
}

/// Returns the finding that a program of tare's own runs in the place of the network's program.
fn stand_in_finding(layout: &Layout) -> Option<Finding> {
    let StandIn { used, original, reason } =
        layout.wiring.programs.iter().find_map(|program| program.stands_in.clone())?;
    Some(Finding::ProgramStandIn(ProgramStandIn { used, original, reason }))
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
