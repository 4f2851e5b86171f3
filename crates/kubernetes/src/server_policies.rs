//! Network policies of a network's servers. All of them select the servers, whose plugin must therefore look at each; the
//! first admits the clients, the others admit addresses that nobody has.

use crate::cluster_error::{cluster_error, deletion};
use crate::objects::{PodRole, network_metadata, pod_labels, typed};
use crate::pods::PARALLEL_REQUESTS;
use crate::run_id::RunId;
use crate::run_scope::RunScope;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tare_network::{Error, Family};

/// First of the addresses that policies admit and nobody has: those of benchmarks, 198.18.0.0/15 (RFC 2544).
const IDLE_IPV4: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);

/// The same of IPv6: 2001:2::/48 (RFC 5180).
const IDLE_IPV6: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0);

/// Network policies of a network's servers, which stay for all blocks of a run.
pub(crate) struct ServerPolicies {
    scope: RunScope,
    network: String,
    made: Mutex<MadePolicies>,
}

/// Policies that exist in the cluster.
#[derive(Debug, Default)]
struct MadePolicies {
    names: Vec<String>,
    admit_clients: bool,
}

impl ServerPolicies {
    /// Returns the policies of a network, none of which exists yet.
    pub(crate) fn new(scope: &RunScope, network: &str) -> Self {
        Self { scope: scope.clone(), network: network.to_owned(), made: Mutex::default() }
    }

    /// Returns true if the policies exist, and the clients are admitted.
    pub(crate) fn admit_clients(&self) -> bool {
        self.made().admit_clients
    }

    /// Creates this number of policies, none of which admits a client. Those that exist stay.
    ///
    /// # Errors
    /// The cluster refuses one.
    pub(crate) fn create(&self, count: u16, family: Family) -> Result<(), Error> {
        let mut made = self.made();
        if !made.names.is_empty() {
            return Ok(());
        }
        let RunScope { client, run, owner, .. } = &self.scope;
        let wanted = (0..count).map(|index| {
            let admitted = if index == 0 { Vec::new() } else { vec![idle_peer(index, family)] };
            policy_object(run, Some(owner), &self.network, index, &admitted)
        });
        let wanted: Vec<NetworkPolicy> = wanted.collect();
        // Whatever happens next, each of them may be there.
        made.names = wanted.iter().filter_map(|one| one.metadata.name.clone()).collect();
        let policies = &self.api();
        client.wait(
            stream::iter(wanted)
                .map(|policy| async move {
                    let name = policy.metadata.name.clone().unwrap_or_default();
                    let created = policies.create(&PostParams::default(), &policy).await;
                    created.map(drop).map_err(|refusal| {
                        cluster_error(format!("create the NetworkPolicy {name}"), &refusal)
                    })
                })
                .buffer_unordered(PARALLEL_REQUESTS)
                .try_collect::<()>(),
        )
    }

    /// Lets the first policy admit the clients.
    ///
    /// # Errors
    /// The cluster refuses the change.
    pub(crate) fn let_clients_in(&self) -> Result<(), Error> {
        let mut made = self.made();
        let Some(name) = made.names.first() else { return Ok(()) };
        let admitted = [client_peer(&self.scope.run, &self.network)];
        let change = json!({"spec": {"ingress": ingress(&admitted)}});
        let (parameters, change) = (PatchParams::default(), Patch::Merge(&change));
        let policies = self.api();
        let changed = self.scope.client.wait(policies.patch(name, &parameters, &change));
        changed.map_err(|refusal| {
            cluster_error(format!("change the NetworkPolicy {name}"), &refusal)
        })?;
        made.admit_clients = true;
        Ok(())
    }

    /// Removes the policies.
    ///
    /// # Errors
    /// One remains.
    pub(crate) fn remove(&self) -> Result<(), Error> {
        let names = std::mem::take(&mut *self.made()).names;
        let policies = &self.api();
        self.scope.client.wait(
            stream::iter(names)
                .map(|name| async move {
                    let answer = policies.delete(&name, &DeleteParams::default()).await;
                    deletion(format!("delete the NetworkPolicy {name}"), answer)
                })
                .buffer_unordered(PARALLEL_REQUESTS)
                .try_collect::<()>(),
        )
    }

