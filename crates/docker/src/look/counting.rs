//! Counters of the network namespace that the look is in, told again for every line that it reads: so a trial's are taken
//! without anything being started around it.

use super::seen::{Counted, Seen};
use super::within::tell;
use std::fs;
use std::io;
use tare_network::{Error, PlaceCounts, counted};

/// Tells what is counted in this place, so far, whenever it is asked, until standard input ends.
pub(super) fn count(place: &str) -> Result<(), Error> {
    for asked in io::stdin().lines() {
        asked.map_err(|error| Error::new("hear whether to count", error))?;
        tell(&Seen { counted: Some(so_far(place)), ..Seen::default() })?;
    }
    Ok(())
}

fn so_far(place: &str) -> Counted {
    Counted {
        namespace: namespace(),
        counts: PlaceCounts {
            place: place.to_owned(),
            devices: counted::devices(),
            conntrack: counted::conntrack(),
            protocols: counted::protocols(),
            ..PlaceCounts::default()
        },
    }
}

/// Two containers may be in one network namespace; its number is one machine's alone, which the number of its start tells
/// from others.
fn namespace() -> String {
    let started = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let number = fs::read_link("/proc/self/ns/net").unwrap_or_default();
    format!("{} {}", started.trim(), number.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_of_a_namespace_is_read_as_it_was_told() {
        let counted = so_far("client-0");
        assert_eq!(counted.counts.place, "client-0");
        assert!(counted.counts.devices.contains_key("lo"), "{counted:?}");
        assert!(counted.namespace.contains(" net:["), "{}", counted.namespace);
        let seen = Seen { counted: Some(counted), ..Seen::default() };
        let line = serde_json::to_string(&seen).unwrap();
        assert_eq!(crate::look::parse(&line), Ok(seen));
    }
}
