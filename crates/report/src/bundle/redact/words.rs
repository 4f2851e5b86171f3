//! Whole words in texts: a word ends where no letter, digit, `-` or `_` follows.

/// Replaces a word wherever it stands as a whole.
pub(super) fn replace_word(text: &str, word: &str, replacement: &str) -> String {
    let mut out = String::new();
    let mut copied = 0;
    for at in places(text, word) {
        out.push_str(&text[copied..at]);
        out.push_str(replacement);
        copied = at + word.len();
    }
    out + &text[copied..]
}

/// Returns true if a text has a word.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    places(text, word).next().is_some()
}

/// Returns the byte offsets at which a word stands as a whole.
fn places<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_part = |c: char| c.is_alphanumeric() || "-_".contains(c);
    text.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_words_stay() {
        assert_eq!(replace_word("box, box-1 (me@box:22)", "box", "x"), "x, box-1 (me@x:22)");
        assert!(has_word("docker:bridge", "docker") && !has_word("docker0", "docker"));
    }
}
