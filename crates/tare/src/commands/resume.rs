//! `tare resume`: continues a run that was cut off, with its own plan and seed.

use crate::catalogue::{self, build_catalogue};
use crate::cli::ResumeArguments;
use crate::commands::measure::{self, MeasureOptions};
use crate::docker::DockerSupport;
use crate::exit::{CommandExit, usage_error};
use tare_record::StoppedBy;
use tare_record::journal::LockedJournal;

/// Measures the rest of the run, and reports the whole run.
pub(crate) fn run(arguments: &ResumeArguments) -> anyhow::Result<CommandExit> {
    // It is locked before it is read: what is gone on with is what no other process goes on with.
    let locked = LockedJournal::open(&arguments.directory).map_err(usage_error)?;
    let journal = locked.read().map_err(usage_error)?;
    if let Some(stopped_by) = journal.stopped_by()
        && stopped_by != StoppedBy::Interrupted
    {
        return Err(usage_error(anyhow::anyhow!(
            "cannot resume {}: the run is finished (stopped by: {stopped_by}): show it with `tare report`",
            arguments.directory.display()
        )));
    }
    let modules = catalogue::module_policy(arguments.load_modules);
    let everything = build_catalogue(None, modules);
    if !arguments.allow_exec
        && let Some(network) = everything.find_executing_network(&journal.run.plan)
    {
        return Err(usage_error(anyhow::anyhow!(
            "cannot resume: the run's network {network} runs programs that the journal names: use --allow-exec if you trust {}",
            arguments.directory.display()
        )));
    }
    measure::measure_rest(
        &journal,
        locked,
        &MeasureOptions {
            directory: arguments.directory.clone(),
            json: arguments.json,
            html: None,
            modules,
            docker: DockerSupport::from_recorded(&journal.run.environment.engines),
            workloads: everything.workloads,
            care: measure::limit_policy(arguments.force),
        },
    )
}
