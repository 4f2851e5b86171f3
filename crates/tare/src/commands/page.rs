//! The page of a run, from its journal alone.

use anyhow::Context as _;
use std::path::Path;
use tare_record::Document;
use tare_record::journal::Journal;
use tare_report::Page;

/// The page, as text.
///
/// # Errors
/// When the journal's histograms cannot be added up.
pub(crate) fn text(journal: &Journal, document: &Document) -> anyhow::Result<String> {
    let picture = tare_analysis::picture(journal)?;
    let page = Page { document, run: &journal.run, picture: &picture };
    Ok(tare_report::html(&page)?)
}

/// Writes the page of a run that was just measured, and says where it is.
///
/// # Errors
/// When it cannot be made or written.
pub(crate) fn keep(directory: &Path, document: &Document, path: &Path) -> anyhow::Result<()> {
    let text = text(&Journal::read(directory)?, document)?;
    std::fs::write(path, text).with_context(|| format!("write {}", path.display()))?;
    crate::out::say(&format!("tare: the page is {}", path.display()));
    Ok(())
}

/// Writes a result to a file, or to standard output where the file is called `-`.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    if path == Path::new("-") {
        return crate::out::print(text);
    }
    std::fs::write(path, text).with_context(|| format!("write {}", path.display()))
}
