//! Completions and manual pages, generated from the definition of the command line.

use crate::cli::{Cli, CompletionsArguments, ManualArguments};
use crate::exit::CommandExit;
use anyhow::Context as _;
use clap::CommandFactory as _;

/// Prints completions for a shell.
pub(crate) fn completions(arguments: &CompletionsArguments) -> anyhow::Result<CommandExit> {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "tare", &mut text);
    crate::output::print(&String::from_utf8_lossy(&text))?;
    Ok(CommandExit::Done)
}

/// Writes a manual page for tare and one for each subcommand.
pub(crate) fn pages(arguments: &ManualArguments) -> anyhow::Result<CommandExit> {
    let directory = &arguments.directory;
    std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), directory))
        .with_context(|| format!("cannot write the manual pages to {}", directory.display()))?;
    Ok(CommandExit::Done)
}
