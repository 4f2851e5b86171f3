//! HDR histograms of latencies, and their encoding in the journal.

mod buckets;
mod packed_counts;
mod v2_codec;

use crate::SaturatingSum as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use packed_counts::PackedCounts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Significant decimal digits of a value.
const DIGITS: u8 = 3;

/// Histogram of latencies in nanoseconds, with three significant digits (HDR histogram, G. Tene).
///
/// The journal holds it as base64 of the HDR library's V2 encoding with deflate, which every HDR tool reads. In memory
/// it is open while latencies are recorded, with room for every value up to the largest one. For storage it is packed
/// and holds the counts only: a thousand clients have a hundred thousand histograms, a trial of ten minutes has six
/// thousand.
#[derive(Clone, Debug)]
pub struct LatencyHistogram(HistogramStorage);

#[derive(Clone, Debug)]
enum HistogramStorage {
    /// In a box, because the library's type is ten times as large as packed counts.
    Open(Box<Histogram<u64>>),
    Packed(PackedCounts),
}

impl PartialEq for LatencyHistogram {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

/// Error of decoding or merging a histogram.
#[derive(Debug, thiserror::Error)]
pub enum HistogramError {
    /// The text is not base64.
    #[error("cannot decode a histogram as base64: {0}")]
    Base64(#[from] base64::DecodeError),
    /// The bytes are not an HDR histogram of unsigned counts.
    #[error("cannot decode a histogram as HDR histogram V2: {0}")]
    Encoding(String),
}

impl LatencyHistogram {
    /// Creates an empty open histogram, which grows as values are recorded.
    ///
    /// # Errors
    /// Never fails for the fixed number of digits; the library's signature allows an error.
    pub fn new() -> Result<Self, HistogramError> {
        new_hdr_histogram().map(|histogram| Self(HistogramStorage::Open(Box::new(histogram))))
    }

    /// Creates an empty packed histogram, which takes no memory.
    #[must_use]
    pub fn empty() -> Self {
        Self(HistogramStorage::Packed(PackedCounts::default()))
    }

    /// Creates a packed histogram of these latencies.
    ///
    /// # Errors
    /// Fails as [`LatencyHistogram::new`] does.
    pub fn from_nanos(nanos: impl IntoIterator<Item = u64>) -> Result<Self, HistogramError> {
        Self::from_counts(nanos.into_iter().map(|value| (value, 1)))
    }

    /// Creates a packed histogram of these latencies, ns, each with its count.
    ///
    /// # Errors
    /// Fails as [`LatencyHistogram::new`] does.
    pub fn from_counts(
        counts: impl IntoIterator<Item = (u64, u64)>,
    ) -> Result<Self, HistogramError> {
        let mut histogram = Self::new()?;
        for (nanos, count) in counts {
            histogram.record_many(nanos, count);
        }
        Ok(histogram.drain())
    }

    /// Returns the counts so far as a packed histogram, and resets this one. It keeps its memory for further values.
    #[must_use]
    pub fn drain(&mut self) -> Self {
        let counted = self.iter().collect();
        match &mut self.0 {
            HistogramStorage::Open(histogram) => histogram.reset(),
            HistogramStorage::Packed(counts) => *counts = PackedCounts::default(),
        }
        Self(HistogramStorage::Packed(counted))
    }

    /// Records one latency, ns. A zero is recorded as 1 ns, which is below the resolution of any clock.
    pub fn record(&mut self, nanos: u64) {
        self.record_many(nanos, 1);
    }

    fn record_many(&mut self, nanos: u64, count: u64) {
        let nanos = nanos.max(1);
        match &mut self.0 {
            HistogramStorage::Open(histogram) => {
                // Recording grows the histogram; the value is clamped only if memory for that cannot be allocated.
                if histogram.record_n(nanos, count).is_err() {
                    histogram.saturating_record_n(nanos, count);
                }
            }
            HistogramStorage::Packed(counts) => {
                *counts = counts.with([(buckets::bounds(nanos).1, count)]);
            }
        }
    }

    /// Adds the counts of another histogram.
    ///
    /// # Errors
    /// Never fails for two histograms that grow; the library's signature allows an error.
    pub fn merge(&mut self, other: &Self) -> Result<(), HistogramError> {
        if let (HistogramStorage::Open(all), HistogramStorage::Open(more)) = (&mut self.0, &other.0)
        {
            return all.add(&**more).map_err(|error| HistogramError::Encoding(error.to_string()));
        }
        match &mut self.0 {
            HistogramStorage::Open(_) => {
                other.iter().for_each(|(nanos, count)| self.record_many(nanos, count));
            }
            HistogramStorage::Packed(counts) => {
                *counts = counts
                    .with(other.iter().map(|(nanos, count)| (buckets::bounds(nanos).1, count)));
            }
        }
        Ok(())
    }

    /// Returns the counts of all these histograms together, as a packed histogram.
    #[must_use]
    pub fn merged<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        let counts = all.into_iter().flat_map(Self::iter);
        let counts = counts.map(|(nanos, count)| (buckets::bounds(nanos).1, count));
        Self(HistogramStorage::Packed(PackedCounts::from_unsorted(counts.collect())))
    }

    /// Returns the number of latencies.
    #[must_use]
    pub fn count(&self) -> u64 {
        match &self.0 {
            HistogramStorage::Open(histogram) => histogram.len(),
            HistogramStorage::Packed(counts) => {
                counts.iter().map(|(_, count)| count).saturating_sum()
            }
        }
    }

    /// Returns the smallest latency such that this share of all (0–1) is at or below it, ns. Returns `None` if the
    /// histogram is empty.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<u64> {
        self.quantiles(&[share]).first().copied()
    }

