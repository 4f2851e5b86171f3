//! Compact in-memory storage of histogram counts.

/// Payload bits of a byte; the highest bit is set if more bytes follow (LEB128).
const BITS: u32 = 7;
const MORE: u8 = 1 << BITS;

/// Nonempty buckets of a histogram, each named by its largest value, smallest first, as pairs of varints: the distance
/// from the previous bucket and the count. A tenth of a second of round trips takes two to three bytes per bucket.
#[derive(Clone, Debug, Default)]
pub(super) struct PackedCounts(Box<[u8]>);

impl PackedCounts {
    /// Returns every bucket with its count, smallest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let (mut rest, mut step) = (&*self.0, 0);
        std::iter::from_fn(move || {
            step += take_varint(&mut rest)?;
            Some((step, take_varint(&mut rest)?))
        })
    }

    /// Returns these counts with others added, in any order.
    pub(super) fn with(&self, more: impl IntoIterator<Item = (u64, u64)>) -> Self {
        Self::from_unsorted(self.iter().chain(more).collect())
    }

    /// Packs buckets in any order, of which the same may be there many times. What stands in order already, as the counts
    /// of each of many histograms do, is sorted by merging it.
    pub(super) fn from_unsorted(mut all: Vec<(u64, u64)>) -> Self {
        all.sort_by_key(|&(step, _)| step);
        all.dedup_by(|(step, count), (kept, sum)| {
            let is_same = step == kept;
            if is_same {
                *sum = sum.saturating_add(*count);
            }
            is_same
        });
        all.into_iter().collect()
    }
}

/// Collects buckets with their counts, smallest first.
impl FromIterator<(u64, u64)> for PackedCounts {
    fn from_iter<I: IntoIterator<Item = (u64, u64)>>(steps: I) -> Self {
        let (mut bytes, mut before) = (Vec::new(), 0);
        for (step, count) in steps {
            append_varint(&mut bytes, step - before);
            append_varint(&mut bytes, count);
            before = step;
        }
        Self(bytes.into_boxed_slice())
    }
}

fn append_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= u64::from(MORE) {
        bytes.push(number as u8 | MORE);
        number >>= BITS;
    }
    bytes.push(number as u8);
}

/// Removes the first varint from the bytes and returns it. Returns `None` at the end.
fn take_varint(rest: &mut &[u8]) -> Option<u64> {
    let length = rest.iter().position(|byte| byte & MORE == 0)? + 1;
    let (bytes, after) = rest.split_at(length);
    *rest = after;
    let low_first = bytes.iter().rev();
    Some(low_first.fold(0, |number, byte| number << BITS | u64::from(byte & !MORE)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn what_is_packed_comes_out(
            steps in prop::collection::btree_map(any::<u64>(), any::<u64>(), 0..50),
            more in prop::collection::vec((0u64..1000, 0u64..1000), 0..50),
        ) {
            let packed: PackedCounts = steps.clone().into_iter().collect();
            prop_assert_eq!(packed.iter().collect::<BTreeMap<_, _>>(), steps);
            let mut sums = BTreeMap::new();
            more.iter().for_each(|&(step, count)| *sums.entry(step).or_insert(0) += count);
            let one_by_one = more.iter().fold(PackedCounts::default(), |all, &one| all.with([one]));
            prop_assert_eq!(&one_by_one.iter().collect::<BTreeMap<_, _>>(), &sums);
            let at_once = PackedCounts::from_unsorted(more);
            prop_assert_eq!(at_once.iter().collect::<BTreeMap<_, _>>(), sums);
        }
    }

    #[test]
    fn a_tenth_of_a_second_takes_some_kilobytes() {
        let steps = (0..1500).map(|step| (20_000 + 16 * step, 3));
        assert!(steps.collect::<PackedCounts>().0.len() < 4096);
    }
}
