//! `SHA256SUMS` of all files of a release, as `sha256sum --check` reads it.

use crate::directory;
use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Name of the file.
const NAME: &str = "SHA256SUMS";

/// Returns the SHA-256 of a file, in hexadecimal digits.
pub(super) fn sha256(path: &Path) -> Result<String> {
    let content = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Writes the checksums of all files of a directory, in order of their names.
pub(super) fn write(directory: &Path) -> Result<()> {
    let mut text = String::new();
    for path in directory::entries(directory)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        writeln!(text, "{}  {name}", sha256(&path)?)?;
    }
    let path = directory.join(NAME);
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Returns a line for each file: its size and its path.
pub(super) fn listing(directory: &Path) -> Result<String> {
    let mut text = String::new();
    for path in directory::entries(directory)? {
        let size = fs::metadata(&path)?.len();
        writeln!(text, "{size:>10}  {}", path.display())?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sums_are_sorted_and_in_the_format_of_sha256sum() {
        let scratch = tempfile::tempdir().unwrap();
        for (name, content) in [("b", "abc"), ("a", "")] {
            fs::write(scratch.path().join(name), content).unwrap();
        }
        write(scratch.path()).unwrap();
        // Test vectors of FIPS 180-2.
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let text = fs::read_to_string(scratch.path().join(NAME)).unwrap();
        assert_eq!(text, format!("{empty}  a\n{abc}  b\n"));
    }
}
