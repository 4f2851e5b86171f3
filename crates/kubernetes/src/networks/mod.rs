//! Networks of a cluster: rows of one table. A row says where the pods are, in which network namespaces, and by which
//! address clients reach servers.

mod catalogue;
mod hops;
mod manifest;
mod mesh;
mod node_pair;
mod policy_proof;
mod script;

use crate::counter_watch::PodWatch;
use crate::deployment::{Deployment, DeploymentRequest, cluster_address, node_port};
use crate::deployment_guard::DeploymentGuard;
use crate::objects::{PodNetwork, PodRole};
use crate::path_proof::{ListeningProbe, ProvenPath};
use crate::place::ClusterPlace;
use crate::pod_container::PodContainer;
use crate::running_pod::RunningPod;
use catalogue::{Admission, ClientPlacement, ClusterNetworkDefinition, DEFINITIONS, Exposure};
use mesh::{add_proxies, check_proxies, check_redirection, mesh_proxy};
use node_pair::PathEnds;
use policy_proof::enforce_policies;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tare_network::{
    AgentNamespaces, ClientRoute, Container, Error, Network, NetworkInfo, NetworkParameters,
    NodeKind, Requirement, Shape, Topology, UnmetRequirement,
};
use tare_record::{Finding, PodLifetime};

pub use manifest::{PlannedNetwork, RunManifest};

/// Prefix of the names of these networks.
pub const PREFIX: &str = "k8s:";

/// MTU of a shape for which the user requests no other, bytes.
const DEFAULT_MTU: u32 = 1500;

/// Returns all networks of a cluster.
#[must_use]
pub fn cluster_networks(place: &Arc<ClusterPlace>) -> Vec<Box<dyn Network>> {
    let network = |definition: &'static ClusterNetworkDefinition| -> Box<dyn Network> {
        Box::new(ClusterNetwork { definition, place: Arc::clone(place) })
    };
    DEFINITIONS.iter().map(network).collect()
}

/// Network of a cluster, and the cluster in which it is raised.
struct ClusterNetwork {
    definition: &'static ClusterNetworkDefinition,
    place: Arc<ClusterPlace>,
}

/// Servers and clients that run, and the routes between them.
struct RaisedNetwork {
    deployment: Arc<Deployment>,
    /// Guard of the pods, if they end with the block.
    guard: Option<DeploymentGuard>,
    servers: Vec<Arc<RunningPod>>,
    clients: Vec<Arc<RunningPod>>,
    routes: Vec<ClientRoute>,
}

impl Network for ClusterNetwork {
    fn info(&self) -> NetworkInfo {
        self.definition.info.clone()
    }

    fn requirements(&self, site: &NetworkParameters) -> Vec<Requirement> {
        let fits = mesh::check_options(&site.options);
        let described = fits.and_then(|()| self.place.describe().map(drop));
        let unmet = described.and_then(|()| self.check_permissions()).err();
        unmet.map(Requirement::Unmet).into_iter().collect()
    }

    fn check_capacity(&self, shape: &Shape, _: &NetworkParameters) -> Result<(), Error> {
        self.definition.check_shape(shape)
    }

    fn set_up(&self, shape: &Shape, site: &NetworkParameters) -> Result<Topology, Error> {
        self.definition.check_shape(shape)?;
        let raised = self.raise(shape, site)?;
        if site.options.mesh {
            check_proxies(&raised)?;
        }
        if self.definition.admission == Admission::Clients {
            enforce_policies(&raised, self.definition.policies(&site.options), shape.family)?;
        }
        let proven = prove_paths(&raised)?;
        if let Some(proven) = proven.as_ref().filter(|_| site.options.mesh) {
            check_redirection(proven)?;
        }
        let mut hops =
            self.definition.hops(&raised.routes, &raised.clients, &proven, &site.options)?;
        if site.options.mesh {
            add_proxies(&mut hops, &raised);
        }
        let findings = self.node_pair(&raised, proven.as_ref()).into_iter().collect();
        let watched: Vec<_> = raised
            .clients
            .iter()
            .take(1)
            .chain(&raised.servers)
            .chain(raised.clients.iter().skip(1))
            .cloned()
            .collect();
        let watch = PodWatch::start(&watched, self.definition.pod_network);
        Ok(Topology { hops, findings, ..topology(raised, watch, shape)? })
    }

    fn has_node_pairs(&self) -> bool {
        true
    }

    fn node_kind(&self) -> NodeKind {
        NodeKind::Machine
    }

    fn agent_namespaces(&self) -> AgentNamespaces {
        AgentNamespaces::OtherMachine
    }

    fn commands(&self, shape: &Shape, site: &NetworkParameters) -> Vec<String> {
        script::commands(self.definition, self.place.options(), shape, site)
    }
}

impl ClusterNetwork {
    /// Checks that the namespace admits the network's pods, and this user may make its policies.
    fn check_permissions(&self) -> Result<(), UnmetRequirement> {
        if self.definition.pod_network == PodNetwork::Host {
            self.place.check_host_pods()?;
        }
        if self.definition.admission == Admission::Clients {
            self.place.check_policy_rights()?;
        }
        Ok(())
    }

