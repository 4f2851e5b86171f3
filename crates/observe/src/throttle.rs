//! Whether the processor got too hot meanwhile, by what the kernel counts of that (`thermal_throttle`, x86 alone).
//!
//! Every core of a package counts the package's: of those the largest stands for all, so that one machine's are told once.

use crate::files::Files;
use tare_record::Finding;

/// Where each core has its counters.
const CORES: &str = "sys/devices/system/cpu";

/// How often the cores, and their package, have slowed down so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Throttled(u64);

impl Throttled {
    /// Reads the counters; nought where there are none.
    pub(crate) fn now(files: &Files) -> Self {
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

    /// A finding where they have slowed down since.
    pub(crate) fn until_now(self, files: &Files) -> Option<Finding> {
        let times = Self::now(files).0.saturating_sub(self.0);
        (times > 0).then_some(Finding::Throttled { times })
    }
}

fn is_core(name: &str) -> bool {
    let number = name.strip_prefix("cpu").unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::lay_out;

    #[test]
    fn cores_that_slowed_down_meanwhile_are_counted() {
        let root = tempfile::tempdir().unwrap();
        let of = |core: &str| format!("{CORES}/{core}/thermal_throttle/core_throttle_count");
        let counts = |one: &str, two: &str| {
            lay_out(
                root.path(),
                &[(&of("cpu0"), one), (&of("cpu11"), two), (&of("cpufreq"), "99\n")],
            );
        };
        counts("5\n", "7\n");
        let files = Files::under(root.path());
        let before = Throttled::now(&files);
        assert_eq!(before.until_now(&files), None);
        counts("6\n", "9\n");
        assert_eq!(before.until_now(&files), Some(Finding::Throttled { times: 3 }));
    }

    #[test]
    fn a_package_is_counted_once_whatever_its_cores() {
        let root = tempfile::tempdir().unwrap();
        let of = |core: &str| format!("{CORES}/{core}/thermal_throttle/package_throttle_count");
        let count =
            |times: &str| lay_out(root.path(), &[(&of("cpu0"), times), (&of("cpu1"), times)]);
        let files = count("4\n");
        let before = Throttled::now(&files);
        count("6\n");
        assert_eq!(before.until_now(&files), Some(Finding::Throttled { times: 2 }));
    }

    #[test]
    fn a_processor_that_does_not_count_is_passed_over() {
        let root = tempfile::tempdir().unwrap();
        let files = Files::under(root.path());
        assert_eq!(Throttled::now(&files).until_now(&files), None);
    }
}
