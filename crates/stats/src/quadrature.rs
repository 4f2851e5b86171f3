//! Integration of smooth functions.

/// Gauss–Legendre quadrature: places and weights between −1 and 1.
pub(crate) struct GaussLegendre(Vec<(f64, f64)>);

impl GaussLegendre {
    /// Creates the quadrature with so many points, by Newton's method from Tricomi's approximation of the roots.
    pub(crate) fn new(points: usize) -> Self {
        let n = points as f64;
        let root = |nth: usize| {
            let mut at = (std::f64::consts::PI * (nth as f64 + 0.75) / (n + 0.5)).cos();
            for _ in 0..8 {
                let (value, slope) = legendre(points, at);
                at -= value / slope;
            }
            let (_, slope) = legendre(points, at);
            (at, 2.0 / ((1.0 - at * at) * slope * slope))
        };
        Self((0..points).map(root).collect())
    }

    /// Returns the places and weights between two ends: an integral is the sum of weights times values.
    pub(crate) fn over(&self, low: f64, high: f64) -> impl Iterator<Item = (f64, f64)> + '_ {
        let (middle, half) = (f64::midpoint(low, high), (high - low) / 2.0);
        self.0.iter().map(move |&(at, weight)| (middle + half * at, half * weight))
    }
}

/// Returns the Legendre polynomial of a degree, and its slope.
fn legendre(degree: usize, at: f64) -> (f64, f64) {
    let (mut before, mut value) = (0.0, 1.0);
    for nth in 1..=degree {
        let n = nth as f64;
        (before, value) = (value, ((2.0 * n - 1.0) * at * value - (n - 1.0) * before) / n);
    }
    (value, degree as f64 * (at * value - before) / (at * at - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_and_the_bell_are_integrated_exactly() {
        let quadrature = GaussLegendre::new(48);
        let integral = |low, high, of: fn(f64) -> f64| {
            quadrature.over(low, high).map(|(at, weight)| weight * of(at)).sum::<f64>()
        };
        assert!((integral(0.0, 2.0, |x| x.powi(7)) - 32.0).abs() < 1e-10);
        let bell = integral(-9.0, 9.0, |x| (-x * x / 2.0).exp());
        assert!((bell - std::f64::consts::TAU.sqrt()).abs() < 1e-9, "{bell}");
    }
}
