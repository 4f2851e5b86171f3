//! Reading of an archive that others may have packed or changed: every file is checked against its sum.

use super::{CHECKSUMS, sha256};
use flate2::read::GzDecoder;
use std::collections::BTreeMap;
use std::io::Read;
use tare_record::journal;

/// Most bytes that are unpacked, twice a journal of ten thousand trials.
const MOST_BYTES: u64 = 512 << 20;

/// Most files of an archive: eleven, and room for those of later versions.
const MOST_FILES: usize = 32;

/// Most bytes of the list of sums.
const MOST_SUMS: u64 = 64 << 10;

/// Error of opening an archive.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// Not an archive of `tare bundle`, or cut off.
    #[error("no archive of `tare bundle`, or one that was cut off: {0}")]
    Unreadable(#[from] std::io::Error),
    /// A file is missing in the archive.
    #[error("no archive of `tare bundle`: it has no {0}")]
    Missing(&'static str),
    /// The archive has something else than files.
    #[error("no archive of `tare bundle`: {0} in it is no regular file")]
    NoFile(String),
    /// The archive has more files than any that tare packs.
    #[error("no archive of `tare bundle`: it has more than {MOST_FILES} files")]
    TooManyFiles,
    /// A file is not what was packed.
    #[error(
        "{0} is not what was packed: its sum in SHA256SUMS is another; ask for the archive again"
    )]
    Changed(String),
}

/// Opens an archive of `tare bundle`, checks all its files against their sums, and returns the text of its journal.
///
/// # Errors
/// Fails if it is no such archive, if it is larger than 512 MiB unpacked, or if a file was changed, added or removed.
pub fn open_bundle(archive: impl Read) -> Result<Vec<u8>, BundleError> {
    let mut files = tar::Archive::new(GzDecoder::new(archive).take(MOST_BYTES));
    let (mut journal, mut sums) = (None, None);
    let mut packed = BTreeMap::new();
    for entry in files.entries()? {
        let mut entry = entry?;
        let path = entry.path_bytes().into_owned();
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let name = String::from_utf8_lossy(name).into_owned();
        match entry.header().entry_type() {
            tar::EntryType::Regular => {}
            tar::EntryType::Directory => continue,
            // A link has no content, and a sparse file more of it than the archive.
            _ => return Err(BundleError::NoFile(name)),
        }
        if packed.len() == MOST_FILES {
            return Err(BundleError::TooManyFiles);
        }
        if name == CHECKSUMS {
            let mut text = String::new();
            entry.take(MOST_SUMS).read_to_string(&mut text)?;
            sums = Some(text);
            continue;
        }
        let mut content = Vec::new();
        entry.read_to_end(&mut content)?;
        if packed.insert(name.clone(), sha256(&content)).is_some() {
            return Err(BundleError::Changed(name));
        }
        if name == journal::FILE {
            journal = Some(content);
        }
    }
    // The checksum of gzip is behind the end of the archive.
    std::io::copy(&mut files.into_inner(), &mut std::io::sink())?;
    check_sums(packed, &sums.ok_or(BundleError::Missing(CHECKSUMS))?)?;
    journal.ok_or(BundleError::Missing(journal::FILE))
}

/// Checks the sums of files against the list in the archive, which names each of them and no other.
fn check_sums(mut packed: BTreeMap<String, String>, list: &str) -> Result<(), BundleError> {
    for line in list.lines() {
        let (sum, name) = line.split_once("  ").unwrap_or((line, ""));
        if packed.remove(name).as_deref() != Some(sum) {
            return Err(BundleError::Changed(name.to_owned()));
        }
    }
    match packed.pop_first() {
        Some((name, _)) => Err(BundleError::Changed(name)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ArchiveFile, pack, seal, sha256};
    use super::*;
    use proptest::prelude::*;

    const JOURNAL: &[u8] = b"{\"record\":\"run\"}\n";

    /// Seals a journal and a file beside it.
    fn sealed(beside: &[u8]) -> Vec<u8> {
        let files =
            vec![ArchiveFile::new(journal::FILE, JOURNAL), ArchiveFile::new("result.json", beside)];
        seal(files, "run").unwrap()
    }

    #[test]
    fn what_was_sealed_opens() {
        assert_eq!(open_bundle(&*sealed(b"{}")).unwrap(), JOURNAL);
    }

    #[test]
    fn what_was_changed_added_or_removed_is_named() {
        let list = format!("{}  journal.jsonl\n", sha256(JOURNAL));
        let open = |files: &[(&str, &[u8])]| {
            let archive = pack(files.iter().copied(), "run").unwrap();
            open_bundle(&*archive).map_err(|error| error.to_string())
        };
        let sums = ("SHA256SUMS", list.as_bytes());
        assert!(open(&[("journal.jsonl", JOURNAL), sums]).is_ok());
        let changed =
            "is not what was packed: its sum in SHA256SUMS is another; ask for the archive again";
        for (files, name) in [
            (vec![("journal.jsonl", &b"{}\n"[..]), sums], "journal.jsonl"),
            (vec![("journal.jsonl", JOURNAL), ("more", b"x"), sums], "more"),
            (vec![("journal.jsonl", JOURNAL), ("journal.jsonl", JOURNAL), sums], "journal.jsonl"),
            (vec![sums], "journal.jsonl"),
        ] {
            assert_eq!(open(&files).unwrap_err(), format!("{name} {changed}"));
        }
        let missing = "no archive of `tare bundle`: it has no SHA256SUMS";
        assert_eq!(open(&[("journal.jsonl", JOURNAL)]).unwrap_err(), missing);
    }

    proptest! {
        #[test]
        fn no_bytes_break_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            prop_assert!(open_bundle(&*bytes).is_err());
        }

        #[test]
        fn an_archive_that_is_cut_or_flipped_is_refused_or_the_same(at in 0usize..400, flip in 1u8..) {
            let mut bytes = sealed(b"{}");
            let at = at % bytes.len();
            prop_assert!(open_bundle(&bytes[..at]).is_err());
            bytes[at] ^= flip;
            if let Ok(journal) = open_bundle(&*bytes) {
                prop_assert_eq!(journal, JOURNAL);
            }
        }
    }
}
