//! Programs in containers that run already: `docker exec`, with the streams of its one connection told apart.

use bollard::Docker;
use bollard::container::LogOutput;
use bollard::errors::Error as Refusal;
use bollard::exec::{StartExecOptions, StartExecResults};
use bollard::models::ExecConfig;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use std::pin::Pin;
use std::time::Duration;
use tokio::io::AsyncWrite;

/// Where bytes for a program go.
pub(crate) type Input = Pin<Box<dyn AsyncWrite + Send>>;

/// What a program says, chunk by chunk.
pub(crate) type Output = BoxStream<'static, Result<LogOutput, Refusal>>;

/// How much of a program's output is read at once, bytes: a report with its histograms is far larger than a line.
const CHUNK: usize = 64 << 10;

/// A program to start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words {
    /// The program and its arguments.
    pub(crate) command: Vec<String>,
    /// Variables added to its environment, as `NAME=value`.
    pub(crate) environment: Vec<String>,
    /// Whether it gets a terminal.
    pub(crate) terminal: bool,
    /// As whom it runs; nothing for the image's own user.
    pub(crate) user: Option<&'static str>,
}

/// A program that was started.
pub(crate) struct Exec {
    /// The engine's name for it.
    pub(crate) id: String,
    /// Its standard input.
    pub(crate) input: Input,
    /// Its standard output and error.
    pub(crate) output: Output,
}

/// Starts a program in a container.
pub(crate) async fn start(docker: &Docker, container: &str, words: Words) -> Result<Exec, Refusal> {
    let terminal = words.terminal;
    let config = ExecConfig {
        attach_stdin: Some(true),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        tty: Some(terminal),
        cmd: Some(words.command),
        env: Some(words.environment),
        user: words.user.map(str::to_owned),
        ..ExecConfig::default()
    };
    let id = docker.create_exec(container, config).await?.id;
    let options = StartExecOptions { detach: false, tty: terminal, output_capacity: Some(CHUNK) };
    match docker.start_exec(&id, Some(options)).await? {
        StartExecResults::Attached { output, input } => Ok(Exec { id, input, output }),
        // It is what one gets for asking to be detached.
        StartExecResults::Detached => Err(Refusal::DockerStreamError {
            error: "the engine detached a program that was to be attached".to_owned(),
        }),
    }
}

/// Lines of a program's standard output, with what it says on standard error kept for when it fails.
pub(crate) struct Lines {
    output: Output,
    read: Vec<u8>,
    complaint: Vec<u8>,
}

impl Lines {
    /// The lines of an output.
    pub(crate) fn of(output: Output) -> Self {
        Self { output, read: Vec::new(), complaint: Vec::new() }
    }

    /// The next line, within this time; what went wrong in words where there is none.
    pub(crate) async fn next(&mut self, limit: Duration) -> Result<String, String> {
        let line = tokio::time::timeout(limit, self.read_line()).await;
        line.unwrap_or_else(|_| Err(format!("it said nothing for {} s", limit.as_secs())))
    }

    async fn read_line(&mut self) -> Result<String, String> {
        loop {
            if let Some(end) = self.read.iter().position(|&byte| byte == b'\n') {
                let line = self.read.drain(..=end).collect::<Vec<_>>();
                return Ok(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            match self.output.next().await {
                Some(Ok(LogOutput::StdErr { message })) => self.complaint.extend(message),
                Some(Ok(other)) => self.read.extend(other.into_bytes()),
                Some(Err(refusal)) => return Err(crate::trouble::words(&refusal)),
                None => return Err(self.ended()),
            }
        }
    }

    /// What a program that ended without a word said on standard error, or elsewhere.
    fn ended(&self) -> String {
        let said = [&self.complaint[..], &self.read[..]].concat();
        let said = String::from_utf8_lossy(&said).split_whitespace().collect::<Vec<_>>().join(" ");
        if said.is_empty() { "it ended without a word".to_owned() } else { said }
    }
}
