//! `tare clean`: lists and removes what killed runs left in Docker and Podman, in a Kubernetes cluster, or cached
//! database files.

use crate::cli::CleanArguments;
use crate::commands::measure::with_remedy;
use crate::exit::{CommandExit, usage_error};
use crate::kubernetes::{self, ClusterAccessArguments};
use crate::output;
use std::io::{IsTerminal as _, stdin};
use std::path::Path;
use tare_docker::{
    Cleaner, DockerOptions, EngineAddress, EngineAddressError, EnginePlace, Leftover,
};
use tare_network::UnmetRequirement;
use tare_tools::CachedDataset;

/// Lists leftovers, and removes them if the user agrees.
pub(crate) fn run(arguments: &CleanArguments) -> anyhow::Result<CommandExit> {
    if arguments.kubernetes {
        let is_confirmed = |count| arguments.yes || is_confirmed(count);
        return kubernetes::clean(&arguments.cluster, &arguments.runs, is_confirmed);
    }
    if arguments.cluster != ClusterAccessArguments::default() {
        return Err(usage_error(anyhow::anyhow!(
            "--kubeconfig, --kube-context, --namespace and --as are for --kubernetes"
        )));
    }
    if arguments.data { clean_datasets(arguments.yes) } else { clean_docker(arguments) }
}

fn clean_docker(arguments: &CleanArguments) -> anyhow::Result<CommandExit> {
    let podman = EnginePlace::podman(DockerOptions::default());
    let mut addresses = local_engines(&podman)?;
    for engine in &arguments.engines {
        addresses.push(engine.parse().map_err(unusable)?);
    }
    let cleaner = Cleaner::scan(&addresses, &arguments.runs).map_err(with_remedy)?;
    for run in cleaner.running_runs() {
        output::print_status(&format!("tare: run {run} is still running: its objects are kept"));
    }
    for run in cleaner.unknown_runs() {
        output::print_status(&format!(
            "tare: run {run} is another machine's, container's or version's, and may still be running: its objects are kept: use --run {run} once it has ended"
        ));
    }
    let abandoned = cleaner.abandoned();
    if abandoned.is_empty() {
        output::print_status("tare: no objects of ended runs are left");
        return Ok(CommandExit::Done);
    }
    let lines: Vec<String> = abandoned.iter().map(|one| line(one)).collect();
    output::print(&lines.join("\n"))?;
    if !arguments.yes && !is_confirmed(abandoned.len()) {
        return Ok(CommandExit::Done);
    }
    cleaner.remove().map_err(with_remedy)?;
    output::print_status(&format!("tare: {} removed", abandoned.len()));
    Ok(CommandExit::Done)
}

/// Returns the engines of the environment: Docker's, and Podman's, which is started for this if it has no socket. Docker's
/// is left out where it is not installed and Podman is.
fn local_engines(podman: &EnginePlace) -> anyhow::Result<Vec<EngineAddress>> {
    let docker = EngineAddress::from_environment().map_err(unusable)?;
    let is_installed = docker.socket().is_none_or(Path::exists);
    if podman.is_untouched_podman() {
        return Ok(vec![docker]);
    }
    let podman = match (podman.engine_address(), podman.prepare()) {
        (Some(address), Ok(())) => Some(address.clone()),
        (Some(_), Err(missing)) if is_installed => {
            let UnmetRequirement { reason, remedy } = missing;
            output::print_status(&format!("tare: Podman was not searched: {reason}: {remedy}"));
            None
        }
        (Some(_), Err(UnmetRequirement { reason, remedy })) => {
            anyhow::bail!("{reason}: {remedy}")
        }
        (None, _) => None,
    };
    Ok(match podman {
        Some(podman) if is_installed && podman != docker => vec![docker, podman],
        Some(podman) => vec![podman],
        None => vec![docker],
    })
}

fn unusable(error: EngineAddressError) -> anyhow::Error {
    anyhow::anyhow!("{}: {}", error.reason, error.remedy)
}

/// Removes cached datasets that are not in use.
fn clean_datasets(yes: bool) -> anyhow::Result<CommandExit> {
    let (used, free): (Vec<CachedDataset>, Vec<CachedDataset>) =
        CachedDataset::list()?.into_iter().partition(CachedDataset::is_in_use);
    for one in used {
        output::print_status(&format!("tare: {} is in use: kept", one.directory().display()));
    }
    if free.is_empty() {
        output::print_status("tare: no unused database files are cached");
        return Ok(CommandExit::Done);
    }
    let line = |one: &CachedDataset| format!("{:>8}  {}", one.size(), one.directory().display());
    output::print(&free.iter().map(line).collect::<Vec<_>>().join("\n"))?;
    if !yes && !is_confirmed(free.len()) {
        return Ok(CommandExit::Done);
    }
    let mut removed = 0;
    for one in &free {
        if one.remove()? {
            removed += 1;
        } else {
            output::print_status(&format!(
                "tare: {} has come into use: kept",
                one.directory().display()
            ));
        }
    }
    output::print_status(&format!("tare: {removed} removed"));
    Ok(CommandExit::Done)
}

fn line(one: &Leftover) -> String {
    format!("{:9}  {}  of run {}", one.kind.to_string(), one.name, one.run)
}

/// Asks for confirmation on the terminal. Returns false without a terminal. Prints the consequence of a refusal.
fn is_confirmed(count: usize) -> bool {
    let yes = stdin().is_terminal() && {
        output::print_status(&format!("tare: remove these {count}? [y/N]"));
        let mut answer = String::new();
        let read = stdin().read_line(&mut answer);
        read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
    };
    if !yes {
        output::print_status("tare: nothing was removed: use --yes to remove without asking");
    }
    yes
}
