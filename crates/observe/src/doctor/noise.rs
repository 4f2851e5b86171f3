//! What makes figures vary that need not.

use super::Check;

/// Load per core from which on others' work shows in the figures.
const BUSY: f64 = 0.25;

/// Clock sources that are read by a slow access to a device, at every latency measured.
const SLOW_CLOCKS: &[&str] = &["acpi_pm", "hpet", "jiffies", "refined-jiffies"];

pub(super) fn cores(cores: &[u32], siblings: bool) -> Check {
    match (cores.len(), siblings) {
        (0, _) => Check::ok("cores", "not visible from here"),
        (1, _) => Check::warn(
            "cores",
            "one: client and server share it, so the network's cost is mixed with theirs",
            "use a machine with two cores or more",
        ),
        (2, true) => Check::warn(
            "cores",
            "two, which are threads of one core (SMT): client and server share its units",
            "use a machine with more cores, or take the figures as those of one core",
        ),
        (n, true) => Check::ok("cores", format!("{n}, some of them threads of one core (SMT)")),
        (n, false) => Check::ok("cores", format!("{n}")),
    }
}

pub(super) fn load(load: Option<[f64; 3]>, cores: usize) -> Check {
    match load {
        None => Check::ok("load", "not visible from here"),
        Some([minute, ..]) if minute > BUSY * cores.max(1) as f64 => Check::warn(
            "load",
            format!("{minute:.2} over the last minute, on {cores} cores"),
            "wait until the machine is idle, or end what works on it",
        ),
        Some([minute, ..]) => Check::ok("load", format!("{minute:.2} over the last minute")),
    }
}

pub(super) fn other_runs(runs: u32) -> Check {
    match runs {
        0 => Check::ok("other runs", "no tare run on this machine now"),
        n => Check::warn(
            "other runs",
            format!("{n} on this machine now"),
            "wait until they are done",
        ),
    }
}

pub(super) fn governor(governor: Option<&str>) -> Check {
    match governor {
        None => Check::ok("governor", "not visible from here: firmware or a hypervisor decides"),
        Some("performance") => Check::ok("governor", "performance"),
        Some(other) => Check::warn(
            "governor",
            format!("{other}: cores change their frequency with the load"),
            "sudo cpupower frequency-set -g performance",
        ),
    }
}

pub(super) fn boost(boost: Option<bool>) -> Check {
    match boost {
        None => Check::ok("boost", "not visible from here"),
        Some(false) => Check::ok("boost", "off"),
        Some(true) => Check::warn(
            "boost",
            "on: the frequency depends on heat and on what the other cores do",
            "switch it off for steadier figures: write 1 to /sys/devices/system/cpu/intel_pstate/no_turbo, \
             or 0 to /sys/devices/system/cpu/cpufreq/boost, whichever there is",
        ),
    }
}

pub(super) fn clock(clock: Option<&str>) -> Check {
    match clock {
        None => Check::ok("clock", "not visible from here"),
        Some(slow) if SLOW_CLOCKS.contains(&slow) => Check::warn(
            "clock",
            format!("{slow}: reading it takes about a microsecond, which is in every latency"),
            "boot with clocksource=tsc where the processor's counter is steady",
        ),
        Some(clock) => Check::ok("clock", clock),
    }
}

pub(super) fn virtualisation(technology: Option<&str>) -> Check {
    match technology {
        None => Check::ok("virtualisation", "none seen"),
        Some(name) => Check::ok("virtualisation", format!("{name}: its other guests may be felt")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn client_and_server_want_a_core_each() {
        assert_eq!(cores(&[3], false).state, State::Warn);
        assert_eq!(cores(&[0, 1], true).state, State::Warn);
        assert_eq!(cores(&[0, 1], false).state, State::Ok);
        assert_eq!(cores(&[0, 1, 2, 3], true).state, State::Ok);
    }

    #[test]
    fn load_is_judged_by_the_cores_there_are() {
        assert_eq!(load(Some([0.6, 0.0, 0.0]), 2).state, State::Warn);
        assert_eq!(load(Some([0.6, 0.0, 0.0]), 8).state, State::Ok);
        assert_eq!(load(None, 2).state, State::Ok);
    }

    #[test]
    fn what_changes_the_frequency_is_told() {
        assert_eq!(governor(Some("powersave")).state, State::Warn);
        assert_eq!(governor(Some("performance")).state, State::Ok);
        assert_eq!(governor(None).state, State::Ok);
        assert_eq!(boost(Some(true)).state, State::Warn);
        assert_eq!(boost(Some(false)).state, State::Ok);
    }

    #[test]
    fn slow_clocks_and_other_runs_are_told() {
        assert_eq!(clock(Some("hpet")).state, State::Warn);
        assert_eq!(clock(Some("tsc")).state, State::Ok);
        assert_eq!(other_runs(1).state, State::Warn);
        assert_eq!(other_runs(0).state, State::Ok);
    }
}
