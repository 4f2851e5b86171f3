//! Commands: those that a reader is shown, and those that root runs on the engine's machine.

use super::laid::names;
use std::process::{Command, Stdio};
use tare_network::{Error, Shape};

/// The image that the shown commands run.
const IMAGE: &str = concat!("tare:", env!("CARGO_PKG_VERSION"));

/// The first lines of what a reader is shown.
pub(crate) fn begin() -> Vec<String> {
    vec!["tare image | docker load".to_owned()]
}

/// A container that runs until it is removed.
pub(crate) fn run(name: &str, flags: &str) -> String {
    let space = if flags.is_empty() { "" } else { " " };
    format!("docker run --detach --interactive --rm --name {name}{space}{flags} {IMAGE} keeper")
}

/// Both sides' containers, all attached alike.
pub(crate) fn sides(shape: &Shape, flags: &str) -> Vec<String> {
    let all = names("server", shape.servers).chain(names("client", shape.clients));
    all.map(|name| run(&name, flags)).collect()
}

/// A network that is nothing but containers, all attached alike.
pub(crate) fn both(shape: &Shape, flags: &str) -> Vec<String> {
    let mut lines = begin();
    lines.extend(sides(shape, flags));
    lines
}

/// Runs lines of shell as they are shown, up to the first that fails.
pub(crate) fn carry_out(what: &str, lines: &[String]) -> Result<(), Error> {
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
    Err(Error::new(what, last.unwrap_or("a command failed without a word").trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_fails_ends_a_script_and_says_why() {
        let lines = ["true", "echo why >&2; false", "exit 0"].map(str::to_owned);
        let error = carry_out("try", &lines).unwrap_err();
        assert_eq!(error.to_string(), "try: why");
        carry_out("try", &["true".to_owned()]).unwrap();
    }
}
