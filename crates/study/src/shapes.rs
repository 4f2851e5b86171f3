//! Expansion of a study's shapes: every combination of its lists.

use crate::Error;
use crate::nodes::expand_nodes;
use crate::spec::ShapeLists;
use tare_record::{Family, MOST_IN_SHAPE, Offloads, Placement, Shape};

/// Smallest MTU of IPv6 links (RFC 8200, section 5).
const LEAST_MTU_IPV6: u32 = 1280;
/// Smallest MTU for IPv4 (RFC 791).
const LEAST_MTU_IPV4: u32 = 68;

/// Returns every combination, with each number checked against its range. The last list varies fastest.
pub(crate) fn expand_shapes(lists: &ShapeLists) -> Result<Vec<Shape>, Error> {
    check_not_empty("family", lists.family.as_deref())?;
    check_not_empty("mtu", lists.mtu.as_deref())?;
    check_not_empty("cpus", lists.cpus.as_deref())?;
    let counts = |what: &str, list: &Option<Vec<u32>>| -> Result<Vec<u32>, Error> {
        let list = list.clone().unwrap_or_else(|| vec![1]);
        match list.iter().find(|&&count| count == 0 || count > MOST_IN_SHAPE) {
            Some(&count) => {
                Err(Error::range(what, count, &format!("a number from 1 to {MOST_IN_SHAPE}")))
            }
            None if list.is_empty() => Err(Error::EmptyList { what: what.to_owned() }),
            None => Ok(list),
        }
    };
    let families = lists.family.clone().unwrap_or_else(|| vec![Family::Ipv4]);
    let mtus = lists.mtu.clone().unwrap_or_else(|| vec![1500]);
    for &family in &families {
        mtus.iter().try_for_each(|&mtu| check_mtu(mtu, family))?;
    }
    let cpus = lists.cpus.clone().unwrap_or_else(|| vec![Placement::Spread]);
    let without: Offloads = lists.without.iter().flatten().copied().collect();
    let mut shapes = vec![Shape { without, ..Shape::default() }];
    cross_shapes(&mut shapes, &families, |shape, family| shape.family = family);
    cross_shapes(&mut shapes, &mtus, |shape, mtu| shape.mtu = mtu);
    cross_shapes(&mut shapes, &cpus, |shape, cpus| shape.cpus = cpus);
    cross_shapes(&mut shapes, &counts("servers", &lists.servers)?, |shape, n| shape.servers = n);
    cross_shapes(&mut shapes, &counts("clients", &lists.clients)?, |shape, n| shape.clients = n);
    cross_shapes(&mut shapes, &counts("processes", &lists.processes)?, |shape, n| {
        shape.processes = n;
    });
    cross_shapes(&mut shapes, &counts("flows", &lists.flows)?, |shape, flows| shape.flows = flows);
    expand_nodes(&shapes, lists)
}

/// Checks that a list has a value if it is given.
pub(crate) fn check_not_empty<T>(what: &str, list: Option<&[T]>) -> Result<(), Error> {
    match list {
        Some([]) => Err(Error::EmptyList { what: what.to_owned() }),
        _ => Ok(()),
    }
}

/// Replaces each shape by one for every value of a part.
fn cross_shapes<T: Clone>(shapes: &mut Vec<Shape>, values: &[T], set: impl Fn(&mut Shape, T)) {
    let with = |shape: &Shape, value: &T| {
        let mut shape = shape.clone();
        set(&mut shape, value.clone());
        shape
    };
    *shapes = shapes
        .iter()
        .flat_map(|shape| values.iter().map(|value| with(shape, value)).collect::<Vec<_>>())
        .collect();
    // A value that is named twice gives one shape: its trials could not be told apart.
    let mut seen = std::collections::HashSet::new();
    shapes.retain(|shape| seen.insert(shape.clone()));
}

fn check_mtu(mtu: u32, family: Family) -> Result<(), Error> {
    let least = match family {
        Family::Ipv4 => LEAST_MTU_IPV4,
        Family::Ipv6 => LEAST_MTU_IPV6,
    };
    if (least..=65_535).contains(&mtu) {
        Ok(())
    } else {
        Err(Error::range("mtu", mtu, &format!("bytes from {least} to 65535 for {family}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_once_and_the_last_list_varies_fastest() {
        let lists = ShapeLists {
            clients: Some(vec![1, 4]),
            processes: Some(vec![2, 2, 3]),
            ..ShapeLists::default()
        };
        let told: Vec<_> = expand_shapes(&lists)
            .unwrap()
            .iter()
            .map(|shape| (shape.servers, shape.clients, shape.processes, shape.flows))
            .collect();
        assert_eq!(told, [(1, 1, 2, 1), (1, 1, 3, 1), (1, 4, 2, 1), (1, 4, 3, 1)]);
    }

    #[test]
    fn a_list_without_a_number_or_with_an_absurd_one_is_refused() {
        for list in [vec![], vec![0], vec![1, MOST_IN_SHAPE + 1]] {
            let lists = ShapeLists { processes: Some(list), ..ShapeLists::default() };
            let error = expand_shapes(&lists).unwrap_err().to_string();
            assert!(error.contains("processes"), "{error}");
        }
    }

    #[test]
    fn empty_lists_of_families_mtus_and_placements_are_refused() {
        let cases = [
            ("family", ShapeLists { family: Some(vec![]), ..ShapeLists::default() }),
            ("mtu", ShapeLists { mtu: Some(vec![]), ..ShapeLists::default() }),
            ("cpus", ShapeLists { cpus: Some(vec![]), ..ShapeLists::default() }),
        ];
        for (name, lists) in cases {
            let error = expand_shapes(&lists).unwrap_err();
            assert!(matches!(&error, Error::EmptyList { what } if what == name), "{error}");
        }
    }
}
