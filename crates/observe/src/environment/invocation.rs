//! Command line and binary of this process, which are needed to repeat a run.

use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::fs::File;
use std::io;

/// Flags whose values are secrets.
const SECRET_FLAGS: [&str; 1] = ["--token"];

/// Word in the place of a secret.
const HIDDEN: &str = "HIDDEN";

/// Returns the command line, without the program and without secrets.
pub(super) fn command_line() -> Vec<String> {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    without_secrets(words.collect())
}

fn without_secrets(mut words: Vec<String>) -> Vec<String> {
    for at in 0..words.len() {
        if at > 0 && SECRET_FLAGS.contains(&words[at - 1].as_str()) {
            words[at] = HIDDEN.to_owned();
        } else if let Some((flag, _)) = words[at].split_once('=')
            && SECRET_FLAGS.contains(&flag)
        {
            words[at] = format!("{flag}={HIDDEN}");
        }
    }
    words
}

/// Returns the SHA-256 of this program's file, in hexadecimal. Returns `None` if the file can no longer be read.
pub(super) fn binary_sha256() -> Option<String> {
    let mut hash = Sha256::new();
    let mut file = File::open("/proc/self/exe").ok()?;
    io::copy(&mut file, &mut HashWriter(&mut hash)).ok()?;
    let mut text = String::new();
    for byte in hash.finalize() {
        let _ = write!(text, "{byte:02x}");
    }
    Some(text)
}

/// Adapter that writes into a hash.
struct HashWriter<'a>(&'a mut Sha256);

impl io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_recorded() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let told =
            without_secrets(words("probe db1 --token abc --token-file f --token=abc --json"));
        assert_eq!(told, words("probe db1 --token HIDDEN --token-file f --token=HIDDEN --json"));
    }

    #[test]
    fn the_hash_is_that_of_the_file() {
        let here = std::env::current_exe().unwrap();
        let output = std::process::Command::new("sha256sum").arg(here).output().unwrap();
        let told = String::from_utf8(output.stdout).unwrap();
        assert_eq!(binary_sha256().unwrap(), told.split_whitespace().next().unwrap());
    }
}
