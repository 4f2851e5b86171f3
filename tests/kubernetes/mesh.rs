//! Proxies of a service mesh: a network with them is measured only where they are there and carry the connections.

use crate::cluster::{Cluster, MeshInjection, PodRoutes, ProxyMode};
use serde_json::Value;
use support::{hops, list};

#[test]
fn a_mesh_is_measured_only_where_its_proxies_carry_the_connections() {
    let mut cluster = Cluster::start(PodRoutes::Direct, ProxyMode::Iptables);
    let once = ["--workload", "tcp-rr", "--blocks", "1", "--duration", "200ms", "--out"];
    let refused = |cluster: &Cluster, directory: &str, why: &str| {
        let run = [&["run", "--network", "k8s:pod+mesh"], &once[..], &[directory]].concat();
        let told = cluster.start_tare("admin", &run).wait().expect(1).text();
        assert!(told.contains(why), "{told}");
        cluster.expect_nothing_left();
    };
    refused(&cluster, "absent", "the cluster put none into it");
    cluster.inject_proxies(MeshInjection::Idle);
    refused(&cluster, "idle", "its loopback device carried none of their packets");

    cluster.inject_proxies(MeshInjection::Redirecting);
    let networks = "k8s:pod,k8s:pod+mesh,k8s:service+mesh";
    let document = cluster.measure(&[&["--network", networks], &once[..], &["mesh"]].concat());
    assert_eq!(list(&document, "failed"), [] as [Value; 0]);
    // A pod that does not ask for a proxy has none.
    let plain = ["client-0:eth0", "node-0:pod network", "server-0:eth0"];
    assert_eq!(hops(&document, "k8s:pod"), plain);
    let mut proxied = vec!["client-0:mesh-proxy"];
    proxied.extend(plain);
    proxied.push("server-0:mesh-proxy");
    assert_eq!(hops(&document, "k8s:pod+mesh"), proxied);
    proxied.insert(2, "node-0:service");
    assert_eq!(hops(&document, "k8s:service+mesh"), proxied);
    cluster.expect_nothing_left();
}
