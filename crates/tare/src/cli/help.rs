//! Help that fits a screen: what to type first, and the essential options of `tare run`.

use super::Cli;
use super::plugin_name::plugin_name;
use clap::{Arg, Command, CommandFactory as _, FromArgMatches as _};
use std::ffi::OsString;

/// Commands for a beginning.
pub(super) const FIRST_COMMANDS: &str = "\
Start here:
  tare doctor         is this machine fit to measure, and how small a difference can it tell?
  tare run --quick    Docker's networks on one host, within a minute
  tare ask            questions such as: is Docker's bridge slower than the host's network?";

/// Options of `tare run -h`, which fits a screen. `--help` has all, by topic.
const ESSENTIAL_OPTIONS: [&str; 16] = [
    "study",
    "networks",
    "workloads",
    "metrics",
    "baseline",
    "nodes",
    "clients",
    "flows",
    "duration",
    "blocks",
    "budget",
    "quick",
    "scaled",
    "out",
    "html",
    "json",
];

impl Cli {
    /// Parses the arguments of the process. Prints help, the version or an error, and exits, if they ask for that.
    pub(crate) fn from_process() -> Self {
        let mut words: Vec<OsString> = std::env::args_os().collect();
        if let Some(program) = words.first_mut()
            && let Some(name) = plugin_name(program)
        {
            *program = name.into();
        }
        let matches = command_with_short_help().get_matches_from(words);
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }
}

/// Returns the command line, with the essential options of `run` in its short help.
fn command_with_short_help() -> Command {
    let shorten = |option: Arg| {
        let is_essential = ESSENTIAL_OPTIONS.contains(&option.get_id().as_str());
        option.hide_short_help(!is_essential)
    };
    Cli::command().mut_subcommand("run", |run| {
        run.mut_args(shorten).after_help("All options, by topic: tare run --help")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of a terminal's window.
    const SCREEN: usize = 50;

    #[test]
    fn short_help_fits_a_screen_and_long_help_has_every_option() {
        let mut command = command_with_short_help();
        assert!(command.render_long_help().to_string().lines().count() <= SCREEN);
        let run = command.find_subcommand_mut("run").unwrap();
        for essential in ESSENTIAL_OPTIONS {
            assert!(run.get_arguments().any(|option| option.get_id() == essential), "{essential}");
        }
        let (short, long) = (run.render_help().to_string(), run.render_long_help().to_string());
        assert!(short.lines().count() <= SCREEN, "{short}");
        for option in run.get_arguments().filter_map(Arg::get_long) {
            assert!(long.contains(&format!("--{option}")), "{option}");
        }
        assert!(short.contains("tare run --help"), "{short}");
    }
}
