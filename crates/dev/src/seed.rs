//! Random numbers for a test, drawn from a seed that a failure prints.

use rand::{Rng as _, RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use std::ops::Range;

/// Environment variable that repeats a test with the seed of an earlier failure.
const VARIABLE: &str = "TARE_TEST_SEED";

/// Source of a test's random numbers. A panicking test prints the seed.
pub struct Seed {
    number: u64,
    numbers: ChaCha8Rng,
}

impl Seed {
    /// Returns the seed from `TARE_TEST_SEED`, or a random one.
    ///
    /// # Panics
    ///
    /// `TARE_TEST_SEED` is not a number.
    #[must_use]
    pub fn from_environment() -> Self {
        let number = std::env::var(VARIABLE).map_or_else(
            |_| rand::rng().next_u64(),
            |text| text.parse().expect("TARE_TEST_SEED is a number"),
        );
        Self { number, numbers: ChaCha8Rng::seed_from_u64(number) }
    }

    /// Returns a random number within a range.
    pub fn within(&mut self, range: Range<u64>) -> u64 {
        self.numbers.random_range(range)
    }
}

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("repeat with {VARIABLE}={}", self.number);
        }
    }
}
