//! Sum of counts from a journal, which may be any numbers.

use std::borrow::Borrow;

/// Sum that stays at the largest number instead of overflowing: a journal that was made up gives an absurd figure, not
/// an end of the program.
pub trait SaturatingSum: Iterator {
    /// Returns the sum of all counts.
    fn saturating_sum(self) -> u64
    where
        Self: Sized,
        Self::Item: Borrow<u64>,
    {
        self.fold(0, |sum, count| sum.saturating_add(*count.borrow()))
    }
}

impl<I: Iterator> SaturatingSum for I {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_ends_at_the_largest_number() {
        assert_eq!([1, 2].iter().saturating_sum(), 3);
        assert_eq!([u64::MAX, 1].into_iter().saturating_sum(), u64::MAX);
    }
}
