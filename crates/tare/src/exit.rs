//! Exit codes, and the one line that a user sees when something fails.

use std::process::ExitCode;

/// How a subcommand ended when nothing went wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All that was asked for is done.
    Done,
    /// Something that was asked for by name is missing, or broke during the run.
    Failed,
    /// A comparison found a regression beyond its limit.
    Regression,
    /// A comparison could not tell whether there is one.
    CouldNotTell,
    /// A signal ended the measuring; what was measured is kept and reported.
    Interrupted,
    /// A program that ran in a container ended with this code.
    Of(u8),
}

/// Bad usage or a bad study: exit code 2, as with flags that the command line itself refuses.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) struct Usage(#[from] pub(crate) anyhow::Error);

/// An error that the user can mend by asking differently.
pub(crate) fn usage(error: impl Into<anyhow::Error>) -> anyhow::Error {
    Usage(error.into()).into()
}

/// Turns a subcommand's end into an exit code, and says in one line what failed.
pub(crate) fn code(result: anyhow::Result<Exit>) -> ExitCode {
    match result {
        Ok(Exit::Done) => ExitCode::SUCCESS,
        Ok(Exit::Failed) => ExitCode::FAILURE,
        Ok(Exit::Regression) => ExitCode::from(3),
        Ok(Exit::CouldNotTell) => ExitCode::from(4),
        Ok(Exit::Interrupted) => ExitCode::from(130),
        Ok(Exit::Of(code)) => ExitCode::from(code),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            crate::out::say(&format!("tare: {}", one_line(&error)));
            ExitCode::from(if error.is::<Usage>() { 2 } else { 1 })
        }
    }
}

/// Whether the reader of our output went away, as in `tare list networks | head -1`: no failure of ours.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}

/// The error and its causes on one line; a cause that its parent has already quoted is not repeated.
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
        let error = usage(anyhow::anyhow!("unknown network"));
        assert!(error.is::<Usage>());
        assert_eq!(one_line(&error), "unknown network");
    }
}
