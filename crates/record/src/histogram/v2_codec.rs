//! V2 encoding with deflate of HDR histograms, to and from counts alone.
//!
//! The library encodes its own histogram, which has a place for every value up to the largest: hundreds of kilobytes for
//! latencies of some hundred milliseconds, allocated and cleared for each of the ten thousands of histograms of a
//! thousand clients; and reading, it allocates what a header asks for. The bytes here are the same, of three digits
//! only, and a header allocates nothing.
//!
//! Format: github.com/HdrHistogram/HdrHistogram, `V2 encoding`: a header, then counts by place as ZigZag LEB128 of at
//! most nine bytes, where a negative number is a run of places without any.

use super::{DIGITS, buckets};
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use std::cell::RefCell;

/// First words of the two encodings.
const COOKIE: u32 = 0x1c84_9313;
const DEFLATED_COOKIE: u32 = 0x1c84_9314;
/// Length of the header, and of that before the deflated bytes.
const HEADER: usize = 40;
const DEFLATED_HEADER: usize = 8;
/// Smallest value, and factor to floating point.
const LOWEST: u64 = 1;
const FACTOR: f64 = 1.0;
/// Most bytes of a number, and of a histogram of three digits.
const LONGEST_NUMBER: usize = 9;
const MOST_BYTES: usize = HEADER + LONGEST_NUMBER * buckets::COUNT as usize;
/// Most counts of a histogram: a day of ten million a second. The sum of those of a run is far from the end of its type.
const MOST_COUNTS: u64 = 1 << 40;
/// Largest value that an empty histogram of the library has a place for, by its header.
const SMALLEST_RANGE: u64 = 2;

/// Compressor and decompressor of a thread: a new one takes longer than its work.
struct Deflate {
    compress: Compress,
    decompress: Decompress,
}

thread_local! {
    static DEFLATE: RefCell<Deflate> = RefCell::new(Deflate {
        compress: Compress::new(Compression::default(), true),
        decompress: Decompress::new(true),
    });
}

/// Encodes counts of buckets, each by any value in it, smallest first. Returns `None` if they cannot be compressed.
pub(super) fn encode(counts: impl Iterator<Item = (u64, u64)>) -> Option<Vec<u8>> {
    let mut plain = vec![0; HEADER];
    let (mut next, mut largest) = (0, 0);
    for (value, count) in counts {
        let place = buckets::place_of(value);
        match place - next {
            0 => {}
            1 => append_number(&mut plain, 0),
            empty => append_number(&mut plain, -(empty as i64)),
        }
        append_number(&mut plain, i64::try_from(count).ok()?);
        (next, largest) = (place + 1, value);
    }
    if next == 0 {
        // The library writes the first place of an empty histogram.
        append_number(&mut plain, 0);
    }
    let length = u32::try_from(plain.len() - HEADER).ok()?;
    let header = [
        &COOKIE.to_be_bytes()[..],
        &length.to_be_bytes(),
        &0u32.to_be_bytes(),
        &u32::from(DIGITS).to_be_bytes(),
        &LOWEST.to_be_bytes(),
        &range_for(largest).to_be_bytes(),
        &FACTOR.to_be_bytes(),
    ]
    .concat();
    plain[..HEADER].copy_from_slice(&header);
    deflate(&plain)
}

/// Returns the largest value for which the library has a place after it counted this one.
fn range_for(value: u64) -> u64 {
    if value < buckets::EXACT {
        return SMALLEST_RANGE;
    }
    let bits = value.ilog2() + 1;
    u64::MAX >> (u64::BITS - bits)
}

