//! Shell commands: those shown to a reader, and those that root runs on the engine's machine.

use super::layout::container_names;
use std::process::{Command, Stdio};
use tare_network::{Error, Shape};

/// Image that the shown commands run.
const IMAGE: &str = concat!("tare:", env!("CARGO_PKG_VERSION"));

/// Returns the first lines of the shown commands.
pub(crate) fn first_lines() -> Vec<String> {
    vec!["tare image | docker load".to_owned()]
}

/// Returns the command for a container that runs until it is removed.
pub(crate) fn run_line(name: &str, flags: &str) -> String {
    let space = if flags.is_empty() { "" } else { " " };
    format!("docker run --detach --interactive --rm --name {name}{space}{flags} {IMAGE} keeper")
}

/// Returns the commands for all servers and clients, all attached alike.
pub(crate) fn container_lines(shape: &Shape, flags: &str) -> Vec<String> {
    let all =
        container_names("server", shape.servers).chain(container_names("client", shape.clients));
    all.map(|name| run_line(&name, flags)).collect()
}

/// Returns the commands for a network that consists of containers only, all attached alike.
pub(crate) fn all_lines(shape: &Shape, flags: &str) -> Vec<String> {
    let mut lines = first_lines();
    lines.extend(container_lines(shape, flags));
    lines
}

/// Runs lines of shell as they are shown, and stops at the first that fails.
pub(crate) fn run_lines(what: &str, lines: &[String]) -> Result<(), Error> {
    let output = Command::new("/bin/sh")
        .args(["-euc", &lines.join("\n")])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Error::new(what, error))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    Err(Error::new(what, last.unwrap_or("a command failed without an error message").trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_fails_ends_a_script_and_says_why() {
        let lines = ["true", "echo why >&2; false", "exit 0"].map(str::to_owned);
        let error = run_lines("wire", &lines).unwrap_err();
        assert_eq!(error.to_string(), "cannot wire: why");
        run_lines("wire", &["true".to_owned()]).unwrap();
    }
}
