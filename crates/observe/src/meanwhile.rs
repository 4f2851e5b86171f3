//! What the CPUs did while a trial ran, and how much of it was not ours.
//!
//! The source is `/proc/stat` (proc(5)), read before and after and at a few moments in between, so that the CPU time of
//! a trial's steady part can be told, which is known only afterwards.
//!
//! Whose time it was cannot be told exactly. The kernel books a software interrupt as `softirq` in `/proc/stat`
//! *and* in the system time of the process it happened to interrupt; it runs for an agent's packets inside the
//! agent, in `ksoftirqd` or on an idle core. So softirq is never counted as other people's, and the agents' time is
//! taken off programs' time alone. What remains is the least that others took: a machine found busy was busy.

use crate::cores::Cores;
use crate::environment;
use crate::files::Files;
use crate::hardware::Counters;
use crate::memory::Pressure;
use crate::quota::Quota;
use crate::sampler::{Sampled, Sampler};
use crate::throttle::Throttled;
use crate::times::{Stat, ticks_per_second};
use rustix::time::{ClockId, clock_gettime};
use tare_record::{Counted, CpuUse, Finding, Meanwhile, Nanos, Overhead};

/// The share of all cores' time from which on others' work is a finding.
const BUSY: f64 = 0.10;

/// The share of all cores' time from which on what the hypervisor took is a finding.
const STOLEN: f64 = 0.02;

/// Wall time below which too few ticks have passed to tell, seconds.
const SHORTEST: f64 = 0.2;

/// A span of time during which the machine is watched.
#[derive(Debug)]
pub struct Watch {
    files: Files,
    start: Option<Stat>,
    own: Nanos,
    sampler: Sampler,
    memory: Pressure,
    throttled: Throttled,
    quota: Quota,
    /// Nothing where the files are not the machine's.
    cores: Option<Cores>,
}

impl Watch {
    /// Begins to watch a trial of this length, whose traffic these processes carry.
    #[must_use]
    pub fn start(trial: Nanos, agents: &[u32]) -> Self {
        let counters = Counters::machine(agents);
        Self { cores: Some(Cores::machine()), ..Self::over(Files::machine(), trial, counters) }
    }

    fn over(files: Files, trial: Nanos, counters: Option<Counters>) -> Self {
        let sampler = Sampler::start(files.clone(), trial, counters);
        let memory = Pressure::now(&files);
        let throttled = Throttled::now(&files);
        let quota = Quota::now(&files);
        let start = Stat::read(&files);
        Self { start, own: own_time(), sampler, memory, throttled, quota, cores: None, files }
    }

    /// What the machine did since the start. `agents` is the CPU time (user and system) that tare's agents and the
    /// network's own daemons took meanwhile; this process's own time is known here. `epoch` is when the trial's first
    /// payload was there, by the monotonic clock: samples are told by the time after it.
    ///
    /// Where `/proc/stat` cannot be read, all times are zero and nothing is found.
    #[must_use]
    pub fn finish(self, agents: Nanos, epoch: Option<Nanos>) -> (Meanwhile, Vec<Finding>) {
        let Sampled { samples, frequency, hardware, cost } = self.sampler.finish(epoch);
        let end = Stat::read(&self.files);
        let load = environment::load(&self.files).map_or(0.0, |load| load[0]);
        let memory = self.memory.until_now(&self.files);
        let counted = self.cores.map(|before| Cores::machine().since(&before));
        let (cores, context_switches) = counted.unwrap_or_default();
        let counted = Counted { cores, context_switches, ..Counted::default() };
        let meanwhile = Meanwhile {
            agents,
            load,
            samples,
            frequency,
            hardware,
            memory,
            counted,
            overhead: Overhead { samples: cost.0, sampling: cost.1, ..Overhead::default() },
            ..Meanwhile::default()
        };
        let held: Vec<Finding> =
            [self.throttled.until_now(&self.files), self.quota.until_now(&self.files)]
                .into_iter()
                .flatten()
                .collect();
        let Some((start, end)) = self.start.zip(end) else {
            return (meanwhile, held);
        };
        let cpu = end.whole.since(&start.whole, ticks_per_second());
        let ours = agents + (own_time() - self.own);
        let findings = busy(&cpu, end.count(), ours)
            .into_iter()
            .chain(stolen(&cpu, end.count()))
            .chain(held)
            .collect();
        (Meanwhile { cpu, ..meanwhile }, findings)
    }
}