    /// Returns the quantiles of these shares (0–1), which ascend, ns, in one pass over the counts. Returns none if the
    /// histogram is empty.
    #[must_use]
    pub fn quantiles(&self, shares: &[f64]) -> Vec<u64> {
        let all = self.count() as f64;
        let wanted = |share: &f64| ((all * share.min(1.0)).ceil() as u64).max(1);
        let mut wanted = shares.iter().map(wanted).peekable();
        let (mut found, mut below) = (Vec::with_capacity(shares.len()), 0);
        for (nanos, count) in self.iter() {
            below += count;
            while wanted.next_if(|&wanted| below >= wanted).is_some() {
                found.push(nanos);
            }
            if wanted.peek().is_none() {
                break;
            }
        }
        found
    }

    /// Returns the largest latency, ns, to three digits. Returns `None` if the histogram is empty.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        match &self.0 {
            HistogramStorage::Open(histogram) => (!histogram.is_empty()).then(|| histogram.max()),
            HistogramStorage::Packed(counts) => counts.iter().last().map(|(nanos, _)| nanos),
        }
    }

    /// Returns the latencies with their counts, smallest first. The latency of a bucket is its largest value.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let (open, packed) = match &self.0 {
            HistogramStorage::Open(histogram) => (Some(histogram), None),
            HistogramStorage::Packed(counts) => (None, Some(counts)),
        };
        let open = open.into_iter().flat_map(|histogram| histogram.iter_recorded());
        let packed = packed.into_iter().flat_map(PackedCounts::iter);
        open.map(|step| (step.value_iterated_to(), step.count_at_value())).chain(packed)
    }

    /// Returns the buckets that hold latencies, smallest first, each as its smallest and largest value, ns, and its
    /// count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.iter().map(|(nanos, count)| {
            let (least, most) = buckets::bounds(nanos);
            (least, most, count)
        })
    }

    /// Encodes the histogram as in the journal.
    ///
    /// # Errors
    /// Fails if a count has more than 63 bits.
    pub fn encode(&self) -> Result<String, HistogramError> {
        let too_many = || HistogramError::Encoding("a count is beyond 63 bits".to_owned());
        Ok(STANDARD.encode(v2_codec::encode(self.iter()).ok_or_else(too_many)?))
    }

    /// Decodes a histogram from the journal. It takes no more memory than the largest one that [`LatencyHistogram::encode`]
    /// writes, whatever the text says of its length.
    ///
    /// # Errors
    /// Fails if the text is not such a histogram.
    pub fn decode(text: &str) -> Result<Self, HistogramError> {
        let counts = v2_codec::decode(&STANDARD.decode(text)?).ok_or(HistogramError::Encoding(
            "it is damaged, or not of three digits and deflated".to_owned(),
        ))?;
        Ok(Self(HistogramStorage::Packed(counts.into_iter().collect())))
    }
}

/// Creates an empty histogram of the library that grows.
fn new_hdr_histogram() -> Result<Histogram<u64>, HistogramError> {
    Histogram::new(DIGITS).map_err(|error| HistogramError::Encoding(error.to_string()))
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
        let histogram = LatencyHistogram::from_nanos((1..=1000).map(|n| n * 1000)).unwrap();
        assert_eq!(histogram.count(), 1000);
        let median = histogram.quantile(0.5).unwrap() as f64;
        assert!((median / 500_000.0 - 1.0).abs() < 1e-3, "{median}");
        assert!(LatencyHistogram::new().unwrap().quantile(0.5).is_none());
    }

    #[test]
    fn buckets_lie_side_by_side_and_hold_what_was_counted() {
        let values = [1, 2, 2, 1_000_003, 5_000_000];
        let histogram = LatencyHistogram::from_nanos(values).unwrap();
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
            let open = LatencyHistogram::from_nanos(values).unwrap();
            let packed = open.clone().drain();
            prop_assert_eq!(&packed, &open);
            prop_assert_eq!((packed.count(), packed.max()), (open.count(), open.max()));
            prop_assert_eq!(packed.quantile(share), open.quantile(share));
            let shares = [share / 2.0, share, share, 1.0];
            let alone: Vec<u64> = shares.iter().filter_map(|&one| open.quantile(one)).collect();
            prop_assert_eq!(packed.quantiles(&shares), alone);
            prop_assert_eq!(packed.buckets().collect::<Vec<_>>(), open.buckets().collect::<Vec<_>>());
            prop_assert_eq!(packed.encode().unwrap(), open.encode().unwrap());
            let more = LatencyHistogram::from_nanos(more).unwrap();
            let sums = [(&open, &more), (&open, &more.clone().drain()), (&packed, &more)];
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
            let mut library = new_hdr_histogram().unwrap();
            values.iter().for_each(|value| library.record(*value).unwrap());
            for &value in &values {
                let expected = (library.lowest_equivalent(value), library.highest_equivalent(value));
                prop_assert_eq!(buckets::bounds(value), expected);
            }
            let ours = LatencyHistogram::from_nanos(values).unwrap();
            prop_assert_eq!(ours.quantile(share), Some(library.value_at_quantile(share)));
        }

        #[test]
        fn the_journal_keeps_every_count(values in prop::collection::vec(1u64..10_000_000_000, 0..200)) {
            let histogram = LatencyHistogram::from_nanos(values).unwrap();
            let again = LatencyHistogram::decode(&histogram.encode().unwrap()).unwrap();
            prop_assert_eq!(again.iter().collect::<Vec<_>>(), histogram.iter().collect::<Vec<_>>());
        }

        #[test]
        fn no_text_breaks_the_reader(text in ".{0,40}") {
            let _ = LatencyHistogram::decode(&text);
        }
    }
}
