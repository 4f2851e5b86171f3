//! Program in a container, behind the interface that the rest of tare uses: pipes that plain threads read and write.

use crate::engine::Engine;
use crate::exec::{ExecInput, ExecOutput, ExecSession};
use crate::terminal;
use bollard::container::LogOutput;
use futures_util::StreamExt as _;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tare_network::{Error, Process, ProcessExit};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;

/// Number of chunks of output that may wait for their reader: enough that the event loop never waits for a thread.
const BUFFERED_CHUNKS: usize = 256;

/// Timeout for the engine to notice that a program has ended, and for a program to end after its input has ended.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);

/// Interval at which the engine is asked.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Input of a program, shared by the thread that writes it and the thread that ends the program.
type SharedInput = Arc<Mutex<Option<ExecInput>>>;

/// Program in a container. Dropping it ends the program's input, and by that the program, if it reads its input.
pub struct DockerProcess {
    engine: Arc<Engine>,
    id: String,
    what: String,
    input: SharedInput,
    taken: bool,
    output: Option<Receiver<Vec<u8>>>,
    pump: Option<JoinHandle<()>>,
    /// The user's terminal, restored when this is dropped.
    _terminal: Option<terminal::RawTerminal>,
    ended: Option<ProcessExit>,
}

impl DockerProcess {
    /// Wraps a program whose input and output are pipes to this process. Its standard error goes to this process's own.
    pub fn piped(engine: &Arc<Engine>, what: String, exec: ExecSession) -> Self {
        let (sender, output) = channel(BUFFERED_CHUNKS);
        let pump = engine.handle().spawn(copy_output(exec.output, Some(sender)));
        let input = Arc::new(Mutex::new(Some(exec.input)));
        Self {
            engine: Arc::clone(engine),
            id: exec.id,
            what,
            input,
            taken: false,
            output: Some(output),
            pump: Some(pump),
            _terminal: None,
            ended: None,
        }
    }

    /// Wraps a program whose output is this process's own output. `typed` says whether it also gets the user's input.
    pub(crate) fn inherited(
        engine: &Arc<Engine>,
        what: String,
        exec: ExecSession,
        terminal: Option<terminal::RawTerminal>,
        typed: TerminalInput,
    ) -> Self {
        let pump = engine.handle().spawn(copy_output(exec.output, None));
        let input = Arc::new(Mutex::new(Some(exec.input)));
        match typed {
            TerminalInput::Forwarded => {
                forward_stdin(InputWriter {
                    engine: Arc::clone(engine),
                    input: Arc::clone(&input),
                });
            }
            TerminalInput::Ignored => {}
        }
        Self {
            engine: Arc::clone(engine),
            id: exec.id,
            what,
            input,
            taken: true,
            output: None,
            pump: Some(pump),
            _terminal: terminal,
            ended: None,
        }
    }

