//! Table of the networks of a cluster.

use super::{DEFAULT_MTU, PREFIX};
use crate::objects::{PodNetwork, ServiceKind, ServiceRequest, TrafficPolicy};
use tare_network::{Error, NetworkInfo, NetworkOption, NetworkOptions, Shape};

/// Place of the clients, seen from their servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientPlacement {
    /// On another node than the servers.
    OtherNode,
    /// On the servers' node.
    SameNode,
    /// In the servers' own pods.
    InServers,
}

/// Address by which clients reach servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exposure {
    /// The address of the server's pod, or of its node if the pod is in the node's network namespace.
    Address,
    /// The address that the cluster gives a service.
    ClusterIp,
    /// A port of the server's node.
    NodePort,
}

/// Pods that may connect to servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// All of them: no network policy of tare's selects the servers.
    Everybody,
    /// The network's own clients, by network policies.
    Clients,
}

/// Network of a cluster.
#[derive(Debug)]
pub(super) struct ClusterNetworkDefinition {
    pub(super) info: NetworkInfo,
    pub(super) pod_network: PodNetwork,
    pub(super) clients: ClientPlacement,
    pub(super) exposure: Exposure,
    pub(super) admission: Admission,
}

/// All networks of a cluster.
pub(super) static DEFINITIONS: [ClusterNetworkDefinition; 9] = [
    ClusterNetworkDefinition {
        info: NetworkInfo {
            name: "k8s:host",
            summary: "pods in the network namespaces of two nodes: the cluster without its pod network",
            stands_for: "pods with hostNetwork: true",
            source: "https://kubernetes.io/docs/concepts/workloads/pods/#pod-networking",
            options: &[NetworkOption::Runtime],
        },
        pod_network: PodNetwork::Host,
        clients: ClientPlacement::OtherNode,
        exposure: Exposure::Address,
        admission: Admission::Everybody,
    },
    ClusterNetworkDefinition {
        info: NetworkInfo {
            name: "k8s:pod",
            summary: "pods on two nodes, by the address of the server's pod",
            stands_for: "pod to pod, on the network of the cluster's CNI plugin",
            source: "https://kubernetes.io/docs/concepts/services-networking/",
            options: &[NetworkOption::Runtime, NetworkOption::Mesh],
        },
        pod_network: PodNetwork::Cluster,
        clients: ClientPlacement::OtherNode,
        exposure: Exposure::Address,
        admission: Admission::Everybody,
    },
    ClusterNetworkDefinition {
        info: NetworkInfo {
            name: "k8s:pod-same-node",
            summary: "pods on one node, by the address of the server's pod",
            stands_for: "pod to pod on one node, on the network of the cluster's CNI plugin",
            source: "https://kubernetes.io/docs/concepts/services-networking/",
            options: &[NetworkOption::Runtime, NetworkOption::Mesh],
        },
        pod_network: PodNetwork::Cluster,
        clients: ClientPlacement::SameNode,
        exposure: Exposure::Address,
        admission: Admission::Everybody,
    },
    ClusterNetworkDefinition {
        info: NetworkInfo {
            name: "k8s:host-same-node",
            summary: "pods in the network namespace of one node",
            stands_for: "pods with hostNetwork: true on one node",
            source: "https://kubernetes.io/docs/concepts/workloads/pods/#pod-networking",
            options: &[NetworkOption::Runtime],
        },
        pod_network: PodNetwork::Host,
        clients: ClientPlacement::SameNode,
        exposure: Exposure::Address,
        admission: Admission::Everybody,
    },
    ClusterNetworkDefinition {
        info: NetworkInfo {
            name: "k8s:service",
            summary: "pods on two nodes, by the cluster's address of a service",
            stands_for: "a Service of the type ClusterIP, as kube-proxy or its replacement forwards it",
            source: "https://kubernetes.io/docs/reference/networking/virtual-ips/",
            options: &[NetworkOption::Runtime, NetworkOption::Mesh],
        },
        pod_network: PodNetwork::Cluster,
        clients: ClientPlacement::OtherNode,
        exposure: Exposure::ClusterIp,
        admission: Admission::Everybody,
    },
    ClusterNetworkDefinition {
        info: NetworkInfo {
            name: "k8s:service-same-node",
            summary: "pods on one node, by the cluster's address of a service",
            stands_for: "a Service of the type ClusterIP whose endpoint is on the client's node",
            source: "https://kubernetes.io/docs/reference/networking/virtual-ips/",
            options: &[NetworkOption::Runtime, NetworkOption::Local, NetworkOption::Mesh],
        },
        pod_network: PodNetwork::Cluster,
        clients: ClientPlacement::SameNode,
        exposure: Exposure::ClusterIp,
        admission: Admission::Everybody,
    },
    ClusterNetworkDefinition {
        info: NetworkInfo {
            name: "k8s:nodeport",
            summary: "pods on two nodes, by a port of the server's node",
            stands_for: "a Service of the type NodePort, dialled from within the cluster",
            source: "https://kubernetes.io/docs/concepts/services-networking/service/#type-nodeport",
            options: &[NetworkOption::Runtime, NetworkOption::Local, NetworkOption::Mesh],
        },
        pod_network: PodNetwork::Cluster,
        clients: ClientPlacement::OtherNode,
        exposure: Exposure::NodePort,
        admission: Admission::Everybody,
    },
    ClusterNetworkDefinition {
        info: NetworkInfo {
            name: "k8s:hairpin",
            summary: "a pod that reaches itself by the cluster's address of its service",
            stands_for: "a Service whose only endpoint is the client",
            source: "https://kubernetes.io/docs/tasks/debug/debug-application/debug-service/#a-pod-fails-to-reach-itself-via-the-service-ip",
            options: &[NetworkOption::Runtime],
        },
        pod_network: PodNetwork::Cluster,
        clients: ClientPlacement::InServers,
        exposure: Exposure::ClusterIp,
        admission: Admission::Everybody,
    },
    ClusterNetworkDefinition {
        info: NetworkInfo {
            name: "k8s:policy",
            summary: "pods on two nodes, whose server is selected by network policies that admit its clients",
            stands_for: "a pod behind NetworkPolicy objects, as the cluster's network plugin enforces them",
            source: "https://kubernetes.io/docs/concepts/services-networking/network-policies/",
            options: &[NetworkOption::Runtime, NetworkOption::Policies, NetworkOption::Mesh],
        },
        pod_network: PodNetwork::Cluster,
        clients: ClientPlacement::OtherNode,
        exposure: Exposure::Address,
        admission: Admission::Clients,
    },
];

