//! Families of ratios, over which Holm's correction is made.

use std::collections::{BTreeMap, BTreeSet};
use tare_record::{CorrectionFamily, Metric, Plan, Shape};
use tare_stats::holm::holm;

/// p-values of one ratio, over the analyses of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RatioPValues {
    /// p-value of all figures: at the end, or at the present analysis.
    pub(crate) present: f64,
    /// Those at the interim analyses that decided networks, by the index of the analysis. One is missing if the ratio
    /// had too few pairs then.
    pub(crate) at_decisions: BTreeMap<usize, f64>,
    /// Index of the interim analysis that decided the network of the ratio. `None` if none did.
    pub(crate) decided_by: Option<usize>,
}

/// Ratio of a family: its place among all ratios, and its p-values.
type FamilyMember<'a> = (usize, &'a RatioPValues);

/// Corrects p-values, each over its family. The results are in the order of the ratios.
///
/// A decided network keeps the correction of the analysis that decided it, whatever the p-values of the others become:
/// what Holm's procedure rejects at an analysis stays rejected (Ye, Li, Liu and Yao, *Statistics in Medicine* 32, 2013).
pub(crate) fn adjust_by_family<'a>(
    ratios: impl Iterator<Item = (&'a str, &'a RatioPValues)>,
) -> Vec<f64> {
    let mut families: BTreeMap<&str, Vec<FamilyMember<'_>>> = BTreeMap::new();
    let mut adjusted = Vec::new();
    for (index, (family, p_values)) in ratios.enumerate() {
        families.entry(family).or_default().push((index, p_values));
        adjusted.push(p_values.present);
    }
    for members in families.into_values() {
        for ((index, _), p) in adjust(&members, |one| Some(one.present)) {
            adjusted[index] = p;
        }
        let decisions: BTreeSet<usize> =
            members.iter().filter_map(|(_, one)| one.decided_by).collect();
        for decision in decisions {
            let corrected = adjust(&members, |one| one.at_decisions.get(&decision).copied());
            let decided = corrected.filter(|((_, one), _)| one.decided_by == Some(decision));
            decided.for_each(|((index, _), p)| adjusted[index] = p);
        }
    }
    adjusted
}

/// Corrects the p-values of a family's members at one analysis. Members without any are left out.
fn adjust<'a>(
    members: &[FamilyMember<'a>],
    p_value: impl Fn(&RatioPValues) -> Option<f64>,
) -> impl Iterator<Item = (FamilyMember<'a>, f64)> {
    let (there, p_values): (Vec<FamilyMember<'_>>, Vec<f64>) =
        members.iter().filter_map(|member| Some((*member, p_value(member.1)?))).unzip();
    there.into_iter().zip(holm(&p_values))
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
fn shape_values(shape: &Shape) -> [(&'static str, String); 12] {
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
        ("node-pair", shape.node_pair.map_or_else(|| "none".to_owned(), |pair| pair.to_string())),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::{plan, workload};
    use tare_record::{Family, WorkloadPlan};

    #[test]
    fn a_decided_network_keeps_the_correction_of_its_analysis() {
        let early = |p| BTreeMap::from([(1, p)]);
        let decided =
            RatioPValues { present: 0.02, at_decisions: early(0.02), decided_by: Some(1) };
        // The other one seemed to differ when the first one was decided.
        let mut other = RatioPValues { present: 0.6, at_decisions: early(0.01), decided_by: None };
        let adjusted = |other: &RatioPValues| {
            adjust_by_family([("f", &decided), ("f", other), ("g", &decided)].into_iter())
        };
        assert_eq!(adjusted(&other), [0.02, 0.6, 0.02]);
        other.at_decisions = BTreeMap::new();
        assert_eq!(adjusted(&other), [0.02, 0.6, 0.02], "it had too few pairs to be corrected for");
        other.at_decisions = early(0.3);
        assert_eq!(adjusted(&other), [0.04, 0.6, 0.02]);
    }

    #[test]
    fn without_decisions_the_correction_is_holms_over_all() {
        let ratio = |present| RatioPValues { present, ..RatioPValues::default() };
        let ratios = [0.01, 0.04, 0.03].map(ratio);
        let adjusted = adjust_by_family(ratios.iter().map(|one| ("f", one)));
        assert_eq!(adjusted, holm(&[0.01, 0.04, 0.03]));
    }

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
