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
use crate::files::MachineFiles;
use crate::kept_files::KeptFiles;
use crate::perf_counters::PerfCounters;
use crate::proc_stat::{ProcStat, ticks_per_second};
use crate::sampler::{MachineSampler, MachineSamples};
use crate::whole_trial::{ObservedTime, WholeTrialObservation, own_time};
use tare_record::{Finding, HostActivity, MeasurementOverhead, Nanos, TrialCounters};

/// Observation of the machine over a span of time.
#[derive(Debug)]
pub struct HostActivityMonitor {
    files: MachineFiles,
    start: Option<ProcStat>,
    own: Nanos,
    sampler: MachineSampler,
    whole: WholeTrialObservation,
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
            ..Self::with_files(MachineFiles::machine(), KeptFiles::machine(), trial, counters)
        }
    }

    /// Starts to observe the machine of these files. `kept` are those that the sampler reads.
    fn with_files(
        files: MachineFiles,
        kept: KeptFiles,
        trial: Nanos,
        counters: Option<PerfCounters>,
    ) -> Self {
        let sampler = MachineSampler::start(kept, trial, counters);
        let whole = WholeTrialObservation::start(&files);
        let start = ProcStat::read(&files);
        Self { start, own: own_time(), sampler, whole, cores: None, files }
    }

    /// Returns the machine's activity since the start. `agents` is the CPU time (user and system) that tare's agents
    /// and the network's own daemons took; the time of this process is added here. `epoch` is the time of the trial's
    /// first payload, by the monotonic clock: samples are timed relative to it.
    ///
    /// If `/proc/stat` cannot be read, all times are 0 and its findings are missing.
    #[must_use]
    pub fn finish(self, agents: Nanos, epoch: Option<Nanos>) -> (HostActivity, Vec<Finding>) {
        let lasted = self.whole.elapsed();
        self.finish_after(lasted, agents, epoch)
    }

    /// Returns the activity of a trial that lasted so long: see [`Self::finish`].
    fn finish_after(
        self,
        lasted: Nanos,
        agents: Nanos,
        epoch: Option<Nanos>,
    ) -> (HostActivity, Vec<Finding>) {
        let MachineSamples { samples, frequency, hardware, cost } = self.sampler.finish(epoch);
        let end = ProcStat::read(&self.files);
        let cores = self.cores.map(|before| CoreCounterReading::read_machine().since(&before));
        let stat = self.start.zip(end);
        let switches = stat
            .as_ref()
            .map(|(start, end)| end.context_switches.saturating_sub(start.context_switches));
        let meanwhile = HostActivity {
            agents,
            samples,
            frequency,
            hardware,
            counted: TrialCounters {
                cores: cores.unwrap_or_default(),
                context_switches: switches.unwrap_or_default(),
                ..TrialCounters::default()
            },
            overhead: MeasurementOverhead {
                samples: cost.0,
                sampling: cost.1,
                ..MeasurementOverhead::default()
            },
            ..HostActivity::default()
        };
        let mut observed = ObservedTime { own: own_time() - self.own, ..ObservedTime::default() };
        if let Some((start, end)) = stat {
            let used = end.total.since(&start.total, ticks_per_second());
            observed.add(&used, end.core_count(), lasted);
        }
        self.whole.finish(&self.files, meanwhile, &observed, agents, lasted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::write_test_files;
    use crate::proc_stat::tests::stat;
    use tare_record::HostMemory;
    use tare_record::finding::{QuotaThrottledTime, StolenTime, ThrottlingEvents};

    const SECOND: u64 = 1_000_000_000;

    fn observe(files: MachineFiles) -> HostActivityMonitor {
        let kept = KeptFiles::new(files.clone());
        HostActivityMonitor::with_files(files, kept, Nanos(SECOND), None)
    }

    #[test]
    fn a_watch_reads_twice() {
        let root = tempfile::tempdir().unwrap();
        let before = stat([0, 0, 0, 0, 0, 0, 0, 0]);
        write_test_files(
            root.path(),
            &[("proc/stat", &before), ("proc/loadavg", "0.1 0.2 0.3 1/9 7\n")],
        );
        let watch = observe(MachineFiles::under(root.path()));
        let ticks = ticks_per_second();
        let after = stat([ticks, 0, 0, ticks, 0, 0, 0, 0]).replace("ctxt 7\n", "ctxt 49\n");
        write_test_files(
            root.path(),
            &[("proc/stat", &after), ("proc/loadavg", "1.5 0.2 0.3 1/9 7\n")],
        );
        let (meanwhile, findings) = watch.finish_after(Nanos(SECOND), Nanos(7), None);
        assert_eq!(meanwhile.cpu.user, Nanos(SECOND));
        assert_eq!(meanwhile.cpu.idle, Nanos(SECOND));
        assert_eq!(meanwhile.agents, Nanos(7));
        assert_eq!(meanwhile.counted.context_switches, 42);
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
        let watch = observe(files);
        let after = stat([0, 0, ticks, ticks * 2, 0, 0, 0, ticks]);
        lay(&after, "3\n", "throttled_usec 2010\n");
        let (_, findings) = watch.finish_after(Nanos(2 * SECOND), Nanos(SECOND), None);
        assert_eq!(
            findings,
            [
                Finding::StolenTime(StolenTime { share: 0.25 }),
                Finding::ThrottlingEvents(ThrottlingEvents { times: 2 }),
                Finding::QuotaThrottledTime(QuotaThrottledTime { waited: Nanos(2_000_000) }),
            ]
        );
    }

    #[test]
    fn without_the_file_nothing_is_said() {
        let root = tempfile::tempdir().unwrap();
        let (meanwhile, findings) =
            observe(MachineFiles::under(root.path())).finish(Nanos(7), None);
        assert_eq!(meanwhile, HostActivity { agents: Nanos(7), ..HostActivity::default() });
        assert!(findings.is_empty());
    }
}
