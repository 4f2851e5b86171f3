//! Sampler of the machine during a trial: CPU time of each core, frequency of the cores, and hardware counters.

use crate::frequency::{self, CoreFrequencies, MeanFrequency};
use crate::kept_files::KeptFiles;
use crate::perf_counters::{PerfCounters, PerfReadings};
use crate::proc_stat::{ProcStat, ticks_per_second};
use rustix::time::{ClockId, clock_gettime};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tare_record::{CpuUse, HardwareCounters, MachineSample, Nanos};

/// Number of samples of a trial: few, because on a machine of many cores each is long.
const SAMPLES: u64 = 20;
/// Shortest time between two samples, ns: the file counts in ticks of 10 ms, and reading it takes time itself.
const MIN_INTERVAL: u64 = 50_000_000;

/// One reading of all sources.
#[derive(Clone, Debug, Default)]
pub(crate) struct MachineReading {
    /// Time of the reading, by the monotonic clock.
    pub(crate) at: Nanos,
    pub(crate) stat: ProcStat,
    pub(crate) frequencies: CoreFrequencies,
    pub(crate) hardware: Option<PerfReadings>,
    /// Duration of the reading.
    pub(crate) duration: Duration,
}

/// Samples of a trial.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct MachineSamples {
    /// Samples from the epoch on, preceded by the last one before it.
    pub(crate) samples: Vec<MachineSample>,
    /// Mean frequency of busy cores, MHz; `None` if cores do not report it.
    pub(crate) frequency: Option<f64>,
    /// Counts of the hardware counters; `None` if there are none.
    pub(crate) hardware: Option<HardwareCounters>,
    /// Number of readings, and the time that they took together.
    pub(crate) cost: (u32, Nanos),
}

/// Thread that reads the machine at intervals.
#[derive(Debug)]
pub(crate) struct MachineSampler {
    /// Sender that is closed to end the thread.
    stop: Sender<()>,
    thread: Option<JoinHandle<(Vec<MachineReading>, Option<PerfCounters>)>>,
}

impl MachineSampler {
    /// Starts to sample a trial of this length, with these counters.
    pub(crate) fn start(files: KeptFiles, trial: Nanos, counters: Option<PerfCounters>) -> Self {
        let (stop, stopped) = channel::<()>();
        let step = sampling_interval(trial);
        let thread = thread::Builder::new().name("sample the cores".to_owned()).spawn(move || {
            let readings =
                take_readings(&files, counters.as_ref(), || wait_for_next(&stopped, step));
            (readings, counters)
        });
        Self { stop, thread: thread.ok() }
    }

    /// Stops the thread and returns its samples, timed relative to `epoch`; without an epoch, relative to the first.
    pub(crate) fn finish(self, epoch: Option<Nanos>) -> MachineSamples {
        drop(self.stop);
        let read = self.thread.and_then(|thread| thread.join().ok());
        let (readings, counters) = read.unwrap_or_default();
        to_samples(readings, counters.as_ref(), epoch)
    }
}

/// Returns the time between two samples of a trial of this length.
fn sampling_interval(trial: Nanos) -> Duration {
    Duration::from_nanos((trial.0 / SAMPLES).max(MIN_INTERVAL))
}

/// Waits for the next sample. Returns `false` as soon as the sampler is stopped.
fn wait_for_next(stopped: &Receiver<()>, step: Duration) -> bool {
    stopped.recv_timeout(step) == Err(RecvTimeoutError::Timeout)
}

/// Takes readings: one at the beginning, one after each wait, one at the end.
fn take_readings(
    files: &KeptFiles,
    counters: Option<&PerfCounters>,
    mut wait: impl FnMut() -> bool,
) -> Vec<MachineReading> {
    let mut readings = Vec::new();
    loop {
        readings.extend(read(files, counters));
        if !wait() {
            readings.extend(read(files, counters));
            return readings;
        }
    }
}

