//! `tare` measures the cost of container networks. This file is the whole program on one screen; each subcommand is a
//! file.
#![forbid(unsafe_code)]

mod catalogue;
mod cli;
mod commands;
mod congestion;
mod docker;
mod error_pages;
mod exit;
mod foreign_request;
mod kubernetes;
mod output;
mod output_file;
mod own_networks;
mod places;
mod progress;
mod remote_arguments;
mod secret_argument;
mod signals;
mod traffic_flags;
mod workloads;

use cli::{Cli, Subcommand};
use std::process::ExitCode;

fn main() -> ExitCode {
    let result = match Cli::from_process().command {
        Subcommand::Run(arguments) => commands::run::run(*arguments),
        Subcommand::Ask(arguments) => commands::ask::run(arguments),
        Subcommand::Resume(arguments) => commands::resume::run(&arguments),
        Subcommand::Report(arguments) => commands::report::run(&arguments),
        Subcommand::Compare(arguments) => commands::compare::run(&arguments),
        Subcommand::Bundle(arguments) => commands::bundle::run(&arguments),
        Subcommand::List(arguments) => commands::list::run(&arguments),
        Subcommand::Doctor(arguments) => commands::doctor::run(&arguments),
        Subcommand::Explain(arguments) => commands::explain::run(&arguments),
        Subcommand::Show(arguments) => commands::show::run(&arguments),
        Subcommand::Up(arguments) => commands::up::run(&arguments),
        Subcommand::Listen(arguments) => commands::listen::run(&arguments),
        Subcommand::Probe(arguments) => commands::probe::run(&arguments),
        #[cfg(feature = "docker")]
        Subcommand::Image(arguments) => commands::image::run(&arguments),
        #[cfg(feature = "docker")]
        Subcommand::Clean(arguments) => commands::clean::run(&arguments),
        #[cfg(feature = "kubernetes")]
        Subcommand::Kubernetes(arguments) => commands::kubernetes::run(&arguments),
        Subcommand::Completions(arguments) => commands::manual::completions(&arguments),
        Subcommand::Manual(arguments) => commands::manual::pages(&arguments),
        #[cfg(feature = "generators")]
        Subcommand::Schema(arguments) => commands::schema::run(&arguments),
        #[cfg(feature = "generators")]
        Subcommand::StudyPage(arguments) => commands::study_page::run(&arguments),
        Subcommand::Internal(role) => commands::internal::run(&role),
    };
    exit::to_exit_code(result)
}
