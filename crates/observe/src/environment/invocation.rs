//! Command line and binary of this process, which are needed to repeat a run.

use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::fs::File;
use std::io;

/// Returns the command line, without the program.
pub(super) fn command_line() -> Vec<String> {
    std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect()
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
    fn the_hash_is_that_of_the_file() {
        let here = std::env::current_exe().unwrap();
        let output = std::process::Command::new("sha256sum").arg(here).output().unwrap();
        let told = String::from_utf8(output.stdout).unwrap();
        assert_eq!(binary_sha256().unwrap(), told.split_whitespace().next().unwrap());
    }
}
