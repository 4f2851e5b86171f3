//! Text of strangers, with the characters that a terminal obeys made visible.

use serde_json::Value;
use std::borrow::Cow;
use std::fmt::Write as _;

/// Returns true if a terminal obeys the character instead of showing it: control characters but the end of a line and
/// the tabulator, and those that reorder the text around them (Unicode Standard Annex 9, `Bidi_Control`).
#[must_use]
pub fn is_terminal_control(c: char) -> bool {
    let is_control = c.is_control() && !matches!(c, '\n' | '\t');
    is_control
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}')
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Replaces what a terminal obeys by its escape in JSON: ESC becomes `\u001b`. A JSON document stays one of the same
/// meaning, as none of these characters stands outside of its strings.
#[must_use]
pub fn visible_text(text: &str) -> Cow<'_, str> {
    if !text.contains(is_terminal_control) {
        return Cow::Borrowed(text);
    }
    let mut visible = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_terminal_control(c) {
            // Writing to a string does not fail.
            let _ = write!(visible, "\\u{:04x}", u32::from(c));
        } else {
            visible.push(c);
        }
    }
    Cow::Owned(visible)
}

/// Makes all texts of a JSON value visible, names of keys among them.
pub(crate) fn visible_value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(visible_text(&text).into_owned()),
        Value::Array(items) => items.into_iter().map(visible_value).collect(),
        Value::Object(entries) => entries
            .into_iter()
            .map(|(key, value)| (visible_text(&key).into_owned(), visible_value(value)))
            .collect(),
        other => other,
    }
}

/// Returns true if the JSON text may have a character that a terminal obeys, as such or escaped.
pub(crate) fn may_control_terminal(json: &[u8]) -> bool {
    /// First bytes in UTF-8 of all such characters above U+007F.
    const LEADS: [u8; 3] = [0xc2, 0xd8, 0xe2];
    json.iter().any(|byte| *byte == b'\\' || *byte == 0x7f || LEADS.contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn what_a_terminal_obeys_is_shown() {
        let cases = [
            ("\u{1b}[2Jx", "\\u001b[2Jx"),
            ("\u{1b}]0;title\u{7}", "\\u001b]0;title\\u0007"),
            ("\u{9b}31m", "\\u009b31m"),
            ("a\u{202e}b\u{2066}c\u{200f}", "a\\u202eb\\u2066c\\u200f"),
            ("back\u{8}\r\u{7f}", "back\\u0008\\u000d\\u007f"),
        ];
        for (text, shown) in cases {
            assert_eq!(visible_text(text), shown);
        }
        for plain in ["34.2 ± 0.4 µs\n", "\tÜber 重", ""] {
            assert!(matches!(visible_text(plain), Cow::Borrowed(_)), "{plain:?}");
        }
    }

    #[test]
    fn keys_and_texts_of_a_value_are_shown() {
        let value = json!({ "a\u{1b}": ["b\u{7f}", 1, null, { "c": "\u{202e}" }] });
        let shown = json!({ "a\\u001b": ["b\\u007f", 1, null, { "c": "\\u202e" }] });
        assert_eq!(visible_value(value), shown);
    }

    proptest! {
        #[test]
        fn nothing_is_left_that_a_terminal_obeys(text in any::<String>()) {
            let visible = visible_text(&text).into_owned();
            prop_assert!(!visible.contains(is_terminal_control), "{visible:?}");
        }

        #[test]
        fn a_json_document_keeps_its_meaning(text in any::<String>()) {
            let document = json!({ "key": text }).to_string();
            let visible: Value = serde_json::from_str(&visible_text(&document)).unwrap();
            prop_assert_eq!(visible["key"].as_str(), Some(text.as_str()));
        }

        #[test]
        fn no_line_with_a_control_is_overlooked(text in any::<String>()) {
            let line = Value::from(text.as_str()).to_string();
            prop_assert!(may_control_terminal(line.as_bytes()) || !text.contains(is_terminal_control));
        }
    }
}
