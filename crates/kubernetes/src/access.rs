//! Rights that a run needs in its namespace: what is asked before anything is made, and the Role that grants it.

use k8s_openapi::api::authorization::v1::{
    ResourceRule, SelfSubjectRulesReview, SelfSubjectRulesReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};
use tare_network::UnmetRequirement;

/// Name of the core group.
const CORE: &str = "";

/// Resource of a group of the API, with the verbs that a run needs on it.
pub(crate) struct NeededRight {
    group: &'static str,
    resource: &'static str,
    verbs: &'static [&'static str],
}

/// Rights that every run needs.
pub(crate) const RUN_RIGHTS: [NeededRight; 4] = [
    NeededRight { group: CORE, resource: "configmaps", verbs: &["create", "delete"] },
    NeededRight {
        group: CORE,
        resource: "pods",
        verbs: &["create", "get", "list", "watch", "delete"],
    },
    // The way to a pod's streams is a GET that becomes a WebSocket; from 1.35 on it asks for `create`, too.
    NeededRight { group: CORE, resource: "pods/attach", verbs: &["get", "create"] },
    NeededRight { group: CORE, resource: "services", verbs: &["create", "get", "patch", "delete"] },
];

/// Rights that a run with network policies needs besides.
pub(crate) const POLICY_RIGHTS: [NeededRight; 1] = [NeededRight {
    group: "networking.k8s.io",
    resource: "networkpolicies",
    verbs: &["create", "patch", "delete"],
}];

/// Right that a run can do without: it tells why a node cannot start a pod.
pub(crate) const REASON_RIGHTS: [NeededRight; 1] =
    [NeededRight { group: CORE, resource: "events", verbs: &["list"] }];

/// Asks the API whether this user has rights in a namespace.
///
/// # Errors
/// The first right that is missing, and how to get it.
pub(crate) async fn check_rights(
    client: Client,
    namespace: &str,
    needed: &[NeededRight],
) -> Result<(), UnmetRequirement> {
    let reviews: Api<SelfSubjectRulesReview> = Api::all(client);
    let asked = SelfSubjectRulesReview {
        spec: SelfSubjectRulesReviewSpec { namespace: Some(namespace.to_owned()) },
        ..SelfSubjectRulesReview::default()
    };
    // A cluster that does not answer this refuses the request itself later, in its own words.
    let Ok(answer) = reviews.create(&PostParams::default(), &asked).await else { return Ok(()) };
    let Some(status) = answer.status.filter(|status| !status.incomplete) else { return Ok(()) };
    match missing_right(&status.resource_rules, needed) {
        None => Ok(()),
        Some((verb, resource)) => Err(UnmetRequirement {
            reason: format!("this user may not {verb} {resource} in the namespace {namespace}"),
            remedy: format!(
                "grant the Role that `tare kubernetes rbac --namespace {namespace}` prints"
            ),
        }),
    }
}

/// Returns the first right, as verb and resource, that no rule grants.
fn missing_right(
    rules: &[ResourceRule],
    needed: &[NeededRight],
) -> Option<(&'static str, &'static str)> {
    needed.iter().find_map(|right| {
        let is_missing = |verb: &&str| !rules.iter().any(|rule| grants(rule, verb, right));
        let missing = right.verbs.iter().copied().find(is_missing);
        missing.map(|verb| (verb, right.resource))
    })
}

/// Returns whether a rule grants a verb on all objects of a resource.
fn grants(
    rule: &ResourceRule,
    verb: &str,
    NeededRight { group, resource, .. }: &NeededRight,
) -> bool {
    let has = |list: Option<&Vec<String>>, wanted: &str| {
        list.is_some_and(|list| list.iter().any(|one| one == "*" || one == wanted))
    };
    let is_for_all = rule.resource_names.as_ref().is_none_or(Vec::is_empty);
    let of_any_parent = resource.split_once('/').map(|(_, part)| format!("*/{part}"));
    let names_resource = has(rule.resources.as_ref(), resource)
        || of_any_parent.is_some_and(|one| has(rule.resources.as_ref(), &one));
    is_for_all
        && names_resource
        && has(rule.api_groups.as_ref(), group)
        && has(Some(&rule.verbs), verb)
}

