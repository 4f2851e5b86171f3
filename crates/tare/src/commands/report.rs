//! `tare report`: a run shown again, bit for bit, from its journal.

use crate::cli::ReportArguments;
use crate::exit::{Exit, usage};
use anyhow::Context as _;
use std::path::Path;
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
    if let Some(path) = &arguments.csv {
        write(path, &tare_report::csv(&document)?)?;
        if path == Path::new("-") {
            return Ok(Exit::Done);
        }
    }
    let text = if arguments.json {
        tare_report::json(&document)?
    } else if arguments.markdown {
        tare_report::markdown(&document)
    } else {
        tare_report::table(&document, &Style::detect())
    };
    crate::out::print(&text)?;
    Ok(Exit::Done)
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    if path == Path::new("-") {
        return crate::out::print(text);
    }
    std::fs::write(path, text).with_context(|| format!("write {}", path.display()))
}
