//! Diagnosis of the machine for measuring: checks, their results, and remedies.
//!
//! Each check is a pure function of values read before. A problem that prevents measuring is a [`CheckStatus::Fail`]; a
//! problem that only makes figures noisier or keeps some networks from running is a [`CheckStatus::Warn`]. Printing is
//! the command's task.

mod noise;
mod place;
pub(crate) mod system;

use crate::environment;
use crate::files::MachineFiles;
use crate::perf_counters;
use crate::presence;

/// Result of a check, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckStatus {
    /// As it should be, or not visible from here.
    Ok,
    /// Figures will be noisier than they could be, or some networks cannot run.
    Warn,
    /// Nothing in the lab can be measured.
    Fail,
}

/// One check of the machine, with its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthCheck {
    /// Subject of the check, in a word or two.
    pub name: &'static str,
    /// Result of the check.
    pub status: CheckStatus,
    /// Observed value, in one line.
    pub detail: String,
    /// Remedy, in one line. `None` if the check is [`CheckStatus::Ok`].
    pub remedy: Option<String>,
}

impl HealthCheck {
    /// Creates a check whose result is as it should be.
    pub fn ok(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, status: CheckStatus::Ok, detail: detail.into(), remedy: None }
    }

    /// Creates a check of what makes figures noisier, or keeps some networks from running, with its remedy.
    pub fn warn(name: &'static str, detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { name, status: CheckStatus::Warn, detail: detail.into(), remedy: Some(remedy.into()) }
    }

    /// Creates a check that keeps the lab from measuring, with its remedy.
    pub fn fail(name: &'static str, detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { name, status: CheckStatus::Fail, detail: detail.into(), remedy: Some(remedy.into()) }
    }
}

/// Runs all checks, the most fundamental first. Nothing is changed, installed or loaded. The lab does the two checks
/// that need a trial and passes their results: namespaces of its own, and the kernel's reasons for dropped packets.
#[must_use]
pub fn diagnose(namespaces: HealthCheck, reasons: HealthCheck) -> Vec<HealthCheck> {
    let files = MachineFiles::machine();
    let machine = environment::read();
    let has_program = |name: &str| environment::find_program(name).is_some();
    let mut checks = vec![system::kernel(&machine.kernel)];
    checks.extend(place::windows(&machine.kernel));
    checks.extend(place::container(&files));
    checks.push(namespaces);
    checks.push(system::nft(has_program("nft"), machine.programs.get("nft")));
    checks.extend(place::rootless(&files, rustix::process::geteuid().as_raw(), has_program));
    checks.extend(system::headroom(&machine.headroom));
    checks.push(system::limits(&files));
    checks.push(reasons);
    checks.push(system::counters(&perf_counters::available_scope()));
    checks.push(noise::cores(&machine.cores, environment::sibling_threads(&files, &machine.cores)));
    checks.push(noise::load(machine.load, machine.cores.len()));
    checks.push(noise::other_runs(presence::count_runs()));
    checks.push(noise::governor(machine.governor.as_deref()));
    checks.push(noise::boost(machine.boost));
    checks.push(noise::clock(machine.clock.as_deref()));
    checks.push(noise::virtualisation(machine.virtualisation.as_deref()));
    checks.push(system::congestion_control(&machine));
    checks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_not_well_has_a_remedy() {
        let checks = diagnose(
            HealthCheck::ok("namespaces", "there"),
            HealthCheck::ok("drop reasons", "told"),
        );
        assert!(checks.iter().any(|check| check.name == "kernel"));
        for check in checks {
            assert_eq!(check.remedy.is_some(), check.status != CheckStatus::Ok, "{check:?}");
            assert!(!check.detail.contains('\n'), "{check:?}");
        }
    }
}
