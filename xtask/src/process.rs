//! Child processes: commands are echoed, and failures are errors that name the command.

use crate::shell_quote::shell_join;
use anyhow::{Context, Result, bail};
use std::process::{Command, ExitStatus, Output, Stdio};

/// Largest number of bytes of a failed command's standard error that its error quotes.
const QUOTED_BYTES: usize = 2000;

/// Runs a command with the caller's standard streams, after echoing it. Fails if the command does.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = run_for_status(command)?;
    if !status.success() {
        bail!("`{}` failed: {status}", command_line(command));
    }
    Ok(())
}

/// Runs a command as [`run`] does, and returns its exit status.
pub(crate) fn run_for_status(command: &mut Command) -> Result<ExitStatus> {
    eprintln!("$ {}", command_line(command));
    command.status().with_context(|| format!("cannot run `{}`", command_line(command)))
}

/// Runs a command silently and returns its standard output. Fails if the command does, with the end of its standard
/// error.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = captured(command)?;
    if !output.status.success() {
        let line = command_line(command);
        bail!("`{line}` failed: {}: {}", output.status, quoted(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a command silently. Returns `None` if it succeeds, else one line of its standard error or its exit status.
pub(crate) fn failure(command: &mut Command) -> Option<String> {
    match captured(command) {
        Ok(output) if output.status.success() => None,
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr);
            let last = text.lines().rfind(|line| !line.trim().is_empty());
            Some(last.map_or_else(|| output.status.to_string(), |line| line.trim().to_owned()))
        }
        Err(error) => Some(format!("{error:#}")),
    }
}

/// Formats a command as a shell command line, without its environment.
pub(crate) fn command_line(command: &Command) -> String {
    shell_join(std::iter::once(command.get_program()).chain(command.get_args()))
}

fn captured(command: &mut Command) -> Result<Output> {
    command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run `{}`", command_line(command)))
}

fn quoted(stderr: &[u8]) -> String {
    let start = stderr.len().saturating_sub(QUOTED_BYTES);
    String::from_utf8_lossy(&stderr[start..]).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn output_is_returned() {
        assert_eq!(output(&mut shell("echo a; echo b >&2")).unwrap(), "a\n");
    }

    #[test]
    fn a_failed_command_is_named_with_its_last_words() {
        let error = output(&mut shell("echo why >&2; exit 3")).unwrap_err().to_string();
        assert!(error.contains("sh -c 'echo why >&2; exit 3'"), "{error}");
        assert!(error.contains("exit status: 3: why"), "{error}");
    }

    #[test]
    fn a_missing_program_is_an_error() {
        let error = run(&mut Command::new("no-such-program-anywhere")).unwrap_err();
        assert_eq!(error.to_string(), "cannot run `no-such-program-anywhere`");
    }

    #[test]
    fn the_last_line_tells_the_failure() {
        assert_eq!(failure(&mut shell("exit 0")), None);
        assert_eq!(failure(&mut shell("echo x >&2; echo y >&2; exit 1")).as_deref(), Some("y"));
    }
}
