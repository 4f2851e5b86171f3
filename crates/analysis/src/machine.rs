//! The machine's CPU time over a stretch of a trial, between the moments at which it was sampled.

use std::ops::Range;
use tare_record::{CpuUse, MachineSample, Nanos};

/// Busy time and all time of all cores within a span of a trial, s: between two samples time passes evenly. What was
/// stolen by the hypervisor is neither. Nothing where the samples do not reach over the span, but for a tick.
pub(crate) fn busy(samples: &[MachineSample], span: Range<Nanos>) -> Option<(f64, f64)> {
    let (busy_from, all_from) = at(samples, span.start)?;
    let (busy_to, all_to) = at(samples, span.end)?;
    (span.start < span.end).then_some((busy_to - busy_from, all_to - all_from))
}

/// Busy time and all time up to a moment, s.
fn at(samples: &[MachineSample], moment: Nanos) -> Option<(f64, f64)> {
    /// The file that is sampled counts in ticks of 10 ms.
    const TICK: u64 = 10_000_000;
    let after = samples.iter().position(|sample| sample.at >= moment);
    let Some(after) = after else {
        let last = samples.last().filter(|last| last.at.0 + TICK >= moment.0)?;
        return Some(total(last));
    };
    let (busy, all) = total(&samples[after]);
    let Some(before) = after.checked_sub(1).map(|before| &samples[before]) else {
        return (samples[after].at.0 <= moment.0 + TICK).then_some((busy, all));
    };
    let (busy_before, all_before) = total(before);
    let length = (samples[after].at - before.at).as_secs_f64();
    let share = (moment - before.at).as_secs_f64() / length;
    Some((busy_before + share * (busy - busy_before), all_before + share * (all - all_before)))
}

fn total(sample: &MachineSample) -> (f64, f64) {
    let busy = |core: &CpuUse| core.user + core.system + core.softirq + core.irq;
    let sum = |part: &dyn Fn(&CpuUse) -> Nanos| {
        sample.cores.iter().map(|core| part(core).as_secs_f64()).sum::<f64>()
    };
    (sum(&busy), sum(&|core| busy(core) + core.idle))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
        let (busy_time, all) = busy(&samples, span(50, 150)).unwrap();
        assert!((busy_time - 0.05).abs() < 1e-9 && (all - 0.1).abs() < 1e-9);
    }

    #[test]
    fn a_span_that_was_not_watched_has_no_figure() {
        let samples = [sample(0, 0, 0), sample(100, 100, 0)];
        assert!(busy(&samples, span(50, 109)).is_some(), "but for a tick");
        assert!(busy(&samples, span(50, 130)).is_none());
        assert!(busy(&[sample(50, 0, 0), sample(100, 9, 9)], span(0, 100)).is_none());
        assert!(busy(&samples, span(50, 50)).is_none());
        assert!(busy(&[], span(0, 10)).is_none());
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
            if let Some((busy_time, all)) = busy(&samples, span(from, from + length)) {
                prop_assert!(busy_time >= -1e-9 && busy_time <= all + 1e-9);
                prop_assert!(all <= length as f64 / 1e3 + 1e-9);
            }
        }
    }
}
