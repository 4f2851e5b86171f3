//! Users of a namespace: what they may not do is said before anything is made.

use crate::cluster::{Cluster, PodRoutes, ProxyMode};
use support::program::binary;

/// Resource of the right that a run can do without, as the Role has it.
const EVENTS: &str = "\"events\"";

/// Returns the Role that `tare kubernetes rbac` prints, bound to the certificate's user.
pub(crate) fn role(cluster: &Cluster) -> String {
    let output = cluster.command("admin", binary()).args(["kubernetes", "rbac"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let manifest = String::from_utf8(output.stdout).unwrap();
    manifest.replace(
        "- kind: ServiceAccount\n  name: tare\n  namespace: default\n",
        "- {kind: User, name: user, apiGroup: rbac.authorization.k8s.io}\n",
    )
}

#[test]
fn the_printed_role_is_enough_and_each_of_its_verbs_is_needed() {
    let mut cluster = Cluster::start(PodRoutes::Direct, ProxyMode::Iptables);
    cluster.enforce_policies();
    let role = role(&cluster);
    let run = |networks: &str, directory: &str| {
        let arguments = [
            "run",
            "--network",
            networks,
            "--workload",
            "tcp-rr",
            "--blocks",
            "1",
            "--duration",
            "200ms",
            "--out",
            directory,
        ];
        cluster.start_tare("user", &arguments).wait()
    };
    cluster.kubectl(&[
        "label",
        "namespace",
        "default",
        "pod-security.kubernetes.io/enforce=restricted",
    ]);
    cluster.apply(&role);
    run("k8s:pod,k8s:service,k8s:policy", "allowed").expect(0);
    cluster.expect_nothing_left();
    let host = ["run", "--network", "k8s:host", "--workload", "tcp-rr", "--out", "host"];
    let refused = cluster.start_tare("user", &host).wait();
    refused.assert_error(1, &["k8s:host cannot run", "violates PodSecurity", "namespace"]);
    assert_eq!(cluster.leftovers(), "");
    // Events only tell why a pod does not start.
    let reasons = format!("- apiGroups: [\"\"]\n  resources: [{EVENTS}]\n  verbs: [\"list\"]\n");
    assert_eq!(role.matches(&reasons).count(), 1, "{role}");
    cluster.apply(&role.replace(&reasons, ""));
    run("k8s:pod", "without-events").expect(0);
    let lists = |name: &'static str| {
        role.lines().filter_map(move |line| line.trim().strip_prefix(name)?.strip_suffix(']'))
    };
    let mut tried = 0;
    let needed = lists("resources: [").zip(lists("verbs: [")).enumerate();
    for (at, (resource, verbs)) in needed.filter(|(_, (resource, _))| *resource != EVENTS) {
        // Without the right to make policies, the other networks are measured.
        let networks =
            if resource.contains("networkpolicies") { "k8s:policy" } else { "k8s:pod,k8s:service" };
        for verb in verbs.split(", ") {
            let fewer: Vec<&str> = verbs.split(", ").filter(|one| *one != verb).collect();
            let mut seen = 0;
            let lacking: Vec<String> = role
                .lines()
                .map(|line| {
                    let is_rule = line.trim().starts_with("verbs: [");
                    let is_this = is_rule && seen == at;
                    seen += usize::from(is_rule);
                    if is_this {
                        format!("  verbs: [{}]", fewer.join(", "))
                    } else {
                        line.to_owned()
                    }
                })
                .collect();
            cluster.apply(&lacking.join("\n"));
            let verb = verb.trim_matches('"');
            let outcome = run(networks, &format!("without-{at}-{verb}"));
            outcome.assert_error(1, &[&format!("may not {verb} "), "tare kubernetes rbac"]);
            assert_eq!(cluster.leftovers(), "", "nothing is half made without {verb}");
            tried += 1;
        }
    }
    assert!(tried >= 13, "{tried}");
}
