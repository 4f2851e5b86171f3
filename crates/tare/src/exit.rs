//! Exit codes, and the error line that a user sees.

use crate::error_pages;
use std::process::ExitCode;

/// Outcome of a subcommand that ended without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandExit {
    /// Everything requested is done.
    Done,
    /// A network or workload that was requested by name is missing, a network failed during the run, or there is no figure.
    Failed,
    /// A comparison found a regression beyond its limit.
    Regression,
    /// A comparison could not decide whether there is a regression.
    CouldNotTell,
    /// A signal ended the measurement; the results so far are stored and reported.
    Interrupted,
    /// Exit code of a program that ran in a container.
    ProgramCode(u8),
}

/// Usage error or invalid study: exit code 2, as for flags that the command line parser rejects.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) struct UsageError(#[from] pub(crate) anyhow::Error);

/// Creates a usage error, which the user can correct on the command line.
pub(crate) fn usage_error(error: impl Into<anyhow::Error>) -> anyhow::Error {
    UsageError(error.into()).into()
}

/// Converts the result of a subcommand to an exit code, and prints an error on one line.
pub(crate) fn to_exit_code(result: anyhow::Result<CommandExit>) -> ExitCode {
    match result {
        Ok(CommandExit::Done) => ExitCode::SUCCESS,
        Ok(CommandExit::Failed) => ExitCode::FAILURE,
        Ok(CommandExit::Regression) => ExitCode::from(3),
        Ok(CommandExit::CouldNotTell) => ExitCode::from(4),
        Ok(CommandExit::Interrupted) => ExitCode::from(130),
        Ok(CommandExit::ProgramCode(code)) => ExitCode::from(code),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let line = one_line(&error);
            let pointer = error_pages::pointer(&line);
            crate::output::print_status(&format!("tare: {line}{pointer}"));
            ExitCode::from(if error.is::<UsageError>() { 2 } else { 1 })
        }
    }
}

/// Returns true if the reader of standard output has closed it, as in `tare list networks | head -1`, which is not a
/// failure of tare.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Formats an error and its causes on one line. A cause that its parent already quotes is not repeated.
fn one_line(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error.chain() {
        let text = cause.to_string().replace('\n', " ");
        if !line.contains(&text) {
            if !line.is_empty() {
                line.push_str(": ");
            }
            line.push_str(&text);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_stand_once_on_one_line() {
        let error = anyhow::anyhow!("no space\nleft").context("journal.jsonl").context("run");
        assert_eq!(one_line(&error), "run: journal.jsonl: no space left");
        let error = usage_error(anyhow::anyhow!("unknown network"));
        assert!(error.is::<UsageError>());
        assert_eq!(one_line(&error), "unknown network");
    }
}
