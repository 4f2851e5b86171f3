//! Latencies as HDR histograms, and their spelling in the journal.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Latencies in nanoseconds, to three significant digits (HDR histogram, G. Tene).
///
/// In the journal it is base64 over the HDR library's V2 encoding with deflate, which every HDR tool reads.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyHistogram(Histogram<u64>);

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
    /// Significant decimal digits kept.
    const DIGITS: u8 = 3;

    /// An empty histogram, which grows as values come.
    ///
    /// # Errors
    /// Never for the fixed number of digits; the library's signature allows it.
    pub fn new() -> Result<Self, HistogramError> {
        Histogram::new(Self::DIGITS)
            .map(Self)
            .map_err(|error| HistogramError::Encoding(error.to_string()))
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

    /// Counts one latency; a zero counts as 1 ns, which is below any clock's resolution.
    pub fn record(&mut self, nanos: u64) {
        let nanos = nanos.max(1);
        // Recording grows the histogram; only where memory for that is refused is the value clamped.
        if self.0.record(nanos).is_err() {
            self.0.saturating_record(nanos);
        }
    }

    /// Adds another histogram's counts to this one's.
    ///
    /// # Errors
    /// Never for two histograms that grow; the library's signature allows it.
    pub fn merge(&mut self, other: &Self) -> Result<(), HistogramError> {
        self.0.add(&other.0).map_err(|error| HistogramError::Encoding(error.to_string()))
    }

    /// How many latencies it holds.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The smallest latency such that this share of all (0–1) is at or below it, ns; nothing when empty.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<u64> {
        (self.count() > 0).then(|| self.0.value_at_quantile(share))
    }

    /// The largest latency, ns, to the histogram's three digits; nothing when empty.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        (self.count() > 0).then(|| self.0.max())
    }

    /// Every latency with its count, smallest first.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value()))
    }

    /// Every step of the histogram that holds latencies, smallest first: the least and the most that is counted in it,
    /// ns, and how many there are.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.iter().map(|(nanos, count)| {
            (self.0.lowest_equivalent(nanos), self.0.highest_equivalent(nanos), count)
        })
    }

    /// The journal's spelling.
    ///
    /// # Errors
    /// When the library cannot encode it.
    pub fn encode(&self) -> Result<String, HistogramError> {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&self.0, &mut bytes)
            .map_err(|error| HistogramError::Encoding(error.to_string()))?;
        Ok(STANDARD.encode(bytes))
    }

    /// Reads the journal's spelling.
    ///
    /// # Errors
    /// When the text is no such histogram.
    pub fn decode(text: &str) -> Result<Self, HistogramError> {
        let bytes = STANDARD.decode(text)?;
        let mut histogram: Histogram<u64> = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|error| HistogramError::Encoding(error.to_string()))?;
        histogram.auto(true);
        Ok(Self(histogram))
    }
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
