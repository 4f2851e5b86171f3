//! Hops of a packet from client 0, as far as the pods see them: the ends' devices, and what the cluster puts between.

use super::catalogue::{ClientPlacement, ClusterNetworkDefinition, Exposure};
use super::is_on_pod_network;
use crate::path_proof::ProvenPath;
use crate::running_pod::RunningPod;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tare_netns_probe::NetnsSnapshot;
use tare_network::{ClientRoute, Error, Hop, HopKind, NetworkOptions};

/// Name of the client's node in hops.
const CLIENT_NODE: &str = "node-0";

/// Name of the server's node in hops, if it is another.
const SERVER_NODE: &str = "node-1";

impl ClusterNetworkDefinition {
    /// Returns the hops of client 0's proven path.
    ///
    /// # Errors
    /// Packets did not leave the client by the device that they should take.
    pub(super) fn hops(
        &self,
        routes: &[ClientRoute],
        clients: &[Arc<RunningPod>],
        proven: &Option<ProvenPath>,
        options: &NetworkOptions,
    ) -> Result<Vec<Hop>, Error> {
        let (Some(proven), Some(route), Some(client)) = (proven, routes.first(), clients.first())
        else {
            return Ok(Vec::new());
        };
        let own = client.address_like(route.listen.ip());
        let kind =
            if is_on_pod_network(self.pod_network) { HopKind::Veth } else { HopKind::Device };
        // On one node, packets between its own addresses stay on the loopback device.
        let is_loopback =
            !is_on_pod_network(self.pod_network) && self.clients == ClientPlacement::SameNode;
        let mut hops = if is_loopback {
            vec![loopback_hop(&proven.client)]
        } else {
            vec![self.client_hop(&proven.client, own, kind)?]
        };
        hops.extend(self.cluster_hops(route, own, proven.peer, options)?);
        hops.extend(policy_hop(self.policies(options)));
        if !is_loopback {
            hops.push(device_hop(&proven.server, route.listen.ip(), kind, "server-0"));
        }
        Ok(hops)
    }

    /// Returns the hop of the client's device, by which packets have left.
    fn client_hop(
        &self,
        seen: &NetnsSnapshot,
        address: Option<IpAddr>,
        kind: HopKind,
    ) -> Result<Hop, Error> {
        let device = address.and_then(|address| seen.device_of(address));
        let used = seen.devices.iter().find(|device| device.name != "lo" && device.sent > 0);
        let Some(device) = device.filter(|device| device.sent > 0).or(used) else {
            let what = format!("verify that packets of {} leave client-0", self.info.name);
            let why = "the counters of its devices did not increase: packets take another path";
            return Err(Error::new(what, why));
        };
        Ok(device.to_hop(kind, "client-0"))
    }

    /// Returns the hops between the ends, which pods do not see: what the cluster is asked for.
    fn cluster_hops(
        &self,
        route: &ClientRoute,
        client: Option<IpAddr>,
        peer: Option<SocketAddr>,
        options: &NetworkOptions,
    ) -> Result<Vec<Hop>, Error> {
        let (to, port) = (route.dial.ip(), route.dial.port());
        let seen_as = peer.map(|peer| peer.ip().to_canonical());
        let masqueraded = seen_as.filter(|&seen| Some(seen) != client);
        if let Some(seen) = masqueraded.filter(|_| options.local) {
            let what = format!("verify that {} keeps the client's address", self.info.name);
            let why = format!("the server sees {seen}: its traffic policy is not in force");
            return Err(Error::new(what, why));
        }
        let policy = if options.local { ", traffic policy Local" } else { "" };
        let from = masqueraded.map_or(String::new(), |seen| format!(", seen from {seen}"));
        let translation = match self.exposure {
            Exposure::Address => None,
            Exposure::ClusterIp => Some(
                Hop::new(HopKind::Nat, "service", CLIENT_NODE)
                    .with_detail(format!("ClusterIP {to}, port {port}{policy}{from}")),
            ),
            Exposure::NodePort => Some(
                Hop::new(HopKind::Nat, "service", SERVER_NODE)
                    .with_detail(format!("NodePort {port} of {to}{policy}{from}")),
            ),
        };
        let routed = is_on_pod_network(self.pod_network)
            .then(|| Hop::new(HopKind::Route, "pod network", CLIENT_NODE));
        Ok(translation.into_iter().chain(routed).collect())
    }
}

/// Returns the hop of the policies that the server's node enforces, if there are some.
fn policy_hop(policies: u16) -> Option<Hop> {
    (policies > 0).then(|| {
        Hop::new(HopKind::Filter, "network policy", SERVER_NODE)
            .with_detail(format!("policies: {policies}"))
    })
}

fn loopback_hop(seen: &NetnsSnapshot) -> Hop {
    let (kind, place) = (HopKind::Loopback, "client-0");
    seen.device("lo").map_or_else(|| Hop::new(kind, "lo", place), |one| one.to_hop(kind, place))
}

/// Returns the hop of the device that has an address, else of the device of the default route.
fn device_hop(seen: &NetnsSnapshot, address: IpAddr, kind: HopKind, place: &str) -> Hop {
    // Some plugins route every address by the default route, even those of the pod's own subnet.
    let by_route = || seen.device(seen.uplink.as_deref()?);
    match seen.device_of(address).or_else(by_route) {
        Some(device) => device.to_hop(kind, place),
        None => Hop::new(kind, address.to_string(), place),
    }
}
