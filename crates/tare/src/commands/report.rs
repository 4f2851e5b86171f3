//! `tare report`: shows a run again, bit for bit, from its journal, with all its notes; or writes files of it, and then
//! shows nothing that was not asked for.

use crate::cli::{PlotSubject, ReportArguments};
use crate::commands::kept_run::read_kept_run;
use crate::commands::page::{self, write_output};
use crate::exit::{CommandExit, usage_error};
use std::path::Path;
use tare_record::Document;
use tare_record::journal::Journal;
use tare_report::{NoteExtent, Style};

/// Shows a run again.
pub(crate) fn run(arguments: &ReportArguments) -> anyhow::Result<CommandExit> {
    let journal = read_kept_run(&arguments.run)?;
    if arguments.pairs {
        crate::output::print(&tare_report::pairs(
            &tare_analysis::network_pairs(&journal)?,
            &Style::detect(),
        ))?;
        return Ok(CommandExit::Done);
    }
    let document =
        tare_analysis::document(&journal, arguments.baseline.as_deref()).map_err(usage_error)?;
    let files = file_outputs(arguments, &journal, &document)?;
    for (path, text) in &files {
        write_output(path, text)?;
    }
    let is_asked = arguments.json || arguments.markdown || arguments.plot.is_some();
    let has_standard_output = files.iter().any(|(path, _)| *path == Path::new("-"));
    if has_standard_output || !files.is_empty() && !is_asked {
        return Ok(CommandExit::Done);
    }
    let text = match arguments.plot {
        Some(PlotSubject::Latency) => {
            tare_report::plot(&tare_analysis::distributions(&journal)?, &Style::detect())
        }
        None => render_document(arguments, &document)?,
    };
    crate::output::print(&text)?;
    Ok(CommandExit::Done)
}

/// Prints the table of a kept run, with all notes.
pub(crate) fn show(run: &Path) -> anyhow::Result<CommandExit> {
    let document = tare_analysis::document(&read_kept_run(run)?, None).map_err(usage_error)?;
    crate::output::print(&tare_report::table(&document, &Style::detect(), NoteExtent::All))?;
    Ok(CommandExit::Done)
}

/// Returns the outputs to files, each with its path.
fn file_outputs<'a>(
    arguments: &'a ReportArguments,
    journal: &Journal,
    document: &Document,
) -> anyhow::Result<Vec<(&'a Path, String)>> {
    let mut files: Vec<(&Path, String)> = Vec::new();
    if let Some(path) = &arguments.density {
        files.push((path, tare_report::density(&tare_analysis::distributions(journal)?)?));
    }
    if let Some(path) = &arguments.csv {
        files.push((path, tare_report::csv(document)?));
    }
    if let Some(path) = &arguments.samples {
        files.push((path, tare_report::samples(document)?));
    }
    if let Some(path) = &arguments.openmetrics {
        files.push((path, tare_report::openmetrics(document)));
    }
    if let Some(path) = &arguments.html {
        files.push((path, page::render_page(journal, document)?));
    }
    Ok(files)
}

/// Renders the document for standard output.
fn render_document(arguments: &ReportArguments, document: &Document) -> anyhow::Result<String> {
    Ok(if arguments.json {
        tare_report::json(document)?
    } else if arguments.markdown {
        tare_report::markdown(document)
    } else {
        tare_report::table(document, &Style::detect(), NoteExtent::All)
    })
}