fn append_number(bytes: &mut Vec<u8>, number: i64) {
    let mut rest = ((number << 1) ^ (number >> 63)).cast_unsigned();
    for _ in 1..LONGEST_NUMBER {
        if rest < 0x80 {
            break;
        }
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

/// Removes a number from the bytes. Returns `None` if they end within it.
fn take_number(bytes: &mut &[u8]) -> Option<i64> {
    let mut number = 0;
    for nth in 0..LONGEST_NUMBER {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        // The ninth byte has eight bits.
        let is_last = nth + 1 == LONGEST_NUMBER;
        let payload = if is_last { byte } else { byte & 0x7f };
        number |= u64::from(payload) << (7 * nth);
        if byte < 0x80 {
            break;
        }
    }
    Some((number >> 1).cast_signed() ^ -((number & 1).cast_signed()))
}

/// Decodes the counts of all buckets that have any, each by its largest value, smallest first. Returns `None` if the
/// bytes are not of three digits as [`encode`] writes them, or hold more counts than a run can make.
pub(super) fn decode(bytes: &[u8]) -> Option<Vec<(u64, u64)>> {
    let (head, deflated) = bytes.split_at_checked(DEFLATED_HEADER)?;
    let length = u32::from_be_bytes(head[4..].try_into().ok()?) as usize;
    if head[..4] != DEFLATED_COOKIE.to_be_bytes() {
        return None;
    }
    let plain = inflate(deflated.get(..length)?)?;
    let (head, counts) = plain.split_at_checked(HEADER)?;
    let expected =
        [COOKIE, u32::try_from(counts.len()).ok()?, 0, DIGITS.into()].map(u32::to_be_bytes);
    let is_ours = head[..16] == expected.concat()
        && head[16..24] == LOWEST.to_be_bytes()
        && head[32..] == FACTOR.to_be_bytes();
    if is_ours { decode_counts(counts) } else { None }
}

fn decode_counts(mut bytes: &[u8]) -> Option<Vec<(u64, u64)>> {
    let (mut counts, mut place, mut all) = (Vec::new(), 0u64, 0u64);
    while !bytes.is_empty() {
        let number = take_number(&mut bytes)?;
        match u64::try_from(number) {
            Ok(count) => {
                all = all.checked_add(count).filter(|&all| all <= MOST_COUNTS)?;
                if count > 0 {
                    counts.push((buckets::value_at(place), count));
                }
                place += 1;
            }
            Err(_) => place = place.checked_add(number.unsigned_abs())?,
        }
        if place > buckets::COUNT {
            return None;
        }
    }
    Some(counts)
}

/// Compresses bytes, with the header of compressed histograms.
fn deflate(plain: &[u8]) -> Option<Vec<u8>> {
    DEFLATE.with_borrow_mut(|Deflate { compress, .. }| {
        compress.reset();
        let mut packed = Vec::with_capacity(DEFLATED_HEADER + plain.len() / 2 + 64);
        packed.extend(DEFLATED_COOKIE.to_be_bytes());
        packed.extend([0; 4]);
        let mut flush = FlushCompress::None;
        loop {
            let taken = usize::try_from(compress.total_in()).ok()?;
            let status = compress.compress_vec(&plain[taken..], &mut packed, flush).ok()?;
            if status == Status::StreamEnd {
                break;
            }
            if packed.len() == packed.capacity() {
                packed.reserve(packed.len());
            } else if compress.total_in() == plain.len() as u64 {
                flush = FlushCompress::Finish;
            }
        }
        let length = u32::try_from(packed.len() - DEFLATED_HEADER).ok()?;
        packed[4..DEFLATED_HEADER].copy_from_slice(&length.to_be_bytes());
        Some(packed)
    })
}

/// Decompresses bytes. Returns `None` if they are damaged, or longer than a histogram of three digits can be.
fn inflate(packed: &[u8]) -> Option<Vec<u8>> {
    DEFLATE.with_borrow_mut(|Deflate { decompress, .. }| {
        decompress.reset(true);
        let mut plain = Vec::with_capacity(4 * 1024);
        loop {
            let taken = usize::try_from(decompress.total_in()).ok()?;
            let before = plain.len();
            let rest = packed.get(taken..)?;
            let status = decompress.decompress_vec(rest, &mut plain, FlushDecompress::None).ok()?;
            if status == Status::StreamEnd {
                return Some(plain);
            }
            if plain.len() > MOST_BYTES {
                return None;
            }
            if plain.len() == plain.capacity() {
                plain.reserve(plain.len());
            } else if plain.len() == before && decompress.total_in() == taken as u64 {
                // Nothing more comes of what is there.
                return None;
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn library(counts: &BTreeMap<u64, u64>) -> Histogram<u64> {
        let mut histogram = Histogram::new(3).unwrap();
        counts.iter().for_each(|(&value, &count)| histogram.record_n(value, count).unwrap());
        histogram
    }

    fn recorded(histogram: &Histogram<u64>) -> Vec<(u64, u64)> {
        let steps = histogram.iter_recorded();
        steps.map(|step| (step.value_iterated_to(), step.count_at_value())).collect()
    }

    /// Returns the counts by the largest value of each bucket.
    fn by_bucket(counts: &BTreeMap<u64, u64>) -> BTreeMap<u64, u64> {
        let mut all = BTreeMap::new();
        for (value, count) in counts {
            *all.entry(buckets::value_at(buckets::place_of(*value))).or_default() += count;
        }
        all
    }

    #[test]
    fn no_counts_are_the_librarys_empty_histogram() {
        let mut theirs = Vec::new();
        V2DeflateSerializer::new().serialize(&library(&BTreeMap::new()), &mut theirs).unwrap();
        assert_eq!(encode(std::iter::empty()).unwrap(), theirs);
        assert_eq!(decode(&theirs), Some(Vec::new()));
    }

    /// Returns a header of the inner encoding.
    fn header(length: u32, digits: u32) -> Vec<u8> {
        let words = [COOKIE, length, 0, digits].map(u32::to_be_bytes).concat();
        let range = [LOWEST, u64::MAX, FACTOR.to_bits()].map(u64::to_be_bytes).concat();
        [words, range].concat()
    }

    #[test]
    fn a_length_that_is_not_there_and_a_bomb_are_refused() {
        for digits in [DIGITS.into(), 5] {
            let promised = deflate(&header(u32::MAX, digits)).unwrap();
            assert!(promised.len() < 56, "{} bytes", promised.len());
            assert_eq!(decode(&promised), None);
        }
        let zeros = 64 * 1024 * 1024;
        let bomb = deflate(&[header(zeros, DIGITS.into()), vec![0; zeros as usize]].concat());
        assert_eq!(decode(&bomb.unwrap()), None);
    }

    #[test]
    fn more_counts_than_a_run_makes_are_refused() {
        let of = |counts: &[u64]| {
            encode((1u64..).zip(counts).map(|(value, &count)| (value, count))).unwrap()
        };
        assert!(decode(&of(&[MOST_COUNTS])).is_some());
        assert_eq!(decode(&of(&[MOST_COUNTS, 1])), None);
        assert_eq!(decode(&of(&[1 << 62, 1 << 62, 1 << 62, 1 << 62])), None);
    }

    proptest! {
        #[test]
        fn both_encodings_are_the_same_bytes_and_say_the_same(
            counts in prop::collection::btree_map(1u64..10_000_000_000, 1u64..1_000_000_000, 0..300),
        ) {
            let counts = by_bucket(&counts);
            let mut theirs = Vec::new();
            V2DeflateSerializer::new().serialize(&library(&counts), &mut theirs).unwrap();
            let ours = encode(counts.iter().map(|(&value, &count)| (value, count))).unwrap();
            prop_assert_eq!(&ours, &theirs);
            prop_assert_eq!(decode(&theirs).unwrap(), recorded(&library(&counts)));
        }

        #[test]
        fn another_precision_is_refused(values in prop::collection::vec(1u64..1_000_000, 1..30)) {
            let mut other: Histogram<u64> = Histogram::new(2).unwrap();
            values.iter().for_each(|&value| other.record(value).unwrap());
            let mut bytes = Vec::new();
            V2DeflateSerializer::new().serialize(&other, &mut bytes).unwrap();
            prop_assert_eq!(decode(&bytes), None);
        }

        #[test]
        fn damaged_bytes_are_refused_or_read_as_by_the_library(
            counts in prop::collection::btree_map(1u64..100_000, 1u64..1000, 1..50),
            at in any::<prop::sample::Index>(), byte in any::<u8>(),
        ) {
            let mut bytes = encode(by_bucket(&counts).into_iter()).unwrap();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            if let Some(ours) = decode(&bytes) {
                let theirs: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
                prop_assert_eq!(ours, recorded(&theirs));
            }
        }
    }
}
