//! Line of a journal, whose texts and numbers may be a stranger's.

use super::record::Record;
use crate::Trial;
use crate::visible_text::{may_control_terminal, visible_value};
use serde::Deserialize;
use serde::de::Error as _;
use serde_json::{Error, Value};
use std::borrow::Cow;

/// Largest integer of a record, the largest that all readers of JSON know exactly (RFC 7493, section 2.2). In
/// nanoseconds it is a hundred days. Two or three such numbers add up within 64 bits.
const LARGEST_INTEGER: u64 = (1 << 53) - 1;

/// Digits of the largest integer.
const DIGITS: usize = 16;

/// Parses the first line. Nothing in its texts is obeyed by a terminal afterwards.
///
/// # Errors
/// Fails if the line is not a record.
pub(super) fn parse_header_record(text: &[u8]) -> Result<Record, Error> {
    if may_control_terminal(text) {
        // As text again: one parser of all records, in place of a second one for trees of values.
        let visible = visible_value(serde_json::from_slice(text)?);
        return parse_plain_record(&serde_json::to_vec(&visible)?);
    }
    parse_plain_record(text)
}

/// Parses a record by its kind, which is read first. serde would read all records through an intermediate tree of values, which takes
/// most of the time and memory of reading a journal, and a tenth of the program's code.
fn parse_plain_record(text: &[u8]) -> Result<Record, Error> {
    #[derive(Deserialize)]
    struct Kind<'t> {
        #[serde(borrow)]
        record: Cow<'t, str>,
    }
    let kind: Kind<'_> = serde_json::from_slice(text)?;
    match kind.record.as_ref() {
        "run" => serde_json::from_slice(text).map(Record::Run),
        "sizing" => serde_json::from_slice(text).map(Record::Sizing),
        "trial" => serde_json::from_slice(text).map(|mut trial: Box<Trial>| {
            trial.release_spare_memory();
            Record::Trial(trial)
        }),
        "turn" => serde_json::from_slice(text).map(Record::Turn),
        "interim-analysis" => serde_json::from_slice(text).map(Record::InterimAnalysis),
        "failure" => serde_json::from_slice(text).map(Record::Failure),
        "resumed" => serde_json::from_slice(text).map(Record::Resumed),
        "end" => serde_json::from_slice(text).map(Record::End),
        other => Err(Error::custom(format_args!("unknown record {other:?}"))),
    }
}

/// Parses any other line, as [`parse_header_record`] does.
///
/// # Errors
/// Fails if the line is not a record, or if it has a larger integer than any measurement.
pub(super) fn parse_record(text: &[u8]) -> Result<Record, Error> {
    if may_have_large_integer(text) && has_large_integer(&serde_json::from_slice(text)?) {
        return Err(Error::custom("a number is larger than any measurement"));
    }
    parse_header_record(text)
}

/// Returns true if the text may have an integer of so many digits. Digits after a point are not of an integer.
fn may_have_large_integer(text: &[u8]) -> bool {
    let (mut digits, mut is_fraction) = (0, false);
    for &byte in text {
        if byte.is_ascii_digit() {
            digits += usize::from(!is_fraction);
            if digits >= DIGITS {
                return true;
            }
        } else {
            (digits, is_fraction) = (0, byte == b'.');
        }
    }
    false
}

fn has_large_integer(value: &Value) -> bool {
    match value {
        Value::Number(number) => {
            number.as_u64().is_some_and(|number| number > LARGEST_INTEGER)
                || number.as_i64().is_some_and(|number| number.unsigned_abs() > LARGEST_INTEGER)
        }
        Value::Array(items) => items.iter().any(has_large_integer),
        Value::Object(entries) => entries.values().any(has_large_integer),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn larger_numbers_than_any_measurement_are_refused() {
        let has = |value: Value| has_large_integer(&value);
        assert!(!has(json!({ "a": [LARGEST_INTEGER, -1, 1e300, "99999999999999999999"] })));
        assert!(has(json!({ "a": [{ "b": LARGEST_INTEGER + 1 }] })));
        assert!(has(json!([i64::MIN])));
    }

    /// A kind that serde writes and this parser does not know would be lost.
    #[test]
    fn every_kind_of_record_is_known() {
        let schema = schemars::schema_for!(Record).to_value();
        let kinds = schema["oneOf"].as_array().unwrap();
        assert!(kinds.len() > 1);
        for kind in kinds {
            let name = kind["properties"]["record"]["const"].as_str().unwrap();
            let line = json!({ "record": name }).to_string();
            let error = parse_plain_record(line.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with("missing field"), "{name}: {error}");
        }
        let error = parse_plain_record(br#"{"record":"x"}"#).unwrap_err().to_string();
        assert!(error.starts_with("unknown record \"x\""), "{error}");
    }

    proptest! {
        #[test]
        fn no_large_integer_is_overlooked(number in any::<u64>(), fraction in any::<f64>()) {
            let text = json!([fraction, number]).to_string();
            prop_assert!(may_have_large_integer(text.as_bytes()) || number <= LARGEST_INTEGER);
        }
    }
}
