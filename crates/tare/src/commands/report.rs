//! `tare report`: a run shown again, bit for bit, from its journal.

use crate::cli::{Plotted, ReportArguments};
use crate::commands::page::{self, write};
use crate::exit::{Exit, usage};
use std::path::Path;
use tare_record::Document;
use tare_record::journal::Journal;
use tare_report::Style;

/// Shows a run again.
pub(crate) fn run(arguments: &ReportArguments) -> anyhow::Result<Exit> {
    let journal = Journal::read(&arguments.directory).map_err(usage)?;
    if arguments.pairs {
        crate::out::print(&tare_report::pairs(&tare_analysis::pairs(&journal)?, &Style::detect()))?;
        return Ok(Exit::Done);
    }
    if let Some(path) = &arguments.density {
        write(path, &tare_report::density(&tare_analysis::distributions(&journal)?)?)?;
        if path == Path::new("-") {
            return Ok(Exit::Done);
        }
    }
    let document =
        tare_analysis::document(&journal, arguments.baseline.as_deref()).map_err(usage)?;
    for (path, text) in files(arguments, &journal, &document)? {
        write(path, &text)?;
        if path == Path::new("-") {
            return Ok(Exit::Done);
        }
    }
    let text = match arguments.plot {
        Some(Plotted::Latency) => {
            tare_report::plot(&tare_analysis::distributions(&journal)?, &Style::detect())
        }
        None => printed(arguments, &document)?,
    };
    crate::out::print(&text)?;
    Ok(Exit::Done)
}

/// What goes to files, with where to.
fn files<'a>(
    arguments: &'a ReportArguments,
    journal: &Journal,
    document: &Document,
) -> anyhow::Result<Vec<(&'a Path, String)>> {
    let mut files: Vec<(&Path, String)> = Vec::new();
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
        files.push((path, page::text(journal, document)?));
    }
    Ok(files)
}

/// The document as it is printed.
fn printed(arguments: &ReportArguments, document: &Document) -> anyhow::Result<String> {
    Ok(if arguments.json {
        tare_report::json(document)?
    } else if arguments.markdown {
        tare_report::markdown(document)
    } else {
        tare_report::table(document, &Style::detect())
    })
}