/// A finding where others took more than their due of all cores' time.
fn busy(cpu: &CpuUse, cores: u32, ours: Nanos) -> Option<Finding> {
    let all = cpu.user + cpu.system + cpu.softirq + cpu.irq + cpu.steal + cpu.idle;
    if all.as_secs_f64() < SHORTEST * f64::from(cores) || all.0 == 0 {
        return None;
    }
    // What was stolen has a finding of its own.
    let others = cpu.user + cpu.system + cpu.irq - ours;
    let share = others.as_secs_f64() / all.as_secs_f64();
    (share > BUSY).then_some(Finding::BusyMachine { share })
}

/// A finding where the hypervisor let more of all cores' time wait than may be passed over.
fn stolen(cpu: &CpuUse, cores: u32) -> Option<Finding> {
    let all = cpu.user + cpu.system + cpu.softirq + cpu.irq + cpu.steal + cpu.idle;
    if all.as_secs_f64() < SHORTEST * f64::from(cores) || all.0 == 0 {
        return None;
    }
    let share = cpu.steal.as_secs_f64() / all.as_secs_f64();
    (share > STOLEN).then_some(Finding::Stolen { share })
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
    use crate::times::tests::stat;
    use proptest::prelude::*;
    use tare_record::Memory;

    const SECOND: u64 = 1_000_000_000;

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
    fn softirq_and_stolen_time_are_nobodys() {
        assert_eq!(busy(&one_second_of(0, 0, 20, 0), 2, Nanos(0)), None);
        assert_eq!(busy(&one_second_of(0, 0, 0, 5), 2, Nanos(0)), None);
    }

    #[test]
    fn what_the_hypervisor_took_is_told() {
        assert!(matches!(
            stolen(&one_second_of(5, 0, 0, 2), 2),
            Some(Finding::Stolen { share }) if (share - 0.1).abs() < 1e-9
        ));
        assert_eq!(stolen(&one_second_of(15, 0, 0, 0), 2), None);
        assert_eq!(stolen(&CpuUse::default(), 0), None);
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
        let watch = Watch::over(Files::under(root.path()), Nanos(SECOND), None);
        let ticks = ticks_per_second();
        let after = stat([ticks, 0, 0, ticks, 0, 0, 0, 0]);
        lay_out(root.path(), &[("proc/stat", &after), ("proc/loadavg", "1.5 0.2 0.3 1/9 7\n")]);
        let (meanwhile, findings) = watch.finish(Nanos(7), None);
        assert_eq!(meanwhile.cpu.user, Nanos(SECOND));
        assert_eq!(meanwhile.cpu.idle, Nanos(SECOND));
        assert_eq!(meanwhile.agents, Nanos(7));
        assert_eq!(meanwhile.load, 1.5);
        assert_eq!(meanwhile.memory, Memory::default(), "no file says anything of memory");
        assert_eq!(findings.len(), 1);
    }

    #[test]
    fn a_noisy_machine_is_told_by_what_it_counted() {
        const HOT: &str = "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count";
        let root = tempfile::tempdir().unwrap();
        let ticks = ticks_per_second();
        let lay = |stat: &str, hot: &str, held: &str| {
            let files = [
                ("proc/stat", stat),
                ("proc/self/mounts", "cgroup2 /cg cgroup2 rw 0 0\n"),
                ("proc/self/cgroup", "0::/job\n"),
                ("cg/job/cpu.stat", held),
                (HOT, hot),
            ];
            lay_out(root.path(), &files)
        };
        let files = lay(&stat([0; 8]), "1\n", "throttled_usec 10\n");
        let watch = Watch::over(files, Nanos(SECOND), None);
        let after = stat([0, 0, ticks, ticks * 2, 0, 0, 0, ticks]);
        lay(&after, "3\n", "throttled_usec 2010\n");
        let (_, findings) = watch.finish(Nanos(SECOND), None);
        assert_eq!(
            findings,
            [
                Finding::Stolen { share: 0.25 },
                Finding::Throttled { times: 2 },
                Finding::OverQuota { waited: Nanos(2_000_000) },
            ]
        );
    }

    #[test]
    fn without_the_file_nothing_is_said() {
        let root = tempfile::tempdir().unwrap();
        let (meanwhile, findings) =
            Watch::over(Files::under(root.path()), Nanos(SECOND), None).finish(Nanos(7), None);
        assert_eq!(meanwhile, Meanwhile { agents: Nanos(7), ..Meanwhile::default() });
        assert!(findings.is_empty());
    }

    proptest! {
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
