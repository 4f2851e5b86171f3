//! What the kernel and the installed programs offer.

use super::Check;
use crate::files::Files;
use crate::hardware::Refused;
use crate::headroom::nearly_full;
use crate::limits;
use tare_record::{Counting, Environment, Headroom};

/// The oldest kernel that tare is tried with (Ubuntu 22.04's).
const OLDEST: (u32, u32) = (5, 15);

pub(super) fn kernel(release: &str) -> Check {
    let oldest = format!("{}.{}", OLDEST.0, OLDEST.1);
    match version(release) {
        Some(version) if version < OLDEST => Check::warn(
            "kernel",
            format!("{release} is older than {oldest}, the oldest that tare is tried with"),
            "use a newer kernel if something fails",
        ),
        _ => Check::ok("kernel", release),
    }
}

/// Major and minor number of a release such as `6.18.44-generic`.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

pub(super) fn nft(there: bool, version: Option<&String>) -> Check {
    match (there, version) {
        (true, version) => Check::ok("nft", version.map_or("there", String::as_str)),
        (false, _) => Check::warn(
            "nft",
            "the program nft is missing: networks with address translation or filters cannot run",
            "sudo apt-get install nftables",
        ),
    }
}

/// A check for each table that is nearly full, or one that says that none is.
pub(super) fn headroom(tables: &[Headroom]) -> Vec<Check> {
    let full: Vec<Check> = tables
        .iter()
        .filter(|table| nearly_full(table))
        .map(|table| {
            Check::warn(
                "headroom",
                format!("{}: {} of {} used", table.resource, table.used, table.limit),
                "use fewer containers, or end what uses so much",
            )
        })
        .collect();
    if full.is_empty() {
        vec![Check::ok("headroom", "no table that all namespaces share is nearly full")]
    } else {
        full
    }
}

/// Limits are a safety net: without one nothing measures worse.
pub(super) fn limits(files: &Files) -> Check {
    match limits::possible(files) {
        Ok(()) => Check::ok("limits", "a control group bounds what a run can take"),
        Err(reason) => Check::ok("limits", format!("none on what a run can take: {reason}")),
    }
}

/// Whether cycles and instructions can be counted. Without them nothing measures worse: CPU time is told all the same.
pub(super) fn counters(counting: &Result<Counting, Refused>) -> Check {
    const NAME: &str = "hardware counters";
    match counting {
        Ok(Counting::Machine) => Check::ok(NAME, "cycles and instructions of all cores"),
        Ok(Counting::Agents) => Check::ok(
            NAME,
            "cycles and instructions of tare's own agents; run as root to count all cores",
        ),
        Ok(Counting::AgentsCode) => Check::ok(
            NAME,
            "cycles and instructions of tare's own agents, without the kernel's; run as root to count all cores",
        ),
        Err(Refused { why, remedy }) => {
            Check::ok(NAME, format!("not to be had: {why}; {remedy}, to be told cycles per packet"))
        }
    }
}

pub(super) fn congestion_control(machine: &Environment) -> Check {
    let allowed = machine.congestion_controls_allowed.join(" ");
    match machine.congestion_control.as_deref() {
        Some(used) => Check::ok("congestion", format!("{used}; any user may choose: {allowed}")),
        None => Check::ok("congestion", "not visible from here"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn releases_of_distributions() {
        assert_eq!(version("6.1.0-18-amd64"), Some((6, 1)));
        assert_eq!(version("5.15.0-101-generic"), Some((5, 15)));
        assert_eq!(version("next"), None);
        assert_eq!(kernel("5.15.0-101-generic").state, State::Ok);
        assert_eq!(kernel("4.19.0").state, State::Warn);
        assert_eq!(kernel("next").state, State::Ok);
    }

    #[test]
    fn only_what_is_nearly_full_is_named() {
        let table = |resource: &str, used| Headroom { resource: resource.into(), used, limit: 100 };
        let checks = headroom(&[table("pids", 80), table("memory", 81)]);
        assert_eq!(checks.len(), 1);
        assert_eq!(checks[0].detail, "memory: 81 of 100 used");
        assert_eq!(headroom(&[table("pids", 80)])[0].state, State::Ok);
    }

    #[test]
    fn machines_without_counters_are_as_good_and_say_why() {
        let hidden = Refused { why: "hidden".to_owned(), remedy: "show them".to_owned() };
        let check = counters(&Err(hidden));
        assert_eq!(check.state, State::Ok);
        assert_eq!(check.detail, "not to be had: hidden; show them, to be told cycles per packet");
        assert!(counters(&Ok(Counting::Agents)).detail.contains("run as root"));
    }

    #[test]
    fn nft_is_needed_and_its_version_is_not() {
        assert_eq!(nft(false, None).state, State::Warn);
        assert_eq!(nft(true, None).state, State::Ok);
        assert_eq!(nft(true, Some(&"nftables v1.0.6".to_owned())).detail, "nftables v1.0.6");
    }

    proptest! {
        #[test]
        fn no_release_breaks_the_reader(release in "[0-9.a-z-]{0,30}") {
            let _ = version(&release);
        }
    }
}