impl ClusterNetworkDefinition {
    /// Returns the name without its prefix.
    pub(super) fn short_name(&self) -> &'static str {
        self.info.name.strip_prefix(PREFIX).unwrap_or(self.info.name)
    }

    /// Returns the service by which clients reach the servers, if there is one.
    pub(super) fn service(&self, options: &NetworkOptions) -> Option<ServiceRequest> {
        let kind = match self.exposure {
            Exposure::Address => return None,
            Exposure::ClusterIp => ServiceKind::ClusterIp,
            Exposure::NodePort => ServiceKind::NodePort,
        };
        let traffic = if options.local { TrafficPolicy::Local } else { TrafficPolicy::Cluster };
        Some(ServiceRequest { kind, traffic })
    }

    /// Returns the number of network policies that select the servers.
    pub(super) fn policies(&self, options: &NetworkOptions) -> u16 {
        match self.admission {
            Admission::Everybody => 0,
            Admission::Clients => options.policies.unwrap_or(1),
        }
    }

    /// Returns the name of the network's objects in the cluster: networks that differ in an option are apart.
    pub(super) fn object_name(&self, options: &NetworkOptions, pair: Option<u32>) -> String {
        let runtime = options.runtime.map(|name| format!("-{name}")).unwrap_or_default();
        let policies = options.policies.map(|count| format!("-{count}")).unwrap_or_default();
        let local = if options.local { "-local" } else { "" };
        let mesh = if options.mesh { "-mesh" } else { "" };
        let pair = pair.map(|number| format!("-pair-{number}")).unwrap_or_default();
        format!("{}{runtime}{policies}{local}{mesh}{pair}", self.short_name())
    }

    /// Refuses shapes that the network does not support.
    ///
    /// # Errors
    /// What it does not support, and what to use instead.
    pub(super) fn check_shape(&self, shape: &Shape) -> Result<(), Error> {
        let refused = |why: &str, remedy: &str| {
            Err(Error::new(format!("lay out {}", self.info.name), why).with_remedy(remedy))
        };
        let is_one_service = self.exposure != Exposure::Address;
        if shape.servers == 0 || shape.clients == 0 {
            return refused(
                "the network needs at least one server and one client",
                "use --servers 1 --clients 1, or more",
            );
        }
        if is_one_service && shape.servers > 1 {
            return refused(
                "a service spreads its clients over all servers, and a client is measured with one",
                "use --servers 1, or k8s:pod",
            );
        }
        if self.clients == ClientPlacement::InServers && shape.clients > 1 {
            return refused("the pod has one client: itself", "use --clients 1");
        }
        if shape.mtu != DEFAULT_MTU {
            return refused(
                "the cluster decides the MTU of its pods",
                "omit --mtu, or configure the cluster's CNI plugin",
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_that_a_network_cannot_have_are_refused() {
        let fits = |name: &str, change: fn(&mut Shape)| {
            let mut shape = Shape::default();
            change(&mut shape);
            let definition = DEFINITIONS.iter().find(|one| one.info.name == name).unwrap();
            definition.check_shape(&shape).is_ok()
        };
        for definition in &DEFINITIONS {
            assert!(definition.check_shape(&Shape::default()).is_ok(), "{}", definition.info.name);
            assert!(
                definition.short_name().chars().all(|one| one.is_ascii_lowercase() || one == '-')
            );
        }
        assert!(fits("k8s:pod", |shape| (shape.servers, shape.clients) = (2, 4)));
        assert!(!fits("k8s:service", |shape| shape.servers = 2));
        assert!(!fits("k8s:hairpin", |shape| shape.clients = 2));
        assert!(!fits("k8s:pod", |shape| shape.mtu = 9000));
    }
}
