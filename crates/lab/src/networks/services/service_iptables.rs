//! `service-iptables`: servers behind services that kube-proxy translates by iptables.

use crate::networks::services::ServiceNetwork;
use crate::networks::services::proxy_mode::ProxyMode;

pub(crate) const NETWORK: ServiceNetwork = ServiceNetwork {
    name: "service-iptables",
    summary: "servers behind Kubernetes' services of one node: a real kube-proxy, by iptables",
    mode: ProxyMode::Iptables,
};