    fn api(&self) -> Api<NetworkPolicy> {
        let client = &self.scope.client;
        Api::namespaced(client.client(), client.namespace())
    }

    fn made(&self) -> MutexGuard<'_, MadePolicies> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the policies of a network as they are when its clients are admitted.
pub(crate) fn policy_objects(
    run: &RunId,
    network: &str,
    count: u16,
    family: Family,
) -> Vec<NetworkPolicy> {
    let admitted = |index| {
        if index == 0 { client_peer(run, network) } else { idle_peer(index, family) }
    };
    (0..count).map(|index| policy_object(run, None, network, index, &[admitted(index)])).collect()
}

/// Returns a policy that selects a network's servers, and admits these peers alone.
fn policy_object(
    run: &RunId,
    owner: Option<&OwnerReference>,
    network: &str,
    index: u16,
    admitted: &[Value],
) -> NetworkPolicy {
    typed(json!({
        "metadata": network_metadata(run, owner, network, &format!("policy-{index}")),
        "spec": {
            "podSelector": {"matchLabels": pod_labels(run, network, PodRole::Server)},
            "policyTypes": ["Ingress"],
            "ingress": ingress(admitted),
        },
    }))
}

/// Returns the rules that admit peers. A rule without peers would admit everybody, so there is none without them.
fn ingress(admitted: &[Value]) -> Value {
    if admitted.is_empty() { json!([]) } else { json!([{"from": admitted}]) }
}

fn client_peer(run: &RunId, network: &str) -> Value {
    json!({"podSelector": {"matchLabels": pod_labels(run, network, PodRole::Client)}})
}

/// Returns the peer of a policy that admits no pod: one address, another in each policy.
fn idle_peer(index: u16, family: Family) -> Value {
    let (address, length) = match family {
        Family::Ipv4 => (IpAddr::from(Ipv4Addr::from(u32::from(IDLE_IPV4) + u32::from(index))), 32),
        Family::Ipv6 => {
            (IpAddr::from(Ipv6Addr::from(u128::from(IDLE_IPV6) + u128::from(index))), 128)
        }
    };
    json!({"ipBlock": {"cidr": format!("{address}/{length}")}})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_id::{NETWORK_LABEL, ROLE_LABEL, RUN_LABEL};

    #[test]
    fn the_first_policy_admits_the_clients_and_the_others_nobody() {
        let run = RunId::fresh();
        let objects = policy_objects(&run, "policy-3", 3, Family::Ipv4);
        let objects: Vec<Value> =
            objects.iter().map(|one| serde_json::to_value(one).unwrap()).collect();
        let peers = |at: usize| objects[at]["spec"]["ingress"][0]["from"].clone();
        assert_eq!(peers(0)[0]["podSelector"]["matchLabels"][ROLE_LABEL], "client");
        assert_eq!(peers(1), json!([{"ipBlock": {"cidr": "198.18.0.1/32"}}]));
        assert_eq!(peers(2), json!([{"ipBlock": {"cidr": "198.18.0.2/32"}}]));
        for object in &objects {
            let selected = &object["spec"]["podSelector"]["matchLabels"];
            assert_eq!(selected[ROLE_LABEL], "server");
            assert_eq!(selected[RUN_LABEL], run.to_string());
            assert_eq!(selected[NETWORK_LABEL], "policy-3");
            assert_eq!(object["metadata"]["labels"][RUN_LABEL], run.to_string());
        }
        let ipv6 = serde_json::to_value(&policy_objects(&run, "p", 2, Family::Ipv6)[1]).unwrap();
        assert_eq!(ipv6["spec"]["ingress"][0]["from"][0]["ipBlock"]["cidr"], "2001:2::1/128");
    }

    #[test]
    fn a_policy_without_peers_has_no_rule() {
        let closed = policy_object(&RunId::fresh(), None, "policy", 0, &[]);
        let closed = serde_json::to_value(closed).unwrap();
        assert_eq!(closed["spec"]["policyTypes"], json!(["Ingress"]));
        // An empty list of rules admits nobody, whether it is sent or left out.
        assert!(closed["spec"]["ingress"].as_array().is_none_or(Vec::is_empty), "{closed}");
    }
}
