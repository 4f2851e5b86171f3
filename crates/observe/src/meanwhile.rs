//! What the CPUs did while a trial ran, and how much of it was not ours.
//!
//! The source is `/proc/stat` (proc(5)), read before and after: time by kind over all cores, in ticks.
//!
//! Whose time it was cannot be told exactly. The kernel books a software interrupt as `softirq` in `/proc/stat`
//! *and* in the system time of the process it happened to interrupt; it runs for an agent's packets inside the
//! agent, in `ksoftirqd` or on an idle core. So softirq is never counted as other people's, and the agents' time is
//! taken off programs' time alone. What remains is the least that others took: a machine found busy was busy.

use crate::environment;
use crate::files::Files;
use rustix::time::{ClockId, clock_gettime};
use tare_record::{CpuUse, Finding, Meanwhile, Nanos};

/// The share of all cores' time from which on others' work is a finding.
const BUSY: f64 = 0.10;

/// Wall time below which too few ticks have passed to tell, seconds.
const SHORTEST: f64 = 0.2;

/// A span of time during which the machine is watched.
#[derive(Clone, Debug)]
pub struct Watch {
    files: Files,
    start: Option<Times>,
    own: Nanos,
}

impl Watch {
    /// Begins to watch.
    #[must_use]
    pub fn start() -> Self {
        Self::over(Files::machine())
    }

    fn over(files: Files) -> Self {
        Self { start: Times::read(&files), own: own_time(), files }
    }

    /// What the machine did since the start. `agents` is the CPU time (user and system) that tare's agents took
    /// meanwhile; this process's own time is known here.
    ///
    /// Where `/proc/stat` cannot be read, all times are zero and nothing is found.
    #[must_use]
    pub fn finish(self, agents: Nanos) -> (Meanwhile, Vec<Finding>) {
        let end = Times::read(&self.files);
        let load = environment::load(&self.files).map_or(0.0, |load| load[0]);
        let Some((start, end)) = self.start.zip(end) else {
            return (Meanwhile { agents, load, ..Meanwhile::default() }, Vec::new());
        };
        let cpu = end.since(&start, ticks_per_second());
        let ours = agents + (own_time() - self.own);
        let findings = busy(&cpu, end.cores, ours).into_iter().collect();
        (Meanwhile { cpu, agents, load }, findings)
    }
}

/// A finding where others took more than their due of all cores' time.
fn busy(cpu: &CpuUse, cores: u32, ours: Nanos) -> Option<Finding> {
    let all = cpu.user + cpu.system + cpu.softirq + cpu.irq + cpu.steal + cpu.idle;
    if all.as_secs_f64() < SHORTEST * f64::from(cores) || all.0 == 0 {
        return None;
    }
    let others = cpu.user + cpu.system + cpu.irq + cpu.steal - ours;
    let share = others.as_secs_f64() / all.as_secs_f64();
    (share > BUSY).then_some(Finding::BusyMachine { share })
}

/// CPU time since the machine started, in ticks, over all cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Times {
    user: u64,
    system: u64,
    softirq: u64,
    irq: u64,
    steal: u64,
    idle: u64,
    cores: u32,
}

impl Times {
    fn read(files: &Files) -> Option<Self> {
        Self::parse(&files.text("proc/stat")?)
    }

    /// Reads the line of all cores; guest time is in user time already.
    fn parse(text: &str) -> Option<Self> {
        let mut fields = text
            .lines()
            .find_map(|line| line.strip_prefix("cpu "))?
            .split_whitespace()
            .map_while(|field| field.parse::<u64>().ok());
        let mut next = || fields.next();
        let (user, nice, system, idle, iowait) = (next()?, next()?, next()?, next()?, next()?);
        let (irq, softirq, steal) = (next()?, next()?, next().unwrap_or(0));
        let cores = text.lines().filter(|line| is_core(line)).count();
        Some(Self {
            user: user.saturating_add(nice),
            system,
            softirq,
            irq,
            steal,
            idle: idle.saturating_add(iowait),
            cores: u32::try_from(cores).ok()?.max(1),
        })
    }