fn role_rule(NeededRight { group, resource, verbs }: &NeededRight) -> String {
    let verbs = verbs.iter().map(|verb| format!("\"{verb}\"")).collect::<Vec<_>>().join(", ");
    format!("- apiGroups: [\"{group}\"]\n  resources: [\"{resource}\"]\n  verbs: [{verbs}]\n")
}

/// Returns the objects that give a service account all rights that a run has a use for in a namespace, as YAML.
#[must_use]
pub fn role_manifest(namespace: &str) -> String {
    let rules = RUN_RIGHTS.iter().map(role_rule).collect::<String>();
    let of_reasons = REASON_RIGHTS.iter().map(role_rule).collect::<String>();
    let of_policies = POLICY_RIGHTS.iter().map(role_rule).collect::<String>();
    format!(
        "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: tare\n  namespace: {namespace}\n---\n\
         apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: tare\n  namespace: {namespace}\n\
         rules:\n{rules}# For the reason why a pod does not start.\n{of_reasons}# For k8s:policy alone.\n{of_policies}---\n\
         apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata:\n  name: tare\n  namespace: {namespace}\n\
         roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: Role\n  name: tare\nsubjects:\n\
         - kind: ServiceAccount\n  name: tare\n  namespace: {namespace}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(groups: &[&str], resources: &[&str], verbs: &[&str]) -> ResourceRule {
        let own = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        ResourceRule {
            api_groups: Some(own(groups)),
            resources: Some(own(resources)),
            resource_names: None,
            verbs: own(verbs),
        }
    }

    fn rules_of(needed: &[NeededRight]) -> Vec<ResourceRule> {
        needed.iter().map(|right| rule(&[right.group], &[right.resource], right.verbs)).collect()
    }

    #[test]
    fn each_single_missing_verb_is_found() {
        for needed in [&RUN_RIGHTS[..], &POLICY_RIGHTS] {
            assert_eq!(missing_right(&rules_of(needed), needed), None);
            assert_eq!(missing_right(&[rule(&["*"], &["*"], &["*"])], needed), None);
            for (at, right) in needed.iter().enumerate() {
                for &verb in right.verbs {
                    let mut rules = rules_of(needed);
                    rules[at].verbs.retain(|one| one != verb);
                    assert_eq!(missing_right(&rules, needed), Some((verb, right.resource)));
                }
            }
        }
    }

    #[test]
    fn rules_on_other_objects_grant_nothing() {
        let mut named = rule(&[""], &["*"], &["*"]);
        named.resource_names = Some(vec!["one".to_owned()]);
        for other in [named, rule(&["apps"], &["*"], &["*"]), rule(&[""], &["secrets"], &["*"])] {
            assert_eq!(missing_right(&[other], &RUN_RIGHTS), Some(("create", "configmaps")));
        }
        let of_core = rule(&[""], &["*"], &["*"]);
        assert_eq!(missing_right(&[of_core], &POLICY_RIGHTS), Some(("create", "networkpolicies")));
        let attach = &RUN_RIGHTS[2];
        assert!(grants(&rule(&[""], &["*/attach"], &["create"]), "create", attach));
    }

    #[test]
    fn the_role_grants_what_is_needed() {
        let manifest = role_manifest("net");
        for right in RUN_RIGHTS.iter().chain(&REASON_RIGHTS).chain(&POLICY_RIGHTS) {
            assert!(manifest.contains(&role_rule(right)), "{}", right.resource);
        }
        assert_eq!(manifest.matches("namespace: net").count(), 4);
    }
}
