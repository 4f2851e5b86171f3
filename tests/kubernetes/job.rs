//! A run within the cluster that it weighs, as a Job, and every night.

use crate::cluster::{Cluster, PodRoutes, ProxyMode};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use support::eventually;
use support::program::binary;
use support::schema::repository;

#[test]
fn a_job_weighs_its_own_cluster() {
    let cluster = Cluster::start(PodRoutes::Direct, ProxyMode::Iptables);
    let made = ["pod-security.kubernetes.io/enforce=restricted"];
    cluster.kubectl(&["label", "namespace", "default", made[0]]);
    let files = repository().join("packaging/kubernetes");
    let rendered = cluster.kubectl(&["kustomize", &files.to_string_lossy()]);
    // Shorter than for users.
    let short = "- --network\n        - k8s:pod,k8s:service\n        - --blocks\n        - \"2\"\n        - --slice\n        - \"off\"\n        - --duration\n        - 300ms\n";
    let quick = "- --quick\n        - --network\n        - k8s:pod,k8s:service,k8s:nodeport,k8s:pod-same-node\n";
    assert!(rendered.contains(quick), "{rendered}");
    cluster.apply(&rendered.replace(quick, short));
    cluster.kubectl(&["wait", "--for=condition=complete", "job/tare", "--timeout=120s"]);
    let log = cluster.kubectl(&["logs", "job/tare"]);
    assert!(log.contains("k8s:service") && log.contains("tcp-stream"), "{log}");
    cluster.expect_nothing_left();
}

#[test]
fn a_night_is_compared_with_the_baseline() {
    let cluster = Cluster::start(PodRoutes::Direct, ProxyMode::Iptables);
    let role = cluster.command("admin", binary()).args(["kubernetes", "rbac"]).output().unwrap();
    cluster.apply(&String::from_utf8(role.stdout).unwrap());
    // The nodes are namespaces of one machine, whose files they share.
    let volume = cluster.path("volume");
    fs::create_dir(&volume).unwrap();
    fs::set_permissions(&volume, fs::Permissions::from_mode(0o777)).unwrap();
    cluster.apply(&format!(
        "{{apiVersion: v1, kind: PersistentVolume, metadata: {{name: baseline}}, spec: {{capacity: {{storage: 1Gi}}, \
         accessModes: [ReadWriteOnce], hostPath: {{path: {}}}}}}}",
        volume.display()
    ));
    let files = repository().join("packaging/kubernetes/nightly");
    let rendered = cluster.kubectl(&["kustomize", &files.to_string_lossy()]);
    let nightly = shorter(&rendered);
    cluster.apply(&nightly);
    cluster.kubectl(&["wait", "--for=condition=complete", "job/tare-baseline", "--timeout=120s"]);
    assert!(volume.join("run/result.json").is_file());
    cluster.kubectl(&["create", "job", "--from=cronjob/tare-nightly", "tonight"]);
    // Two blocks may decide nothing: the gate's verdict is the machine's, that it judges is the test's.
    eventually("the gate has judged", || {
        let ended = "jsonpath={.items[*].status.containerStatuses[?(@.name==\"gate\")].state.terminated.exitCode}";
        let selector = ["--selector", "job-name=tonight", "--output", ended];
        let code = cluster.kubectl(&[&["get", "pods"], &selector[..]].concat());
        if ["0", "3", "4"].contains(&&*code) { Ok(()) } else { Err(format!("exit code `{code}`")) }
    });
    let log = cluster.kubectl(&["logs", "job/tonight", "--container", "gate"]);
    assert!(log.contains("k8s:service"), "{log}");
    cluster.expect_nothing_left();
}

/// Returns the objects with runs that are shorter than for users.
fn shorter(rendered: &str) -> String {
    let indented = |line: &str| {
        let (indent, flag) = line.split_at(line.len() - line.trim_start().len());
        match flag {
            "- --quick" => ["--blocks", "\"2\"", "--slice", "\"off\"", "--duration", "300ms"]
                .map(|word| format!("{indent}- {word}\n"))
                .concat(),
            _ => format!("{line}\n"),
        }
    };
    let shorter: String = rendered.lines().map(indented).collect();
    assert_eq!(shorter.matches("- --blocks\n").count(), 2, "{rendered}");
    shorter
}