    /// The time between two readings. The kernel lets idle time run backwards now and then: that counts as none.
    fn since(&self, start: &Self, ticks_per_second: u64) -> CpuUse {
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

/// Whether a line of `/proc/stat` is about one core: `cpu7 …`.
fn is_core(line: &str) -> bool {
    line.strip_prefix("cpu")
        .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

/// The unit of `/proc/stat`: `sysconf(_SC_CLK_TCK)`.
fn ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second()
}

/// The CPU time of this process so far.
fn own_time() -> Nanos {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    Nanos(seconds.saturating_mul(1_000_000_000).saturating_add(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::lay_out;
    use proptest::prelude::*;

    const SECOND: u64 = 1_000_000_000;

    /// `/proc/stat` of two cores with these times: user, nice, system, idle, iowait, irq, softirq, steal.
    fn stat(times: [u64; 8]) -> String {
        let times: Vec<String> = times.iter().map(u64::to_string).collect();
        let times = times.join(" ");
        format!("cpu  {times} 5 0\ncpu0 {times} 0 0\ncpu1 {times} 0 0\nintr 1 2\nctxt 7\n")
    }

    fn one_second_of(user: u64, system: u64, softirq: u64, steal: u64) -> CpuUse {
        let tenths = |n: u64| Nanos(n * SECOND / 10);
        CpuUse {
            user: tenths(user),
            system: tenths(system),
            softirq: tenths(softirq),
            irq: Nanos(0),
            steal: tenths(steal),
            idle: tenths(20 - user - system - softirq - steal),
        }
    }

    #[test]
    fn ticks_become_times_by_kind() {
        let start = Times::parse(&stat([100, 10, 50, 1000, 5, 1, 2, 3])).unwrap();
        let end = Times::parse(&stat([130, 20, 55, 1100, 15, 2, 12, 4])).unwrap();
        let ms = |n: u64| Nanos(n * 1_000_000);
        assert_eq!(start.cores, 2);
        assert_eq!(
            end.since(&start, 100),
            CpuUse {
                user: ms(400),
                system: ms(50),
                softirq: ms(100),
                irq: ms(10),
                steal: ms(10),
                idle: ms(1100)
            }
        );
        assert_eq!(start.since(&end, 100), CpuUse::default());
    }

    #[test]
    fn others_work_is_found_and_ours_is_not() {
        let agents = Nanos(SECOND);
        assert_eq!(busy(&one_second_of(2, 8, 4, 0), 2, agents), None);
        let found = busy(&one_second_of(8, 8, 2, 0), 2, agents);
        assert!(
            matches!(found, Some(Finding::BusyMachine { share }) if (share - 0.3).abs() < 1e-9),
            "{found:?}"
        );
    }

    #[test]
    fn softirq_is_nobodys_and_stolen_time_is_others() {
        assert_eq!(busy(&one_second_of(0, 0, 20, 0), 2, Nanos(0)), None);
        assert!(busy(&one_second_of(0, 0, 0, 5), 2, Nanos(0)).is_some());
    }

    #[test]
    fn too_short_to_tell() {
        let busy_for = |ms: u64| CpuUse { user: Nanos(ms * 1_000_000), ..CpuUse::default() };
        assert_eq!(busy(&busy_for(390), 2, Nanos(0)), None);
        assert!(busy(&busy_for(400), 2, Nanos(0)).is_some());
        assert_eq!(busy(&CpuUse::default(), 0, Nanos(0)), None);
    }

    #[test]
    fn a_watch_reads_twice() {
        let root = tempfile::tempdir().unwrap();
        let before = stat([0, 0, 0, 0, 0, 0, 0, 0]);
        lay_out(root.path(), &[("proc/stat", &before), ("proc/loadavg", "0.1 0.2 0.3 1/9 7\n")]);
        let watch = Watch::over(Files::under(root.path()));
        let ticks = ticks_per_second();
        let after = stat([ticks, 0, 0, ticks, 0, 0, 0, 0]);
        lay_out(root.path(), &[("proc/stat", &after), ("proc/loadavg", "1.5 0.2 0.3 1/9 7\n")]);
        let (meanwhile, findings) = watch.finish(Nanos(7));
        assert_eq!(meanwhile.cpu.user, Nanos(SECOND));
        assert_eq!(meanwhile.cpu.idle, Nanos(SECOND));
        assert_eq!(meanwhile.agents, Nanos(7));
        assert_eq!(meanwhile.load, 1.5);
        assert_eq!(findings.len(), 1);
    }

    #[test]
    fn without_the_file_nothing_is_said() {
        let root = tempfile::tempdir().unwrap();
        let (meanwhile, findings) = Watch::over(Files::under(root.path())).finish(Nanos(7));
        assert_eq!(meanwhile, Meanwhile { agents: Nanos(7), ..Meanwhile::default() });
        assert!(findings.is_empty());
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_reader(text in "(cpu[0-9]? |[0-9]{1,20} |-|\n){0,40}") {
            let _ = Times::parse(&text);
        }

        #[test]
        fn a_share_is_a_share(kinds in prop::array::uniform6(0..100 * SECOND), ours in 0..200 * SECOND) {
            let [user, system, softirq, irq, steal, idle] = kinds.map(Nanos);
            let cpu = CpuUse { user, system, softirq, irq, steal, idle };
            if let Some(Finding::BusyMachine { share }) = busy(&cpu, 2, Nanos(ours)) {
                prop_assert!(share > BUSY && share <= 1.0);
            }
        }
    }
}