fn to_samples(
    mut readings: Vec<MachineReading>,
    counters: Option<&PerfCounters>,
    epoch: Option<Nanos>,
) -> MachineSamples {
    let Some(first) = readings.first() else {
        return MachineSamples::default();
    };
    let epoch = epoch.unwrap_or(first.at);
    let took = readings.iter().map(|one| Nanos::from(one.duration));
    let cost = (readings.len() as u32, took.fold(Nanos(0), |sum, one| sum + one));
    let before = readings.iter().rposition(|one| one.at <= epoch).unwrap_or(0);
    let mut kept = readings.split_off(before);
    let after_epoch = |at: Nanos| Nanos(at.0.saturating_sub(epoch.0));
    let hardware: Vec<_> =
        kept.iter_mut().map(|one| (after_epoch(one.at), one.hardware.take())).collect();
    let start = &kept[0].stat;
    let ticks = ticks_per_second();
    let used = |one: &MachineReading| -> Vec<CpuUse> {
        let cores = one.stat.cores.iter().zip(&start.cores);
        cores.map(|(core, start)| core.since(start, ticks)).collect()
    };
    // What was used between the reading before the epoch and the epoch itself is no part of the trial.
    let next = kept.get(1).unwrap_or(&kept[0]);
    let share = share_of_way(kept[0].at, next.at, epoch);
    let before_epoch: Vec<CpuUse> = used(next).iter().map(|core| core.scaled(share)).collect();
    let sample = |one: &MachineReading| MachineSample {
        at: after_epoch(one.at),
        cores: used(one).iter().zip(&before_epoch).map(|(core, before)| *core - *before).collect(),
    };
    let mut mean = MeanFrequency::default();
    for pair in kept.windows(2) {
        mean.add(&pair[0].stat.cores, &pair[1].stat.cores, &pair[1].frequencies);
    }
    MachineSamples {
        samples: kept.iter().map(sample).collect(),
        frequency: mean.megahertz(),
        hardware: counters.and_then(|counters| counters.to_record(&hardware)),
        cost,
    }
}

/// Returns the position of a moment between two others, from 0 to 1.
fn share_of_way(from: Nanos, to: Nanos, moment: Nanos) -> f64 {
    let length = (to - from).0.max(1) as f64;
    ((moment - from).0 as f64 / length).min(1.0)
}

