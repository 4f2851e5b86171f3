//! CPU time and hardware counts of the machine within a span of a trial, interpolated between samples.

use std::ops::{Add, Range};
use tare_record::{
    CpuUse, HardwareCounters, HardwareEventCounts, HardwareSample, MachineSample, Nanos,
};

/// CPU time of all cores, or of one, by kind, s: [`CpuUse::by_clock`]. Steal time is not included.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct CpuTimeByKind {
    pub(crate) user: f64,
    pub(crate) system: f64,
    pub(crate) softirq: f64,
    pub(crate) irq: f64,
    pub(crate) idle: f64,
}

impl CpuTimeByKind {
    /// Returns the time for each of so many pieces of work.
    pub(crate) fn divided_by(self, work: f64) -> Self {
        Self {
            user: self.user / work,
            system: self.system / work,
            softirq: self.softirq / work,
            irq: self.irq / work,
            idle: self.idle / work,
        }
    }

    /// Returns the total without idle time.
    pub(crate) fn busy(&self) -> f64 {
        self.user + self.system + self.softirq + self.irq
    }

    /// Returns the total.
    pub(crate) fn total(&self) -> f64 {
        self.busy() + self.idle
    }
}

impl From<CpuUse> for CpuTimeByKind {
    fn from(used: CpuUse) -> Self {
        Self {
            user: used.user.as_secs_f64(),
            system: used.system.as_secs_f64(),
            softirq: used.softirq.as_secs_f64(),
            irq: used.irq.as_secs_f64(),
            idle: used.idle.as_secs_f64(),
        }
    }
}

/// CPU time of one core, or of all, as the kernel counted it up to a moment.
#[derive(Clone, Copy, Debug, Default)]
struct CountedTime {
    used: CpuUse,
    /// Time that passed on these cores together since the first payload.
    passed: Nanos,
}

impl CountedTime {
    /// Returns the time at a share of the way from one sample of a core to the next.
    fn between((used, at): (CpuUse, Nanos), (later, end): (CpuUse, Nanos), share: f64) -> Self {
        Self { used: used + (later - used).scaled(share), passed: at + (end - at).scaled(share) }
    }

    /// Returns the CPU time by the clock from an earlier moment to this one.
    fn since(self, earlier: Self) -> CpuTimeByKind {
        (self.used - earlier.used).by_clock(self.passed - earlier.passed).into()
    }
}

impl Add for CountedTime {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { used: self.used + other.used, passed: self.passed + other.passed }
    }
}

/// Returns the CPU time of all cores within a span of a trial; between two samples it grows linearly. Returns `None` if
/// the samples do not cover the span, except for a tick.
pub(crate) fn cpu_time_within(
    samples: &[MachineSample],
    span: Range<Nanos>,
) -> Option<CpuTimeByKind> {
    let all = |moment| {
        let cores = cores_at(samples, moment)?.into_iter();
        Some(cores.fold(CountedTime::default(), CountedTime::add))
    };
    let (from, to) = (all(span.start)?, all(span.end)?);
    (span.start < span.end).then(|| to.since(from))
}

/// Returns the busy and the total time of all cores within a span of a trial, s.
pub(crate) fn busy_and_total_within(
    samples: &[MachineSample],
    span: Range<Nanos>,
) -> Option<(f64, f64)> {
    cpu_time_within(samples, span).map(|kinds| (kinds.busy(), kinds.total()))
}

/// Returns the share of each core's time that went to softirqs, and to the interrupts that raise them, within a span of
/// a trial; between two samples it grows linearly. The list is empty if the samples do not cover the span, except for a
/// tick.
pub(crate) fn softirq_by_core(samples: &[MachineSample], span: &Range<Nanos>) -> Vec<f64> {
    let (Some(from), Some(to)) = (cores_at(samples, span.start), cores_at(samples, span.end))
    else {
        return Vec::new();
    };
    let share = |(from, to): (CountedTime, CountedTime)| {
        let within = to.since(from);
        let all = within.total();
        if all > 0.0 { (within.softirq + within.irq) / all } else { 0.0 }
    };
    from.into_iter().zip(to).map(share).collect()
}