    /// Makes the pods and the service, or takes those of an earlier block.
    fn raise(&self, shape: &Shape, site: &NetworkParameters) -> Result<RaisedNetwork, Error> {
        let session = self.place.session()?;
        let definition = self.definition;
        let (clients, client_node) = match definition.clients {
            ClientPlacement::OtherNode => {
                (shape.clients, Some(session.client_node(shape.node_pair)))
            }
            ClientPlacement::SameNode => (shape.clients, None),
            ClientPlacement::InServers => (0, None),
        };
        let network = definition.object_name(&site.options, shape.node_pair);
        let deployment = session.deployment(&DeploymentRequest {
            network: &network,
            servers: shape.servers,
            clients,
            pod_network: definition.pod_network,
            runtime_class: site.options.runtime,
            proxy: mesh_proxy(&site.options),
            node_pair: shape.node_pair,
            server_node: session.server_node(shape.node_pair),
            client_node,
        })?;
        let guard = match self.place.options().pods {
            PodLifetime::Run => None,
            PodLifetime::Block => Some(DeploymentGuard::new(session, network)),
        };
        let routes = self.routes(&deployment, shape, site)?;
        let servers = deployment.servers.clone();
        let clients = match definition.clients {
            ClientPlacement::InServers => servers.clone(),
            ClientPlacement::OtherNode | ClientPlacement::SameNode => deployment.clients.clone(),
        };
        Ok(RaisedNetwork { deployment, guard, servers, clients, routes })
    }

    /// Returns the finding of the nodes at both ends of client 0's path, if they are two.
    fn node_pair(&self, raised: &RaisedNetwork, proven: Option<&ProvenPath>) -> Option<Finding> {
        let route = raised.routes.first()?;
        let ends = PathEnds {
            client: raised.clients.get(route.client)?,
            server: raised.servers.get(route.server)?,
            pod_network: self.definition.pod_network,
        };
        let is_pair = self.definition.clients == ClientPlacement::OtherNode;
        proven.filter(|_| is_pair).map(|proven| ends.node_pair(proven))
    }

    /// Returns the route of each client to its server on each port.
    fn routes(
        &self,
        deployment: &Deployment,
        shape: &Shape,
        site: &NetworkParameters,
    ) -> Result<Vec<ClientRoute>, Error> {
        let family = shape.family;
        let request = self.definition.service(&site.options);
        let service = request.map(|one| deployment.publish(one, &site.ports)).transpose()?;
        let dial = |server: &RunningPod, port: u16| -> Result<SocketAddr, Error> {
            Ok(match (self.definition.exposure, &service) {
                (Exposure::ClusterIp, Some(service)) => {
                    SocketAddr::new(cluster_address(service, family)?, port)
                }
                (Exposure::NodePort, Some(service)) => {
                    let outside = node_port(service, port).ok_or_else(|| {
                        Error::new("find the node port of a service", "the cluster gave it none")
                    })?;
                    SocketAddr::new(server.node_address(family)?, outside)
                }
                _ => SocketAddr::new(server.address(family)?, port),
            })
        };
        let mut routes = Vec::new();
        for client in 0..shape.clients as usize {
            let server = client % deployment.servers.len().max(1);
            let pod = &deployment.servers[server];
            for &port in &site.ports {
                let listen = SocketAddr::new(pod.address(family)?, port);
                routes.push(ClientRoute { client, server, listen, dial: dial(pod, port)? });
            }
        }
        Ok(routes)
    }
}

/// Connects every client to its server, and returns the reports of client 0's connection.
fn prove_paths(raised: &RaisedNetwork) -> Result<Option<ProvenPath>, Error> {
    let mut first = None;
    let mut listening: Vec<Option<ListeningProbe>> = raised.servers.iter().map(|_| None).collect();
    for client in 0..raised.clients.len() {
        let Some(route) = raised.routes.iter().find(|route| route.client == client) else {
            continue;
        };
        let probe = match &mut listening[route.server] {
            Some(probe) => probe,
            empty => {
                empty.insert(ListeningProbe::start(&raised.servers[route.server], route.listen)?)
            }
        };
        let proven = probe.connect_from(&raised.clients[client], route.dial)?;
        first.get_or_insert(proven);
    }
    Ok(first)
}

/// Builds the topology of a network that was proven, without its hops and findings.
fn topology(raised: RaisedNetwork, watch: PodWatch, shape: &Shape) -> Result<Topology, Error> {
    let containers = |role: PodRole, pods: &[Arc<RunningPod>]| {
        let container =
            |(index, pod): (usize, &Arc<RunningPod>)| -> Result<Box<dyn Container>, Error> {
                let address: IpAddr = pod.address(shape.family)?;
                let name = format!("{}-{index}", role.name());
                Ok(Box::new(PodContainer { name, role, pod: Arc::clone(pod), address }))
            };
        pods.iter().enumerate().map(container).collect::<Result<Vec<_>, Error>>()
    };
    Ok(Topology {
        servers: containers(PodRole::Server, &raised.servers)?,
        clients: containers(PodRole::Client, &raised.clients)?,
        nodes: Vec::new(),
        routes: raised.routes,
        hops: Vec::new(),
        findings: Vec::new(),
        watch: Some(Box::new(watch)),
        inspector: None,
        // Pods without a guard stay for the next block; they are removed when the place is finished.
        guard: Box::new(raised.guard),
    })
}

/// Returns true if pods of this network namespace are on the cluster's pod network.
fn is_on_pod_network(network: PodNetwork) -> bool {
    network == PodNetwork::Cluster
}
