//! `tare bundle`: a run as one archive that anybody can check, cite and show again.

use crate::cli::BundleArguments;
use crate::exit::{Exit, usage};
use anyhow::Context as _;
use std::path::{Path, PathBuf};
use tare_record::journal::{Journal, Record};
use tare_report::Page;

/// Packs a run.
pub(crate) fn run(arguments: &BundleArguments) -> anyhow::Result<Exit> {
    let mut journal = Journal::read(&arguments.directory).map_err(usage)?;
    if arguments.redact {
        journal = tare_report::redact(journal);
    }
    let name = name(&journal);
    let path = arguments.out.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.tar.gz")));
    if path.exists() {
        return Err(usage(anyhow::anyhow!(
            "{} is there already: choose another --out",
            path.display()
        )));
    }
    let document = tare_analysis::document(&journal, None)?;
    let picture = tare_analysis::picture(&journal)?;
    let page = Page { document: &document, run: &journal.run, picture: &picture };
    let bytes = tare_report::bundle(&page, &lines(&journal)?, &name)?;
    keep(&path, &bytes)?;
    crate::out::print(&path.display().to_string())?;
    Ok(Exit::Done)
}

/// What the archive's directory is called.
fn name(journal: &Journal) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let study: String = journal.run.plan.study.chars().map(plain).take(60).collect();
    format!("tare-{study}-{}", journal.run.plan.seed)
}

/// The journal as it is written: a record a line. A torn last line is not part of it.
fn lines(journal: &Journal) -> anyhow::Result<String> {
    let mut text = String::new();
    let first = Record::Run(Box::new(journal.run.clone()));
    for record in std::iter::once(&first).chain(&journal.records) {
        text.push_str(&serde_json::to_string(record)?);
        text.push('\n');
    }
    Ok(text)
}

/// Writes a file whole, or leaves none.
fn keep(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    std::fs::write(path, bytes)
        .inspect_err(|_| drop(std::fs::remove_file(path)))
        .with_context(|| format!("write {}", path.display()))
}
