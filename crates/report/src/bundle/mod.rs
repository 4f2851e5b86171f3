//! Archive of a run: all files needed to check, cite and show it again.

mod opened;
mod redact;

use crate::html::{Page, html};
use crate::{Error, csv, json, samples};
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use tare_record::journal;

pub use opened::{BundleError, open_bundle};
pub use redact::redact;

/// Name of the list of sums of all other files, as `sha256sum --check` reads it.
const CHECKSUMS: &str = "SHA256SUMS";

/// Text of the archive's README.txt: the other files of the archive.
const READ_ME: &str = "\
A run of tare, which measures what container networks cost.

journal.jsonl     every trial: all other files follow from it
report.html       the run as a page: open it in any browser
result.json       the figures, in the format of docs/schema/run.json; result.csv has a row per figure, samples.csv a row per sample
plan.json         the plan of the run
environment.json  the machine; `binary` is the SHA-256 of the program that measured
SHA256SUMS        checksums: run `sha256sum --check SHA256SUMS`
CITATION.cff      how to cite it

To show the run again on any machine, run `tare report` with this archive or this directory.
";

/// File of an archive: its name and its content.
struct ArchiveFile {
    name: &'static str,
    bytes: Vec<u8>,
}

impl ArchiveFile {
    fn new(name: &'static str, text: impl Into<Vec<u8>>) -> Self {
        Self { name, bytes: text.into() }
    }
}

/// Packs a run as a tar archive compressed by gzip, with all files below the directory `name`. `page` is the run,
/// `journal` the text of its journal.
///
/// The same run gives the same bytes: the only time in the archive is the run's own.
///
/// # Errors
/// Fails if the run cannot be written in one of the formats, or if compression fails.
pub fn bundle(page: &Page<'_>, journal: &str, name: &str) -> Result<Vec<u8>, Error> {
    let members = vec![
        ArchiveFile::new("README.txt", READ_ME),
        ArchiveFile::new(journal::FILE, journal),
        ArchiveFile::new("plan.json", pretty(&page.run.plan)?),
        ArchiveFile::new("environment.json", pretty(&page.run.environment)?),
        ArchiveFile::new("result.json", json(page.document)?),
        ArchiveFile::new("result.csv", csv(page.document)?),
        ArchiveFile::new("samples.csv", samples(page.document)?),
        ArchiveFile::new("report.html", html(page)?),
        ArchiveFile::new("CITATION.cff", citation(page)),
    ];
    Ok(seal(members, name)?)
}

/// Packs files below a directory, with the list of their sums.
fn seal(mut members: Vec<ArchiveFile>, name: &str) -> std::io::Result<Vec<u8>> {
    let sums: String =
        members.iter().map(|one| format!("{}  {}\n", sha256(&one.bytes), one.name)).collect();
    members.push(ArchiveFile::new(CHECKSUMS, sums));
    pack(members.iter().map(|one| (one.name, &*one.bytes)), name)
}

/// Packs files below a directory, each with mode 0644, uid and gid 0, and mtime 0.
fn pack<'a>(
    files: impl Iterator<Item = (&'a str, &'a [u8])>,
    name: &str,
) -> std::io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    for (file, bytes) in files {
        let mut header = tar::Header::new_ustar();
        header.set_mode(0o644);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        header.set_size(bytes.len() as u64);
        archive.append_data(&mut header, format!("{name}/{file}"), bytes)?;
    }
    archive.into_inner()?.finish()
}

fn pretty(value: &impl serde::Serialize) -> Result<String, Error> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

fn sha256(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in Sha256::digest(bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Builds the citation file of the run (Citation File Format 1.2.0, <https://citation-file-format.github.io>).
fn citation(page: &Page<'_>) -> String {
    let (document, environment) = (page.document, &page.run.environment);
    let title =
        format!("Container networks measured by tare: {}, seed {}", document.study, document.seed);
    let day = environment.time.split('T').next().unwrap_or_default();
    let date = if day.len() == "2026-01-01".len() {
        format!("date-released: {day}\n")
    } else {
        String::new()
    };
    format!(
        "cff-version: 1.2.0\n\
         message: If you use these figures, please cite them with their machine and their seed.\n\
         type: dataset\n\
         title: {}\n\
         version: {}\n\
         {date}\
         authors:\n  - name: author of the run\n\
         abstract: {}\n",
        quoted(&title),
        quoted(&document.tare),
        quoted(&format!(
            "{} blocks on Linux {} ({})",
            document.blocks, environment.kernel, environment.architecture
        )),
    )
}

/// Quotes a text as a YAML string. JSON strings are valid YAML, so any content is allowed.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
