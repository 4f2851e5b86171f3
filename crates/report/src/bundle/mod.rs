//! Archive of a run: all files needed to check, cite and show it again.

mod redact;
mod tar;

use crate::html::{Page, html};
use crate::{Error, csv, json, samples};
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::io::Write as _;
use tare_record::journal;

pub use redact::redact;

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

To show the run again on any machine, run `tare report .` in this directory.
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
    let mut members = vec![
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
    let sums: String =
        members.iter().map(|one| format!("{}  {}\n", sha256(&one.bytes), one.name)).collect();
    members.push(ArchiveFile::new("SHA256SUMS", sums));
    let archive =
        tar::build_archive(members.iter().map(|one| (format!("{name}/{}", one.name), &*one.bytes)));
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(&archive)?;
    Ok(packed.finish()?)
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
