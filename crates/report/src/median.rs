//! Median of figures that are reported as they are.

/// Returns the median of sorted values: of an even number, the mean of the middle two. Returns `None` without values.
pub(crate) fn median_of_sorted(values: &[f64]) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    Some((values[last / 2] + values[values.len() / 2]) / 2.0)
}
