//! Parser of `/proc/stat` (proc(5)): CPU time by kind, in ticks, and context switches since the machine started.

use crate::files::MachineFiles;
use tare_record::{CpuUse, Nanos};

/// CPU time by kind since the machine started, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuTicks {
    user: u64,
    system: u64,
    softirq: u64,
    irq: u64,
    steal: u64,
    idle: u64,
}

/// One reading of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProcStat {
    /// CPU time of all cores together.
    pub(crate) total: CpuTicks,
    /// CPU time of each core.
    pub(crate) cores: Vec<CpuTicks>,
    /// Number of context switches.
    pub(crate) context_switches: u64,
}

impl ProcStat {
    /// Reads the machine's file.
    pub(crate) fn read(files: &MachineFiles) -> Option<Self> {
        Self::parse(&files.text("proc/stat")?)
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let whole =
            text.lines().find_map(|line| line.strip_prefix("cpu ")).and_then(CpuTicks::parse)?;
        let cores = text.lines().filter_map(strip_core_name).map_while(CpuTicks::parse).collect();
        let switches = text.lines().find_map(|line| line.strip_prefix("ctxt ")?.parse().ok());
        Some(Self { total: whole, cores, context_switches: switches.unwrap_or(0) })
    }

    /// Returns the number of cores; 1 if the file lists none.
    pub(crate) fn core_count(&self) -> u32 {
        u32::try_from(self.cores.len()).unwrap_or(u32::MAX).max(1)
    }
}

/// Returns the numbers after `cpu7` on a core's line.
fn strip_core_name(line: &str) -> Option<&str> {
    let (name, rest) = line.strip_prefix("cpu")?.split_once(' ')?;
    name.parse::<u32>().ok().map(|_| rest)
}

impl CpuTicks {
    /// Parses the numbers of one line; guest time is already part of user time.
    fn parse(numbers: &str) -> Option<Self> {
        let mut fields = numbers.split_whitespace().map_while(|field| field.parse::<u64>().ok());
        let mut next = || fields.next();
        let (user, nice, system, idle, iowait) = (next()?, next()?, next()?, next()?, next()?);
        let (irq, softirq, steal) = (next()?, next()?, next().unwrap_or(0));
        Some(Self {
            user: user.saturating_add(nice),
            system,
            softirq,
            irq,
            steal,
            idle: idle.saturating_add(iowait),
        })
    }

    /// Returns the time between two readings. The kernel lets idle time run backwards now and then: that counts as 0.
    pub(crate) fn since(&self, start: &Self, ticks_per_second: u64) -> CpuUse {
        let span = |end: u64, start: u64| {
            let nanos = u128::from(end.saturating_sub(start)) * 1_000_000_000;
            Nanos(u64::try_from(nanos / u128::from(ticks_per_second.max(1))).unwrap_or(u64::MAX))
        };
        CpuUse {
            user: span(self.user, start.user),
            system: span(self.system, start.system),
            softirq: span(self.softirq, start.softirq),
            irq: span(self.irq, start.irq),
            steal: span(self.steal, start.steal),
            idle: span(self.idle, start.idle),
        }
    }
}

/// Returns the unit of `/proc/stat`: `sysconf(_SC_CLK_TCK)`.
pub(crate) fn ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns a `/proc/stat` of two cores with these times: user, nice, system, idle, iowait, irq, softirq, steal.
    pub(crate) fn stat(times: [u64; 8]) -> String {
        let times: Vec<String> = times.iter().map(u64::to_string).collect();
        let times = times.join(" ");
        format!("cpu  {times} 5 0\ncpu0 {times} 0 0\ncpu1 {times} 0 0\nintr 1 2\nctxt 7\n")
    }

    #[test]
    fn context_switches_are_counted_where_the_file_has_them() {
        let switches = |text: &str| ProcStat::parse(text).unwrap().context_switches;
        assert_eq!(switches("cpu  1 2 3 4 5 6 7 8\nintr 9\nctxt 142\n"), 142);
        assert_eq!(switches("cpu  1 2 3 4 5 6 7 8\n"), 0);
    }

    #[test]
    fn ticks_become_times_by_kind() {
        let start = ProcStat::parse(&stat([100, 10, 50, 1000, 5, 1, 2, 3])).unwrap();
        let end = ProcStat::parse(&stat([130, 20, 55, 1100, 15, 2, 12, 4])).unwrap();
        let ms = |n: u64| Nanos(n * 1_000_000);
        assert_eq!((start.core_count(), start.cores.len()), (2, 2));
        let expected = CpuUse {
            user: ms(400),
            system: ms(50),
            softirq: ms(100),
            irq: ms(10),
            steal: ms(10),
            idle: ms(1100),
        };
        assert_eq!(end.total.since(&start.total, 100), expected);
        assert_eq!(end.cores[1].since(&start.cores[1], 100), expected);
        assert_eq!(start.total.since(&end.total, 100), CpuUse::default());
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_reader(text in "(cpu[0-9]? |[0-9]{1,20} |-|\n){0,40}") {
            let _ = ProcStat::parse(&text);
        }
    }
}