/// Reads all sources once.
pub(crate) fn read(files: &KeptFiles, counters: Option<&PerfCounters>) -> Option<MachineReading> {
    let begun = Instant::now();
    let stat = files.parse("proc/stat", ProcStat::parse)?;
    let now = clock_gettime(ClockId::Monotonic);
    let hardware = counters.and_then(PerfCounters::read);
    let at = Nanos(now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs());
    let frequencies = frequency::read_frequencies(files, stat.cores.len());
    Some(MachineReading { at, stat, frequencies, hardware, duration: begun.elapsed() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::write_test_files;
    use crate::sys::perf::{BURNED_NANOS, burn_cpu};
    use tare_record::CpuUse;

    /// Shortest time between two samples between which [`burn_cpu`] was called. It is half of the CPU time that
    /// [`burn_cpu`] takes, because the kernel's clocks differ: time is corrected by up to 500 ppm, and a switch of
    /// threads counts for some clocks and not for others.
    const LEAST: Nanos = Nanos(BURNED_NANOS / 2);

    /// Returns samples of this machine with `waits` waits in between, during each of which this thread works.
    fn machine(waits: usize, counters: Option<PerfCounters>) -> MachineSamples {
        let mut left = waits;
        let readings = take_readings(&KeptFiles::machine(), counters.as_ref(), || {
            burn_cpu();
            left -= 1;
            left > 0
        });
        to_samples(readings, counters.as_ref(), None)
    }

    #[test]
    fn samples_begin_at_the_epoch_and_never_go_back() {
        let MachineSamples { samples, cost, .. } = machine(4, None);
        assert_eq!((samples.len(), cost.0), (5, 5));
        assert_eq!(samples[0].at, Nanos(0));
        assert!(samples[0].cores.iter().all(|core| *core == CpuUse::default()));
        for pair in samples.windows(2) {
            assert!(pair[1].at - pair[0].at >= LEAST, "{samples:?}");
            assert_eq!(pair[0].cores.len(), pair[1].cores.len());
            assert!(
                pair[0].cores.iter().zip(&pair[1].cores).all(|(one, two)| one.user <= two.user)
            );
        }
    }

    #[test]
    fn of_what_was_before_the_epoch_only_the_last_is_kept() {
        let readings: Vec<MachineReading> = [10, 20, 30, 40]
            .map(|at| MachineReading {
                at: Nanos(at),
                duration: Duration::from_nanos(3),
                ..MachineReading::default()
            })
            .into();
        let at = |epoch| -> Vec<u64> {
            to_samples(readings.clone(), None, epoch).samples.iter().map(|one| one.at.0).collect()
        };
        assert_eq!(at(Some(Nanos(25))), [0, 5, 15]);
        assert_eq!(at(Some(Nanos(5))), [5, 15, 25, 35]);
        assert_eq!(at(None), [0, 10, 20, 30]);
        assert_eq!(to_samples(readings.clone(), None, Some(Nanos(25))).cost, (4, Nanos(12)));
        assert_eq!(to_samples(Vec::new(), None, None), MachineSamples::default());
    }

    /// The first payload comes a quarter of the way from one reading to the next, and both cores are busy all the time.
    #[test]
    fn what_was_used_before_the_epoch_is_left_out() {
        let root = tempfile::tempdir().unwrap();
        let ticks = ticks_per_second();
        let reading = |seconds: u64| {
            let text = crate::proc_stat::tests::stat([seconds * ticks, 0, 0, 0, 0, 0, 0, 0]);
            let files = write_test_files(root.path(), &[("proc/stat", &text)]);
            let at = Nanos(seconds * 1_000_000_000);
            MachineReading { at, ..read(&KeptFiles::new(files), None).unwrap() }
        };
        let readings = [reading(0), reading(4), reading(6)].to_vec();
        let samples = to_samples(readings, None, Some(Nanos(1_000_000_000))).samples;
        let used: Vec<_> = samples.iter().map(|one| (one.at, one.cores[1].user)).collect();
        let seconds = |count: u64| Nanos(count * 1_000_000_000);
        assert_eq!(used, [0, 3, 5].map(|count| (seconds(count), seconds(count))));
    }

    #[test]
    fn how_fast_busy_cores_ran_is_told_from_the_epoch_on() {
        let root = tempfile::tempdir().unwrap();
        let ticks = ticks_per_second();
        let mut at = 0;
        let mut reading = |seconds: u64, kilohertz: &str| {
            let text = crate::proc_stat::tests::stat([seconds * ticks, 0, 0, 0, 0, 0, 0, 0]);
            let speed = "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq";
            let files = write_test_files(root.path(), &[("proc/stat", &text), (speed, kilohertz)]);
            at += 10;
            MachineReading { at: Nanos(at), ..read(&KeptFiles::new(files), None).unwrap() }
        };
        let readings = [reading(0, "1"), reading(1, "800000\n"), reading(3, "2600000\n")].to_vec();
        let frequency = |epoch| to_samples(readings.clone(), None, epoch).frequency;
        assert_eq!(frequency(None), Some(2_000.0));
        assert_eq!(frequency(Some(Nanos(20))), Some(2_600.0));
    }

    #[test]
    fn what_counters_count_is_sampled_at_the_same_moments() {
        let MachineSamples { samples, hardware, .. } =
            machine(3, Some(PerfCounters::open_software().unwrap()));
        let hardware = hardware.unwrap();
        let at = |counted: &[tare_record::HardwareSample]| -> Vec<Nanos> {
            counted.iter().map(|sample| sample.at).collect()
        };
        assert_eq!(at(&hardware.samples), samples.iter().map(|one| one.at).collect::<Vec<_>>());
        let cycles = |sample: &tare_record::HardwareSample| {
            sample.executed.iter().map(|one| one.cycles).sum::<u64>()
        };
        assert_eq!(cycles(&hardware.samples[0]), 0);
        for pair in hardware.samples.windows(2) {
            assert!(cycles(&pair[1]) - cycles(&pair[0]) >= LEAST.0, "{hardware:?}");
        }
    }

    #[test]
    fn a_trial_of_any_length_has_a_few_samples() {
        assert_eq!(sampling_interval(Nanos(10_000_000_000)), Duration::from_millis(500));
        assert_eq!(sampling_interval(Nanos(0)), Duration::from_nanos(MIN_INTERVAL));
        let (stop, stopped) = channel();
        assert!(wait_for_next(&stopped, Duration::ZERO));
        drop(stop);
        assert!(!wait_for_next(&stopped, Duration::MAX));
    }

    /// The next sample is due in years. The end of the sampler shows that nothing waits for that sample.
    #[test]
    fn a_sampler_that_waits_ends_when_it_is_stopped() {
        let sampler = MachineSampler::start(KeptFiles::machine(), Nanos(u64::MAX), None);
        assert_eq!(sampler.finish(None).cost.0, 2, "at the beginning and at the end");
    }
}
