//! The machine's CPU time, core by core, how fast the cores ran, and what they executed, at a few moments of a trial.

use crate::files::Files;
use crate::frequency::{self, Frequencies, Mean};
use crate::hardware::{Counters, Readings};
use crate::times::{Stat, ticks_per_second};
use rustix::time::{ClockId, clock_gettime};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tare_record::{Hardware, MachineSample, Nanos};

/// How many samples a trial has: few, for on a machine of many cores each is long.
const SAMPLES: u64 = 20;
/// The shortest time between two, ns: the file counts in ticks of 10 ms, and reading it takes time itself.
const SHORTEST: u64 = 50_000_000;

/// One reading.
#[derive(Clone, Debug, Default)]
struct Reading {
    /// When, by the monotonic clock.
    at: Nanos,
    stat: Stat,
    frequencies: Frequencies,
    hardware: Option<Readings>,
    /// How long all of this took.
    took: Duration,
}

/// What was read over a trial.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Sampled {
    /// The samples; of those before the epoch only the last.
    pub(crate) samples: Vec<MachineSample>,
    /// How fast busy cores ran, MHz; nothing where they do not say.
    pub(crate) frequency: Option<f64>,
    /// What hardware counters said; nothing where there are none.
    pub(crate) hardware: Option<Hardware>,
    /// How many readings there were, and how long they took together.
    pub(crate) cost: (u32, Nanos),
}

/// A thread that reads now and then.
#[derive(Debug)]
pub(crate) struct Sampler {
    /// Closed to end the thread.
    stop: Sender<()>,
    thread: Option<JoinHandle<(Vec<Reading>, Option<Counters>)>>,
}

impl Sampler {
    /// Begins to sample a trial of this length, with these counters.
    pub(crate) fn start(files: Files, trial: Nanos, counters: Option<Counters>) -> Self {
        let (stop, stopped) = channel::<()>();
        let step = step(trial);
        let thread = thread::Builder::new().name("sample the cores".to_owned()).spawn(move || {
            let readings = sample(&files, counters.as_ref(), || goes_on(&stopped, step));
            (readings, counters)
        });
        Self { stop, thread: thread.ok() }
    }

    /// What was read, by the time after `epoch`; without one, after the first.
    pub(crate) fn finish(self, epoch: Option<Nanos>) -> Sampled {
        drop(self.stop);
        let read = self.thread.and_then(|thread| thread.join().ok());
        let (readings, counters) = read.unwrap_or_default();
        sampled(readings, counters.as_ref(), epoch)
    }
}

/// Time between two samples of a trial of this length.
fn step(trial: Nanos) -> Duration {
    Duration::from_nanos((trial.0 / SAMPLES).max(SHORTEST))
}

/// Waits for the next sample. False as soon as the sampler is stopped.
fn goes_on(stopped: &Receiver<()>, step: Duration) -> bool {
    stopped.recv_timeout(step) == Err(RecvTimeoutError::Timeout)
}

/// Readings: one at the beginning, one after each wait, one at the end.
fn sample(
    files: &Files,
    counters: Option<&Counters>,
    mut wait: impl FnMut() -> bool,
) -> Vec<Reading> {
    let mut readings = Vec::new();
    loop {
        readings.extend(read(files, counters));
        if !wait() {
            readings.extend(read(files, counters));
            return readings;
        }
    }
}

fn sampled(
    mut readings: Vec<Reading>,
    counters: Option<&Counters>,
    epoch: Option<Nanos>,
) -> Sampled {
    let Some(first) = readings.first() else {
        return Sampled::default();
    };
    let epoch = epoch.unwrap_or(first.at);
    let took = readings.iter().map(|one| Nanos::from(one.took));
    let cost = (readings.len() as u32, took.fold(Nanos(0), |sum, one| sum + one));
    let before = readings.iter().rposition(|one| one.at <= epoch).unwrap_or(0);
    let mut kept = readings.split_off(before);
    let after_epoch = |at: Nanos| Nanos(at.0.saturating_sub(epoch.0));
    let hardware: Vec<_> =
        kept.iter_mut().map(|one| (after_epoch(one.at), one.hardware.take())).collect();
    let start = &kept[0].stat;
    let ticks = ticks_per_second();
    let sample = |one: &Reading| MachineSample {
        at: after_epoch(one.at),
        cores: one
            .stat
            .cores
            .iter()
            .zip(&start.cores)
            .map(|(core, start)| core.since(start, ticks))
            .collect(),
    };
    let mut mean = Mean::default();
    for pair in kept.windows(2) {
        mean.add(&pair[0].stat.cores, &pair[1].stat.cores, &pair[1].frequencies);
    }
    Sampled {
        samples: kept.iter().map(sample).collect(),
        frequency: mean.megahertz(),
        hardware: counters.and_then(|counters| counters.told(&hardware)),
        cost,
    }
}

