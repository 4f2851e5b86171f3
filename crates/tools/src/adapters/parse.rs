//! Parsing of numbers in the output of programs.

use serde_json::Value;

/// Returns the number at a path of member names in a JSON document. Returns `None` if there is no finite number.
pub(crate) fn json_number(document: &Value, path: &[&str]) -> Option<f64> {
    json_member(document, path)?.as_f64().filter(|number| number.is_finite())
}

/// Returns the member at a path of member names in a JSON document.
pub(crate) fn json_member<'v>(document: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(document, |value, name| value.get(name))
}

/// Returns the first number after a word. Digits that are grouped (`65,536`) are one number.
pub(crate) fn number_after(text: &str, word: &str) -> Option<f64> {
    first_number(text.split_once(word)?.1)
}

/// Returns the first number of a text.
pub(crate) fn first_number(text: &str) -> Option<f64> {
    let start = text.find(|one: char| one.is_ascii_digit())?;
    let rest = &text[start..];
    let belongs = |one: char| one.is_ascii_digit() || one == '.' || one == ',';
    let end = rest.find(|one| !belongs(one)).unwrap_or(rest.len());
    let plain: String = rest[..end].chars().filter(|one| *one != ',').collect();
    plain.trim_end_matches('.').parse().ok()
}

/// Formats a number without decimals and exponent.
pub(crate) fn format_whole(number: f64) -> String {
    format!("{:.0}", number.max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn numbers_are_found_where_they_are() {
        assert_eq!(number_after("size = 65,536 bytes", "size"), Some(65_536.0));
        assert_eq!(number_after("latency is 4.25.", "latency"), Some(4.25));
        assert_eq!(number_after("nothing", "latency"), None);
        assert_eq!(json_number(&json!({"a": {"b": 2}}), &["a", "b"]), Some(2.0));
        assert_eq!(json_number(&json!({"a": {"b": "2"}}), &["a", "b"]), None);
        assert_eq!(format_whole(1e9), "1000000000");
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_reader(text in "\\PC{0,40}") {
            let _ = (first_number(&text), number_after(&text, "="));
        }
    }
}
