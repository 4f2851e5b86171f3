//! Latencies as HDR histograms, and their spelling in the journal.

mod packed;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use packed::Packed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Significant decimal digits kept.
const DIGITS: u8 = 3;

/// Latencies in nanoseconds, to three significant digits (HDR histogram, G. Tene).
///
/// In the journal it is base64 over the HDR library's V2 encoding with deflate, which every HDR tool reads. In memory it
/// is open, with room for every value up to its largest, while latencies come; packed, with what was counted and nothing
/// else, once it is kept: of a thousand clients there are a hundred thousand, of a trial of ten minutes six thousand.
#[derive(Clone, Debug)]
pub struct LatencyHistogram(Counts);

#[derive(Clone, Debug)]
enum Counts {
    Open(Histogram<u64>),
    Packed(Packed),
}

impl PartialEq for LatencyHistogram {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

/// A histogram that cannot be read or added to.
#[derive(Debug, thiserror::Error)]
pub enum HistogramError {
    /// Not base64.
    #[error("a histogram is not base64: {0}")]
    Base64(#[from] base64::DecodeError),
    /// Not an HDR histogram of unsigned counts.
    #[error("a histogram is not in HDR's V2 encoding: {0}")]
    Encoding(String),
}

impl LatencyHistogram {
    /// An empty histogram, open, which grows as values come.
    ///
    /// # Errors
    /// Never for the fixed number of digits; the library's signature allows it.
    pub fn new() -> Result<Self, HistogramError> {
        open().map(|histogram| Self(Counts::Open(histogram)))
    }

    /// An empty histogram that takes no memory.
    #[must_use]
    pub fn none() -> Self {
        Self(Counts::Packed(Packed::default()))
    }

    /// A histogram of these latencies.
    ///
    /// # Errors
    /// As [`LatencyHistogram::new`].
    pub fn of(nanos: impl IntoIterator<Item = u64>) -> Result<Self, HistogramError> {
        let mut histogram = Self::new()?;
        for value in nanos {
            histogram.record(value);
        }
        Ok(histogram)
    }

    /// What was counted so far, packed. This one is empty again, and keeps its memory for more.
    #[must_use]
    pub fn drained(&mut self) -> Self {
        let counted = self.iter().collect();
        match &mut self.0 {
            Counts::Open(histogram) => histogram.reset(),
            Counts::Packed(counts) => *counts = Packed::default(),
        }
        Self(Counts::Packed(counted))
    }

    /// Counts one latency; a zero counts as 1 ns, which is below any clock's resolution.
    pub fn record(&mut self, nanos: u64) {
        self.record_many(nanos, 1);
    }

    fn record_many(&mut self, nanos: u64, count: u64) {
        let nanos = nanos.max(1);
        match &mut self.0 {
            Counts::Open(histogram) => {
                // Recording grows the histogram; only where memory for that is refused is the value clamped.
                if histogram.record_n(nanos, count).is_err() {
                    histogram.saturating_record_n(nanos, count);
                }
            }
            Counts::Packed(counts) => *counts = counts.with([(step(nanos).1, count)]),
        }
    }

    /// Adds another histogram's counts to this one's.
    ///
    /// # Errors
    /// Never for two histograms that grow; the library's signature allows it.
    pub fn merge(&mut self, other: &Self) -> Result<(), HistogramError> {
        if let (Counts::Open(all), Counts::Open(more)) = (&mut self.0, &other.0) {
            return all.add(more).map_err(|error| HistogramError::Encoding(error.to_string()));
        }
        match &mut self.0 {
            Counts::Open(_) => {
                other.iter().for_each(|(nanos, count)| self.record_many(nanos, count));
            }
            Counts::Packed(counts) => {
                *counts = counts.with(other.iter().map(|(nanos, count)| (step(nanos).1, count)));
            }
        }
        Ok(())
    }

    /// How many latencies it holds.
    #[must_use]
    pub fn count(&self) -> u64 {
        match &self.0 {
            Counts::Open(histogram) => histogram.len(),
            Counts::Packed(counts) => counts.iter().map(|(_, count)| count).sum(),
        }
    }

    /// The smallest latency such that this share of all (0–1) is at or below it, ns; nothing when empty.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let wanted = ((self.count() as f64 * share.min(1.0)).ceil() as u64).max(1);
        let mut below = 0;
        let reached = |(_, count): &(u64, u64)| {
            below += count;
            below >= wanted
        };
        self.iter().find(reached).map(|(nanos, _)| nanos)
    }

