//! HTML page of a run, from its journal alone.

use crate::output_file::write_whole;
use anyhow::Context as _;
use std::path::Path;
use tare_record::Document;
use tare_record::journal::Journal;
use tare_report::Page;

/// Returns the HTML page.
///
/// # Errors
/// Fails if the journal's histograms cannot be added.
pub(crate) fn render_page(journal: &Journal, document: &Document) -> anyhow::Result<String> {
    let picture = tare_analysis::chart_data(journal)?;
    let page = Page { document, run: &journal.run, picture: &picture };
    Ok(tare_report::html(&page)?)
}

/// Writes the page of a run that was just measured, and reports its path.
///
/// # Errors
/// Fails if the page cannot be rendered or written.
pub(crate) fn write_run_page(
    directory: &Path,
    document: &Document,
    path: &Path,
) -> anyhow::Result<()> {
    let text = render_page(&Journal::read(directory)?, document)?;
    write_whole(path, text.as_bytes())
        .with_context(|| format!("cannot write {}", path.display()))?;
    crate::output::print_status(&format!("tare: the HTML page is {}", path.display()));
    Ok(())
}

/// Writes a result to a file, or to standard output if the path is `-`.
///
/// # Errors
/// Fails if the result cannot be written.
pub(crate) fn write_output(path: &Path, text: &str) -> anyhow::Result<()> {
    if path == Path::new("-") {
        return crate::output::print(text);
    }
    write_whole(path, text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}
