//! Demand of a run for the resources that all namespaces share.

use tare_agent::AgentSession;
use tare_network::NetworkSpec;
use tare_observe::headroom::ResourceDemand;
use tare_record::{Family, NetworkEntry, Plan, Shape};

/// Returns the largest demand of a plan at any time.
pub(crate) fn plan_demand(plan: &Plan) -> ResourceDemand {
    // Woven networks are up at once.
    let is_woven = plan.workloads.iter().any(|workload| workload.slices.is_some());
    let at_once = if is_woven { u32::try_from(plan.networks.len()).unwrap_or(u32::MAX) } else { 1 };
    let idle_of = |shape: usize| {
        let here = (0..plan.networks.len()).filter(|&network| has_turn(plan, network, shape));
        let idle = here.map(|network| idle_containers(&plan.networks[network]));
        if is_woven { idle.fold(0, u32::saturating_add) } else { idle.max().unwrap_or_default() }
    };
    let shapes = || plan.shapes.iter().enumerate();
    let idle = shapes().map(|(shape, _)| idle_of(shape)).max().unwrap_or_default();
    let ipv6 = shapes().filter(|(_, shape)| shape.family == Family::Ipv6);
    let idle_ipv6 = ipv6.map(|(shape, _)| idle_of(shape)).max().unwrap_or_default();
    with_idle(shapes_demand(&plan.shapes).of_networks(at_once), idle, idle_ipv6)
}

/// Returns the demand of one network in one shape.
pub(crate) fn network_demand(spelled: &NetworkSpec, shape: &Shape) -> ResourceDemand {
    let idle = spelled.options.idle.unwrap_or_default();
    let idle_ipv6 = if shape.family == Family::Ipv6 { idle } else { 0 };
    with_idle(shapes_demand(std::slice::from_ref(shape)), idle, idle_ipv6)
}

/// Returns `true` if a network is set up in a shape.
fn has_turn(plan: &Plan, network: usize, shape: usize) -> bool {
    plan.workloads.is_empty() || plan.workloads_of(network, shape).next().is_some()
}

/// Returns the number of idle containers of a network.
fn idle_containers(entry: &NetworkEntry) -> u32 {
    let spelled: Option<NetworkSpec> = entry.network.parse().ok();
    spelled.and_then(|spelled| spelled.options.idle).unwrap_or_default()
}

/// Adds idle containers to a demand, some of which use IPv6.
fn with_idle(demand: ResourceDemand, idle: u32, idle_ipv6: u32) -> ResourceDemand {
    ResourceDemand {
        containers: demand.containers.saturating_add(idle),
        ipv6_containers: demand.ipv6_containers.saturating_add(idle_ipv6),
        ..demand
    }
}

/// Returns the largest resource demand of a network without idle containers in any of these shapes.
fn shapes_demand(shapes: &[Shape]) -> ResourceDemand {
    let containers = |shape: &Shape| shape.servers.saturating_add(shape.clients);
    let ipv6 = shapes.iter().filter(|shape| shape.family == Family::Ipv6).map(containers);
    let clients = |shape: &Shape| shape.clients.saturating_mul(shape.processes);
    let agents = |shape: &Shape| {
        let members = shape.servers.saturating_add(clients(shape)) as usize;
        u32::try_from(AgentSession::agent_count(members)).unwrap_or(u32::MAX)
    };
    let greatest =
        |count: &dyn Fn(&Shape) -> u32| shapes.iter().map(count).max().unwrap_or_default();
    ResourceDemand {
        containers: greatest(&containers),
        ipv6_containers: ipv6.max().unwrap_or_default(),
        agents: greatest(&agents),
        clients: greatest(&clients),
        flows: greatest(&|shape| clients(shape).saturating_mul(shape.flows)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(network: &str, family: Family) -> ResourceDemand {
        network_demand(&network.parse().unwrap(), &Shape { family, ..Shape::default() })
    }

    #[test]
    fn idle_containers_are_part_of_the_demand() {
        let without = demand("bridge", Family::Ipv6);
        assert_eq!((without.containers, without.ipv6_containers), (2, 2));
        let ipv4 = demand("bridge+idle=98", Family::Ipv4);
        assert_eq!((ipv4.containers, ipv4.ipv6_containers), (100, 0));
        let ipv6 = demand("bridge+idle=98", Family::Ipv6);
        assert_eq!((ipv6.containers, ipv6.ipv6_containers), (100, 100));
        assert_eq!(ipv6.agents, without.agents);
    }
}
