//! Activity of the host's CPUs during a trial, and the share of it that was not tare's.
//!
//! The source is `/proc/stat` (proc(5)), read before and after a trial and at a few moments in between, so that the CPU
//! time of the trial's steady part, which is known only afterwards, can be computed.
//!
//! The owner of CPU time cannot be determined exactly. The kernel accounts a software interrupt as `softirq` in
//! `/proc/stat` *and* in the system time of the process that it interrupted; for an agent's packets it runs inside the
//! agent, in `ksoftirqd` or on an idle core. So softirq is never counted as other programs' time, and the agents' time
//! is subtracted from programs' time alone. The remainder is a lower bound of other programs' time: a machine found
//! busy was busy.

use crate::core_counters::CoreCounterReading;
use crate::cpu_quota::QuotaThrottling;
use crate::environment;
use crate::files::MachineFiles;
use crate::memory::MemoryPressure;
use crate::perf_counters::PerfCounters;
use crate::proc_stat::{ProcStat, ticks_per_second};
use crate::sampler::{MachineSampler, MachineSamples};
use crate::thermal_throttling::ThermalThrottling;
use rustix::time::{ClockId, clock_gettime};
use tare_record::{CpuUse, Finding, HostActivity, MeasurementOverhead, Nanos, TrialCounters};

/// Share of all cores' time above which other programs' work is a finding.
const BUSY_SHARE: f64 = 0.10;

/// Share of all cores' time above which steal time is a finding.
const STEAL_SHARE: f64 = 0.02;

/// Wall time below which too few ticks have passed for a finding, seconds.
const MIN_SECONDS: f64 = 0.2;

/// Observation of the machine over a span of time.
#[derive(Debug)]
pub struct HostActivityMonitor {
    files: MachineFiles,
    start: Option<ProcStat>,
    own: Nanos,
    sampler: MachineSampler,
    memory: MemoryPressure,
    throttled: ThermalThrottling,
    quota: QuotaThrottling,
    /// `None` if the files are not this machine's.
    cores: Option<CoreCounterReading>,
}

impl HostActivityMonitor {
    /// Starts to observe a trial of this length. `agents` are the processes that carry its traffic.
    #[must_use]
    pub fn start(trial: Nanos, agents: &[u32]) -> Self {
        let counters = PerfCounters::open_machine(agents);
        Self {
            cores: Some(CoreCounterReading::read_machine()),
            ..Self::with_files(MachineFiles::machine(), trial, counters)
        }
    }

    fn with_files(files: MachineFiles, trial: Nanos, counters: Option<PerfCounters>) -> Self {
        let sampler = MachineSampler::start(files.clone(), trial, counters);
        let memory = MemoryPressure::read(&files);
        let throttled = ThermalThrottling::read(&files);
        let quota = QuotaThrottling::read(&files);
        let start = ProcStat::read(&files);
        Self { start, own: own_time(), sampler, memory, throttled, quota, cores: None, files }
    }

    /// Returns the machine's activity since the start. `agents` is the CPU time (user and system) that tare's agents
    /// and the network's own daemons took; the time of this process is added here. `epoch` is the time of the trial's
    /// first payload, by the monotonic clock: samples are timed relative to it.
    ///
    /// If `/proc/stat` cannot be read, all times are 0 and its findings are missing.
    #[must_use]
    pub fn finish(self, agents: Nanos, epoch: Option<Nanos>) -> (HostActivity, Vec<Finding>) {
        let MachineSamples { samples, frequency, hardware, cost } = self.sampler.finish(epoch);
        let end = ProcStat::read(&self.files);
        let load = environment::load(&self.files).map_or(0.0, |load| load[0]);
        let memory = self.memory.memory_since(&self.files);
        let counted = self.cores.map(|before| CoreCounterReading::read_machine().since(&before));
        let (cores, context_switches) = counted.unwrap_or_default();
        let counted = TrialCounters { cores, context_switches, ..TrialCounters::default() };
        let meanwhile = HostActivity {
            agents,
            load,
            samples,
            frequency,
            hardware,
            memory,
            counted,
            overhead: MeasurementOverhead {
                samples: cost.0,
                sampling: cost.1,
                ..MeasurementOverhead::default()
            },
            ..HostActivity::default()
        };
        let held: Vec<Finding> =
            [self.throttled.finding_since(&self.files), self.quota.finding_since(&self.files)]
                .into_iter()
                .flatten()
                .collect();
        let Some((start, end)) = self.start.zip(end) else {
            return (meanwhile, held);
        };
        let cpu = end.total.since(&start.total, ticks_per_second());
        let ours = agents + (own_time() - self.own);
        let findings = busy_finding(&cpu, end.core_count(), ours)
            .into_iter()
            .chain(steal_finding(&cpu, end.core_count()))
            .chain(held)
            .collect();
        (HostActivity { cpu, ..meanwhile }, findings)
    }
}