    /// Polls the engine until it reports that the program has ended.
    fn poll_exit(&self) -> Result<ProcessExit, Error> {
        let deadline = Instant::now() + EXIT_TIMEOUT;
        loop {
            let asked = self.engine.docker().inspect_exec(&self.id);
            let state = self.engine.request(format!("wait for {}", self.what), asked)?;
            if state.running != Some(true) {
                return Ok(exit_from_code(state.exit_code.unwrap_or_default()));
            }
            if Instant::now() >= deadline {
                let why = format!(
                    "the program still runs {} s after its streams ended",
                    EXIT_TIMEOUT.as_secs()
                );
                return Err(Error::new(format!("wait for {}", self.what), why));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

/// Treatment of the user's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TerminalInput {
    /// The program gets the user's input.
    Forwarded,
    /// The program gets no input.
    Ignored,
}

/// Copies a program's output until either end closes.
async fn copy_output(mut output: ExecOutput, sender: Option<Sender<Vec<u8>>>) {
    while let Some(Ok(chunk)) = output.next().await {
        match (chunk, &sender) {
            // The reader of this process's own streams may be gone, which does not concern the program.
            (LogOutput::StdErr { message }, _) => drop(io::stderr().write_all(&message)),
            (other, None) => {
                let mut ours = io::stdout();
                drop(ours.write_all(&other.into_bytes()).and_then(|()| ours.flush()));
            }
            (other, Some(sender)) => {
                if sender.send(other.into_bytes().into()).await.is_err() {
                    return;
                }
            }
        }
    }
}

/// Copies the user's input to a program, from a thread that ends with the input or with this process.
fn forward_stdin(mut writer: InputWriter) {
    let copy = move || {
        let _ = io::copy(&mut io::stdin().lock(), &mut writer);
        writer.close();
    };
    // Without the thread the program runs all the same, and gets no input.
    let _ = std::thread::Builder::new().name("tare-typed".to_owned()).spawn(copy);
}

/// Converts an exit code as a shell gives it: above 128 it stands for a signal.
fn exit_from_code(code: i64) -> ProcessExit {
    const SIGNALS: std::ops::RangeInclusive<i64> = 129..=192;
    match i32::try_from(code) {
        Ok(code) if SIGNALS.contains(&i64::from(code)) => ProcessExit::Signal(code - 128),
        Ok(code) => ProcessExit::Code(code),
        Err(_) => ProcessExit::Code(1),
    }
}

impl Process for DockerProcess {
    fn take_input(&mut self) -> Option<Box<dyn Write + Send>> {
        (!std::mem::replace(&mut self.taken, true)).then(|| {
            let (engine, input) = (Arc::clone(&self.engine), Arc::clone(&self.input));
            Box::new(InputWriter { engine, input }) as _
        })
    }

    fn take_output(&mut self) -> Option<Box<dyn Read + Send>> {
        self.output
            .take()
            .map(|chunks| Box::new(OutputReader { chunks, chunk: Vec::new(), at: 0 }) as _)
    }

    fn wait(&mut self) -> Result<ProcessExit, Error> {
        if let Some(exit) = self.ended {
            return Ok(exit);
        }
        if let Some(pump) = self.pump.take() {
            // It returns nothing. If it was cancelled, the engine's thread is gone, which the next line detects.
            let _ = self.engine.wait(pump);
        }
        Ok(*self.ended.insert(self.poll_exit()?))
    }

    fn kill(&mut self) {
        close_input(&self.engine, &self.input);
    }
}

impl Drop for DockerProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Ends a program's input.
fn close_input(engine: &Engine, input: &SharedInput) {
    let taken = input.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(mut input) = taken {
        // If the connection is gone, so is the input.
        let _ = engine.wait(async { tokio::time::timeout(EXIT_TIMEOUT, input.shutdown()).await });
    }
}

/// Writing end of a program's input.
struct InputWriter {
    engine: Arc<Engine>,
    input: SharedInput,
}

impl InputWriter {
    fn close(&self) {
        close_input(&self.engine, &self.input);
    }

    fn with<T>(&self, act: impl FnOnce(&mut ExecInput) -> io::Result<T>) -> io::Result<T> {
        let mut held = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        held.as_mut().map_or_else(|| Err(io::ErrorKind::BrokenPipe.into()), act)
    }
}

impl Write for InputWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.with(|input| self.engine.wait(input.write(bytes)))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.with(|input| self.engine.wait(input.flush()))
    }
}

/// Reading end of a program's output.
struct OutputReader {
    chunks: Receiver<Vec<u8>>,
    chunk: Vec<u8>,
    at: usize,
}

impl Read for OutputReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.chunk.len() {
            match self.chunks.blocking_recv() {
                Some(chunk) => (self.chunk, self.at) = (chunk, 0),
                None => return Ok(0),
            }
        }
        let length = buffer.len().min(self.chunk.len() - self.at);
        buffer[..length].copy_from_slice(&self.chunk[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_told_from_codes() {
        assert_eq!(exit_from_code(0), ProcessExit::Code(0));
        assert_eq!(exit_from_code(7), ProcessExit::Code(7));
        assert_eq!(exit_from_code(137), ProcessExit::Signal(9));
        assert_eq!(exit_from_code(255), ProcessExit::Code(255));
    }

    #[test]
    fn chunks_are_read_as_one_stream() {
        let (sender, chunks) = channel(4);
        for chunk in ["one ", "", "two"] {
            sender.try_send(chunk.as_bytes().to_vec()).unwrap();
        }
        drop(sender);
        let mut text = String::new();
        OutputReader { chunks, chunk: Vec::new(), at: 0 }.read_to_string(&mut text).unwrap();
        assert_eq!(text, "one two");
    }
}
