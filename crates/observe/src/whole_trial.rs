//! Observations of a trial as a whole: memory, throttling, load, and the share of the machine that was others'.

use crate::cpu_quota::QuotaThrottling;
use crate::environment;
use crate::files::MachineFiles;
use crate::memory::MemoryPressure;
use crate::proc_stat::{ProcStat, ticks_per_second};
use crate::process_times::ProcessTimes;
use crate::thermal_throttling::ThermalThrottling;
use rustix::time::{ClockId, clock_gettime};
use std::time::Instant;
use tare_record::finding::{OtherWork, StolenTime};
use tare_record::{CpuUse, Finding, HostActivity, Nanos};

/// Share of all cores' time above which other programs' work is a finding.
const BUSY_SHARE: f64 = 0.10;

/// Share of all cores' time above which steal time is a finding.
const STEAL_SHARE: f64 = 0.02;

/// Wall time below which too few ticks have passed for a finding, seconds.
const MIN_SECONDS: f64 = 0.2;

/// Sources that are read before a trial and after it, whatever is between.
#[derive(Debug)]
pub(crate) struct WholeTrialObservation {
    memory: MemoryPressure,
    throttled: ThermalThrottling,
    quota: QuotaThrottling,
    began: Instant,
    stat: Option<ProcStat>,
    processes: ProcessTimes,
}

impl WholeTrialObservation {
    /// Reads the sources before a trial.
    pub(crate) fn start(files: &MachineFiles) -> Self {
        Self {
            memory: MemoryPressure::read(files),
            throttled: ThermalThrottling::read(files),
            quota: QuotaThrottling::read(files),
            began: Instant::now(),
            stat: ProcStat::read(files),
            processes: ProcessTimes::read(files),
        }
    }

    /// Returns the time since the machine's CPU time was read.
    pub(crate) fn elapsed(&self) -> Nanos {
        self.began.elapsed().into()
    }

    /// Completes the activity of a trial that lasted so long, and returns it with the findings of what was observed. `agents`
    /// is the CPU time of tare's agents and the network's daemons.
    pub(crate) fn finish(
        self,
        files: &MachineFiles,
        meanwhile: HostActivity,
        observed: &ObservedTime,
        agents: Nanos,
        lasted: Nanos,
    ) -> (HostActivity, Vec<Finding>) {
        let findings = [
            self.others_finding(files, observed, agents, lasted),
            steal_finding(&observed.by_clock(), observed.cores),
            self.throttled.finding_since(files),
            self.quota.finding_since(files),
        ];
        let load = environment::load(files).map_or(0.0, |load| load[0]);
        let memory = self.memory.memory_since(files);
        let meanwhile = HostActivity { cpu: observed.cpu, load, memory, ..meanwhile };
        (meanwhile, findings.into_iter().flatten().collect())
    }
}

impl WholeTrialObservation {
    /// Returns a finding if others were busy by both accounts: that of the observed time, less `agents` and this process,
    /// and that of the whole trial, less all of tare's processes and the kernel's threads. The first may contain daemons
    /// of other networks that are up, the second agents that another program started.
    fn others_finding(
        &self,
        files: &MachineFiles,
        observed: &ObservedTime,
        agents: Nanos,
        lasted: Nanos,
    ) -> Option<Finding> {
        let of_observed = busy_share(&observed.by_clock(), observed.cores, agents + observed.own)?;
        let (before, now) = (self.stat.as_ref()?, ProcStat::read(files)?);
        let ours = ProcessTimes::read(files).since(&self.processes);
        let mut whole = ObservedTime::default();
        whole.add(&now.total.since(&before.total, ticks_per_second()), now.core_count(), lasted);
        let of_whole = busy_share(&whole.by_clock(), whole.cores, ours)?;
        Some(Finding::OtherWork(OtherWork { share: of_observed.min(of_whole) }))
    }
}

/// CPU time of the machine while it was observed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ObservedTime {
    /// CPU time of all cores by kind, as the kernel counts it.
    pub(crate) cpu: CpuUse,
    /// Time that passed on all cores together.
    pub(crate) passed: Nanos,
    /// Number of cores; 0 if the machine's CPU time cannot be read.
    pub(crate) cores: u32,
    /// CPU time of this process.
    pub(crate) own: Nanos,
}

impl ObservedTime {
    /// Adds the time of one stretch of this length.
    pub(crate) fn add(&mut self, cpu: &CpuUse, cores: u32, length: Nanos) {
        self.cpu = self.cpu + *cpu;
        self.passed = self.passed + Nanos(length.0.saturating_mul(cores.into()));
        self.cores = cores;
    }

    /// Returns the CPU time of all cores by the clock.
    fn by_clock(&self) -> CpuUse {
        self.cpu.by_clock(self.passed)
    }
}

/// Returns the share of all cores' time that other programs took, if it is more than [`BUSY_SHARE`].
fn busy_share(cpu: &CpuUse, cores: u32, ours: Nanos) -> Option<f64> {
    // Steal time has a finding of its own.
    let others = cpu.user + cpu.system + cpu.irq - ours;
    let share = share_of_all(others, cpu, cores)?;
    (share > BUSY_SHARE).then_some(share)
}

