//! Thermal throttling of the processor, by the kernel's counters (`thermal_throttle`, x86 only).
//!
//! Every core of a package reports the package's counter: the largest of them stands for all, so that a package's
//! events are counted once.

use crate::files::MachineFiles;
use tare_record::Finding;
use tare_record::finding::ThrottlingEvents;

/// Directory that holds each core's counters.
const CORES: &str = "sys/devices/system/cpu";

/// Number of times that the cores, and their package, have been throttled so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThermalThrottling(u64);

impl ThermalThrottling {
    /// Reads the counters; 0 if there are none.
    pub(crate) fn read(files: &MachineFiles) -> Self {
        let cores = files.names(CORES).into_iter().filter(|name| is_core(name));
        let count = |core: &str, what: &str| -> u64 {
            let path = format!("{CORES}/{core}/thermal_throttle/{what}_throttle_count");
            files.value(path).unwrap_or(0)
        };
        let mut package = 0;
        let mut single = 0_u64;
        for core in cores {
            single = single.saturating_add(count(&core, "core"));
            package = count(&core, "package").max(package);
        }
        Self(single.saturating_add(package))
    }

    /// Returns a finding if there has been throttling since.
    pub(crate) fn finding_since(self, files: &MachineFiles) -> Option<Finding> {
        let times = Self::read(files).0.saturating_sub(self.0);
        (times > 0).then_some(Finding::ThrottlingEvents(ThrottlingEvents { times }))
    }
}

fn is_core(name: &str) -> bool {
    let number = name.strip_prefix("cpu").unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::write_test_files;

    #[test]
    fn cores_that_slowed_down_meanwhile_are_counted() {
        let root = tempfile::tempdir().unwrap();
        let of = |core: &str| format!("{CORES}/{core}/thermal_throttle/core_throttle_count");
        let counts = |one: &str, two: &str| {
            write_test_files(
                root.path(),
                &[(&of("cpu0"), one), (&of("cpu11"), two), (&of("cpufreq"), "99\n")],
            );
        };
        counts("5\n", "7\n");
        let files = MachineFiles::under(root.path());
        let before = ThermalThrottling::read(&files);
        assert_eq!(before.finding_since(&files), None);
        counts("6\n", "9\n");
        assert_eq!(
            before.finding_since(&files),
            Some(Finding::ThrottlingEvents(ThrottlingEvents { times: 3 }))
        );
    }

    #[test]
    fn a_package_is_counted_once_whatever_its_cores() {
        let root = tempfile::tempdir().unwrap();
        let of = |core: &str| format!("{CORES}/{core}/thermal_throttle/package_throttle_count");
        let count = |times: &str| {
            write_test_files(root.path(), &[(&of("cpu0"), times), (&of("cpu1"), times)])
        };
        let files = count("4\n");
        let before = ThermalThrottling::read(&files);
        count("6\n");
        assert_eq!(
            before.finding_since(&files),
            Some(Finding::ThrottlingEvents(ThrottlingEvents { times: 2 }))
        );
    }

    #[test]
    fn a_processor_that_does_not_count_is_passed_over() {
        let root = tempfile::tempdir().unwrap();
        let files = MachineFiles::under(root.path());
        assert_eq!(ThermalThrottling::read(&files).finding_since(&files), None);
    }
}
