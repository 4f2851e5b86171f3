//! A run as one archive that anybody can check, cite and show again.

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

/// What stands in an archive beside the run itself.
const READ_ME: &str = "\
A run of tare, which weighs container networks.

journal.jsonl     every trial: all else follows from it
report.html       the run as a page: open it in any browser
result.json       the figures, as docs/schema/run.json says; result.csv one row a figure, samples.csv one row a sample
plan.json         what was going to be measured
environment.json  on what; `binary` is the SHA-256 of the program that measured
SHA256SUMS        check by `sha256sum --check SHA256SUMS`
CITATION.cff      how to cite it

Show it again, on any machine, by `tare report .` in this directory.
";

/// A file of an archive: its name, and what is in it.
struct Member {
    name: &'static str,
    bytes: Vec<u8>,
}

impl Member {
    fn new(name: &'static str, text: impl Into<Vec<u8>>) -> Self {
        Self { name, bytes: text.into() }
    }
}

/// The run of this page, whose journal is this text, as a tar archive compressed by gzip, all below the directory `name`.
///
/// The same run gives the same bytes: there is no time in it but the run's own.
///
/// # Errors
/// When the run cannot be written in one of the formats.
pub fn bundle(page: &Page<'_>, journal: &str, name: &str) -> Result<Vec<u8>, Error> {
    let mut members = vec![
        Member::new("README.txt", READ_ME),
        Member::new(journal::FILE, journal),
        Member::new("plan.json", pretty(&page.run.plan)?),
        Member::new("environment.json", pretty(&page.run.environment)?),
        Member::new("result.json", json(page.document)?),
        Member::new("result.csv", csv(page.document)?),
        Member::new("samples.csv", samples(page.document)?),
        Member::new("report.html", html(page)?),
        Member::new("CITATION.cff", citation(page)),
    ];
    let sums: String =
        members.iter().map(|one| format!("{}  {}\n", sha256(&one.bytes), one.name)).collect();
    members.push(Member::new("SHA256SUMS", sums));
    let archive =
        tar::archive(members.iter().map(|one| (format!("{name}/{}", one.name), &*one.bytes)));
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

/// How to cite the run (Citation File Format 1.2.0, <https://citation-file-format.github.io>).
fn citation(page: &Page<'_>) -> String {
    let (document, environment) = (page.document, &page.run.environment);
    let title =
        format!("Container networks weighed by tare: {}, seed {}", document.study, document.seed);
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
         authors:\n  - name: whoever ran it\n\
         abstract: {}\n",
        quoted(&title),
        quoted(&document.tare),
        quoted(&format!(
            "{} blocks on Linux {} ({})",
            document.blocks, environment.kernel, environment.architecture
        )),
    )
}

/// A text as YAML takes it whatever is in it: JSON's strings are YAML's.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
