//! Proxies of a service mesh: asked for by `+mesh`, and proved to carry the connections.
//!
//! A mesh that puts a proxy into each pod (Istio's and Linkerd's sidecars) turns the pod's connections to it: what a program
//! sends leaves by the loopback device first. A mesh may be absent, or not be told to look at the namespace; then the figures
//! would be those of the network without it.

use super::RaisedNetwork;
use crate::objects::MeshProxy;
use crate::path_proof::ProvenPath;
use crate::running_pod::{InjectedContainer, RunningPod};
use std::sync::Arc;
use tare_network::{Error, Hop, HopKind, NetworkOptions, UnmetRequirement};

/// Returns what a mesh is asked for.
pub(super) fn mesh_proxy(options: &NetworkOptions) -> MeshProxy {
    if options.mesh { MeshProxy::Wanted } else { MeshProxy::Refused }
}

/// Refuses options that exclude each other.
///
/// # Errors
/// Which they are, and why.
pub(super) fn check_options(options: &NetworkOptions) -> Result<(), UnmetRequirement> {
    if options.local && options.mesh {
        return Err(UnmetRequirement {
            reason: "+local and +mesh exclude each other: behind a proxy the server does not see the client's address, \
                     by which +local is verified"
                .to_owned(),
            remedy: "use one of them".to_owned(),
        });
    }
    Ok(())
}

/// Checks that each pod of a network has a proxy.
///
/// # Errors
/// One has none.
pub(super) fn check_proxies(raised: &RaisedNetwork) -> Result<(), Error> {
    let mut pods = raised.servers.iter().chain(&raised.clients);
    match pods.find(|pod| pod.injected.is_empty()) {
        None => Ok(()),
        Some(pod) => Err(Error::new(
            format!("find the mesh's proxy in the pod {}", pod.name),
            "the cluster put none into it",
        )
        .with_remedy(
            "install a mesh with sidecars, and let it look at the namespace \
             (`kubectl label namespace NAME istio-injection=enabled`)",
        )),
    }
}

/// Checks that a connection took the client's proxy.
///
/// # Errors
/// Nothing was sent by the loopback device meanwhile: packets pass the proxy by.
pub(super) fn check_redirection(proven: &ProvenPath) -> Result<(), Error> {
    if proven.client.device("lo").is_some_and(|device| device.sent > 0) {
        return Ok(());
    }
    Err(Error::new(
        "verify that connections of client-0 take the mesh's proxy",
        "its loopback device carried none of their packets on the way to a proxy",
    )
    .with_remedy("use the network without +mesh if the mesh has no proxies in pods"))
}

/// Adds the proxies of both ends to the hops of client 0's path.
pub(super) fn add_proxies(hops: &mut Vec<Hop>, raised: &RaisedNetwork) {
    let at = |pods: &[Arc<RunningPod>], place| {
        pods.first().map_or(Vec::new(), |pod| proxy_hops(&pod.injected, place))
    };
    hops.splice(0..0, at(&raised.clients, "client-0"));
    hops.extend(at(&raised.servers, "server-0"));
}

fn proxy_hops(proxies: &[InjectedContainer], place: &str) -> Vec<Hop> {
    let hop = |proxy: &InjectedContainer| {
        let hop = Hop::new(HopKind::Forwarder, proxy.name.clone(), place);
        match &proxy.image {
            Some(image) => hop.with_detail(image.clone()),
            None => hop,
        }
    };
    proxies.iter().map(hop).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_netns_probe::{DeviceSnapshot, NetnsSnapshot};

    #[test]
    fn a_connection_that_no_proxy_took_is_told_by_the_loopback_device() {
        let proven = |sent| {
            let device = |name: &str, sent| DeviceSnapshot {
                name: name.to_owned(),
                sent,
                ..DeviceSnapshot::default()
            };
            let devices = vec![device("lo", sent), device("eth0", 9)];
            let client = NetnsSnapshot { devices, ..NetnsSnapshot::default() };
            ProvenPath { client, server: NetnsSnapshot::default(), peer: None }
        };
        assert!(check_redirection(&proven(3)).is_ok());
        let error = check_redirection(&proven(0)).unwrap_err().to_string();
        assert!(error.contains("carried none of their packets"), "{error}");
    }

    #[test]
    fn a_proxy_hides_the_address_that_a_local_policy_keeps() {
        let with = |local, mesh| NetworkOptions { local, mesh, ..NetworkOptions::default() };
        assert!(check_options(&with(true, false)).is_ok());
        assert!(check_options(&with(false, true)).is_ok());
        assert!(check_options(&with(true, true)).is_err());
    }
}
