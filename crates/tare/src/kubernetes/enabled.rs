//! Kubernetes support in a build with Kubernetes.

use super::{ClusterAccessArguments, ClusterArguments, ManifestFormat, RaisedParts};
use std::collections::BTreeSet;
use std::sync::Arc;
use tare_kubernetes::{ClusterOptions, ClusterPlace, NamedNodes, PREFIX, PlannedNetwork};
use tare_network::{Network, NetworkSpec, Shape};
use tare_record::{ClusterDescription, Phase, Plan, PodLifetime};
use tare_study::block_order::{PlannedTurn, order_block};
use tare_traffic::WorkloadRegistry;

/// First port of servers in objects that are printed.
const FIRST_PORT: u16 = 5201;

/// Cluster of this process, which is reached only when it is needed.
#[derive(Clone)]
pub(crate) struct ClusterSupport {
    place: Arc<ClusterPlace>,
}

/// Returns options that reach the cluster of these arguments.
pub(super) fn access_options(arguments: &ClusterAccessArguments) -> ClusterOptions {
    let default = ClusterOptions::default();
    ClusterOptions {
        request_timeout: arguments
            .request_timeout
            .map_or(default.request_timeout, |limit| limit.0.into()),
        kubeconfig: arguments.kubeconfig.clone(),
        context: arguments.kube_context.clone(),
        namespace: arguments.namespace.clone(),
        impersonated_user: arguments.impersonated_user.clone(),
        ..default
    }
}

/// Returns the options of the flags.
fn cluster_options(arguments: &ClusterArguments) -> ClusterOptions {
    let access = access_options(&arguments.access);
    ClusterOptions {
        image: arguments.pod_image.clone().unwrap_or_else(|| access.image.clone()),
        pull_secrets: arguments.image_pull_secret.clone(),
        server_nodes: NamedNodes(arguments.server_node.clone()),
        client_nodes: NamedNodes(arguments.client_node.clone()),
        tolerations: arguments.toleration.clone(),
        node_labels: arguments.node_label.clone(),
        priority_class: arguments.priority_class.clone(),
        pods: match arguments.raise {
            None | Some(RaisedParts::Sockets) => PodLifetime::Run,
            Some(RaisedParts::Pods) => PodLifetime::Block,
        },
        ..access
    }
}

/// Returns the network, the shape and the ports of each turn of a block, in the plan's order. Ports are free ones when
/// networks are raised; here they are the first of those that iperf3 has (5201).
fn planned_turns<'a>(
    plan: &'a Plan,
    workloads: &WorkloadRegistry,
) -> anyhow::Result<Vec<(NetworkSpec, &'a Shape, Vec<u16>)>> {
    let mut turns = order_block(plan, Phase::Main, 0);
    turns.sort_by_key(|turn| (turn.network, turn.shape));
    let turn = |turn: &PlannedTurn| {
        let names: BTreeSet<&str> =
            turn.workloads.iter().map(|&at| plan.workloads[at].name.as_str()).collect();
        let port_count = |name: &&str| workloads.find(name).map_or(1, |one| one.port_count());
        let count: usize = names.iter().map(port_count).sum();
        let network = plan.networks[turn.network].network.parse()?;
        Ok((network, &plan.shapes[turn.shape], (FIRST_PORT..).take(count).collect()))
    };
    turns.iter().map(turn).collect()
}

impl Default for ClusterSupport {
    fn default() -> Self {
        Self::from_arguments(&ClusterArguments::default())
    }
}

impl ClusterSupport {
    /// Returns the cluster of the user's configuration, with the settings of the flags.
    pub(crate) fn from_arguments(arguments: &ClusterArguments) -> Self {
        Self { place: Arc::new(ClusterPlace::new(cluster_options(arguments))) }
    }

    /// Returns a cluster that is not asked, with the settings of the flags: for plans that are only printed.
    pub(crate) fn assumed_from_arguments(arguments: &ClusterArguments) -> Self {
        Self { place: Arc::new(ClusterPlace::assumed(cluster_options(arguments))) }
    }

    /// Returns the objects that a plan's run makes in the cluster.
    ///
    /// # Errors
    /// A network of the plan cannot have its shape.
    pub(crate) fn run_manifest(
        &self,
        plan: &Plan,
        workloads: &WorkloadRegistry,
        format: ManifestFormat,
    ) -> anyhow::Result<String> {
        let turns = planned_turns(plan, workloads)?;
        let networks: Vec<PlannedNetwork<'_>> = turns
            .iter()
            .map(|(network, shape, ports)| PlannedNetwork { network, shape, ports: ports.clone() })
            .collect();
        let manifest = self.place.run_manifest(&networks)?;
        Ok(match format {
            ManifestFormat::Yaml => manifest.to_yaml()?,
            ManifestFormat::Json => manifest.to_json(),
        })
    }

    /// Returns the networks of the cluster.
    pub(crate) fn networks(&self) -> Vec<Box<dyn Network>> {
        tare_kubernetes::cluster_networks(&self.place)
    }

    /// Returns true if a network is one of a cluster, by its name.
    pub(crate) fn owns(&self, network: &str) -> bool {
        network.starts_with(PREFIX)
    }

    /// Returns the cluster that a plan's networks use. Returns `None` if they use none.
    pub(crate) fn describe(&self, plan: &Plan) -> Option<ClusterDescription> {
        let is_used = plan.networks.iter().any(|entry| self.owns(&entry.network));
        if is_used { self.place.describe().ok().cloned() } else { None }
    }

    /// Prepares the removal of everything that a run makes, even if it is killed. The lab must not have been entered.
    ///
    /// # Errors
    /// The process that removes it cannot be started.
    pub(crate) fn prepare(&self) -> Result<(), tare_network::Error> {
        self.place.prepare()
    }

    /// Removes what this process has made in the cluster and not yet removed.
    pub(crate) fn finish(&self) -> Result<(), tare_network::Error> {
        self.place.finish()
    }
}
