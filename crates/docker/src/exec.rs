//! Programs in running containers: `docker exec`, whose one connection carries several streams.

use bollard::Docker;
use bollard::container::LogOutput;
use bollard::errors::Error as Refusal;
use bollard::exec::{StartExecOptions, StartExecResults};
use bollard::models::ExecConfig;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use std::pin::Pin;
use std::time::Duration;
use tare_netns_probe::{NetnsSnapshot, parse_snapshot, snapshot_timeout};
use tokio::io::AsyncWrite;

/// Standard input of a program.
pub type ExecInput = Pin<Box<dyn AsyncWrite + Send>>;

/// Standard output and error of a program, in chunks.
pub type ExecOutput = BoxStream<'static, Result<LogOutput, Refusal>>;

/// Bytes of a program's output that are read at once; a report with its histograms is far longer than a line.
const CHUNK_SIZE: usize = 64 << 10;

/// Program to start in a container.
#[derive(Clone, Debug, Default)]
pub struct ExecCommand {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Variables added to its environment, as `NAME=value`.
    pub environment: Vec<String>,
    /// True if the program gets a terminal.
    pub terminal: bool,
    /// User that runs the program; `None` for the image's own user.
    pub user: Option<&'static str>,
}

/// Program that was started in a container, with its streams.
pub struct ExecSession {
    /// The engine's id of the exec instance.
    pub id: String,
    /// Standard input of the program.
    pub input: ExecInput,
    /// Standard output and error of the program.
    pub output: ExecOutput,
}

/// Starts a program in a container.
///
/// # Errors
/// The container does not run, or has no such program.
pub async fn start(
    docker: &Docker,
    container: &str,
    words: ExecCommand,
) -> Result<ExecSession, Refusal> {
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
    let options =
        StartExecOptions { detach: false, tty: terminal, output_capacity: Some(CHUNK_SIZE) };
    match docker.start_exec(&id, Some(options)).await? {
        StartExecResults::Attached { output, input } => Ok(ExecSession { id, input, output }),
        // The engine answers so only to a request to detach.
        StartExecResults::Detached => Err(Refusal::DockerStreamError {
            error: "the engine started the program without its streams".to_owned(),
        }),
    }
}

/// Reads the only line of a `netns-probe`.
pub(crate) async fn read_snapshot(exec: ExecSession) -> Result<NetnsSnapshot, String> {
    // The program's input stays open until its line has arrived.
    let ExecSession { output, input, .. } = exec;
    let mut lines = OutputLines::new(output);
    let line = lines.next(snapshot_timeout()).await?;
    drop(input);
    parse_snapshot(&line)
}

/// Lines of a program's standard output. Its standard error is kept, to explain a failure.
pub struct OutputLines {
    output: ExecOutput,
    read: Vec<u8>,
    error_output: Vec<u8>,
}

impl OutputLines {
    /// Splits an output into lines.
    pub fn new(output: ExecOutput) -> Self {
        Self { output, read: Vec::new(), error_output: Vec::new() }
    }

    /// Reads the next line within this time.
    ///
    /// # Errors
    /// The reason, in words, for which there is none.
    pub async fn next(&mut self, limit: Duration) -> Result<String, String> {
        let line = tokio::time::timeout(limit, self.read_line()).await;
        line.unwrap_or_else(|_| {
            Err(format!("the program wrote no line within {} s", limit.as_secs()))
        })
    }

    async fn read_line(&mut self) -> Result<String, String> {
        loop {
            if let Some(end) = self.read.iter().position(|&byte| byte == b'\n') {
                let line = self.read.drain(..=end).collect::<Vec<_>>();
                return Ok(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            match self.output.next().await {
                Some(Ok(LogOutput::StdErr { message })) => self.error_output.extend(message),
                Some(Ok(other)) => self.read.extend(other.into_bytes()),
                Some(Err(refusal)) => return Err(crate::error::error_message(&refusal)),
                None => return Err(self.error_text()),
            }
        }
    }

    /// Returns what a program that ended wrote on standard error or, without a newline, on standard output.
    fn error_text(&self) -> String {
        let said = [&self.error_output[..], &self.read[..]].concat();
        let said = String::from_utf8_lossy(&said).split_whitespace().collect::<Vec<_>>().join(" ");
        if said.is_empty() { "the program ended without an error message".to_owned() } else { said }
    }
}
