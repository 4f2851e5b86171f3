//! Counters of the network namespace that the program runs in, reported for every line that it reads. So the counters
//! of a trial are read without starting a program around it.

use super::snapshot::{NetnsCounters, NetnsSnapshot, write_snapshot};
use std::fs;
use std::io;
use tare_network::procfs_counters::{self, CounterFiles};
use tare_network::{Error, NamespaceCounts};

/// Reports the counters so far, under the name of this place, for every line on standard input, until that ends.
pub(super) fn report_counters(place: &str) -> Result<(), Error> {
    let files = CounterFiles::open();
    for asked in io::stdin().lines() {
        asked.map_err(|error| Error::new("read a request for counters", error))?;
        write_snapshot(&NetnsSnapshot {
            counted: Some(read_counters(place, &files)),
            ..NetnsSnapshot::default()
        })?;
    }
    Ok(())
}

fn read_counters(place: &str, files: &CounterFiles) -> NetnsCounters {
    NetnsCounters {
        namespace: namespace_id(),
        counts: NamespaceCounts {
            place: place.to_owned(),
            devices: procfs_counters::devices(),
            conntrack: files.conntrack(),
            protocols: files.protocols(),
            ..NamespaceCounts::default()
        },
    }
}

/// Returns an id of the network namespace. Two containers may share one; its inode number is unique on one machine
/// only, so the machine's boot id is added.
fn namespace_id() -> String {
    let started = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let number = fs::read_link("/proc/self/ns/net").unwrap_or_default();
    format!("{} {}", started.trim(), number.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_of_a_namespace_is_read_as_it_was_told() {
        let counted = read_counters("client-0", &CounterFiles::open());
        assert_eq!(counted.counts.place, "client-0");
        assert!(counted.counts.devices.contains_key("lo"), "{counted:?}");
        assert!(counted.namespace.contains(" net:["), "{}", counted.namespace);
        let seen = NetnsSnapshot { counted: Some(counted), ..NetnsSnapshot::default() };
        let line = serde_json::to_string(&seen).unwrap();
        assert_eq!(crate::parse_snapshot(&line), Ok(seen));
    }
}
