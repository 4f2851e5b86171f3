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
fn the_job_and_the_chart_have_the_printed_role() {
    let scratch = ScratchDirectory::new();
    let file = |name: &str| {
        std::fs::read_to_string(repository().join("packaging/kubernetes").join(name)).unwrap()
    };
    let printed = Tare::in_directory(scratch.root()).run(&["kubernetes", "rbac"]).expect(0).text();
    assert_eq!(file("role.yaml"), printed);
    let rules = printed.split_once("\nrules:\n").and_then(|(_, rest)| rest.split_once("---\n"));
    let rules = rules.expect("the Role's rules").0;
    let of_chart = file("chart/templates/account.yaml");
    assert!(of_chart.contains(&format!("\nrules:\n{rules}---\n")), "{rules}");
}

#[test]
fn a_dry_run_of_the_client_prints_objects_and_asks_no_cluster() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root()).with_variable("KUBECONFIG", "/nonexistent");
    let run = |more: &[&str]| {
        let asked = ["run", "--network", "host,k8s:host,k8s:service", "--dry-run=client"];
        tare.run(&[&asked[..], more].concat())
    };
    let options =
        ["--namespace", "net", "--clients", "2", "--pod-image", "registry.example/tare:1"];
    let yaml = run(&[&options[..], &["-o", "yaml"]].concat()).expect(0).text();
    assert_eq!(yaml, run(&options).expect(0).text(), "YAML is the default");
    assert_eq!(yaml.matches("\n  namespace: net\n").count(), 1 + 2 * 3 + 1, "{yaml}");
    for words in ["kind: ConfigMap\n", "name: tare-example-host-client-1\n", "type: ClusterIP\n"] {
        assert!(yaml.contains(words), "{words}: {yaml}");
    }
    let list = run(&[&options[..], &["-o", "json"]].concat()).expect(0).json();
    assert_eq!(list["kind"], "List");
    let items = list["items"].as_array().expect("items");
    let kinds: Vec<&str> = items.iter().filter_map(|one| one["kind"].as_str()).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "Pod").count(), 6, "{kinds:?}");
    assert_eq!(items[1]["spec"]["containers"][0]["image"], "registry.example/tare:1");
    assert!(items.iter().all(|one| one["apiVersion"] == "v1"), "{list}");
    run(&["-o", "run"]).assert_error(2, &["`run` for -o", "expected yaml or json"]);
    tare.run(&["run", "--network", "host", "--dry-run=client"])
        .assert_error(2, &["no network of the plan is in a cluster"]);
    tare.run(&["run", "--network", "k8s:service", "--servers", "2", "--dry-run=client"])
        .assert_error(1, &["k8s:service", "--servers 1"]);
    assert_eq!(std::fs::read_dir(scratch.root()).unwrap().count(), 0, "nothing is written");
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
