//! What was counted, in as little memory as it takes.

use std::collections::BTreeMap;

/// Bits of a number in one byte; the highest says that more follow (LEB128).
const BITS: u32 = 7;
const MORE: u8 = 1 << BITS;

/// Steps of a histogram that hold anything, by the most that is counted in each, smallest first: how far each is from the
/// one before, and how many it holds. Of a tenth of a second of round trips that is two to three bytes a step.
#[derive(Clone, Debug, Default)]
pub(super) struct Packed(Box<[u8]>);

impl Packed {
    /// Every step with its count, smallest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let (mut rest, mut step) = (&*self.0, 0);
        std::iter::from_fn(move || {
            step += number(&mut rest)?;
            Some((step, number(&mut rest)?))
        })
    }

    /// The same with more in it, in any order.
    pub(super) fn with(&self, more: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut all: BTreeMap<u64, u64> = self.iter().collect();
        more.into_iter().for_each(|(step, count)| *all.entry(step).or_default() += count);
        all.into_iter().collect()
    }
}

/// Of steps with their counts, smallest first.
impl FromIterator<(u64, u64)> for Packed {
    fn from_iter<I: IntoIterator<Item = (u64, u64)>>(steps: I) -> Self {
        let (mut bytes, mut before) = (Vec::new(), 0);
        for (step, count) in steps {
            append(&mut bytes, step - before);
            append(&mut bytes, count);
            before = step;
        }
        Self(bytes.into_boxed_slice())
    }
}

fn append(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= u64::from(MORE) {
        bytes.push(number as u8 | MORE);
        number >>= BITS;
    }
    bytes.push(number as u8);
}

/// The number at the beginning, which is taken off; nothing at the end.
fn number(rest: &mut &[u8]) -> Option<u64> {
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

    proptest! {
        #[test]
        fn what_is_packed_comes_out(
            steps in prop::collection::btree_map(any::<u64>(), any::<u64>(), 0..50),
            more in prop::collection::vec((0u64..1000, 0u64..1000), 0..50),
        ) {
            let packed: Packed = steps.clone().into_iter().collect();
            prop_assert_eq!(packed.iter().collect::<BTreeMap<_, _>>(), steps);
            let mut sums = BTreeMap::new();
            more.iter().for_each(|&(step, count)| *sums.entry(step).or_insert(0) += count);
            let one_by_one = more.iter().fold(Packed::default(), |all, &one| all.with([one]));
            prop_assert_eq!(one_by_one.iter().collect::<BTreeMap<_, _>>(), sums);
        }
    }

    #[test]
    fn a_tenth_of_a_second_takes_some_kilobytes() {
        let steps = (0..1500).map(|step| (20_000 + 16 * step, 3));
        assert!(steps.collect::<Packed>().0.len() < 4096);
    }
}
