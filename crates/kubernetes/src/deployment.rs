//! Pods, service and network policies of one network, which stay for all blocks of a run.

use crate::cluster_client::ClusterClient;
use crate::cluster_error::{cluster_error, deletion};
use crate::nodes::{NodeChoice, NodeRules};
use crate::objects::{
    MeshProxy, PodNetwork, PodRequest, PodRole, PublishedPort, ServiceRequest, pod_object,
    service_object, service_ports,
};
use crate::pods::{delete_pods, start_pods};
use crate::run_id::NETWORK_LABEL;
use crate::run_scope::RunScope;
use crate::running_pod::RunningPod;
use crate::server_policies::ServerPolicies;
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tare_network::{Error, Family, RuntimeName};

/// Pods of one network to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeploymentRequest<'a> {
    /// Network, without its prefix.
    pub(crate) network: &'a str,
    /// Number of servers.
    pub(crate) servers: u32,
    /// Number of clients; none if the servers' pods are the clients, too.
    pub(crate) clients: u32,
    /// Network namespace of the pods.
    pub(crate) pod_network: PodNetwork,
    /// Runtime class of the pods; `None` for the cluster's default runtime.
    pub(crate) runtime_class: Option<RuntimeName>,
    /// Proxy of a service mesh in the pods.
    pub(crate) proxy: MeshProxy,
    /// Number of the pair of nodes; `None` if the run has a single pair.
    pub(crate) node_pair: Option<u32>,
    /// Node of the servers.
    pub(crate) server_node: NodeChoice,
    /// Node of the clients; `None` for the servers' node.
    pub(crate) client_node: Option<NodeChoice>,
}

/// Pods, service and network policies of one network. [`Deployment::remove`] removes them.
pub(crate) struct Deployment {
    scope: RunScope,
    network: String,
    /// Servers, by number.
    pub(crate) servers: Vec<Arc<RunningPod>>,
    /// Clients, by number.
    pub(crate) clients: Vec<Arc<RunningPod>>,
    service: Mutex<Option<PublishedService>>,
    /// Network policies of the servers; none unless the network asks for some.
    pub(crate) policies: ServerPolicies,
}

/// Service of a network's servers.
#[derive(Clone, Debug)]
struct PublishedService {
    name: String,
    /// Ports of every node, in the order of the service's ports; none if the service has no such ports.
    node_ports: Vec<u16>,
}

impl Deployment {
    /// Makes the pods, and waits until they run. After an error none is left.
    pub(crate) fn start(scope: &RunScope, wanted: &DeploymentRequest<'_>) -> Result<Self, Error> {
        let mut made = Self {
            scope: scope.clone(),
            network: wanted.network.to_owned(),
            servers: Vec::new(),
            clients: Vec::new(),
            service: Mutex::default(),
            policies: ServerPolicies::new(scope, wanted.network),
        };
        match made.start_pods(wanted) {
            Ok(()) => Ok(made),
            Err(error) => {
                // The error that made this necessary is the one to report.
                let _ = made.remove_labelled(wanted);
                Err(error)
            }
        }
    }

    fn start_pods(&mut self, wanted: &DeploymentRequest<'_>) -> Result<(), Error> {
        let server = (wanted.servers, PodRole::Server, wanted.server_node.clone());
        self.servers = self.start_role(wanted, server)?;
        let anywhere = || NodeChoice::Scheduled(NodeRules::default());
        let servers_node =
            self.servers.first().map_or_else(anywhere, |pod| NodeChoice::Named(pod.node.clone()));
        let node = wanted.client_node.clone().unwrap_or(servers_node);
        self.clients = self.start_role(wanted, (wanted.clients, PodRole::Client, node))?;
        Ok(())
    }

    fn start_role(
        &self,
        wanted: &DeploymentRequest<'_>,
        (count, role, node): (u32, PodRole, NodeChoice),
    ) -> Result<Vec<Arc<RunningPod>>, Error> {
        let RunScope { client, options, run, owner } = &self.scope;
        let requests: Vec<PodRequest<'_>> = (0..count)
            .map(|index| PodRequest {
                network: wanted.network,
                role,
                index,
                pod_network: wanted.pod_network,
                runtime_class: wanted.runtime_class,
                proxy: wanted.proxy,
                node: node.clone(),
            })
            .collect();
        let objects: Vec<Pod> =
            requests.iter().map(|request| pod_object(run, Some(owner), options, request)).collect();
        if objects.is_empty() {
            return Ok(Vec::new());
        }
        let running = start_pods(client, &self.selector(), objects)?;
        let opened = requests.iter().zip(&running);
        Ok(opened
            .map(|(request, pod)| Arc::new(RunningPod::open(client, request.member_name(), pod)))
            .collect())
    }

    fn selector(&self) -> String {
        format!("{},{NETWORK_LABEL}={}", self.scope.run.selector(), self.network)
    }

    /// Returns true if all pods still can be reached, or may be again.
    pub(crate) fn is_alive(&self) -> bool {
        self.servers.iter().chain(&self.clients).all(|pod| !pod.link().is_lost())
    }

