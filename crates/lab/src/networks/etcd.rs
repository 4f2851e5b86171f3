//! etcd on one node of the lab: a cluster of one member, private to the lab.
//!
//! Sources: etcd(1), etcdctl(1).

use crate::plan::namespace_id::NamespaceId;
use crate::programs::{Program, ReadyCondition};
use tare_network::Requirement;
use tare_sandbox::programs::runtime_directory;

/// Returns the requirements of [`etcd`].
pub(crate) fn etcd_requirements() -> [Requirement; 2] {
    ["etcd", "etcdctl"]
        .map(|name| Requirement::Program { name, package: "etcd-server etcd-client" })
}

/// Returns etcd in the namespace `space` of the name `place`, for clients that use the URL `endpoint`. It is ready when
/// it is healthy.
pub(crate) fn etcd(space: NamespaceId, place: &str, endpoint: &str, further: &[&str]) -> Program {
    const PEERS: &str = "http://127.0.0.1:2380";
    let data = format!("{}/etcd", runtime_directory(place));
    let arguments = [
        "--name=lab",
        &format!("--data-dir={data}"),
        &format!("--listen-client-urls={endpoint}"),
        &format!("--advertise-client-urls={endpoint}"),
        &format!("--listen-peer-urls={PEERS}"),
        &format!("--initial-advertise-peer-urls={PEERS}"),
        &format!("--initial-cluster=lab={PEERS}"),
        // A cluster of one has no other member to agree with, so it need not wait as long as a larger one.
        "--heartbeat-interval=20",
        "--election-timeout=200",
    ];
    let endpoints = format!("--endpoints={endpoint}");
    let health = ["etcdctl", &endpoints, "--dial-timeout=1s", "endpoint", "health"];
    let ready = ReadyCondition::CommandSucceeds(health.map(str::to_owned).to_vec());
    Program::daemon(space, "etcd", arguments.iter().chain(further).copied(), ready)
}
