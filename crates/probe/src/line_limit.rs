//! Limits of a line that comes from another machine: its length, and the number of its JSON values.
//!
//! A value of two bytes takes up to a hundred in memory: the length alone does not bound what a line costs.

use tare_traffic::TrialTask;

/// Limits of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineLimit {
    /// Longest line, bytes.
    pub(crate) bytes: usize,
    /// Most JSON values in the line.
    pub(crate) values: usize,
}

/// Longest line of a listener, whatever the trial, bytes.
const LONGEST_REPORT: u64 = 256 << 20;

/// Length of a report without its intervals, bytes.
const REPORT_LENGTH: u64 = 64 << 10;

/// Length of an interval record in a report, with its CPU times, bytes.
const INTERVAL_LENGTH: u64 = 1 << 10;

/// Length of the histogram in an interval record, bytes: three significant digits of latencies up to minutes.
const HISTOGRAM_LENGTH: u64 = 32 << 10;

/// Most JSON values of a report without its intervals, and of one interval record.
const REPORT_VALUES: u64 = 4 << 10;
const INTERVAL_VALUES: u64 = 64;

impl From<usize> for LineLimit {
    /// Limits only the length.
    fn from(bytes: usize) -> Self {
        Self { bytes, values: bytes }
    }
}

impl LineLimit {
    /// Returns the limits of a listener's report of this trial.
    pub(crate) fn for_report(task: &TrialTask) -> Self {
        let intervals = task.duration.0 / task.interval.0.max(1);
        let histogram = if task.one_clock { HISTOGRAM_LENGTH } else { 0 };
        let bytes = intervals.saturating_mul(INTERVAL_LENGTH + histogram);
        let values = intervals.saturating_mul(INTERVAL_VALUES);
        let limit = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        Self {
            bytes: limit(bytes.saturating_add(REPORT_LENGTH).min(LONGEST_REPORT)),
            values: limit(values.saturating_add(REPORT_VALUES)),
        }
    }

    /// Returns true if a line has too many values.
    pub(crate) fn has_too_many_values(&self, line: &[u8]) -> bool {
        line.len() > self.values && value_count(line) > self.values
    }
}

/// Returns an upper bound of the number of JSON values in a line: every one but the first follows a bracket, a brace or
/// a comma outside of strings.
fn value_count(line: &[u8]) -> usize {
    let (mut count, mut is_in_string, mut is_escaped) = (1, false, false);
    for byte in line {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_in_string => is_escaped = true,
            b'"' => is_in_string = !is_in_string,
            b'[' | b'{' | b',' if !is_in_string => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};
    use tare_record::Nanos;

    fn values(value: &Value) -> usize {
        1 + match value {
            Value::Array(list) => list.iter().map(values).sum(),
            Value::Object(map) => map.values().map(values).sum(),
            _ => 0,
        }
    }

    #[test]
    fn text_counts_as_one_value() {
        for (value, count) in [
            (json!("[,{\"\\,["), 1),
            (json!([1, 2, 3]), 4),
            (json!({"a": [], "b": {"c": null}}), 5),
        ] {
            let counted = value_count(value.to_string().as_bytes());
            assert!((count.min(values(&value))..=count).contains(&counted), "{value}: {counted}");
        }
    }

    #[test]
    fn a_report_may_be_as_long_as_its_trial() {
        let task = TrialTask::single_flow("tcp-rr", Default::default(), Nanos(1000), Nanos(10));
        let limit = LineLimit::for_report(&task);
        assert_eq!((limit.bytes, limit.values), (164 << 10, 4096 + 6400));
        let endless = TrialTask { duration: Nanos(u64::MAX), interval: Nanos(0), ..task };
        assert_eq!(LineLimit::for_report(&endless).bytes, 256 << 20);
    }

    proptest! {
        #[test]
        fn no_value_is_missed(texts in prop::collection::vec(".{0,8}", 0..20), nested: bool) {
            let list = json!(texts);
            let value = if nested { json!({"a": [list.clone(), {"b": list}]}) } else { list };
            prop_assert!(value_count(value.to_string().as_bytes()) >= values(&value));
        }
    }
}
