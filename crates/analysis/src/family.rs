//! Which ratios belong to one family, over which Holm's correction is made.

use tare_record::{FamilyScope, Metric, Plan, Shape};

/// The name of the family of one metric of one workload in one shape: `STUDY/WORKLOAD/METRIC`, shortened by what the
/// plan's scope takes together, and with what tells the shape, and the workload of its name, from the others where
/// there are several.
pub(crate) fn family(plan: &Plan, workload: &str, shape: &Shape, metric: Metric) -> String {
    let mut parts = vec![plan.study.clone()];
    match plan.family {
        FamilyScope::Study => return plan.study.clone(),
        FamilyScope::Workload => parts.push(workload.to_owned()),
        FamilyScope::Metric => parts.extend([workload.to_owned(), metric.name().to_owned()]),
    }
    let telling = telling(shape, &plan.shapes);
    if !telling.is_empty() {
        parts.push(telling);
    }
    parts.join("/")
}

/// What tells a shape from the others of its plan: `family=ipv6,clients=2`; nothing when there is no other.
fn telling(shape: &Shape, all: &[Shape]) -> String {
    facts(shape)
        .into_iter()
        .enumerate()
        .filter(|(index, fact)| all.iter().any(|other| facts(other)[*index] != *fact))
        .map(|(_, (name, value))| format!("{name}={value}"))
        .collect::<Vec<_>>()
        .join(",")
}

/// A shape as names and values.
fn facts(shape: &Shape) -> [(&'static str, String); 11] {
    [
        ("nodes", shape.nodes.to_string()),
        ("servers", shape.servers.to_string()),
        ("clients", shape.clients.to_string()),
        ("processes", shape.processes.to_string()),
        ("flows", shape.flows.to_string()),
        ("family", shape.family.to_string()),
        ("mtu", shape.mtu.to_string()),
        ("cpus", shape.cpus.to_string()),
        ("link", shape.link.clone().unwrap_or_else(|| "none".to_owned())),
        ("without", shape.without.to_string().replace(", ", "+")),
        ("background", shape.background.clone().unwrap_or_else(|| "none".to_owned())),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::{plan, workload};
    use tare_record::{Family, WorkloadPlan};

    #[test]
    fn a_sweep_has_a_family_for_every_rate() {
        let rate = |rate: &str| {
            let mut one = workload("udp-rate", &[Metric::Jitter]);
            one.parameters.insert("rate".to_owned(), rate.into());
            one.parameters.insert("size".to_owned(), 64.into());
            one
        };
        let plan = plan(&["host"], vec![rate("4mbit"), rate("8mbit")]);
        let of_workload = WorkloadPlan::variant(&plan.workloads, 1);
        let name = family(&plan, &of_workload, &plan.shapes[0], Metric::Jitter);
        assert_eq!(name, "made-up/udp-rate,rate=8mbit/jitter");
    }

    #[test]
    fn families_are_named_by_what_they_take_together() {
        let mut plan = plan(&["host", "bridge"], vec![workload("tcp-rr", &[Metric::LatencyP50])]);
        let name =
            |plan: &Plan, shape| family(plan, "tcp-rr", &plan.shapes[shape], Metric::LatencyP50);
        assert_eq!(name(&plan, 0), "made-up/tcp-rr/latency_p50");
        plan.shapes.push(Shape { family: Family::Ipv6, clients: 2, ..Shape::default() });
        assert_eq!(name(&plan, 0), "made-up/tcp-rr/latency_p50/clients=1,family=ipv4");
        plan.family = FamilyScope::Workload;
        assert_eq!(name(&plan, 1), "made-up/tcp-rr/clients=2,family=ipv6");
        plan.family = FamilyScope::Study;
        assert_eq!(name(&plan, 1), "made-up");
    }
}
