//! Reasons of a cost, from findings that hold: effects of single changes whose intervals exclude 0, and conditions that
//! the counters show for the network and not for the baseline.

use super::amount::with_interval;
use super::claim::Claim;
use super::sentence::join;
use std::mem::discriminant;
use tare_record::finding::AblationEffects;
use tare_record::{
    AblationEffect, AblationFactor, Better, Cell, Finding, Hop, HopKind, UnaccountedGap,
};

/// Part of a cost, in points of the baseline's figure.
struct CostPart {
    cause: String,
    points: String,
    noun: String,
}

/// Returns the reasons of a network's costs. `baseline` gives the cells of the baseline under a cell's workload.
pub(crate) fn reasons<'a>(
    claims: &[Claim<'a>],
    baseline: impl Fn(&Cell) -> Vec<&'a Cell>,
) -> Option<String> {
    let costs: Vec<&Claim<'_>> = claims.iter().filter(|claim| claim.outcome.is_worse()).collect();
    let parts: Vec<CostPart> =
        costs.iter().flat_map(|claim| cost_parts(claim, &baseline(claim.cell))).collect();
    let mut reasons: Vec<String> = Vec::new();
    if !parts.is_empty() {
        reasons.push(listed(&parts, costs.len() > 1));
    }
    for claim in costs {
        let beside = baseline(claim.cell);
        let own = claim.cell.findings.iter().filter(|finding| !has_kind(&beside, finding));
        for reason in own.filter_map(|finding| finding.kind().cost_reason(claim.cell.metric)) {
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
    }
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

/// Lists the parts, each cause once: `its netfilter rules 8 ± 2 points of throughput and 5 ± 1 points of round trips`.
fn listed(parts: &[CostPart], has_nouns: bool) -> String {
    let mut causes: Vec<(&str, Vec<String>)> = Vec::new();
    for part in parts {
        let noun = if has_nouns { format!(" of {}", part.noun) } else { String::new() };
        let points = format!("{} points{noun}", part.points);
        match causes.iter_mut().find(|(cause, _)| *cause == part.cause) {
            Some((_, all)) => all.push(points),
            None => causes.push((&part.cause, vec![points])),
        }
    }
    let causes: Vec<String> =
        causes.iter().map(|(cause, points)| format!("{cause} {}", join(points))).collect();
    causes.join(", ")
}

/// Returns the parts of a cost that single changes take away, and the rest.
fn cost_parts(claim: &Claim<'_>, baseline: &[&Cell]) -> Vec<CostPart> {
    let (Some(ratio), Some(Finding::AblationEffects(AblationEffects { effects, unaccounted }))) =
        (&claim.cell.ratio, find_ablated(claim.cell))
    else {
        return Vec::new();
    };
    let better = claim.cell.better;
    let part = |cause: String, value: f64, ends: [f64; 2]| {
        let [low, high] = if ends[0] <= ends[1] { ends } else { [ends[1], ends[0]] };
        (low > 0.0).then(|| CostPart {
            cause,
            points: with_interval(value, [low, high]),
            noun: claim.noun.clone(),
        })
    };
    let of_effect = |effect: &AblationEffect| {
        let points =
            |with: f64| 100.0 * (cost(ratio.value, better) - cost(ratio.value * with, better));
        part(cause(effect.factor).to_owned(), points(effect.ratio), effect.ci95.map(points))
    };
    let mut parts: Vec<CostPart> = effects.iter().filter_map(of_effect).collect();
    if parts.iter().any(|part| part.cause == cause(AblationFactor::Netfilter)) {
        // The rules' part includes that of connection tracking, which stands after it.
        let tracking = |part: &&mut CostPart| part.cause == cause(AblationFactor::Conntrack);
        parts.iter_mut().filter(tracking).for_each(|part| {
            part.cause = format!("of which {}", part.cause);
        });
    }
    let counted = |rest: &&UnaccountedGap| {
        let known = rest.counted.iter().map(|factor| cause(*factor));
        known.into_iter().any(|known| parts.iter().any(|part| part.cause == known))
    };
    if let Some(rest) = unaccounted.as_ref().filter(counted) {
        let points = |remaining: f64| 100.0 * cost(1.0 / remaining, better);
        parts.extend(part(
            rest_of_path(claim.cell, baseline),
            points(rest.ratio),
            rest.ci95.map(points),
        ));
    }
    parts
}

fn find_ablated(cell: &Cell) -> Option<&Finding> {
    cell.findings.iter().find(|finding| matches!(finding, Finding::AblationEffects(_)))
}

/// Returns the cost of a figure at this ratio to the baseline, as a share of the baseline's figure.
fn cost(ratio: f64, better: Better) -> f64 {
    match better {
        Better::Higher => 1.0 - ratio,
        Better::Lower => ratio - 1.0,
    }
}

/// Names what a change takes away.
fn cause(factor: AblationFactor) -> &'static str {
    match factor {
        AblationFactor::Netfilter => "its netfilter rules",
        AblationFactor::Conntrack => "connection tracking",
        AblationFactor::Gro => "generic receive offload",
        AblationFactor::Gso => "generic segmentation offload",
        AblationFactor::Tso => "TCP segmentation offload",
        AblationFactor::Checksum => "checksum offload",
        AblationFactor::Mtu => "an MTU below 9000",
        AblationFactor::Rps => "no packet steering to other cores",
    }
}

/// Names the rest of a cost, with the devices that the path has and that of the baseline has not.
fn rest_of_path(cell: &Cell, baseline: &[&Cell]) -> String {
    let of_baseline: Vec<HopKind> =
        baseline.iter().flat_map(|cell| &cell.hops).map(|hop| hop.kind).collect();
    let mut devices: Vec<&str> = Vec::new();
    for hop in cell.hops.iter().filter(|hop| !of_baseline.contains(&hop.kind)) {
        devices.extend(device(hop).filter(|name| !devices.contains(name)));
    }
    if devices.is_empty() {
        return "the rest of its path".to_owned();
    }
    format!("the rest of its path ({})", devices.join(", "))
}

/// Names a kind of hop that netfilter's absence does not remove.
fn device(hop: &Hop) -> Option<&'static str> {
    match hop.kind {
        HopKind::Veth => Some("veth pair"),
        HopKind::Bridge => Some("bridge"),
        HopKind::Route => Some("routing"),
        HopKind::Encapsulation => Some("encapsulation"),
        HopKind::Forwarder => Some("forwarder in user space"),
        HopKind::Ebpf => Some("eBPF program"),
        HopKind::Device => Some("device"),
        HopKind::Loopback
        | HopKind::Queue
        | HopKind::Conntrack
        | HopKind::Filter
        | HopKind::Nat => None,
    }
}

/// Returns true if one of the cells has a finding of the same kind.
fn has_kind(cells: &[&Cell], finding: &Finding) -> bool {
    cells
        .iter()
        .flat_map(|cell| &cell.findings)
        .any(|one| discriminant(one) == discriminant(finding))
}