fn read(files: &Files, counters: Option<&Counters>) -> Option<Reading> {
    let begun = Instant::now();
    let stat = Stat::read(files)?;
    let now = clock_gettime(ClockId::Monotonic);
    let hardware = counters.and_then(Counters::read);
    let at = Nanos(now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs());
    let frequencies = frequency::read(files, stat.cores.len());
    Some(Reading { at, stat, frequencies, hardware, took: begun.elapsed() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::lay_out;
    use crate::sys::perf::{BURNT, burn};
    use tare_record::CpuUse;

    /// Least time between two samples between which [`burn`] was called. Half of the CPU time that this takes, for the
    /// kernel's clocks differ: time is corrected by up to 500 ppm, and a switch of threads counts for some and not for others.
    const LEAST: Nanos = Nanos(BURNT / 2);

    /// Samples of this machine with `waits` waits in between, during each of which this thread works.
    fn machine(waits: usize, counters: Option<Counters>) -> Sampled {
        let mut left = waits;
        let readings = sample(&Files::machine(), counters.as_ref(), || {
            burn();
            left -= 1;
            left > 0
        });
        sampled(readings, counters.as_ref(), None)
    }

    #[test]
    fn samples_begin_at_the_epoch_and_never_go_back() {
        let Sampled { samples, cost, .. } = machine(4, None);
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
        let readings: Vec<Reading> = [10, 20, 30, 40]
            .map(|at| Reading {
                at: Nanos(at),
                took: Duration::from_nanos(3),
                ..Reading::default()
            })
            .into();
        let at = |epoch| -> Vec<u64> {
            sampled(readings.clone(), None, epoch).samples.iter().map(|one| one.at.0).collect()
        };
        assert_eq!(at(Some(Nanos(25))), [0, 5, 15]);
        assert_eq!(at(Some(Nanos(5))), [5, 15, 25, 35]);
        assert_eq!(at(None), [0, 10, 20, 30]);
        assert_eq!(sampled(readings.clone(), None, Some(Nanos(25))).cost, (4, Nanos(12)));
        assert_eq!(sampled(Vec::new(), None, None), Sampled::default());
    }

    #[test]
    fn how_fast_busy_cores_ran_is_told_from_the_epoch_on() {
        let root = tempfile::tempdir().unwrap();
        let ticks = ticks_per_second();
        let mut at = 0;
        let mut reading = |seconds: u64, kilohertz: &str| {
            let text = crate::times::tests::stat([seconds * ticks, 0, 0, 0, 0, 0, 0, 0]);
            let speed = "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq";
            let files = lay_out(root.path(), &[("proc/stat", &text), (speed, kilohertz)]);
            at += 10;
            Reading { at: Nanos(at), ..read(&files, None).unwrap() }
        };
        let readings = [reading(0, "1"), reading(1, "800000\n"), reading(3, "2600000\n")].to_vec();
        let frequency = |epoch| sampled(readings.clone(), None, epoch).frequency;
        assert_eq!(frequency(None), Some(2_000.0));
        assert_eq!(frequency(Some(Nanos(20))), Some(2_600.0));
    }

    #[test]
    fn what_counters_count_is_sampled_at_the_same_moments() {
        let Sampled { samples, hardware, .. } = machine(3, Some(Counters::of_software().unwrap()));
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
        assert_eq!(step(Nanos(10_000_000_000)), Duration::from_millis(500));
        assert_eq!(step(Nanos(0)), Duration::from_nanos(SHORTEST));
        let (stop, stopped) = channel();
        assert!(goes_on(&stopped, Duration::ZERO));
        drop(stop);
        assert!(!goes_on(&stopped, Duration::MAX));
    }

    /// The next sample is due in years. That the sampler ends at all shows that nothing waits for it.
    #[test]
    fn a_sampler_that_waits_ends_when_it_is_stopped() {
        let sampler = Sampler::start(Files::machine(), Nanos(u64::MAX), None);
        assert_eq!(sampler.finish(None).cost.0, 2, "at the beginning and at the end");
    }
}
