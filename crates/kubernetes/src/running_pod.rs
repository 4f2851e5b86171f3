//! Pod that runs, with the link to its agent.

use crate::cluster_client::ClusterClient;
use crate::link::ProgramRequest;
use crate::nodes::ZONE;
use crate::objects::CONTAINER;
use crate::pod_link::{LinkState, PodLink};
use crate::pod_program::PodProgram;
use k8s_openapi::api::core::v1::{Container, Pod};
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use tare_network::{Error, Family, INTERNAL};

/// Container that the cluster put into a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InjectedContainer {
    /// Name of the container.
    pub(crate) name: String,
    /// Image of the container.
    pub(crate) image: Option<String>,
}

/// Pod that runs.
pub(crate) struct RunningPod {
    /// Name within its network: `server-0`.
    pub(crate) member: String,
    /// Name of the pod in the cluster.
    pub(crate) name: String,
    /// Name of its node.
    pub(crate) node: String,
    /// Zone of its node, if the cluster tells pods.
    pub(crate) zone: Option<String>,
    /// Addresses of its node, by which it is reached from outside.
    node_addresses: Vec<IpAddr>,
    /// Containers that the cluster put into the pod beside tare's: proxies of a mesh.
    pub(crate) injected: Vec<InjectedContainer>,
    addresses: Vec<IpAddr>,
    link: PodLink,
}

impl RunningPod {
    /// Opens the link to a pod that runs.
    pub(crate) fn open(client: &ClusterClient, member: String, pod: &Pod) -> Self {
        let name = pod.metadata.name.clone().unwrap_or_default();
        let status = pod.status.as_ref();
        let addresses = status.and_then(|status| status.pod_ips.as_ref()).into_iter().flatten();
        let addresses = addresses.filter_map(|one| one.ip.parse().ok()).collect();
        let hosts = status.and_then(|status| status.host_ips.as_ref()).into_iter().flatten();
        let mut node_addresses: Vec<IpAddr> = hosts.filter_map(|one| one.ip.parse().ok()).collect();
        if node_addresses.is_empty() {
            let only = status.and_then(|status| status.host_ip.as_ref()?.parse::<IpAddr>().ok());
            node_addresses.extend(only);
        }
        let labels = pod.metadata.labels.as_ref();
        Self {
            member,
            zone: labels.and_then(|labels| labels.get(ZONE).cloned()),
            node: pod.spec.as_ref().and_then(|spec| spec.node_name.clone()).unwrap_or_default(),
            link: PodLink::open(client, &name),
            name,
            injected: injected_containers(pod),
            node_addresses,
            addresses,
        }
    }

    /// Returns the state that the pod's programs share.
    pub(crate) fn link(&self) -> &Arc<LinkState> {
        self.link.state()
    }

    /// Returns the pod's address of a family.
    ///
    /// # Errors
    /// The cluster gave it none.
    pub(crate) fn address(&self, family: Family) -> Result<IpAddr, Error> {
        find_address(&self.addresses, family).ok_or_else(|| {
            Error::new(
                format!("find the address of the pod {}", self.name),
                format!("the cluster gave it no {family} address"),
            )
            .with_remedy("use the cluster's own address family (--ipv4, --ipv6)")
        })
    }

    /// Returns the pod's address of the family of another address.
    pub(crate) fn address_like(&self, other: IpAddr) -> Option<IpAddr> {
        self.addresses.iter().copied().find(|one| one.is_ipv4() == other.is_ipv4())
    }

    /// Returns the address of the pod's node of a family.
    ///
    /// # Errors
    /// The node has none.
    pub(crate) fn node_address(&self, family: Family) -> Result<IpAddr, Error> {
        find_address(&self.node_addresses, family).ok_or_else(|| {
            Error::new(
                format!("find the address of the node {}", self.node),
                format!("the pods' status names no {family} address of it"),
            )
        })
    }

    /// Starts `tare internal netns-probe` with these arguments.
    pub(crate) fn start_probe(&self, arguments: &[&str]) -> Result<PodProgram, Error> {
        let words = ["", INTERNAL, "netns-probe"].iter().chain(arguments);
        let command = words.map(|&word| word.to_owned()).collect();
        let request = ProgramRequest { command, environment: Vec::new() };
        PodProgram::start(self.link(), format!("the probe in the pod {}", self.name), request)
    }
}

impl fmt::Debug for RunningPod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningPod")
            .field("name", &self.name)
            .field("node", &self.node)
            .finish_non_exhaustive()
    }
}

/// Returns the containers of a pod beside tare's that run as long as the pod: containers, and those to be started first
/// that are started again when they end (sidecars, from 1.29 on).
fn injected_containers(pod: &Pod) -> Vec<InjectedContainer> {
    let Some(spec) = &pod.spec else { return Vec::new() };
    let first = spec.init_containers.iter().flatten();
    let sidecars = first.filter(|one| one.restart_policy.as_deref() == Some("Always"));
    let others = spec.containers.iter().filter(|one| one.name != CONTAINER);
    let injected =
        |one: &Container| InjectedContainer { name: one.name.clone(), image: one.image.clone() };
    sidecars.chain(others).map(injected).collect()
}

fn find_address(addresses: &[IpAddr], family: Family) -> Option<IpAddr> {
    addresses.iter().copied().find(|one| one.is_ipv4() == (family == Family::Ipv4))
}
