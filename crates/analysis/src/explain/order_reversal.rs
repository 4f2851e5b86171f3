//! Reversals of the order of two networks between few cores and many.
//!
//! Two networks change places if each is ahead of the other beyond doubt on some number of cores: the p-values of both
//! ratios are below 5 % when they are multiplied by the number of all examined pairs (Bonferroni).

use std::collections::{BTreeMap, BTreeSet};
use tare_record::finding::RankReversal;
use tare_record::{Better, Finding, Metric, NetworkPair, Placement, Shape};

/// Level of the test, over all pairs.
const LEVEL: f64 = 0.05;

/// Key that ratios to be compared have in common: networks, workload, metric and all of the shape but its cores.
type ReversalKey<'a> = (&'a str, &'a str, &'a str, Metric, String);

/// Returns `true` if the shapes differ in the number of their cores.
pub(crate) fn has_core_sweep(shapes: &[Shape]) -> bool {
    let cores = shapes.iter().filter_map(|shape| match shape.cpus {
        Placement::First(cores) => Some(cores),
        _ => None,
    });
    cores.collect::<BTreeSet<u32>>().len() > 1
}

/// Returns a finding for every two networks that change places.
pub(crate) fn find_reversals(pairs: &[NetworkPair]) -> Vec<Finding> {
    let mut alike: BTreeMap<ReversalKey<'_>, Vec<(u32, &NetworkPair)>> = BTreeMap::new();
    for pair in pairs {
        if let Placement::First(cores) = pair.shape.cpus {
            let (network, beside) = (pair.network.as_str(), pair.beside.as_str());
            let shape = Shape { cpus: Placement::Spread, ..pair.shape.clone() };
            let key = (network, beside, pair.workload.as_str(), pair.metric, format!("{shape:?}"));
            alike.entry(key).or_default().push((cores, pair));
        }
    }
    alike.retain(|_, pairs| pairs.len() > 1);
    let looked_at: usize = alike.values().map(Vec::len).sum();
    alike.into_values().filter_map(|pairs| reversal(pairs, looked_at as f64)).collect()
}

/// Returns a finding with the fewest and the most cores between which these two networks change places.
fn reversal(mut pairs: Vec<(u32, &NetworkPair)>, looked_at: f64) -> Option<Finding> {
    pairs.retain(|(_, pair)| pair.p * looked_at < LEVEL);
    pairs.sort_by_key(|(cores, _)| *cores);
    let &(fewer, first) = pairs.first()?;
    let &(more, _) =
        pairs.iter().rev().find(|(_, pair)| (pair.value > 1.0) != (first.value > 1.0))?;
    let is_ahead = (first.value > 1.0) == (first.metric.better() == Better::Higher);
    let (network, beside) = (first.network.clone(), first.beside.clone());
    let (ahead, behind) = if is_ahead { (network, beside) } else { (beside, network) };
    let (workload, metric) = (first.workload.clone(), first.metric);
    Some(Finding::RankReversal(RankReversal { workload, metric, ahead, behind, fewer, more }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(cores: u32, value: f64, p: f64) -> NetworkPair {
        NetworkPair {
            workload: "tcp-stream".to_owned(),
            shape: Shape { cpus: Placement::First(cores), ..Shape::default() },
            metric: Metric::CpuPerGb,
            network: "ovs-user".to_owned(),
            beside: "bridge".to_owned(),
            value,
            ci95: [value * 0.9, value * 1.1],
            p,
            n: 10,
        }
    }

    #[test]
    fn networks_that_change_places_beyond_doubt_are_told() {
        let clear = 0.001;
        let found = find_reversals(&[pair(1, 0.5, clear), pair(2, 0.9, 0.3), pair(4, 1.5, clear)]);
        // Less CPU time is better: on one core `ovs-user` is ahead.
        assert_eq!(
            found,
            [Finding::RankReversal(RankReversal {
                workload: "tcp-stream".to_owned(),
                metric: Metric::CpuPerGb,
                ahead: "ovs-user".to_owned(),
                behind: "bridge".to_owned(),
                fewer: 1,
                more: 4,
            })]
        );
        let words = found[0].to_string();
        assert!(
            words.ends_with("ovs-user is ahead of bridge on 1, and behind bridge on 4"),
            "{words}"
        );
    }

    #[test]
    fn pairs_are_looked_at_only_where_cores_are_swept() {
        let shape = |cores| pair(cores, 1.0, 1.0).shape;
        assert!(has_core_sweep(&[shape(1), shape(2)]));
        assert!(!has_core_sweep(&[shape(2), shape(2), Shape::default()]));
    }

    #[test]
    fn what_is_unclear_or_alone_is_not() {
        assert_eq!(find_reversals(&[pair(1, 0.5, 0.001), pair(4, 1.5, 0.04)]), []);
        assert_eq!(find_reversals(&[pair(1, 0.5, 0.001)]), []);
        assert_eq!(find_reversals(&[pair(1, 0.5, 0.001), pair(4, 0.6, 0.001)]), []);
        let elsewhere = NetworkPair {
            shape: Shape { flows: 8, ..pair(4, 1.5, 0.001).shape },
            ..pair(4, 1.5, 0.001)
        };
        assert_eq!(find_reversals(&[pair(1, 0.5, 0.001), elsewhere]), []);
    }
}
