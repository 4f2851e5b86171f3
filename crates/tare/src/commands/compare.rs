//! `tare compare`: compares two sides of runs, from their journals alone.

use crate::cli::CompareArguments;
use crate::commands::kept_run::read_kept_run;
use crate::exit::{CommandExit, usage_error};
use crate::output_file::write_whole;
use anyhow::Context as _;
use std::path::{Path, PathBuf};
use tare_analysis::{CompareOptions, NamedJournal};
use tare_record::journal::Journal;
use tare_record::{Comparison, GateOutcome};
use tare_report::Style;

/// Compares, prints the comparison, and returns the outcome under the limit.
pub(crate) fn run(arguments: &CompareArguments) -> anyhow::Result<CommandExit> {
    let (base, new) = sides(arguments)?;
    let comparison = compare(&read(base)?, &read(new)?, arguments)?;
    let on_stdout = arguments.junit.as_deref() == Some(Path::new("-"));
    if let Some(path) = &arguments.junit {
        let text = tare_report::junit(&comparison);
        if on_stdout {
            crate::output::print(&text)?;
        } else {
            write_whole(path, text.as_bytes())
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    if !on_stdout {
        crate::output::print(&text(&comparison, arguments)?)?;
    }
    Ok(match comparison.gate.map(|gate| gate.outcome) {
        None | Some(GateOutcome::Passed) => CommandExit::Done,
        Some(GateOutcome::Regression) => CommandExit::Regression,
        Some(GateOutcome::CouldNotTell) => CommandExit::CouldNotTell,
    })
}

/// Returns the directories of the two sides.
fn sides(arguments: &CompareArguments) -> anyhow::Result<(&[PathBuf], &[PathBuf])> {
    match arguments.runs.as_slice() {
        [base, new] => Ok((std::slice::from_ref(base), std::slice::from_ref(new))),
        [] if !arguments.base.is_empty() => Ok((&arguments.base, &arguments.new)),
        _ => Err(usage_error(anyhow::anyhow!(
            "cannot compare: each side needs a run: give two directories, BASE and NEW, or several for each side with --base and --new"
        ))),
    }
}

/// Reads the journals, each with the name of its directory or archive.
fn read(side: &[PathBuf]) -> anyhow::Result<Vec<(String, Journal)>> {
    side.iter().map(|path| Ok((path.display().to_string(), read_kept_run(path)?))).collect()
}

fn compare(
    base: &[(String, Journal)],
    new: &[(String, Journal)],
    arguments: &CompareArguments,
) -> anyhow::Result<Comparison> {
    let asked = CompareOptions {
        compared: arguments.of,
        metrics: arguments.metrics.clone(),
        vary: arguments.vary.clone(),
        fail_on: arguments.fail_on.map(|share| share.0),
    };
    let (base, new) = (named(base), named(new));
    tare_analysis::compare(env!("CARGO_PKG_VERSION"), &base, &new, &asked).map_err(usage_error)
}

fn named(side: &[(String, Journal)]) -> Vec<NamedJournal<'_>> {
    side.iter().map(|(directory, journal)| NamedJournal { directory, journal }).collect()
}

fn text(comparison: &Comparison, arguments: &CompareArguments) -> anyhow::Result<String> {
    Ok(if arguments.json {
        format!("{}\n", serde_json::to_string_pretty(comparison)?)
    } else if arguments.markdown {
        tare_report::comparison_markdown(comparison)
    } else {
        tare_report::comparison_table(comparison, &Style::detect())
    })
}
