//! Numbers in what programs say.

use serde_json::Value;

/// A member of a JSON document by the names on the way to it, as a number.
pub(crate) fn number(document: &Value, path: &[&str]) -> Option<f64> {
    member(document, path)?.as_f64().filter(|number| number.is_finite())
}

/// A member of a JSON document by the names on the way to it.
pub(crate) fn member<'v>(document: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(document, |value, name| value.get(name))
}

/// The first number in a text, after a word; numbers as people group them (`65,536`) are one.
pub(crate) fn after(text: &str, word: &str) -> Option<f64> {
    leading(text.split_once(word)?.1)
}

/// The first number of a text.
pub(crate) fn leading(text: &str) -> Option<f64> {
    let start = text.find(|one: char| one.is_ascii_digit())?;
    let rest = &text[start..];
    let belongs = |one: char| one.is_ascii_digit() || one == '.' || one == ',';
    let end = rest.find(|one| !belongs(one)).unwrap_or(rest.len());
    let plain: String = rest[..end].chars().filter(|one| *one != ',').collect();
    plain.trim_end_matches('.').parse().ok()
}

/// A number as text, for a program that wants no exponent.
pub(crate) fn whole(number: f64) -> String {
    format!("{:.0}", number.max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn numbers_are_found_where_they_are() {
        assert_eq!(after("size = 65,536 bytes", "size"), Some(65_536.0));
        assert_eq!(after("latency is 4.25.", "latency"), Some(4.25));
        assert_eq!(after("nothing", "latency"), None);
        assert_eq!(number(&json!({"a": {"b": 2}}), &["a", "b"]), Some(2.0));
        assert_eq!(number(&json!({"a": {"b": "2"}}), &["a", "b"]), None);
        assert_eq!(whole(1e9), "1000000000");
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_reader(text in "\\PC{0,40}") {
            let _ = (leading(&text), after(&text, "="));
        }
    }
}
