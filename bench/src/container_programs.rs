//! Programs in the containers of a network, and their output.

use anyhow::{Context as _, anyhow};
use std::io::Read;
use tare_network::{Command, Container, Error, Process};

/// Starts a tool on these cores. It is killed after the limit, s. Its standard error is part of its output.
pub(crate) fn start(
    container: &dyn Container,
    words: &[String],
    cores: &[u32],
    limit: u32,
) -> anyhow::Result<Box<dyn Process>> {
    let list = cores.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let limit = limit.to_string();
    // Without --foreground, `timeout` would lead a process group of its own, which the container could not end.
    let before =
        ["-c", "exec \"$@\" 2>&1", "sh", "timeout", "--foreground", "--kill-after=1", &limit];
    let pinned = ["taskset", "-c", &list];
    let arguments = before.iter().chain(&pinned).map(|word| (*word).to_owned());
    let command = Command {
        program: Some("sh".into()),
        arguments: arguments.chain(words.iter().cloned()).collect(),
        ..Command::default()
    };
    container.spawn(&command).map_err(with_remedy)
}

/// Runs a program to its end. Returns its output.
pub(crate) fn output_of(
    container: &dyn Container,
    program: &str,
    arguments: &[&str],
) -> anyhow::Result<String> {
    let command = Command {
        program: Some(program.into()),
        arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
        ..Command::default()
    };
    let mut process = container.spawn(&command).map_err(with_remedy)?;
    let output = read_output(process.as_mut())?;
    process.wait().map_err(with_remedy)?;
    Ok(output)
}

/// Reads the whole output of a program.
pub(crate) fn read_output(process: &mut dyn Process) -> anyhow::Result<String> {
    let mut output = process.take_output().context("a program without output")?;
    let mut bytes = Vec::new();
    output.read_to_end(&mut bytes).context("read what a program prints")?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Converts an error of a network, with its remedy.
pub(crate) fn with_remedy(error: Error) -> anyhow::Error {
    anyhow!("{error} {}", error.remedy)
}
