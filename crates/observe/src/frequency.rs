//! How fast the cores ran while they had work, by what cpufreq says of each (`scaling_cur_freq`, kHz).
//!
//! An idle core runs as slowly as it likes, so each core's frequency counts by the time for which it was busy.

use crate::files::Files;
use crate::times::{Times, ticks_per_second};

/// The frequency of each core, kHz; nothing for one that does not say.
pub(crate) type Frequencies = Vec<Option<u64>>;

/// Reads those of so many cores. Where the first does not say, none is asked: most virtual machines have no cpufreq.
pub(crate) fn read(files: &Files, cores: usize) -> Frequencies {
    let of = |core: usize| -> Option<u64> {
        files.value(format!("sys/devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq"))
    };
    match of(0) {
        Some(first) => std::iter::once(Some(first)).chain((1..cores).map(of)).collect(),
        None => Vec::new(),
    }
}

/// Adds up busy time, and what frequency it was spent at.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mean {
    cycles: f64,
    seconds: f64,
}

impl Mean {
    /// Between two readings of the cores' times, at the frequencies seen at the end of it.
    pub(crate) fn add(&mut self, start: &[Times], end: &[Times], frequencies: &[Option<u64>]) {
        let ticks = ticks_per_second();
        for ((start, end), frequency) in start.iter().zip(end).zip(frequencies) {
            let Some(kilohertz) = frequency else { continue };
            let took = end.since(start, ticks);
            let busy = (took.user + took.system + took.softirq + took.irq).as_secs_f64();
            self.cycles += busy * *kilohertz as f64;
            self.seconds += busy;
        }
    }

    /// The mean, MHz; nothing where no core that says was busy.
    pub(crate) fn megahertz(self) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.cycles / self.seconds / 1_000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::lay_out;
    use crate::times::Stat;

    /// Two cores' times after so many seconds of work of each.
    fn busy(one: u64, two: u64) -> Vec<Times> {
        let ticks = ticks_per_second();
        let root = tempfile::tempdir().unwrap();
        let line = |name: &str, user: u64| format!("{name} {} 0 0 99 0 0 0 0 0 0\n", user * ticks);
        let text = line("cpu ", one + two) + &line("cpu0", one) + &line("cpu1", two);
        Stat::read(&lay_out(root.path(), &[("proc/stat", &text)])).unwrap().cores
    }

    #[test]
    fn cores_count_by_the_time_for_which_they_were_busy() {
        let mut mean = Mean::default();
        assert_eq!(mean.megahertz(), None);
        mean.add(&busy(0, 0), &busy(3, 1), &[Some(2_000_000), Some(4_000_000)]);
        assert_eq!(mean.megahertz(), Some(2_500.0));
        // An idle core's does not count, nor that of one that does not say.
        mean.add(&busy(3, 1), &busy(3, 5), &[Some(9), None]);
        assert_eq!(mean.megahertz(), Some(2_500.0));
        mean.add(&busy(3, 5), &busy(7, 5), &[Some(3_500_000), Some(1)]);
        assert_eq!(mean.megahertz(), Some(3_000.0));
    }

    #[test]
    fn each_core_is_asked_where_there_is_cpufreq() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(read(&Files::under(root.path()), 2), Frequencies::new());
        let of = |core: u32| format!("sys/devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq");
        let files = lay_out(root.path(), &[(&of(0), "2400000\n"), (&of(2), "800000\n")]);
        assert_eq!(read(&files, 3), [Some(2_400_000), None, Some(800_000)]);
    }
}
