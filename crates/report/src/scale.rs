//! Scales from values to pixels, and their ticks.

/// Type of a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScaleKind {
    /// Equal differences have equal distances.
    Linear,
    /// Equal ratios have equal distances.
    Log,
}

/// Axis: a range of values and a range of pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AxisScale {
    spread: ScaleKind,
    values: [f64; 2],
    pixels: [f64; 2],
}

impl AxisScale {
    /// Makes a linear scale from 0, or a round value at or below the least value if that is negative, to the largest
    /// value.
    pub(crate) fn linear(values: impl IntoIterator<Item = f64>, pixels: [f64; 2]) -> Self {
        let (least, most) = extremes(values).unwrap_or((0.0, 1.0));
        let (least, most) = (least.min(0.0), most.max(0.0));
        let most = if most > least { most } else { least + 1.0 };
        let step = round_step(most - least, 5);
        let values = [(least / step).floor() * step, most];
        Self { spread: ScaleKind::Linear, values, pixels }
    }

    /// Makes a logarithmic scale from a little below the least positive value to a little above the largest.
    pub(crate) fn log(values: impl IntoIterator<Item = f64>, pixels: [f64; 2]) -> Self {
        let positive = values.into_iter().filter(|value| *value > 0.0);
        let (least, most) = extremes(positive).unwrap_or((1.0, 10.0));
        let most = most.max(least * 1.5);
        Self { spread: ScaleKind::Log, values: [least / 1.05, most * 1.05], pixels }
    }

    /// Makes a scale of the given type.
    pub(crate) fn new(
        spread: ScaleKind,
        values: impl IntoIterator<Item = f64>,
        pixels: [f64; 2],
    ) -> Self {
        match spread {
            ScaleKind::Linear => Self::linear(values, pixels),
            ScaleKind::Log => Self::log(values, pixels),
        }
    }

    /// Returns the position of a value, px. Values outside of the range are at its ends.
    pub(crate) fn position(&self, value: f64) -> f64 {
        let [least, most] = self.values;
        let share = match self.spread {
            ScaleKind::Linear => (value - least) / (most - least),
            ScaleKind::Log if value <= 0.0 => 0.0,
            ScaleKind::Log => (value / least).ln() / (most / least).ln(),
        };
        let [from, to] = self.pixels;
        from + share.clamp(0.0, 1.0) * (to - from)
    }

    /// Returns the origin of bars, px: 0 on a linear scale, the beginning of a logarithmic one.
    pub(crate) fn origin(&self) -> f64 {
        match self.spread {
            ScaleKind::Linear => self.position(0.0),
            ScaleKind::Log => self.pixels[0],
        }
    }

    /// Returns about this many round values on the axis.
    pub(crate) fn ticks(&self, about: u32) -> Vec<f64> {
        let [least, most] = self.values;
        match self.spread {
            ScaleKind::Linear => {
                let step = round_step(most - least, about);
                let first = (least / step).ceil() as i64;
                let last = (most / step + 1e-9).floor() as i64;
                (first..=last).map(|n| n as f64 * step).collect()
            }
            ScaleKind::Log => log_ticks(least, most, about),
        }
    }
}

/// Returns the least and the largest of the finite values. Returns `None` if there are none.
pub(crate) fn extremes(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values.into_iter().filter(|value| value.is_finite()).fold(None, |ends, value| match ends {
        None => Some((value, value)),
        Some((least, most)) => Some((value.min(least), value.max(most))),
    })
}

/// Returns a round step (1, 2 or 5 times a power of ten) that divides a span into about this many parts.
fn round_step(span: f64, about: u32) -> f64 {
    let rough = span / f64::from(about.max(1));
    let power = 10f64.powf(rough.log10().floor());
    let leading = rough / power;
    let round = match leading {
        l if l <= 1.0 => 1.0,
        l if l <= 2.0 => 2.0,
        l if l <= 5.0 => 5.0,
        _ => 10.0,
    };
    round * power
}

/// Returns powers of ten. If they are few, some multiples of each are added; if they are many, some are left out.
pub(crate) fn log_ticks(least: f64, most: f64, about: u32) -> Vec<f64> {
    let (first, last) = (least.log10().floor() as i32, most.log10().ceil() as i32);
    let within = |tick: &f64| *tick >= least * 0.999 && *tick <= most * 1.001;
    let of = |factors: &'static [f64]| {
        let powers = (first..=last).map(|power| 10f64.powi(power));
        powers.flat_map(move |power| factors.iter().map(move |factor| factor * power))
    };
    const CHOICES: [&[f64]; 4] = [
        &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0],
        &[1.0, 2.0, 3.0, 5.0],
        &[1.0, 2.0, 5.0],
        &[1.0],
    ];
    let about = about as usize;
    for factors in CHOICES {
        let ticks: Vec<f64> = of(factors).filter(within).collect();
        if ticks.len() <= about + 1 && ticks.len() >= 2 {
            return ticks;
        }
    }
    let decades: Vec<f64> = of(CHOICES[3]).filter(within).collect();
    if decades.len() < 2 {
        return of(CHOICES[0]).filter(within).collect();
    }
    let every = decades.len().div_ceil(about.max(1));
    decades.into_iter().step_by(every).collect()
}

/// Formats the value of a tick: `0.5`, `20`, `50k`, `1.5M`.
pub(crate) fn format_tick(value: f64) -> String {
    let (scaled, suffix) = match value.abs() {
        size if size >= 1e9 => (value / 1e9, "G"),
        size if size >= 1e6 => (value / 1e6, "M"),
        size if size >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    // Ticks are sums and products of round numbers. Digits beyond the sixth decimal place are rounding errors.
    let rounded = (scaled * 1e6).round() / 1e6 + 0.0;
    format!("{rounded}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ticks_are_round() {
        let scale = AxisScale::linear([0.0, 42.5], [0.0, 100.0]);
        assert_eq!(scale.ticks(5), [0.0, 10.0, 20.0, 30.0, 40.0]);
        let scale = AxisScale::log([18.0, 950.0], [0.0, 100.0]);
        assert_eq!(scale.ticks(6), [20.0, 30.0, 50.0, 100.0, 200.0, 300.0, 500.0]);
        let written: Vec<String> = [0.0, 0.5, 9000.0, 20_000.0, 1.5e6].map(format_tick).to_vec();
        assert_eq!(written, ["0", "0.5", "9000", "20k", "1.5M"]);
    }

    #[test]
    fn differences_and_ratios_keep_their_distance() {
        let linear = AxisScale::linear([0.0, 10.0], [0.0, 100.0]);
        assert_eq!(
            [linear.position(0.0), linear.position(5.0), linear.position(20.0)],
            [0.0, 50.0, 100.0]
        );
        let log = AxisScale::log([1.0, 100.0], [0.0, 100.0]);
        assert!((log.position(10.0) - 50.0).abs() < 1e-9, "{}", log.position(10.0));
        assert_eq!(log.position(0.0), 0.0);
    }

    proptest! {
        #[test]
        fn whatever_is_drawn_stays_on_the_paper(
            values in prop::collection::vec(-1e6f64..1e9, 0..20), about in 2u32..10, value in any::<f64>()
        ) {
            for scale in [AxisScale::linear(values.clone(), [10.0, 90.0]), AxisScale::log(values, [10.0, 90.0])] {
                let at = scale.position(value);
                prop_assert!(value.is_nan() || (10.0..=90.0).contains(&at), "{at}");
                let ticks = scale.ticks(about);
                prop_assert!(!ticks.is_empty() && ticks.len() <= 30, "{ticks:?}");
            }
        }
    }
}