    /// Makes the service of the servers with these ports, or gives the one that is there these ports. Returns it as the
    /// cluster has it.
    pub(crate) fn publish(&self, request: ServiceRequest, ports: &[u16]) -> Result<Service, Error> {
        let mut known = self.service.lock().unwrap_or_else(PoisonError::into_inner);
        let published = match known.as_ref() {
            Some(published) => published.clone(),
            None => {
                let made = self.create_service(request, ports)?;
                // Whatever happens next, it is there.
                known.insert(made).clone()
            }
        };
        let both = |(at, &port): (usize, &u16)| {
            let node_port = published.node_ports.get(at).copied();
            ["TCP", "UDP"].map(|protocol| PublishedPort { protocol, port, node_port })
        };
        let ports: Vec<PublishedPort> = ports.iter().enumerate().flat_map(both).collect();
        self.change_ports(&published.name, &ports)
    }

    /// Makes the service, for TCP alone: the cluster chooses the nodes' ports, and for UDP they are to be the same.
    fn create_service(
        &self,
        request: ServiceRequest,
        ports: &[u16],
    ) -> Result<PublishedService, Error> {
        let RunScope { client, run, owner, .. } = &self.scope;
        let only = |&port: &u16| PublishedPort { protocol: "TCP", port, node_port: None };
        let wanted: Vec<PublishedPort> = ports.iter().map(only).collect();
        let wanted = service_object(run, Some(owner), &self.network, request, &wanted);
        let name = wanted.metadata.name.clone().unwrap_or_default();
        let services: Api<Service> = Api::namespaced(client.client(), client.namespace());
        let created = client.wait(services.create(&PostParams::default(), &wanted));
        let created = created
            .map_err(|refusal| cluster_error(format!("create the service {name}"), &refusal))?;
        let node_ports = ports.iter().filter_map(|&port| node_port(&created, port)).collect();
        Ok(PublishedService { name, node_ports })
    }

    fn change_ports(&self, name: &str, ports: &[PublishedPort]) -> Result<Service, Error> {
        let client = &self.scope.client;
        let services: Api<Service> = Api::namespaced(client.client(), client.namespace());
        let change = serde_json::json!({"spec": {"ports": service_ports(ports)}});
        let (parameters, change) = (PatchParams::default(), Patch::Merge(&change));
        client.wait(services.patch(name, &parameters, &change)).map_err(|refusal| {
            cluster_error(format!("change the ports of the service {name}"), &refusal)
        })
    }

    /// Removes the pods, the service and the policies, and waits until the pods are gone.
    ///
    /// # Errors
    /// Something remains.
    pub(crate) fn remove(&self) -> Result<(), Error> {
        let client = &self.scope.client;
        let service = self.service.lock().unwrap_or_else(PoisonError::into_inner).take();
        let names: Vec<String> =
            self.servers.iter().chain(&self.clients).map(|pod| pod.name.clone()).collect();
        client.wait(async {
            if let Some(PublishedService { name, .. }) = service {
                delete_service(client, &name).await?;
            }
            let pods = Api::namespaced(client.client(), client.namespace());
            delete_pods(&pods, &self.selector(), &names).await
        })?;
        self.policies.remove()
    }

    /// Removes the pods of a request of which not all run.
    fn remove_labelled(&self, wanted: &DeploymentRequest<'_>) -> Result<(), Error> {
        let RunScope { client, run, .. } = &self.scope;
        let of_role = |role: PodRole, count: u32| {
            (0..count).map(move |index| {
                run.object_name(wanted.network, &format!("{}-{index}", role.name()))
            })
        };
        let names: Vec<String> = of_role(PodRole::Server, wanted.servers)
            .chain(of_role(PodRole::Client, wanted.clients))
            .collect();
        let pods = Api::namespaced(client.client(), client.namespace());
        client.wait(delete_pods(&pods, &self.selector(), &names))
    }
}

async fn delete_service(client: &ClusterClient, name: &str) -> Result<(), Error> {
    let services: Api<Service> = Api::namespaced(client.client(), client.namespace());
    let what = format!("delete the service {name}");
    let answer = services.delete(name, &DeleteParams::default()).await;
    deletion(what, answer)
}

/// Returns the cluster's address of a service, of a family.
///
/// # Errors
/// The service has none.
pub(crate) fn cluster_address(service: &Service, family: Family) -> Result<IpAddr, Error> {
    let addresses = service.spec.as_ref().and_then(|spec| spec.cluster_ips.as_ref());
    let mut addresses = addresses.into_iter().flatten().filter_map(|one| one.parse().ok());
    addresses.find(|one: &IpAddr| one.is_ipv4() == (family == Family::Ipv4)).ok_or_else(|| {
        let name = service.metadata.name.as_deref().unwrap_or_default();
        Error::new(
            format!("find the address of the service {name}"),
            format!("the cluster gave it no {family} address"),
        )
    })
}

/// Returns the port of every node by which a port of a service is reached.
pub(crate) fn node_port(service: &Service, port: u16) -> Option<u16> {
    let ports = service.spec.as_ref()?.ports.as_ref()?;
    let found = ports.iter().find(|one| one.port == i32::from(port))?;
    found.node_port.and_then(|port| u16::try_from(port).ok())
}
