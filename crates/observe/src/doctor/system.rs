//! Checks of the kernel and of the installed programs.

use super::HealthCheck;
use crate::files::MachineFiles;
use crate::headroom::is_nearly_full;
use crate::limits;
use crate::perf_counters::CountersUnavailable;
use tare_record::{CounterScope, Environment, Headroom};

/// Oldest kernel that tare is tested with (Ubuntu 22.04's).
const OLDEST_TESTED_KERNEL: (u32, u32) = (5, 15);

pub(super) fn kernel(release: &str) -> HealthCheck {
    let oldest = format!("{}.{}", OLDEST_TESTED_KERNEL.0, OLDEST_TESTED_KERNEL.1);
    match kernel_version(release) {
        Some(version) if version < OLDEST_TESTED_KERNEL => HealthCheck::warn(
            "kernel",
            format!(
                "{release} is older than {oldest}, the oldest version that tare is tested with"
            ),
            "use a newer kernel if something fails",
        ),
        _ => HealthCheck::ok("kernel", release),
    }
}

/// Parses the major and minor number of a release such as `6.18.44-generic`.
pub(crate) fn kernel_version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

pub(super) fn nft(there: bool, version: Option<&String>) -> HealthCheck {
    match (there, version) {
        (true, version) => HealthCheck::ok("nft", version.map_or("installed", String::as_str)),
        (false, _) => HealthCheck::warn(
            "nft",
            "the program nft is missing: networks with address translation or filters cannot run",
            "sudo apt-get install nftables",
        ),
    }
}

/// Returns a warning for each table that is nearly full, or one check that says that none is.
pub(super) fn headroom(tables: &[Headroom]) -> Vec<HealthCheck> {
    let full: Vec<HealthCheck> = tables
        .iter()
        .filter(|table| is_nearly_full(table))
        .map(|table| {
            HealthCheck::warn(
                "headroom",
                format!("{}: {} of {} used", table.resource, table.used, table.limit),
                "use fewer containers, or stop other programs that use this resource",
            )
        })
        .collect();
    if full.is_empty() {
        vec![HealthCheck::ok("headroom", "no table that all namespaces share is nearly full")]
    } else {
        full
    }
}

/// Checks for limits on a run. They are a safety net: without them measurements are as good, so the check is always
/// [`CheckStatus::Ok`](super::CheckStatus::Ok).
pub(super) fn limits(files: &MachineFiles) -> HealthCheck {
    match limits::check_available(files) {
        Ok(()) => HealthCheck::ok("limits", "a control group limits the resources of a run"),
        Err(reason) => {
            HealthCheck::ok("limits", format!("the resources of a run are not limited: {reason}"))
        }
    }
}

/// Checks that cycles and instructions can be counted. Without them measurements are as good: CPU time is reported all
/// the same.
pub(super) fn counters(counting: &Result<CounterScope, CountersUnavailable>) -> HealthCheck {
    const NAME: &str = "hardware counters";
    match counting {
        Ok(CounterScope::Machine) => HealthCheck::ok(NAME, "cycles and instructions of all cores"),
        Ok(CounterScope::Agents) => HealthCheck::ok(
            NAME,
            "cycles and instructions of tare's own agents; run as root to count all cores",
        ),
        Ok(CounterScope::AgentsCode) => HealthCheck::ok(
            NAME,
            "cycles and instructions of tare's own agents, without the kernel's; run as root to count all cores",
        ),
        Err(CountersUnavailable { why, remedy }) => {
            HealthCheck::ok(NAME, format!("not available: {why}; for cycles per packet, {remedy}"))
        }
    }
}

pub(super) fn congestion_control(machine: &Environment) -> HealthCheck {
    let allowed = machine.congestion_controls_allowed.join(" ");
    match machine.congestion_control.as_deref() {
        Some(used) => HealthCheck::ok(
            "congestion",
            format!(
                "{used}; any user may choose: {allowed}; a run uses cubic where all ends may, else reno, unless --congestion names another"
            ),
        ),
        None => HealthCheck::ok("congestion", "not visible from here"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::CheckStatus;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn releases_of_distributions() {
        assert_eq!(kernel_version("6.1.0-18-amd64"), Some((6, 1)));
        assert_eq!(kernel_version("5.15.0-101-generic"), Some((5, 15)));
        assert_eq!(kernel_version("next"), None);
        assert_eq!(kernel("5.15.0-101-generic").status, CheckStatus::Ok);
        assert_eq!(kernel("4.19.0").status, CheckStatus::Warn);
        assert_eq!(kernel("next").status, CheckStatus::Ok);
    }

    #[test]
    fn only_what_is_nearly_full_is_named() {
        let table = |resource: &str, used| Headroom { resource: resource.into(), used, limit: 100 };
        let checks = headroom(&[table("pids", 80), table("memory", 81)]);
        assert_eq!(checks.len(), 1);
        assert_eq!(checks[0].detail, "memory: 81 of 100 used");
        assert_eq!(headroom(&[table("pids", 80)])[0].status, CheckStatus::Ok);
    }

    #[test]
    fn permanent_neighbours_are_no_full_table() {
        let table =
            |resource: &str, used| Headroom { resource: resource.into(), used, limit: 1024 };
        for resource in ["neighbours-ipv4", "neighbours-ipv6"] {
            assert_eq!(headroom(&[table(resource, 4000)])[0].status, CheckStatus::Ok);
            assert_eq!(headroom(&[table(resource, 1000)])[0].status, CheckStatus::Warn);
        }
        assert_eq!(headroom(&[table("open-files", 4000)])[0].status, CheckStatus::Warn);
    }

    #[test]
    fn machines_without_counters_are_as_good_and_say_why() {
        let hidden =
            CountersUnavailable { why: "hidden".to_owned(), remedy: "show them".to_owned() };
        let check = counters(&Err(hidden));
        assert_eq!(check.status, CheckStatus::Ok);
        assert_eq!(check.detail, "not available: hidden; for cycles per packet, show them");
        assert!(counters(&Ok(CounterScope::Agents)).detail.contains("run as root"));
    }

    #[test]
    fn nft_is_needed_and_its_version_is_not() {
        assert_eq!(nft(false, None).status, CheckStatus::Warn);
        assert_eq!(nft(true, None).status, CheckStatus::Ok);
        assert_eq!(nft(true, Some(&"nftables v1.0.6".to_owned())).detail, "nftables v1.0.6");
    }

    proptest! {
        #[test]
        fn no_release_breaks_the_reader(release in "[0-9.a-z-]{0,30}") {
            let _ = kernel_version(&release);
        }
    }
}
