//! Networks of a Kubernetes cluster, without a cluster: what is printed, and what is said.

use std::net::{Ipv4Addr, TcpListener};
use support::ScratchDirectory;
use support::program::Tare;
use support::schema::repository;

/// Returns a kubeconfig of a cluster at a port of this machine.
fn kubeconfig(scratch: &ScratchDirectory, port: u16) -> String {
    let text = format!(
        "apiVersion: v1\nkind: Config\nclusters:\n- {{name: c, cluster: {{server: 'https://127.0.0.1:{port}'}}}}\n\
         users:\n- {{name: u, user: {{}}}}\ncontexts:\n- {{name: x, context: {{cluster: c, user: u}}}}\n\
         current-context: x\n"
    );
    scratch.write_file("kubeconfig", &text).to_string_lossy().into_owned()
}

#[test]
fn the_role_of_a_run_is_printed_for_a_namespace() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let manifest = tare.run(&["kubernetes", "rbac", "--namespace", "net"]).expect(0).text();
    for words in ["kind: Role\n", "namespace: net\n", "pods/attach"] {
        assert!(manifest.contains(words), "{manifest}");
    }
    let refused = tare.run(&["kubernetes", "rbac", "--namespace", "a\nkind: ClusterRole"]);
    refused.assert_error(2, &["invalid namespace"]);
}

#[test]
fn the_job_of_the_package_has_the_printed_role_and_this_version() {
    let scratch = ScratchDirectory::new();
    let file = |name: &str| {
        std::fs::read_to_string(repository().join("packaging/kubernetes").join(name)).unwrap()
    };
    let printed = Tare::in_directory(scratch.root()).run(&["kubernetes", "rbac"]).expect(0).text();
    assert_eq!(file("role.yaml"), printed);
    let image = format!("image: tare:{}\n", env!("CARGO_PKG_VERSION"));
    assert!(file("job.yaml").contains(&image), "{image}");
}

#[test]
fn a_cluster_that_is_not_there_is_said_in_one_line() {
    let scratch = ScratchDirectory::new();
    let nowhere = Tare::in_directory(scratch.root()).with_variable("KUBECONFIG", "/nonexistent");
    let run = |tare: &Tare, more: &[&str]| {
        let asked = ["run", "--network", "k8s:pod", "--workload", "tcp-rr", "--out", "never"];
        tare.run(&[&asked[..], more].concat())
    };
    run(&nowhere, &[]).assert_error(1, &["k8s:pod cannot run", "kubeconfig"]);
    // Nothing listens at this port.
    let closed =
        Tare::in_directory(scratch.root()).with_variable("KUBECONFIG", &kubeconfig(&scratch, 1));
    run(&closed, &[])
        .assert_error(1, &["k8s:pod cannot run", "refused", "kubectl get --raw /readyz"]);
    run(&closed, &["--kube-context", "other"]).assert_error(1, &["k8s:pod cannot run", "other"]);
    // What listens there accepts connections and never answers.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let silent =
        Tare::in_directory(scratch.root()).with_variable("KUBECONFIG", &kubeconfig(&scratch, port));
    run(&silent, &["--request-timeout", "300ms"])
        .assert_error(1, &["k8s:pod cannot run", "does not answer within", "--request-timeout"]);
    assert!(!scratch.path("never").exists());
}

#[test]
fn a_network_is_shown_as_the_objects_that_make_it() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root()).with_variable("KUBECONFIG", "/nonexistent");
    let shown = tare.run(&["show", "k8s:service"]).expect(0).text();
    assert_eq!(shown.matches("kubectl apply -f -").count(), 4, "{shown}");
    for words in
        ["\"kind\":\"ConfigMap\"", "\"kind\":\"Service\"", "podAntiAffinity", "\"ClusterIP\""]
    {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let alone = tare.run(&["show", "k8s:hairpin"]).expect(0).text();
    assert_eq!(alone.matches("\"kind\":\"Pod\"").count(), 1, "the pod is both ends: {alone}");
    let refused = tare.run(&["show", "k8s:service", "--servers", "2"]).expect(0).text();
    assert!(refused.contains("# cannot lay out k8s:service"), "{refused}");
}
