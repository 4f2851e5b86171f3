//! The machine's CPU time, core by core, at a few moments of a trial.

use crate::files::Files;
use crate::times::{Stat, ticks_per_second};
use rustix::time::{ClockId, clock_gettime};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tare_record::{MachineSample, Nanos};

/// How many samples a trial has: few, for on a machine of many cores each is long.
const SAMPLES: u64 = 20;
/// The shortest time between two, ns: the file counts in ticks of 10 ms, and reading it takes time itself.
const SHORTEST: u64 = 50_000_000;

/// When a reading was made, by the monotonic clock, and what it said.
type Reading = (Nanos, Stat);

/// A thread that reads now and then.
#[derive(Debug)]
pub(crate) struct Sampler {
    /// Closed to end the thread.
    stop: Sender<()>,
    thread: Option<JoinHandle<Vec<Reading>>>,
}

impl Sampler {
    /// Begins to sample a trial of this length.
    pub(crate) fn start(files: Files, trial: Nanos) -> Self {
        let (stop, stopped) = channel::<()>();
        let step = Duration::from_nanos((trial.0 / SAMPLES).max(SHORTEST));
        let thread = thread::Builder::new().name("sample the cores".to_owned()).spawn(move || {
            let mut readings = Vec::new();
            loop {
                readings.extend(read(&files));
                if stopped.recv_timeout(step) != Err(RecvTimeoutError::Timeout) {
                    readings.extend(read(&files));
                    return readings;
                }
            }
        });
        Self { stop, thread: thread.ok() }
    }

    /// The samples, by the time after `epoch`; without one, after the first. Of those before it only the last is kept.
    pub(crate) fn finish(self, epoch: Option<Nanos>) -> Vec<MachineSample> {
        drop(self.stop);
        let readings = self.thread.and_then(|thread| thread.join().ok()).unwrap_or_default();
        samples(&readings, epoch)
    }
}

fn samples(readings: &[Reading], epoch: Option<Nanos>) -> Vec<MachineSample> {
    let Some((began, _)) = readings.first() else {
        return Vec::new();
    };
    let epoch = epoch.unwrap_or(*began);
    let before = readings.iter().rposition(|(at, _)| *at <= epoch).unwrap_or(0);
    let start = &readings[before].1;
    let ticks = ticks_per_second();
    readings[before..]
        .iter()
        .map(|(at, stat)| MachineSample {
            at: Nanos(at.0.saturating_sub(epoch.0)),
            cores: stat
                .cores
                .iter()
                .zip(&start.cores)
                .map(|(core, start)| core.since(start, ticks))
                .collect(),
        })
        .collect()
}

fn read(files: &Files) -> Option<Reading> {
    let stat = Stat::read(files)?;
    let now = clock_gettime(ClockId::Monotonic);
    Some((Nanos(now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()), stat))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn samples_begin_at_the_epoch_and_never_go_back() {
        let sampler = Sampler::start(Files::machine(), Nanos(0));
        thread::sleep(Duration::from_millis(180));
        let samples = sampler.finish(None);
        assert!((3..=6).contains(&samples.len()), "{}", samples.len());
        assert_eq!(samples[0].at, Nanos(0));
        assert!(samples[0].cores.iter().all(|core| core.user == Nanos(0) && core.idle == Nanos(0)));
        for pair in samples.windows(2) {
            assert!(pair[0].at < pair[1].at && pair[0].cores.len() == pair[1].cores.len());
            assert!(
                pair[0].cores.iter().zip(&pair[1].cores).all(|(one, two)| one.user <= two.user)
            );
        }
    }

    #[test]
    fn of_what_was_before_the_epoch_only_the_last_is_kept() {
        let readings: Vec<Reading> = [10, 20, 30, 40].map(|at| (Nanos(at), Stat::default())).into();
        let at = |epoch| samples(&readings, epoch).iter().map(|one| one.at.0).collect::<Vec<_>>();
        assert_eq!(at(Some(Nanos(25))), [0, 5, 15]);
        assert_eq!(at(Some(Nanos(5))), [5, 15, 25, 35]);
        assert_eq!(at(None), [0, 10, 20, 30]);
        assert!(samples(&[], None).is_empty());
    }

    #[test]
    fn it_ends_at_once() {
        let began = Instant::now();
        drop(Sampler::start(Files::machine(), Nanos(100_000_000_000)).finish(None));
        assert!(began.elapsed() < Duration::from_secs(1));
    }
}
