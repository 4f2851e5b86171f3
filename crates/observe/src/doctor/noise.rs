//! Checks for avoidable sources of noise in the figures.

use super::HealthCheck;

/// Load per core above which other programs' work shows in the figures.
const BUSY_LOAD_PER_CORE: f64 = 0.25;

/// Clock sources that are read by a slow access to a device, at every measured latency.
const SLOW_CLOCKS: &[&str] = &["acpi_pm", "hpet", "jiffies", "refined-jiffies"];

pub(super) fn cores(cores: &[u32], siblings: bool) -> HealthCheck {
    match (cores.len(), siblings) {
        (0, _) => HealthCheck::ok("cores", "not visible from here"),
        (1, _) => HealthCheck::warn(
            "cores",
            "one: client and server share this core, so the network's cost is mixed with theirs",
            "use a machine with two cores or more",
        ),
        (2, true) => HealthCheck::warn(
            "cores",
            "two threads of one core (SMT): client and server share the execution units of the core",
            "use a machine with more cores, or take the figures as those of one core",
        ),
        (n, true) => {
            HealthCheck::ok("cores", format!("{n}, some of them threads of one core (SMT)"))
        }
        (n, false) => HealthCheck::ok("cores", format!("{n}")),
    }
}

pub(super) fn load(load: Option<[f64; 3]>, cores: usize) -> HealthCheck {
    match load {
        None => HealthCheck::ok("load", "not visible from here"),
        Some([minute, ..]) if minute > BUSY_LOAD_PER_CORE * cores.max(1) as f64 => {
            HealthCheck::warn(
                "load",
                format!("{minute:.2} over the last minute, on {cores} cores"),
                "wait until the machine is idle, or stop other programs",
            )
        }
        Some([minute, ..]) => HealthCheck::ok("load", format!("{minute:.2} over the last minute")),
    }
}

pub(super) fn other_runs(runs: u32) -> HealthCheck {
    match runs {
        0 => HealthCheck::ok("other runs", "no tare run on this machine now"),
        n => HealthCheck::warn(
            "other runs",
            format!("{n} on this machine now"),
            "wait until the other runs have ended",
        ),
    }
}

pub(super) fn governor(governor: Option<&str>) -> HealthCheck {
    match governor {
        None => {
            HealthCheck::ok("governor", "not visible from here: firmware or a hypervisor decides")
        }
        Some("performance") => HealthCheck::ok("governor", "performance"),
        Some(other) => HealthCheck::warn(
            "governor",
            format!("{other}: cores change their frequency with the load"),
            "sudo cpupower frequency-set -g performance",
        ),
    }
}

pub(super) fn boost(boost: Option<bool>) -> HealthCheck {
    match boost {
        None => HealthCheck::ok("boost", "not visible from here"),
        Some(false) => HealthCheck::ok("boost", "off"),
        Some(true) => HealthCheck::warn(
            "boost",
            "on: the frequency depends on the temperature and on the load of the other cores",
            "for steadier figures, disable boost: write 1 to /sys/devices/system/cpu/intel_pstate/no_turbo, \
             or 0 to /sys/devices/system/cpu/cpufreq/boost, whichever file exists",
        ),
    }
}

pub(super) fn clock(clock: Option<&str>) -> HealthCheck {
    match clock {
        None => HealthCheck::ok("clock", "not visible from here"),
        Some(slow) if SLOW_CLOCKS.contains(&slow) => HealthCheck::warn(
            "clock",
            format!(
                "{slow}: reading this clock takes about a microsecond, which is part of every latency"
            ),
            "boot with clocksource=tsc if the processor's time stamp counter is stable",
        ),
        Some(clock) => HealthCheck::ok("clock", clock),
    }
}

pub(super) fn virtualisation(technology: Option<&str>) -> HealthCheck {
    match technology {
        None => HealthCheck::ok("virtualisation", "none detected"),
        Some(name) => HealthCheck::ok(
            "virtualisation",
            format!("{name}: other guests of the host may disturb the figures"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::CheckStatus;
    use super::*;

    #[test]
    fn client_and_server_want_a_core_each() {
        assert_eq!(cores(&[3], false).status, CheckStatus::Warn);
        assert_eq!(cores(&[0, 1], true).status, CheckStatus::Warn);
        assert_eq!(cores(&[0, 1], false).status, CheckStatus::Ok);
        assert_eq!(cores(&[0, 1, 2, 3], true).status, CheckStatus::Ok);
    }

    #[test]
    fn load_is_judged_by_the_cores_there_are() {
        assert_eq!(load(Some([0.6, 0.0, 0.0]), 2).status, CheckStatus::Warn);
        assert_eq!(load(Some([0.6, 0.0, 0.0]), 8).status, CheckStatus::Ok);
        assert_eq!(load(None, 2).status, CheckStatus::Ok);
    }

    #[test]
    fn what_changes_the_frequency_is_told() {
        assert_eq!(governor(Some("powersave")).status, CheckStatus::Warn);
        assert_eq!(governor(Some("performance")).status, CheckStatus::Ok);
        assert_eq!(governor(None).status, CheckStatus::Ok);
        assert_eq!(boost(Some(true)).status, CheckStatus::Warn);
        assert_eq!(boost(Some(false)).status, CheckStatus::Ok);
    }

    #[test]
    fn slow_clocks_and_other_runs_are_told() {
        assert_eq!(clock(Some("hpet")).status, CheckStatus::Warn);
        assert_eq!(clock(Some("tsc")).status, CheckStatus::Ok);
        assert_eq!(other_runs(1).status, CheckStatus::Warn);
        assert_eq!(other_runs(0).status, CheckStatus::Ok);
    }
}
