//! `tare clean --kubernetes`: lists and removes what ended runs left in a cluster.

use super::ClusterAccessArguments;
use super::enabled::access_options;
use crate::commands::measure::with_remedy;
use crate::exit::CommandExit;
use crate::output;
use tare_kubernetes::{ClusterCleaner, ClusterRun};

/// Lists what ended runs left, and removes it if `is_confirmed` of the number of runs. `named` are runs that have ended.
pub(crate) fn clean(
    access: &ClusterAccessArguments,
    named: &[String],
    is_confirmed: impl FnOnce(usize) -> bool,
) -> anyhow::Result<CommandExit> {
    let cleaner = ClusterCleaner::scan(&access_options(access), named).map_err(with_remedy)?;
    let namespace = cleaner.namespace();
    for ClusterRun { id, .. } in cleaner.perhaps_running() {
        output::print_status(&format!(
            "tare: run {id} may still be under way: its objects are kept: use --run {id} once it has ended"
        ));
    }
    let ended = cleaner.ended();
    if ended.is_empty() {
        output::print_status(&format!(
            "tare: no objects of ended runs are left in the namespace {namespace}"
        ));
        return Ok(CommandExit::Done);
    }
    output::print(&ended.iter().flat_map(lines).collect::<Vec<_>>().join("\n"))?;
    if !is_confirmed(ended.len()) {
        return Ok(CommandExit::Done);
    }
    cleaner.remove().map_err(with_remedy)?;
    output::print_status(&format!("tare: {} removed", ended.len()));
    Ok(CommandExit::Done)
}

/// Returns a line for each object of a run that is known by name.
fn lines(run: &ClusterRun) -> Vec<String> {
    let owner = std::iter::once(("configmap", &run.owner));
    let pods = run.pods.iter().map(|name| ("pod", name));
    let line = |(kind, name)| format!("{kind:9}  {name}  of run {}", run.id);
    owner.chain(pods).map(line).collect()
}
