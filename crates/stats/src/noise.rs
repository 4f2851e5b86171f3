//! Noise of known properties, for the tests of error rates. It is seeded, so that each run sees the same values.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Source of standard normal noise.
pub(crate) struct Noise(ChaCha8Rng);

impl Noise {
    /// Creates a source with this seed.
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Returns one standard normal value (Box and Muller, 1958).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.0.random::<f64>()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.0.random::<f64>()).cos()
    }

    /// Returns `n` independent standard normal values.
    pub(crate) fn white(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.normal()).collect()
    }

    /// Returns `n` values of a stationary AR(1) process with correlation `phi` of neighbours and standard deviation 1.
    pub(crate) fn ar1(&mut self, n: usize, phi: f64) -> Vec<f64> {
        let innovation = (1.0 - phi * phi).sqrt();
        let mut value = self.normal();
        (0..n)
            .map(|_| {
                let next = phi * value + innovation * self.normal();
                std::mem::replace(&mut value, next)
            })
            .collect()
    }
}
