//! `tare resume`: a run that was cut off goes on, on its own plan and seed.

use crate::catalogue::{self, everything};
use crate::cli::ResumeArguments;
use crate::commands::measure::{self, Job};
use crate::docker::Docker;
use crate::exit::{Exit, usage};
use tare_record::StoppedBy;
use tare_record::journal::Journal;

/// Measures what is left, and reports the whole.
pub(crate) fn run(arguments: &ResumeArguments) -> anyhow::Result<Exit> {
    let journal = Journal::read(&arguments.directory).map_err(usage)?;
    if let Some(stopped_by) = journal.stopped_by()
        && stopped_by != StoppedBy::Interrupted
    {
        return Err(usage(anyhow::anyhow!(
            "{} holds a finished run (it ended by {stopped_by}): show it by `tare report`",
            arguments.directory.display()
        )));
    }
    let modules = catalogue::modules(arguments.load_modules);
    if !arguments.allow_exec
        && let Some(network) = everything(None, modules).runs_its_argument(&journal.run.plan)
    {
        return Err(usage(anyhow::anyhow!(
            "the run has {network}, which says what to run: pass --allow-exec if you trust {}",
            arguments.directory.display()
        )));
    }
    measure::rest(
        &journal,
        &Job {
            directory: arguments.directory.clone(),
            json: arguments.json,
            html: None,
            modules,
            docker: Docker::as_in(&journal.run.environment.engines),
            care: measure::care(arguments.force),
        },
    )
}
