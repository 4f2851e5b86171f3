//! Numbers of blocks, trials and turns as documents have them.

/// Returns a length as a number of 32 bits, saturated: a plan has fewer blocks, trials and turns.
pub(crate) fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
