//! Buckets of an HDR histogram of three significant digits: one for each of the 2048 smallest values, then 1024 of twice
//! the width for every doubling. They are numbered from zero; a number is a bucket's place.

/// Bits of the values that have a bucket each.
const EXACT_BITS: u32 = 11;
const HALF_BITS: u32 = EXACT_BITS - 1;

/// Number of values that have a bucket each.
pub(super) const EXACT: u64 = 1 << EXACT_BITS;

/// Number of buckets up to the largest value of 64 bits.
pub(super) const COUNT: u64 = EXACT + ((64 - EXACT_BITS as u64) << HALF_BITS);

/// Returns by how many bits the width of a value's bucket exceeds one.
fn width_bits(value: u64) -> u32 {
    (value.max(1).ilog2() + 1).saturating_sub(EXACT_BITS)
}

/// Returns the smallest and the largest value of the bucket that holds a value.
pub(super) fn bounds(value: u64) -> (u64, u64) {
    let bits = width_bits(value);
    let least = value >> bits << bits;
    (least, least + ((1 << bits) - 1))
}

/// Returns the place of the bucket that holds a value.
pub(super) fn place_of(value: u64) -> u64 {
    let bits = width_bits(value);
    (u64::from(bits) << HALF_BITS) + (value >> bits)
}

/// Returns the largest value of the bucket at a place.
pub(super) fn value_at(place: u64) -> u64 {
    let Some(beyond) = place.checked_sub(EXACT) else { return place };
    let bits = (beyond >> HALF_BITS) + 1;
    let within = (beyond & ((1 << HALF_BITS) - 1)) + (1 << HALF_BITS);
    (within << bits) | ((1 << bits) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_values_are_each_others() {
        for place in (0..COUNT).step_by(7).chain([EXACT - 1, EXACT, EXACT + 1]) {
            assert_eq!(place_of(value_at(place)), place);
            assert_eq!(bounds(value_at(place)).1, value_at(place));
        }
        assert_eq!(value_at(COUNT - 1), u64::MAX);
    }
}
