//! The program that measures, and how it was started: what somebody needs who wants to do it again.

use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::fs::File;
use std::io;

/// The command line, without the program.
pub(super) fn command() -> Vec<String> {
    std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect()
}

/// SHA-256 of this program's file, in hexadecimal; nothing where the file cannot be read any more.
pub(super) fn binary() -> Option<String> {
    let mut hash = Sha256::new();
    let mut file = File::open("/proc/self/exe").ok()?;
    io::copy(&mut file, &mut Hashed(&mut hash)).ok()?;
    let mut text = String::new();
    for byte in hash.finalize() {
        let _ = write!(text, "{byte:02x}");
    }
    Some(text)
}

/// A hash that can be written to.
struct Hashed<'a>(&'a mut Sha256);

impl io::Write for Hashed<'_> {
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
    fn the_hash_is_that_of_the_file() {
        let here = std::env::current_exe().unwrap();
        let output = std::process::Command::new("sha256sum").arg(here).output().unwrap();
        let told = String::from_utf8(output.stdout).unwrap();
        assert_eq!(binary().unwrap(), told.split_whitespace().next().unwrap());
    }
}
