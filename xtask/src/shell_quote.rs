//! Quoting for POSIX shells: echoed command lines, and scripts for the guest of the virtual machine.

use std::ffi::OsStr;

/// Quotes a word so that a POSIX shell takes it literally. Plain words stay as they are.
pub(crate) fn shell_quote(word: &str) -> String {
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Quotes several words, with a space between them.
pub(crate) fn shell_join<S: AsRef<OsStr>>(words: impl IntoIterator<Item = S>) -> String {
    let quoted: Vec<String> =
        words.into_iter().map(|word| shell_quote(&word.as_ref().to_string_lossy())).collect();
    quoted.join(" ")
}

fn is_plain(character: char) -> bool {
    character.is_ascii_alphanumeric() || "/.,:_-+=@%^".contains(character)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn plain_words_stay() {
        for word in ["--locked", "/srv/tare/target", "lab:of", "binary=vm", "a+b@c.d,e"] {
            assert_eq!(shell_quote(word), word);
        }
    }

    #[test]
    fn a_shell_reads_back_every_word() {
        let words =
            ["", " ", "it's", "$HOME", "`id`", "a\nb", "\\", "*", "~", "!x", "\"q\"", "#", "ä"];
        let script = format!("printf '<%s>' {}", shell_join(words));
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        let expected: String = words.iter().map(|word| format!("<{word}>")).collect();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
    }
}
