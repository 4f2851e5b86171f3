//! Whether the same network is ahead on few cores and on many.
//!
//! Two networks change places where each is ahead of the other beyond doubt on some number of cores: the p-values of both
//! ratios are below 5 % when they are multiplied by the number of all pairs that are looked at (Bonferroni).

use std::collections::{BTreeMap, BTreeSet};
use tare_record::{Better, Finding, Metric, Pair, Placement, Shape};

/// The level of the test, over all pairs.
const LEVEL: f64 = 0.05;

/// What two ratios must share to be compared: networks, workload, metric and all of the shape but its cores.
type Key<'a> = (&'a str, &'a str, &'a str, Metric, String);

/// Whether shapes differ in the number of their cores.
pub(crate) fn is_swept(shapes: &[Shape]) -> bool {
    let cores = shapes.iter().filter_map(|shape| match shape.cpus {
        Placement::First(cores) => Some(cores),
        _ => None,
    });
    cores.collect::<BTreeSet<u32>>().len() > 1
}

/// Every two networks that change places.
pub(crate) fn reversed(pairs: &[Pair]) -> Vec<Finding> {
    let mut alike: BTreeMap<Key<'_>, Vec<(u32, &Pair)>> = BTreeMap::new();
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

/// The fewest and the most cores between which these two networks change places.
fn reversal(mut pairs: Vec<(u32, &Pair)>, looked_at: f64) -> Option<Finding> {
    pairs.retain(|(_, pair)| pair.p * looked_at < LEVEL);
    pairs.sort_by_key(|(cores, _)| *cores);
    let &(fewer, first) = pairs.first()?;
    let &(more, _) =
        pairs.iter().rev().find(|(_, pair)| (pair.value > 1.0) != (first.value > 1.0))?;
    let is_ahead = (first.value > 1.0) == (first.metric.better() == Better::Higher);
    let (network, beside) = (first.network.clone(), first.beside.clone());
    let (ahead, behind) = if is_ahead { (network, beside) } else { (beside, network) };
    let (workload, metric) = (first.workload.clone(), first.metric);
    Some(Finding::OrderReversed { workload, metric, ahead, behind, fewer, more })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(cores: u32, value: f64, p: f64) -> Pair {
        Pair {
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
        let found = reversed(&[pair(1, 0.5, clear), pair(2, 0.9, 0.3), pair(4, 1.5, clear)]);
        // Less CPU time is better: on one core `ovs-user` is ahead.
        assert_eq!(
            found,
            [Finding::OrderReversed {
                workload: "tcp-stream".to_owned(),
                metric: Metric::CpuPerGb,
                ahead: "ovs-user".to_owned(),
                behind: "bridge".to_owned(),
                fewer: 1,
                more: 4,
            }]
        );
        let words = found[0].to_string();
        assert!(words.ends_with("ovs-user is ahead of bridge on 1, and behind it on 4"), "{words}");
    }

    #[test]
    fn pairs_are_looked_at_only_where_cores_are_swept() {
        let shape = |cores| pair(cores, 1.0, 1.0).shape;
        assert!(is_swept(&[shape(1), shape(2)]));
        assert!(!is_swept(&[shape(2), shape(2), Shape::default()]));
    }

    #[test]
    fn what_is_unclear_or_alone_is_not() {
        assert_eq!(reversed(&[pair(1, 0.5, 0.001), pair(4, 1.5, 0.04)]), []);
        assert_eq!(reversed(&[pair(1, 0.5, 0.001)]), []);
        assert_eq!(reversed(&[pair(1, 0.5, 0.001), pair(4, 0.6, 0.001)]), []);
        let elsewhere =
            Pair { shape: Shape { flows: 8, ..pair(4, 1.5, 0.001).shape }, ..pair(4, 1.5, 0.001) };
        assert_eq!(reversed(&[pair(1, 0.5, 0.001), elsewhere]), []);
    }
}
