//! `service-iptables`, `service-nftables`: servers behind the ClusterIP services of a Kubernetes cluster, which a real
//! kube-proxy translates, beside as many other services as one likes.
//!
//! A node, its containers and the control plane that kube-proxy needs: etcd, and the API server. There is no kubelet and
//! no controller; what these would write is written into etcd beforehand. The endpoints of all services but those that
//! are measured are made up.

mod control_plane;
mod objects;
mod proxy_mode;
mod rule_message;
pub(crate) mod service_iptables;
pub(crate) mod service_nftables;

use crate::networks::etcd::etcd_requirements;
use crate::networks::single_host::ptp::{RoutedPods, layout_pods};
use crate::networks::{LabNetworkDefinition, veth_and_bridge_requirements};
use crate::plan::layout::{Layout, Waypoint, client_routes};
use objects::{MeasuredService, ServiceObjects};
use proxy_mode::ProxyMode;
use tare_network::{
    Error, Hop, HopKind, NetworkInfo, NetworkOption, NetworkParameters, Requirement, Shape,
};
use tare_sandbox::program;

/// Servers behind services of Kubernetes.
pub(crate) struct ServiceNetwork {
    name: &'static str,
    summary: &'static str,
    mode: ProxyMode,
}

impl LabNetworkDefinition for ServiceNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: self.name,
            summary: self.summary,
            stands_for: "kube-proxy itself, with etcd and an API server, private to the lab; pods as by the CNI's ptp",
            source: "Kubernetes, pkg/proxy; Virtual IPs and Service Proxies",
            options: &NetworkOption::SERVICES,
        }
    }

    fn requirements(&self, site: &NetworkParameters) -> Vec<Requirement> {
        let mut needs = veth_and_bridge_requirements();
        needs.extend(etcd_requirements());
        needs.push(Requirement::Program { name: "awk", package: "mawk" });
        needs.extend(self.mode.requirements());
        let missing =
            control_plane::PROGRAMS.into_iter().find_map(program::missing_cluster_program);
        needs.extend(missing.map(Requirement::Unmet));
        let services = site.options.services.unwrap_or(1);
        let ports = objects::port_count(1, site.ports.len(), services.into());
        needs.extend(rule_message::missing_buffer(self.mode, ports).map(Requirement::Unmet));
        needs
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        let all = check_services(self.name, shape, site)?;
        let mut pods = layout_pods(self.name, shape, site.options.rate)?;
        let measured: Vec<MeasuredService> = (0..)
            .zip(&pods.containers.servers)
            .map(|(index, pod)| MeasuredService::new(index, pod.slot))
            .collect();
        let objects = ServiceObjects {
            family: shape.family,
            measured: &measured,
            ports: &site.ports,
            all: all as usize,
            node: (pods.wiring.name(pods.node.space).to_owned(), pods.node.slot(0)),
        };
        control_plane::add(&mut pods.wiring, pods.node, self.mode, &objects);
        let family = shape.family;
        let path = path(&pods, self.mode, all);
        let layout = pods.containers.layout(pods.wiring, path, shape, site);
        let routes = client_routes(shape, site, |_, server| {
            let service = &measured[server];
            (service.server.address(family), service.address.address(family))
        });
        Ok(Layout { routes, ..layout })
    }
}

/// Returns the number of all services. Fails if there are fewer than servers.
fn check_services(name: &str, shape: &Shape, site: &NetworkParameters) -> Result<u32, Error> {
    let all = site.options.services.map_or(shape.servers, u32::from);
    if all >= shape.servers {
        return Ok(all);
    }
    let why = format!("{all} services are fewer than {} servers: each has its own", shape.servers);
    Err(Error::new(format!("lay out {name}"), why)
        .with_remedy(format!("use +services={} or more, or fewer --servers", shape.servers)))
}

/// Returns the path of a packet from client 0 to its server.
fn path(pods: &RoutedPods, mode: ProxyMode, services: u32) -> Vec<Waypoint> {
    let place = pods.wiring.name(pods.node.space);
    let rules = Hop::new(HopKind::Nat, mode.rules(), place)
        .with_detail(format!("{}; services: {services}", mode.lookup()));
    let hops = [Hop::new(HopKind::Conntrack, "nf_conntrack", place), rules];
    let mut path = pods.path_to_node().to_vec();
    path.extend(hops.map(Waypoint::Other));
    path.extend(pods.path_to_server());
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_network::{Family, NetworkSpec};

    fn layout(spelled: &str, shape: &Shape) -> Result<Layout, Error> {
        let spelled: NetworkSpec = spelled.parse().unwrap();
        let site = NetworkParameters::from_spec(&spelled, vec![7001, 7002]);
        service_iptables::NETWORK.layout(shape, &site)
    }

    #[test]
    fn a_client_dials_the_address_of_the_service_of_its_server() {
        for (family, service, server) in [
            (Family::Ipv4, "10.96.0.3", "10.100.0.3"),
            (Family::Ipv6, "fd00:0:0:60::3", "fd00:0:0:64::3"),
        ] {
            let shape = Shape { family, servers: 2, clients: 2, ..Shape::default() };
            let laid = layout("service-iptables+services=9", &shape).unwrap();
            let second = laid.routes.iter().find(|route| route.client == 1).unwrap();
            assert_eq!(second.dial.ip().to_string(), service);
            assert_eq!(second.listen.ip().to_string(), server);
        }
    }

    #[test]
    fn every_server_needs_a_service() {
        let shape = Shape { servers: 3, clients: 3, ..Shape::default() };
        let error = layout("service-iptables+services=2", &shape).unwrap_err();
        assert_eq!(error.why, "2 services are fewer than 3 servers: each has its own");
        assert!(layout("service-iptables", &shape).is_ok());
    }
}
