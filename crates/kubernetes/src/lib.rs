//! A Kubernetes cluster as a place: pods and services that its API makes, on nodes that its scheduler chooses.
//!
//! A [`ClusterPlace`] is one cluster, reached as kubectl reaches it. Its [`cluster_networks`] connect pods in the ways that
//! a cluster offers; `k8s:host` is the same pair of nodes without the cluster's network. Each pod runs tare's own binary
//! as its agent, which starts programs as the run asks, over `pods/attach`, and goes on while the API server is away.
//! One ConfigMap owns everything that a run makes. It is deleted when the run ends, by another process if the run is
//! killed. Placement, start, supervision and clean-up are the cluster's own.
#![forbid(unsafe_code)]

mod access;
mod cleaner;
mod cluster_client;
mod cluster_error;
mod counter_watch;
mod deployment;
mod deployment_guard;
mod link;
mod network_daemons;
mod networks;
mod nodes;
mod objects;
mod options;
mod pages;
mod path_proof;
mod place;
mod pod_agent;
mod pod_container;
mod pod_link;
mod pod_program;
mod pods;
mod reaper;
mod run_id;
mod run_scope;
mod running_pod;
mod server_policies;
mod session;

pub use access::role_manifest;
pub use cleaner::{ClusterCleaner, ClusterRun};
pub use networks::{PREFIX, PlannedNetwork, RunManifest, cluster_networks};
pub use nodes::NamedNodes;
pub use options::ClusterOptions;
pub use place::ClusterPlace;
pub use pod_agent::run_pod_agent;
pub use reaper::{Reaper, run_reaper};
pub use run_id::RUN_LABEL;