/// Returns a finding if the hypervisor stole more than [`STEAL_SHARE`] of all cores' time.
pub(crate) fn steal_finding(cpu: &CpuUse, cores: u32) -> Option<Finding> {
    let share = share_of_all(cpu.steal, cpu, cores)?;
    (share > STEAL_SHARE).then_some(Finding::StolenTime(StolenTime { share }))
}

/// Returns a part of the time of all cores as a share of it. Returns `None` if they were observed for too short a time.
fn share_of_all(part: Nanos, cpu: &CpuUse, cores: u32) -> Option<f64> {
    let all = cpu.busy() + cpu.steal + cpu.idle;
    let is_long = all.as_secs_f64() >= MIN_SECONDS * f64::from(cores) && all.0 > 0;
    is_long.then(|| part.as_secs_f64() / all.as_secs_f64())
}

/// Returns the CPU time of this process so far.
pub(crate) fn own_time() -> Nanos {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    Nanos(seconds.saturating_mul(1_000_000_000).saturating_add(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::write_test_files;
    use crate::proc_stat::tests::stat as proc_stat;
    use crate::process_times::tests::stat;
    use proptest::prelude::*;

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
        assert_eq!(busy_share(&one_second_of(2, 8, 4, 0), 2, agents), None);
        let found = busy_share(&one_second_of(8, 8, 2, 0), 2, agents);
        assert!(found.is_some_and(|share| (share - 0.3).abs() < 1e-9), "{found:?}");
    }

    /// In a second on two cores other programs take half a core, daemons of tare's that no agent knows of another half,
    /// and a work queue of the kernel's a quarter.
    #[test]
    fn processes_of_tares_own_and_threads_of_the_kernel_are_no_other_work() {
        let root = tempfile::tempdir().unwrap();
        let own = std::process::id();
        let lay = |ticks: u64| {
            let busy = ticks * 5 / 4;
            let cpu = proc_stat([busy, 0, 0, ticks * 2 - busy, 0, 0, 0, 0]);
            let daemon = stat(own + 1, "weaver", own, [ticks / 2, 0, 0, 0]);
            let queue = stat(3, "kworker/0:1", 2, [0, ticks / 4, 0, 0]);
            let files = [
                ("proc/stat".to_owned(), cpu),
                (format!("proc/{own}/stat"), stat(own, "tare", 1, [0; 4])),
                (format!("proc/{}/stat", own + 1), daemon),
                ("proc/3/stat".to_owned(), queue),
            ];
            let files: Vec<(&str, &str)> =
                files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
            write_test_files(root.path(), &files)
        };
        let whole = WholeTrialObservation::start(&lay(0));
        let files = lay(ticks_per_second());
        let found = |agents: Nanos| {
            let cpu = CpuUse { idle: Nanos(3 * SECOND / 4), ..one_second_of(12, 0, 0, 0) };
            let cpu = CpuUse { user: Nanos(SECOND * 5 / 4), ..cpu };
            let mut observed = ObservedTime::default();
            observed.add(&cpu, 2, Nanos(SECOND));
            whole.others_finding(&files, &observed, agents, Nanos(SECOND))
        };
        let share = |finding: Option<Finding>| match finding {
            Some(Finding::OtherWork(OtherWork { share })) => share,
            other => panic!("{other:?}"),
        };
        assert!((share(found(Nanos(0))) - 0.25).abs() < 0.02, "{:?}", found(Nanos(0)));
        // Agents that another program started are known only to the first account.
        assert!((share(found(Nanos(SECOND))) - 0.125).abs() < 0.02);
        assert_eq!(found(Nanos(SECOND * 5 / 4)), None);
    }

    #[test]
    fn softirq_and_stolen_time_are_nobodys() {
        assert_eq!(busy_share(&one_second_of(0, 0, 20, 0), 2, Nanos(0)), None);
        assert_eq!(busy_share(&one_second_of(0, 0, 0, 5), 2, Nanos(0)), None);
    }

    #[test]
    fn what_the_hypervisor_took_is_told() {
        assert!(matches!(
            steal_finding(&one_second_of(5, 0, 0, 2), 2),
            Some(Finding::StolenTime(StolenTime { share })) if (share - 0.1).abs() < 1e-9
        ));
        assert_eq!(steal_finding(&one_second_of(15, 0, 0, 0), 2), None);
        assert_eq!(steal_finding(&CpuUse::default(), 0), None);
    }

    #[test]
    fn too_short_to_tell() {
        let busy_for = |ms: u64| CpuUse { user: Nanos(ms * 1_000_000), ..CpuUse::default() };
        assert_eq!(busy_share(&busy_for(390), 2, Nanos(0)), None);
        assert!(busy_share(&busy_for(400), 2, Nanos(0)).is_some());
        assert_eq!(busy_share(&CpuUse::default(), 0, Nanos(0)), None);
    }

    proptest! {
        #[test]
        fn a_share_is_a_share(kinds in prop::array::uniform6(0..100 * SECOND), ours in 0..200 * SECOND) {
            let [user, system, softirq, irq, steal, idle] = kinds.map(Nanos);
            let cpu = CpuUse { user, system, softirq, irq, steal, idle };
            if let Some(share) = busy_share(&cpu, 2, Nanos(ours)) {
                prop_assert!(share > BUSY_SHARE && share <= 1.0);
            }
        }
    }
}
