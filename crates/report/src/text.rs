//! Text for terminals: width in columns, line breaks, and characters that a terminal obeys.

use tare_record::visible_text;
use unicode_width::UnicodeWidthStr as _;

/// Returns the width of a text, columns.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Joins the text into one line and makes visible what a terminal obeys. Reasons come from programs and kernels.
pub(crate) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    visible_text(&words.join(" ")).into_owned()
}

/// Joins a subject, the reason and, if known, the remedy.
pub(crate) fn sentence(what: &str, reason: &str, remedy: &str) -> String {
    if remedy.is_empty() {
        format!("{what}: {reason}")
    } else {
        format!("{what}: {reason}; {remedy}")
    }
}

/// Wraps a text between words into lines of at most this many columns. A longer word has a line of its own.
///
/// A percent sign stays with its number, an interval with its value, a middle dot with the word before it. Lines after the first are indented,
/// which makes the beginning of a paragraph visible.
pub(crate) fn wrap(text: &str, columns: usize) -> String {
    const INDENT: &str = "  ";
    let mut lines = String::new();
    let mut used = 0;
    for word in unbreakable(text) {
        if used > 0 && used + 1 + width(&word) > columns {
            lines.push('\n');
            lines.push_str(INDENT);
            used = INDENT.len();
        } else if used > 0 {
            lines.push(' ');
            used += 1;
        }
        lines.push_str(&word);
        used += width(&word);
    }
    lines
}

/// Splits a text into words, each with the sign that follows it.
fn unbreakable(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match words.last_mut() {
            Some(last) if is_held(last, word) => {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// Returns true if a word is not to be parted from the words before it.
fn is_held(before: &str, word: &str) -> bool {
    let is_number = |c: char| c.is_ascii_digit();
    match word {
        "·" => true,
        "±" => before.ends_with(is_number),
        _ if before == "±" || before.ends_with(" ±") => word.starts_with(is_number),
        _ => word.starts_with('%'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        assert_eq!(one_line("bad\u{1b}[31m\nnews\t here "), "bad\\u001b[31m news here");
    }

    #[test]
    fn later_lines_are_indented() {
        assert_eq!(wrap("one two three", 8), "one two\n  three");
        assert_eq!(wrap("one", 2), "one");
        assert_eq!(wrap("about 10 %, or", 9), "about\n  10 %,\n  or");
        assert_eq!(wrap("a · b", 4), "a ·\n  b");
        assert_eq!(wrap("costs 21 ± 2 % of it", 9), "costs\n  21 ± 2 %\n  of it");
    }

    #[test]
    fn signs_take_one_column_and_ideographs_two() {
        assert_eq!(width("34.2 ± 0.4 µs ×"), 15);
        assert_eq!(width("重"), 2);
    }

    proptest! {
        #[test]
        fn wrapping_keeps_every_word_and_the_width(words in prop::collection::vec("[a-zµ±]{1,9}", 1..20), columns in 12usize..40) {
            let wrapped = wrap(&words.join(" "), columns);
            prop_assert_eq!(wrapped.split_whitespace().collect::<Vec<_>>(), words);
            prop_assert!(wrapped.lines().all(|line| width(line) <= columns));
        }
    }
}
