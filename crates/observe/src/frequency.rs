//! Mean frequency of busy cores, by cpufreq (`scaling_cur_freq`, kHz).
//!
//! An idle core may run as slowly as it likes, so each core's frequency is weighted by its busy time.

use crate::kept_files::KeptFiles;
use crate::proc_stat::{CpuTicks, ticks_per_second};

/// Frequency of each core, kHz; `None` for a core that does not report it.
pub(crate) type CoreFrequencies = Vec<Option<u64>>;

/// Reads the frequencies of so many cores. If the first core does not report one, no other is read: most virtual
/// machines have no cpufreq.
pub(crate) fn read_frequencies(files: &KeptFiles, cores: usize) -> CoreFrequencies {
    let of = |core: usize| -> Option<u64> {
        let path = format!("sys/devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq");
        files.parse(path, |text| text.trim().parse().ok())
    };
    match of(0) {
        Some(first) => std::iter::once(Some(first)).chain((1..cores).map(of)).collect(),
        None => Vec::new(),
    }
}

/// Accumulator of busy time and of the cycles spent in it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MeanFrequency {
    cycles: f64,
    seconds: f64,
}

impl MeanFrequency {
    /// Adds the busy time between two readings of the cores' times, at the frequencies seen at its end.
    pub(crate) fn add(
        &mut self,
        start: &[CpuTicks],
        end: &[CpuTicks],
        frequencies: &[Option<u64>],
    ) {
        let ticks = ticks_per_second();
        for ((start, end), frequency) in start.iter().zip(end).zip(frequencies) {
            let Some(kilohertz) = frequency else { continue };
            let took = end.since(start, ticks);
            let busy = took.busy().as_secs_f64();
            self.cycles += busy * *kilohertz as f64;
            self.seconds += busy;
        }
    }

    /// Returns the mean, MHz. Returns `None` if no core that reports its frequency was busy.
    pub(crate) fn megahertz(self) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.cycles / self.seconds / 1_000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{MachineFiles, write_test_files};
    use crate::proc_stat::ProcStat;

    /// Returns two cores' times after so many seconds of work of each.
    fn busy(one: u64, two: u64) -> Vec<CpuTicks> {
        let ticks = ticks_per_second();
        let root = tempfile::tempdir().unwrap();
        let line = |name: &str, user: u64| format!("{name} {} 0 0 99 0 0 0 0 0 0\n", user * ticks);
        let text = line("cpu ", one + two) + &line("cpu0", one) + &line("cpu1", two);
        ProcStat::read(&write_test_files(root.path(), &[("proc/stat", &text)])).unwrap().cores
    }

    #[test]
    fn cores_count_by_the_time_for_which_they_were_busy() {
        let mut mean = MeanFrequency::default();
        assert_eq!(mean.megahertz(), None);
        mean.add(&busy(0, 0), &busy(3, 1), &[Some(2_000_000), Some(4_000_000)]);
        assert_eq!(mean.megahertz(), Some(2_500.0));
        // An idle core does not count, nor does a core that does not report its frequency.
        mean.add(&busy(3, 1), &busy(3, 5), &[Some(9), None]);
        assert_eq!(mean.megahertz(), Some(2_500.0));
        mean.add(&busy(3, 5), &busy(7, 5), &[Some(3_500_000), Some(1)]);
        assert_eq!(mean.megahertz(), Some(3_000.0));
    }

    #[test]
    fn each_core_is_asked_where_there_is_cpufreq() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(
            read_frequencies(&KeptFiles::new(MachineFiles::under(root.path())), 2),
            CoreFrequencies::new()
        );
        let of = |core: u32| format!("sys/devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq");
        let files = write_test_files(root.path(), &[(&of(0), "2400000\n"), (&of(2), "800000\n")]);
        assert_eq!(
            read_frequencies(&KeptFiles::new(files), 3),
            [Some(2_400_000), None, Some(800_000)]
        );
    }
}
