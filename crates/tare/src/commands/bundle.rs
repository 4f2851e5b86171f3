//! `tare bundle`: packs a run into one archive, to be verified, cited and shown again.

use crate::cli::BundleArguments;
use crate::exit::{CommandExit, usage_error};
use crate::output_file::write_whole;
use anyhow::Context as _;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as STANDARD;
use std::path::PathBuf;
use tare_record::journal::{Journal, Record};
use tare_report::Page;

/// Packs a run into an archive.
pub(crate) fn run(arguments: &BundleArguments) -> anyhow::Result<CommandExit> {
    let mut journal = Journal::read(&arguments.directory).map_err(usage_error)?;
    if arguments.redact {
        journal = tare_report::redact(journal)?;
    }
    let name = archive_name(&journal);
    if arguments.base64 {
        crate::output::print(&base64_lines(&archive(&journal, &name)?))?;
        return Ok(CommandExit::Done);
    }
    let path = arguments.out.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.tar.gz")));
    if path.symlink_metadata().is_ok() {
        return Err(usage_error(anyhow::anyhow!(
            "cannot write {}: the path already exists: choose another with --out",
            path.display()
        )));
    }
    let bytes = archive(&journal, &name)?;
    write_whole(&path, &bytes).with_context(|| format!("cannot write {}", path.display()))?;
    crate::output::print(&path.display().to_string())?;
    Ok(CommandExit::Done)
}

/// Packs a run into an archive, whose directory has this name.
fn archive(journal: &Journal, name: &str) -> anyhow::Result<Vec<u8>> {
    let document = tare_analysis::document(journal, None)?;
    let picture = tare_analysis::chart_data(journal)?;
    let page = Page { document: &document, run: &journal.run, picture: &picture };
    Ok(tare_report::bundle(&page, &journal_text(journal)?, name)?)
}

/// Returns bytes in base64, in lines as MIME has them (RFC 2045, 6.8): loggers cut or join longer ones.
fn base64_lines(bytes: &[u8]) -> String {
    /// Bytes of a line of 76 characters.
    const LINE: usize = 57;
    bytes.chunks(LINE).map(|line| STANDARD.encode(line) + "\n").collect()
}

/// Returns the name of the archive's directory.
fn archive_name(journal: &Journal) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let study: String = journal.run.plan.study.chars().map(plain).take(60).collect();
    format!("tare-{study}-{}", journal.run.plan.seed)
}

/// Returns the journal's text, one record per line, without a torn last line.
fn journal_text(journal: &Journal) -> anyhow::Result<String> {
    let mut text = String::new();
    let first = Record::Run(Box::new(journal.run.clone()));
    for record in std::iter::once(&first).chain(&journal.records) {
        text.push_str(&serde_json::to_string(record)?);
        text.push('\n');
    }
    Ok(text)
}
