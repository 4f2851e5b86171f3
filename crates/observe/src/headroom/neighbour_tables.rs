//! Neighbour tables (ARP and neighbour discovery): one of each for the whole machine, shared by all namespaces.
//!
//! The kernel refuses a new entry if the table holds `gc_thresh3` entries that it may collect (arp(7)); the datagram
//! that needed the entry is lost without an error to its sender. The kernel counts those refusals in `table_fulls`,
//! machine-wide, in `/proc/net/stat/arp_cache` and `ndisc_cache`: a header line, then a line for each core, in
//! hexadecimal.

use super::{ResourceHeadroom, ResourceKind};
use crate::files::MachineFiles;

/// Statistics file of each table, and the sysctl that bounds the table.
const TABLES: [(ResourceKind, &str, &str); 2] = [
    (
        ResourceKind::NeighboursV4,
        "proc/net/stat/arp_cache",
        "proc/sys/net/ipv4/neigh/default/gc_thresh3",
    ),
    (
        ResourceKind::NeighboursV6,
        "proc/net/stat/ndisc_cache",
        "proc/sys/net/ipv6/neigh/default/gc_thresh3",
    ),
];

/// Reads the use of the tables. The number of entries includes permanent ones, which the threshold does not.
pub(super) fn tables(files: &MachineFiles) -> Vec<ResourceHeadroom> {
    TABLES
        .iter()
        .filter_map(|&(kind, statistics, limit)| {
            let used = column(&files.text(statistics)?, "entries")?.next()?;
            Some(ResourceHeadroom { kind, used, limit: files.value(limit)? })
        })
        .collect()
}

/// Number of refused entries of each table since the machine started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NeighbourOverflows(Vec<(ResourceKind, u64)>);

impl NeighbourOverflows {
    /// Reads the counters; kernels before 4.3 have none.
    pub(super) fn read(files: &MachineFiles) -> Self {
        let refusals = TABLES.iter().filter_map(|&(kind, statistics, _)| {
            let text = files.text(statistics)?;
            let sum = column(&text, "table_fulls")?.fold(0, u64::saturating_add);
            Some((kind, sum))
        });
        Self(refusals.collect())
    }

    /// Returns the tables that refused an entry between an earlier reading and this one.
    pub(super) fn since(&self, earlier: &Self) -> Vec<ResourceKind> {
        let before = |kind| earlier.0.iter().find(|entry| entry.0 == kind).map(|entry| entry.1);
        self.0
            .iter()
            .filter(|&&(kind, now)| before(kind).is_some_and(|before| now > before))
            .map(|&(kind, _)| kind)
            .collect()
    }
}

/// Returns the values of a column, one for each core.
pub(crate) fn column<'a>(text: &'a str, name: &str) -> Option<impl Iterator<Item = u64> + 'a> {
    let mut lines = text.lines();
    let place = lines.next()?.split_whitespace().position(|word| word == name)?;
    Some(lines.filter_map(move |line| {
        let value = line.split_whitespace().nth(place)?;
        u64::from_str_radix(value, 16).ok()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::write_test_files;
    use proptest::prelude::*;

    const CACHE: &str = "entries  allocs   destroys table_fulls\n\
        0000001f 00000001 00000000 00000001\n\
        0000001f 00000001 00000000 0000000f\n";

    #[test]
    fn entries_are_the_machines_and_refusals_each_cores() {
        let root = tempfile::tempdir().unwrap();
        let files = write_test_files(
            root.path(),
            &[
                ("proc/net/stat/arp_cache", CACHE),
                ("proc/sys/net/ipv4/neigh/default/gc_thresh3", "1024\n"),
                ("proc/net/stat/ndisc_cache", "entries\n0000000a\n"),
                ("proc/sys/net/ipv6/neigh/default/gc_thresh3", "512\n"),
            ],
        );
        assert_eq!(
            tables(&files),
            [
                ResourceHeadroom { kind: ResourceKind::NeighboursV4, used: 31, limit: 1024 },
                ResourceHeadroom { kind: ResourceKind::NeighboursV6, used: 10, limit: 512 },
            ]
        );
        assert_eq!(
            NeighbourOverflows::read(&files),
            NeighbourOverflows(vec![(ResourceKind::NeighboursV4, 16)])
        );
    }

    #[test]
    fn only_new_refusals_count() {
        let before = NeighbourOverflows(vec![
            (ResourceKind::NeighboursV4, 3),
            (ResourceKind::NeighboursV6, 0),
        ]);
        let after = NeighbourOverflows(vec![
            (ResourceKind::NeighboursV4, 3),
            (ResourceKind::NeighboursV6, 1),
        ]);
        assert_eq!(after.since(&before), [ResourceKind::NeighboursV6]);
        assert_eq!(after.since(&NeighbourOverflows::default()), []);
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_reader(text in "(entries |[0-9a-fx]{1,20} |\n){0,30}") {
            if let Some(values) = column(&text, "entries") {
                prop_assert!(values.count() <= text.lines().count());
            }
        }
    }
}
