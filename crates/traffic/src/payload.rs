//! Payload: bytes that no network on the way can compress.

/// Returns this many bytes by SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA
/// 2014), the same in every run.
pub(crate) fn incompressible_payload(size: usize) -> Box<[u8]> {
    let mut state = 0u64;
    let words = std::iter::repeat_with(|| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)).to_le_bytes()
    });
    words.flatten().take(size).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_of_the_asked_size_and_every_byte_is_as_likely() {
        assert_eq!(incompressible_payload(13).len(), 13);
        let mut counts = [0u32; 256];
        incompressible_payload(256 * 1000).iter().for_each(|&byte| counts[usize::from(byte)] += 1);
        // 1000 of each are expected; the standard deviation is 32.
        assert!(counts.iter().all(|count| (800..1200).contains(count)));
    }
}
