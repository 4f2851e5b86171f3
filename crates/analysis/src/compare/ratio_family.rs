//! Families of ratios, over which Holm's correction is made.

use std::collections::BTreeMap;
use tare_record::{CorrectionFamily, Metric, Plan, Shape};
use tare_stats::holm::holm;

/// Corrects p-values, each over its family. The results are in the order of the p-values.
pub(crate) fn adjust_by_family<'a>(p_values: impl Iterator<Item = (&'a str, f64)>) -> Vec<f64> {
    let mut families: BTreeMap<&str, (Vec<usize>, Vec<f64>)> = BTreeMap::new();
    let mut adjusted = Vec::new();
    for (index, (family, p)) in p_values.enumerate() {
        let (members, values) = families.entry(family).or_default();
        members.push(index);
        values.push(p);
        adjusted.push(p);
    }
    for (members, values) in families.into_values() {
        for (member, p) in members.into_iter().zip(holm(&values)) {
            adjusted[member] = p;
        }
    }
    adjusted
}

/// Returns the name of the family of one metric of one workload in one shape: `STUDY/WORKLOAD/METRIC`, shortened to the
/// scope of the plan's families. If there are several shapes, or several workloads of one name, the parameters that
/// distinguish them are added.
pub(crate) fn family_name(plan: &Plan, workload: &str, shape: &Shape, metric: Metric) -> String {
    let mut parts = vec![plan.study.clone()];
    match plan.family {
        CorrectionFamily::Study => return plan.study.clone(),
        CorrectionFamily::Workload => parts.push(workload.to_owned()),
        CorrectionFamily::Metric => parts.extend([workload.to_owned(), metric.name().to_owned()]),
    }
    let telling = distinguishing_values(shape, &plan.shapes);
    if !telling.is_empty() {
        parts.push(telling);
    }
    parts.join("/")
}

/// Returns the values in which a shape differs from the others of its plan: `family=ipv6,clients=2`. The text is empty
/// if there is no other shape.
fn distinguishing_values(shape: &Shape, all: &[Shape]) -> String {
    shape_values(shape)
        .into_iter()
        .enumerate()
        .filter(|(index, fact)| all.iter().any(|other| shape_values(other)[*index] != *fact))
        .map(|(_, (name, value))| format!("{name}={value}"))
        .collect::<Vec<_>>()
        .join(",")
}

/// Returns the parameters of a shape as names and values.
fn shape_values(shape: &Shape) -> [(&'static str, String); 11] {
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
    use crate::test_data::{plan, workload};
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
        let of_workload = WorkloadPlan::distinct_name(&plan.workloads, 1);
        let name = family_name(&plan, &of_workload, &plan.shapes[0], Metric::Jitter);
        assert_eq!(name, "made-up/udp-rate,rate=8mbit/jitter");
    }

    #[test]
    fn families_are_named_by_what_they_take_together() {
        let mut plan = plan(&["host", "bridge"], vec![workload("tcp-rr", &[Metric::LatencyP50])]);
        let name = |plan: &Plan, shape| {
            family_name(plan, "tcp-rr", &plan.shapes[shape], Metric::LatencyP50)
        };
        assert_eq!(name(&plan, 0), "made-up/tcp-rr/latency_p50");
        plan.shapes.push(Shape { family: Family::Ipv6, clients: 2, ..Shape::default() });
        assert_eq!(name(&plan, 0), "made-up/tcp-rr/latency_p50/clients=1,family=ipv4");
        plan.family = CorrectionFamily::Workload;
        assert_eq!(name(&plan, 1), "made-up/tcp-rr/clients=2,family=ipv6");
        plan.family = CorrectionFamily::Study;
        assert_eq!(name(&plan, 1), "made-up");
    }
}
