//! `service-nftables`: servers behind services that kube-proxy translates by nftables.

use crate::networks::services::ServiceNetwork;
use crate::networks::services::proxy_mode::ProxyMode;

pub(crate) const NETWORK: ServiceNetwork = ServiceNetwork {
    name: "service-nftables",
    summary: "servers behind Kubernetes' services of one node: a real kube-proxy, by nftables",
    mode: ProxyMode::Nftables,
};
