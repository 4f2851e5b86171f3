//! From values to places: scales and their ticks.

/// How values are spread over an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spread {
    /// Equal differences are equally far apart.
    Linear,
    /// Equal ratios are equally far apart.
    Log,
}

/// An axis: from which value to which, and from which pixel to which.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    spread: Spread,
    values: [f64; 2],
    pixels: [f64; 2],
}

impl Scale {
    /// From nought (or the least value, where that is below) to a little over the largest value.
    pub(crate) fn linear(values: impl IntoIterator<Item = f64>, pixels: [f64; 2]) -> Self {
        let (least, most) = ends(values).unwrap_or((0.0, 1.0));
        let (least, most) = (least.min(0.0), most.max(0.0));
        let most = if most > least { most } else { least + 1.0 };
        let step = step(most - least, 5);
        let values = [(least / step).floor() * step, most];
        Self { spread: Spread::Linear, values, pixels }
    }

    /// From a little below the least positive value to a little over the largest.
    pub(crate) fn log(values: impl IntoIterator<Item = f64>, pixels: [f64; 2]) -> Self {
        let positive = values.into_iter().filter(|value| *value > 0.0);
        let (least, most) = ends(positive).unwrap_or((1.0, 10.0));
        let most = most.max(least * 1.5);
        Self { spread: Spread::Log, values: [least / 1.05, most * 1.05], pixels }
    }

    /// One of the two.
    pub(crate) fn new(
        spread: Spread,
        values: impl IntoIterator<Item = f64>,
        pixels: [f64; 2],
    ) -> Self {
        match spread {
            Spread::Linear => Self::linear(values, pixels),
            Spread::Log => Self::log(values, pixels),
        }
    }

    /// Where a value stands, px; what lies beyond an end stands at that end.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let [least, most] = self.values;
        let share = match self.spread {
            Spread::Linear => (value - least) / (most - least),
            Spread::Log if value <= 0.0 => 0.0,
            Spread::Log => (value / least).ln() / (most / least).ln(),
        };
        let [from, to] = self.pixels;
        from + share.clamp(0.0, 1.0) * (to - from)
    }

    /// Where the axis begins, px: nought on a linear scale of nothing negative.
    pub(crate) fn base(&self) -> f64 {
        match self.spread {
            Spread::Linear => self.at(0.0),
            Spread::Log => self.pixels[0],
        }
    }

    /// Round values on the axis, about so many.
    pub(crate) fn ticks(&self, about: u32) -> Vec<f64> {
        let [least, most] = self.values;
        match self.spread {
            Spread::Linear => {
                let step = step(most - least, about);
                let first = (least / step).ceil() as i64;
                let last = (most / step + 1e-9).floor() as i64;
                (first..=last).map(|n| n as f64 * step).collect()
            }
            Spread::Log => log_ticks(least, most, about),
        }
    }
}

/// The least and the largest of finite values; nothing where there are none.
pub(crate) fn ends(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values.into_iter().filter(|value| value.is_finite()).fold(None, |ends, value| match ends {
        None => Some((value, value)),
        Some((least, most)) => Some((value.min(least), value.max(most))),
    })
}

/// A round step (1, 2 or 5 times a power of ten) that divides a span into about so many parts.
fn step(span: f64, about: u32) -> f64 {
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

/// Powers of ten; where there are few of them, 2 and 5 times each as well; where there are many, only some.
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

/// A tick as it is written: `0.5`, `20`, `50k`, `1.5M`.
pub(crate) fn tick(value: f64) -> String {
    let (scaled, suffix) = match value.abs() {
        size if size >= 1e9 => (value / 1e9, "G"),
        size if size >= 1e6 => (value / 1e6, "M"),
        size if size >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    // Ticks are sums and products of round numbers; what lies beyond eight digits is not theirs.
    let rounded = (scaled * 1e6).round() / 1e6 + 0.0;
    format!("{rounded}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ticks_are_round() {
        let scale = Scale::linear([0.0, 42.5], [0.0, 100.0]);
        assert_eq!(scale.ticks(5), [0.0, 10.0, 20.0, 30.0, 40.0]);
        let scale = Scale::log([18.0, 950.0], [0.0, 100.0]);
        assert_eq!(scale.ticks(6), [20.0, 30.0, 50.0, 100.0, 200.0, 300.0, 500.0]);
        let written: Vec<String> = [0.0, 0.5, 9000.0, 20_000.0, 1.5e6].map(tick).to_vec();
        assert_eq!(written, ["0", "0.5", "9000", "20k", "1.5M"]);
    }

    #[test]
    fn differences_and_ratios_keep_their_distance() {
        let linear = Scale::linear([0.0, 10.0], [0.0, 100.0]);
        assert_eq!([linear.at(0.0), linear.at(5.0), linear.at(20.0)], [0.0, 50.0, 100.0]);
        let log = Scale::log([1.0, 100.0], [0.0, 100.0]);
        assert!((log.at(10.0) - 50.0).abs() < 1e-9, "{}", log.at(10.0));
        assert_eq!(log.at(0.0), 0.0);
    }

    proptest! {
        #[test]
        fn whatever_is_drawn_stays_on_the_paper(
            values in prop::collection::vec(-1e6f64..1e9, 0..20), about in 2u32..10, value in any::<f64>()
        ) {
            for scale in [Scale::linear(values.clone(), [10.0, 90.0]), Scale::log(values, [10.0, 90.0])] {
                let at = scale.at(value);
                prop_assert!(value.is_nan() || (10.0..=90.0).contains(&at), "{at}");
                let ticks = scale.ticks(about);
                prop_assert!(!ticks.is_empty() && ticks.len() <= 30, "{ticks:?}");
            }
        }
    }
}