    /// The largest latency, ns, to the histogram's three digits; nothing when empty.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        match &self.0 {
            Counts::Open(histogram) => (!histogram.is_empty()).then(|| histogram.max()),
            Counts::Packed(counts) => counts.iter().last().map(|(nanos, _)| nanos),
        }
    }

    /// Every latency with its count, smallest first: of each step the most that is counted in it.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let (open, packed) = match &self.0 {
            Counts::Open(histogram) => (Some(histogram), None),
            Counts::Packed(counts) => (None, Some(counts)),
        };
        let open = open.into_iter().flat_map(Histogram::iter_recorded);
        let packed = packed.into_iter().flat_map(Packed::iter);
        open.map(|step| (step.value_iterated_to(), step.count_at_value())).chain(packed)
    }

    /// Every step of the histogram that holds latencies, smallest first: the least and the most that is counted in it,
    /// ns, and how many there are.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.iter().map(|(nanos, count)| {
            let (least, most) = step(nanos);
            (least, most, count)
        })
    }

    /// The journal's spelling.
    ///
    /// # Errors
    /// When the library cannot encode it.
    pub fn encode(&self) -> Result<String, HistogramError> {
        let mut bytes = Vec::new();
        let mut write = |histogram: &Histogram<u64>| {
            V2DeflateSerializer::new()
                .serialize(histogram, &mut bytes)
                .map_err(|error| HistogramError::Encoding(error.to_string()))
        };
        match &self.0 {
            Counts::Open(histogram) => write(histogram)?,
            Counts::Packed(counts) => {
                let mut histogram = open()?;
                for (nanos, count) in counts.iter() {
                    let recorded = histogram.record_n(nanos, count);
                    recorded.map_err(|error| HistogramError::Encoding(error.to_string()))?;
                }
                write(&histogram)?
            }
        };
        Ok(STANDARD.encode(bytes))
    }

    /// Reads the journal's spelling.
    ///
    /// # Errors
    /// When the text is no such histogram.
    pub fn decode(text: &str) -> Result<Self, HistogramError> {
        let bytes = STANDARD.decode(text)?;
        let histogram: Histogram<u64> = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|error| HistogramError::Encoding(error.to_string()))?;
        let mut counts = BTreeMap::new();
        for one in histogram.iter_recorded() {
            // One of another precision is read to this one's.
            *counts.entry(step(one.value_iterated_to()).1).or_default() += one.count_at_value();
        }
        Ok(Self(Counts::Packed(counts.into_iter().collect())))
    }
}

/// An empty histogram of the library's that grows.
fn open() -> Result<Histogram<u64>, HistogramError> {
    Histogram::new(DIGITS).map_err(|error| HistogramError::Encoding(error.to_string()))
}

/// The least and the most that the library counts as one with a latency, ns: 2048 steps of 1 ns, then 1024 of twice the
/// width for every doubling.
fn step(nanos: u64) -> (u64, u64) {
    const EXACT_BITS: u32 = 11;
    let shift = (nanos.max(1).ilog2() + 1).saturating_sub(EXACT_BITS);
    let least = nanos >> shift << shift;
    (least, least + ((1 << shift) - 1))
}

impl Serialize for LatencyHistogram {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.encode().map_err(serde::ser::Error::custom)?)
    }
}

impl<'de> Deserialize<'de> for LatencyHistogram {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::decode(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for LatencyHistogram {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "LatencyHistogram".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "HDR histogram of nanoseconds, V2 encoding with deflate, base64"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_are_the_values_to_three_digits() {
        let histogram = LatencyHistogram::of((1..=1000).map(|n| n * 1000)).unwrap();
        assert_eq!(histogram.count(), 1000);
        let median = histogram.quantile(0.5).unwrap() as f64;
        assert!((median / 500_000.0 - 1.0).abs() < 1e-3, "{median}");
        assert!(LatencyHistogram::new().unwrap().quantile(0.5).is_none());
    }

    #[test]
    fn buckets_lie_side_by_side_and_hold_what_was_counted() {
        let values = [1, 2, 2, 1_000_003, 5_000_000];
        let histogram = LatencyHistogram::of(values).unwrap();
        let buckets: Vec<_> = histogram.buckets().collect();
        assert_eq!(buckets.iter().map(|(.., count)| count).sum::<u64>(), 5);
        assert!(buckets.windows(2).all(|pair| pair[0].1 < pair[1].0), "{buckets:?}");
        for value in values {
            assert!(buckets.iter().any(|&(low, high, _)| low <= value && value <= high), "{value}");
        }
    }

    proptest! {
        #[test]
        fn packed_it_says_the_same(
            values in prop::collection::vec(0u64..10_000_000_000, 0..200),
            more in prop::collection::vec(0u64..10_000_000_000, 0..50),
            share in 0.0f64..=1.0,
        ) {
            let open = LatencyHistogram::of(values).unwrap();
            let packed = open.clone().drained();
            prop_assert_eq!(&packed, &open);
            prop_assert_eq!((packed.count(), packed.max()), (open.count(), open.max()));
            prop_assert_eq!(packed.quantile(share), open.quantile(share));
            prop_assert_eq!(packed.buckets().collect::<Vec<_>>(), open.buckets().collect::<Vec<_>>());
            prop_assert_eq!(packed.encode().unwrap(), open.encode().unwrap());
            let more = LatencyHistogram::of(more).unwrap();
            let sums = [(&open, &more), (&open, &more.clone().drained()), (&packed, &more)];
            let sums = sums.map(|(one, other)| {
                let mut sum = one.clone();
                sum.merge(other).unwrap();
                sum
            });
            prop_assert!(sums.iter().all(|sum| *sum == sums[0]));
        }

        #[test]
        fn steps_and_quantiles_are_the_librarys(
            values in prop::collection::vec(1u64..1_000_000_000_000, 1..100),
            share in 0.0001f64..=1.0,
        ) {
            let mut library = open().unwrap();
            values.iter().for_each(|value| library.record(*value).unwrap());
            for &value in &values {
                let expected = (library.lowest_equivalent(value), library.highest_equivalent(value));
                prop_assert_eq!(step(value), expected);
            }
            let ours = LatencyHistogram::of(values).unwrap();
            prop_assert_eq!(ours.quantile(share), Some(library.value_at_quantile(share)));
        }

        #[test]
        fn the_journal_keeps_every_count(values in prop::collection::vec(1u64..10_000_000_000, 0..200)) {
            let histogram = LatencyHistogram::of(values).unwrap();
            let again = LatencyHistogram::decode(&histogram.encode().unwrap()).unwrap();
            prop_assert_eq!(again.iter().collect::<Vec<_>>(), histogram.iter().collect::<Vec<_>>());
        }

        #[test]
        fn no_text_breaks_the_reader(text in ".{0,40}") {
            let _ = LatencyHistogram::decode(&text);
        }
    }
}
