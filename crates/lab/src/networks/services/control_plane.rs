//! Programs of the cluster on its one node: etcd with the objects of the cluster, the API server, and kube-proxy.
//!
//! Sources: kube-apiserver(1), kube-proxy(1) of Kubernetes 1.35.

use super::objects::{MOST_OPERATIONS, MeasuredService, ServiceObjects, family_name};
use super::proxy_mode::ProxyMode;
use crate::networks::etcd::etcd;
use crate::plan::address::LabSubnet;
use crate::plan::nodes::LabNode;
use crate::plan::wiring::Wiring;
use crate::programs::{PacketCounter, Program, ReadyCondition};
use std::net::IpAddr;
use tare_network::Family;
use tare_sandbox::programs::runtime_directory;

/// Programs of Kubernetes.
pub(super) const PROGRAMS: [&str; 2] = ["kube-apiserver", "kube-proxy"];

/// Address at which etcd answers.
const ETCD: &str = "http://127.0.0.1:2379";

/// Name by which kube-proxy tells the API server who it is. It protects nothing: nobody else is in the namespace.
const TOKEN: &str = "lab";

/// Adds the cluster to its node. The last program ends when kube-proxy has written rules for all services.
pub(super) fn add(
    wiring: &mut Wiring,
    node: LabNode,
    mode: ProxyMode,
    objects: &ServiceObjects<'_>,
) {
    let (space, place) = (node.space, wiring.name(node.space).to_owned());
    let directory = runtime_directory(&place);
    let most = format!("--max-txn-ops={MOST_OPERATIONS}");
    // The objects last as long as the network: nothing is lost with a page that is not on the disk.
    let further = [most.as_str(), "--max-request-bytes=16777216", "--unsafe-no-fsync"];
    let file = format!("{directory}/objects.awk");
    let load = objects.load_command(&file, &format!("etcdctl --endpoints={ETCD}"));
    let load = Program::step(space, "sh", ["-c", &load]).with_name("load-objects");
    wiring.programs.extend([
        etcd(space, &place, ETCD, &further),
        load.with_file(file, objects.awk_program()),
        api_server(node, &directory, objects.family),
        kube_proxy(node, &place, mode, objects.family),
        check_rules(node, mode, objects),
    ]);
    let translated = |service: &MeasuredService| translations(node, service, objects.family);
    wiring.counters.extend(objects.measured.first().map(translated));
}

/// Returns the API server, which trusts everybody who knows the token.
fn api_server(node: LabNode, directory: &str, family: Family) -> Program {
    let (keys, token) = (format!("{directory}/keys"), format!("{directory}/token.csv"));
    let arguments = [
        format!("--etcd-servers={ETCD}"),
        format!("--service-cluster-ip-range={}", LabSubnet::SERVICES.prefix(family)),
        format!("--advertise-address={}", node.slot(0).address(family)),
        "--bind-address=127.0.0.1".to_owned(),
        "--authorization-mode=AlwaysAllow".to_owned(),
        format!("--token-auth-file={token}"),
        format!("--cert-dir={keys}"),
        // No pod has a service account: any key will do.
        format!("--service-account-signing-key-file={keys}/apiserver.key"),
        format!("--service-account-key-file={keys}/apiserver.crt"),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
    ];
    let ready = ReadyCondition::OutputContains(vec!["Serving securely on".to_owned()]);
    Program::daemon(node.space, "kube-apiserver", arguments, ready)
        .with_file(token, format!("{TOKEN},{TOKEN},{TOKEN}\n"))
}

/// Returns kube-proxy. It is ready when it has written the rules of all services that it knows.
fn kube_proxy(node: LabNode, place: &str, mode: ProxyMode, family: Family) -> Program {
    let file = format!("{}/kubeconfig", runtime_directory(place));
    let arguments = [
        format!("--kubeconfig={file}"),
        format!("--hostname-override={place}"),
        format!("--proxy-mode={}", mode.name()),
        format!("--cluster-cidr={}", LabSubnet::docker(node.number()).prefix(family)),
        "--metrics-bind-address=127.0.0.1:10249".to_owned(),
        // Limits and timeouts of connection tracking stay the kernel's, as for all other networks.
        "--conntrack-max-per-core=0".to_owned(),
        "--conntrack-tcp-timeout-established=0s".to_owned(),
        "--conntrack-tcp-timeout-close-wait=0s".to_owned(),
        // The level at which it says that rules are written.
        "-v=2".to_owned(),
    ];
    let family = family_name(family);
    let written = format!("\"SyncProxyRules complete\" ipFamily=\"{family}\"");
    let ready = ReadyCondition::OutputContains(vec![written]);
    Program::daemon(node.space, "kube-proxy", arguments, ready).with_file(file, kubeconfig())
}

fn kubeconfig() -> String {
    format!(
        "apiVersion: v1\nkind: Config\nclusters:\n- name: lab\n  cluster:\n    server: https://127.0.0.1:6443\n    \
         insecure-skip-tls-verify: true\nusers:\n- name: lab\n  user:\n    token: {TOKEN}\ncontexts:\n- name: lab\n  \
         context:\n    cluster: lab\n    user: lab\ncurrent-context: lab\n"
    )
}

/// Returns a step that fails if a service has no rules.
fn check_rules(node: LabNode, mode: ProxyMode, objects: &ServiceObjects<'_>) -> Program {
    let (list, wanted) = (mode.list_command(objects.family), objects.port_count());
    let script = format!(
        "found=$({list} | wc -l); [ \"$found\" -ge {wanted} ] || \
         {{ echo \"error: kube-proxy wrote rules for $found of {wanted} ports of services, and its log says why\"; exit 1; }}"
    );
    Program::step(node.space, "sh", ["-c", &script]).with_name("check-rules")
}

/// Returns the counter of connections to the address of a service that are translated to its server.
fn translations(node: LabNode, service: &MeasuredService, family: Family) -> PacketCounter {
    let [address, server] =
        [service.address, service.server].map(|slot| conntrack_address(slot.address(family)));
    let script = format!(
        "echo translated=$(grep -c 'dst={address} .* src={server} ' /proc/net/nf_conntrack)"
    );
    PacketCounter {
        description: format!(
            "connections to {} that kube-proxy translates",
            service.address.address(family)
        ),
        program: Program::step(node.space, "sh", ["-c", &script]).with_name("translations"),
        prefix: "translated=",
    }
}

/// Returns an address as the kernel's table of connections spells it: an IPv6 address without abbreviation.
fn conntrack_address(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => address.segments().map(|segment| format!("{segment:04x}")).join(":"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_spelled_as_in_the_table_of_connections() {
        let spelled = |text: &str| conntrack_address(text.parse().unwrap());
        assert_eq!(spelled("10.96.0.2"), "10.96.0.2");
        assert_eq!(spelled("fd00:0:0:60::2"), "fd00:0000:0000:0060:0000:0000:0000:0002");
    }
}
