//! Words of shell scripts, for those that are shown and those that are run.

/// Quotes a word for a POSIX shell if it needs that. Whatever it holds, the shell takes it for one word.
#[must_use]
pub fn quote(word: &str) -> String {
    let plain = |one: char| one.is_ascii_alphanumeric() || "_-./:=,@%+".contains(one);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_quoted_word_is_one_word(word in "[ -~]{0,20}") {
            let script = format!("printf %s {}", quote(&word));
            let said = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            prop_assert_eq!(String::from_utf8(said.stdout).unwrap(), word);
        }
    }
}