/// Returns the hardware count of one kind within a span of a trial, all cores or agents together.
pub(crate) fn hardware_count_within(
    hardware: &HardwareCounters,
    span: Range<Nanos>,
    kind: fn(&HardwareEventCounts) -> u64,
) -> Option<f64> {
    let up_to = |sample: &HardwareSample| sample.executed.iter().map(kind).sum::<u64>() as f64;
    let at = |moment| {
        let (before, after, share) =
            surrounding_samples(&hardware.samples, |sample| sample.at, moment)?;
        let here = up_to(before);
        Some(here + share * (up_to(after) - here))
    };
    let (from, to) = (at(span.start)?, at(span.end)?);
    (span.start < span.end).then_some(to - from)
}

/// Returns the time of each core up to a moment.
fn cores_at(samples: &[MachineSample], moment: Nanos) -> Option<Vec<CountedTime>> {
    let (before, after, share) = surrounding_samples(samples, |sample| sample.at, moment)?;
    let pairs = before.cores.iter().zip(&after.cores);
    let at_moment = |(earlier, later): (&CpuUse, &CpuUse)| {
        CountedTime::between((*earlier, before.at), (*later, after.at), share)
    };
    Some(pairs.map(at_moment).collect())
}

/// Returns the two samples around a moment, and its position from the first (0) to the second (1). Returns `None` if
/// the moment lies before or after all samples, except for a tick.
fn surrounding_samples<S>(
    samples: &[S],
    when: fn(&S) -> Nanos,
    moment: Nanos,
) -> Option<(&S, &S, f64)> {
    /// Resolution of the sampled file, ns: it counts in ticks of 10 ms.
    const TICK: u64 = 10_000_000;
    let Some(after) = samples.iter().position(|sample| when(sample) >= moment) else {
        let last = samples.last().filter(|last| when(last).0 + TICK >= moment.0)?;
        return Some((last, last, 0.0));
    };
    let there = &samples[after];
    let Some(here) = after.checked_sub(1).map(|before| &samples[before]) else {
        return (when(there).0 <= moment.0 + TICK).then_some((there, there, 0.0));
    };
    let length = (when(there) - when(here)).as_secs_f64();
    Some((here, there, (moment - when(here)).as_secs_f64() / length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tare_record::CounterScope;

    fn sample(at: u64, busy: u64, idle: u64) -> MachineSample {
        let ms = |n: u64| Nanos(n * 1_000_000);
        let core = CpuUse { user: ms(busy), idle: ms(idle), ..CpuUse::default() };
        MachineSample { at: ms(at), cores: vec![core] }
    }

    fn span(from: u64, to: u64) -> Range<Nanos> {
        Nanos(from * 1_000_000)..Nanos(to * 1_000_000)
    }

    #[test]
    fn between_samples_time_passes_evenly() {
        let samples = [sample(0, 0, 0), sample(100, 100, 0), sample(200, 100, 100)];
        let (busy_time, all) = busy_and_total_within(&samples, span(50, 150)).unwrap();
        assert!((busy_time - 0.05).abs() < 1e-9 && (all - 0.1).abs() < 1e-9);
    }

    #[test]
    fn work_between_ticks_is_busy_time() {
        let samples = [sample(0, 0, 0), sample(100, 30, 50), sample(200, 60, 100)];
        let (busy_time, all) = busy_and_total_within(&samples, span(50, 150)).unwrap();
        assert!((busy_time - 0.05).abs() < 1e-9 && (all - 0.1).abs() < 1e-9);
    }

    #[test]
    fn what_the_hypervisor_took_is_no_time_of_the_cores() {
        let mut samples = [sample(0, 0, 0), sample(100, 60, 0)];
        samples[1].cores[0].steal = Nanos(40_000_000);
        let (busy_time, all) = busy_and_total_within(&samples, span(0, 100)).unwrap();
        assert!((busy_time - 0.06).abs() < 1e-9 && (all - 0.06).abs() < 1e-9);
    }

    #[test]
    fn a_span_that_was_not_watched_has_no_figure() {
        let samples = [sample(0, 0, 0), sample(100, 100, 0)];
        assert!(busy_and_total_within(&samples, span(50, 109)).is_some(), "but for a tick");
        assert!(busy_and_total_within(&samples, span(50, 130)).is_none());
        assert!(
            busy_and_total_within(&[sample(50, 0, 0), sample(100, 9, 9)], span(0, 100)).is_none()
        );
        assert!(busy_and_total_within(&samples, span(50, 50)).is_none());
        assert!(busy_and_total_within(&[], span(0, 10)).is_none());
    }

    #[test]
    fn softirqs_are_a_share_of_each_cores_own_time() {
        let ms = |n: u64| Nanos(n * 1_000_000);
        let core = |softirq, irq, steal, idle| CpuUse {
            softirq: ms(softirq),
            irq: ms(irq),
            steal: ms(steal),
            idle: ms(idle),
            ..CpuUse::default()
        };
        let nothing = core(0, 0, 0, 0);
        let samples = [
            MachineSample { at: ms(0), cores: vec![nothing; 3] },
            MachineSample {
                at: ms(100),
                cores: vec![core(60, 20, 0, 20), core(45, 0, 50, 5), nothing],
            },
        ];
        for (from, to) in [(0, 100), (25, 75)] {
            let shares = softirq_by_core(&samples, &span(from, to));
            let near = |share: f64, expected: f64| (share - expected).abs() < 1e-9;
            assert_eq!(shares.len(), 3);
            assert!(near(shares[0], 0.8) && near(shares[1], 0.9), "{shares:?}");
            assert!(near(shares[2], 0.0), "a core without any time has no softirqs");
        }
        assert!(softirq_by_core(&samples, &span(0, 150)).is_empty(), "it was not watched");
    }

    #[test]
    fn what_was_executed_is_told_over_all_cores_and_between_samples() {
        let sample = |at: u64, each: [(u64, u64); 2]| HardwareSample {
            at: Nanos(at * 1_000_000),
            executed: each
                .map(|(cycles, instructions)| HardwareEventCounts { cycles, instructions })
                .to_vec(),
        };
        let samples = vec![
            sample(0, [(0, 0), (0, 0)]),
            sample(100, [(1000, 500), (100, 50)]),
            sample(200, [(1000, 500), (300, 90)]),
        ];
        let hardware = HardwareCounters { counted: CounterScope::Machine, running: 1.0, samples };
        let cycles =
            |from, to| hardware_count_within(&hardware, span(from, to), |executed| executed.cycles);
        assert_eq!(cycles(0, 200), Some(1300.0));
        assert_eq!(cycles(50, 150), Some(650.0));
        let instructions =
            hardware_count_within(&hardware, span(100, 200), |executed| executed.instructions);
        assert_eq!(instructions, Some(40.0));
        assert_eq!((cycles(50, 230), cycles(50, 50)), (None, None));
    }

    proptest! {
        #[test]
        fn no_core_is_busier_than_time_allows(
            steps in prop::collection::vec((1u64..100, 0u64..=100), 2..20),
            from in 0u64..500,
            length in 1u64..500,
        ) {
            let mut samples = vec![sample(0, 0, 0)];
            let (mut at, mut busy_time, mut idle) = (0, 0, 0);
            for (step, share) in steps {
                at += step;
                busy_time += step * share / 100;
                idle += step - step * share / 100;
                samples.push(sample(at, busy_time, idle));
            }
            if let Some((busy_time, all)) = busy_and_total_within(&samples, span(from, from + length)) {
                prop_assert!(busy_time >= -1e-9 && busy_time <= all + 1e-9);
                prop_assert!(all <= length as f64 / 1e3 + 1e-9);
            }
        }
    }
}