/// Returns a finding if other programs took more than [`BUSY_SHARE`] of all cores' time.
fn busy_finding(cpu: &CpuUse, cores: u32, ours: Nanos) -> Option<Finding> {
    let all = cpu.user + cpu.system + cpu.softirq + cpu.irq + cpu.steal + cpu.idle;
    if all.as_secs_f64() < MIN_SECONDS * f64::from(cores) || all.0 == 0 {
        return None;
    }
    // Steal time has a finding of its own.
    let others = cpu.user + cpu.system + cpu.irq - ours;
    let share = others.as_secs_f64() / all.as_secs_f64();
    (share > BUSY_SHARE).then_some(Finding::BusyMachine { share })
}

/// Returns a finding if the hypervisor stole more than [`STEAL_SHARE`] of all cores' time.
fn steal_finding(cpu: &CpuUse, cores: u32) -> Option<Finding> {
    let all = cpu.user + cpu.system + cpu.softirq + cpu.irq + cpu.steal + cpu.idle;
    if all.as_secs_f64() < MIN_SECONDS * f64::from(cores) || all.0 == 0 {
        return None;
    }
    let share = cpu.steal.as_secs_f64() / all.as_secs_f64();
    (share > STEAL_SHARE).then_some(Finding::Stolen { share })
}

/// Returns the CPU time of this process so far.
fn own_time() -> Nanos {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    Nanos(seconds.saturating_mul(1_000_000_000).saturating_add(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::write_test_files;
    use crate::proc_stat::tests::stat;
    use proptest::prelude::*;
    use tare_record::HostMemory;

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
        assert_eq!(busy_finding(&one_second_of(2, 8, 4, 0), 2, agents), None);
        let found = busy_finding(&one_second_of(8, 8, 2, 0), 2, agents);
        assert!(
            matches!(found, Some(Finding::BusyMachine { share }) if (share - 0.3).abs() < 1e-9),
            "{found:?}"
        );
    }

    #[test]
    fn softirq_and_stolen_time_are_nobodys() {
        assert_eq!(busy_finding(&one_second_of(0, 0, 20, 0), 2, Nanos(0)), None);
        assert_eq!(busy_finding(&one_second_of(0, 0, 0, 5), 2, Nanos(0)), None);
    }

    #[test]
    fn what_the_hypervisor_took_is_told() {
        assert!(matches!(
            steal_finding(&one_second_of(5, 0, 0, 2), 2),
            Some(Finding::Stolen { share }) if (share - 0.1).abs() < 1e-9
        ));
        assert_eq!(steal_finding(&one_second_of(15, 0, 0, 0), 2), None);
        assert_eq!(steal_finding(&CpuUse::default(), 0), None);
    }

    #[test]
    fn too_short_to_tell() {
        let busy_for = |ms: u64| CpuUse { user: Nanos(ms * 1_000_000), ..CpuUse::default() };
        assert_eq!(busy_finding(&busy_for(390), 2, Nanos(0)), None);
        assert!(busy_finding(&busy_for(400), 2, Nanos(0)).is_some());
        assert_eq!(busy_finding(&CpuUse::default(), 0, Nanos(0)), None);
    }

    #[test]
    fn a_watch_reads_twice() {
        let root = tempfile::tempdir().unwrap();
        let before = stat([0, 0, 0, 0, 0, 0, 0, 0]);
        write_test_files(
            root.path(),
            &[("proc/stat", &before), ("proc/loadavg", "0.1 0.2 0.3 1/9 7\n")],
        );
        let watch =
            HostActivityMonitor::with_files(MachineFiles::under(root.path()), Nanos(SECOND), None);
        let ticks = ticks_per_second();
        let after = stat([ticks, 0, 0, ticks, 0, 0, 0, 0]);
        write_test_files(
            root.path(),
            &[("proc/stat", &after), ("proc/loadavg", "1.5 0.2 0.3 1/9 7\n")],
        );
        let (meanwhile, findings) = watch.finish(Nanos(7), None);
        assert_eq!(meanwhile.cpu.user, Nanos(SECOND));
        assert_eq!(meanwhile.cpu.idle, Nanos(SECOND));
        assert_eq!(meanwhile.agents, Nanos(7));
        assert_eq!(meanwhile.load, 1.5);
        assert_eq!(meanwhile.memory, HostMemory::default(), "no file says anything of memory");
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
            write_test_files(root.path(), &files)
        };
        let files = lay(&stat([0; 8]), "1\n", "throttled_usec 10\n");
        let watch = HostActivityMonitor::with_files(files, Nanos(SECOND), None);
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
            HostActivityMonitor::with_files(MachineFiles::under(root.path()), Nanos(SECOND), None)
                .finish(Nanos(7), None);
        assert_eq!(meanwhile, HostActivity { agents: Nanos(7), ..HostActivity::default() });
        assert!(findings.is_empty());
    }

    proptest! {
        #[test]
        fn a_share_is_a_share(kinds in prop::array::uniform6(0..100 * SECOND), ours in 0..200 * SECOND) {
            let [user, system, softirq, irq, steal, idle] = kinds.map(Nanos);
            let cpu = CpuUse { user, system, softirq, irq, steal, idle };
            if let Some(Finding::BusyMachine { share }) = busy_finding(&cpu, 2, Nanos(ours)) {
                prop_assert!(share > BUSY_SHARE && share <= 1.0);
            }
        }
    }
}
