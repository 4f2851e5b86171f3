//! A program in a container as the rest of tare sees it: pipes that plain threads read and write.

use crate::engine::Engine;
use crate::exec::{Exec, Input, Output};
use crate::terminal;
use bollard::container::LogOutput;
use futures_util::StreamExt as _;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tare_network::{Error, Exit, Process};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;

/// How many chunks of output wait for whoever reads them: enough that the event loop never waits for a thread.
const CHUNKS: usize = 256;

/// How long the engine may take to notice that a program has ended, and a program whose input ended to end.
const AFTERWARDS: Duration = Duration::from_secs(10);

/// How often the engine is asked.
const TICK: Duration = Duration::from_millis(20);

/// The input, which whoever writes and whoever ends the program share.
type Shared = Arc<Mutex<Option<Input>>>;

/// A program in a container. Dropping it ends its input, and with that the program, where it listens to it.
pub(crate) struct DockerProcess {
    engine: Arc<Engine>,
    id: String,
    what: String,
    input: Shared,
    taken: bool,
    output: Option<Receiver<Vec<u8>>>,
    pump: Option<JoinHandle<()>>,
    /// The user's terminal, put back when this is dropped.
    _terminal: Option<terminal::Raw>,
    ended: Option<Exit>,
}

impl DockerProcess {
    /// A program whose streams are pipes to us; its errors go to our own standard error.
    pub(crate) fn piped(engine: &Arc<Engine>, what: String, exec: Exec) -> Self {
        let (sender, output) = channel(CHUNKS);
        let pump = engine.handle().spawn(pump(exec.output, Some(sender)));
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

    /// A program whose streams are ours; `typed` where it also gets what the user types.
    pub(crate) fn shown(
        engine: &Arc<Engine>,
        what: String,
        exec: Exec,
        terminal: Option<terminal::Raw>,
        typed: Typed,
    ) -> Self {
        let pump = engine.handle().spawn(pump(exec.output, None));
        let input = Arc::new(Mutex::new(Some(exec.input)));
        match typed {
            Typed::Forwarded => {
                forward(Writer { engine: Arc::clone(engine), input: Arc::clone(&input) });
            }
            Typed::Nothing => {}
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

    /// Asks the engine until it says that the program has ended.
    fn ended(&self) -> Result<Exit, Error> {
        let deadline = Instant::now() + AFTERWARDS;
        loop {
            let asked = self.engine.docker().inspect_exec(&self.id);
            let state = self.engine.get(format!("wait for {}", self.what), asked)?;
            if state.running != Some(true) {
                return Ok(exit_of(state.exit_code.unwrap_or_default()));
            }
            if Instant::now() >= deadline {
                let why =
                    format!("it still runs {} s after its streams ended", AFTERWARDS.as_secs());
                return Err(Error::new(format!("wait for {}", self.what), why));
            }
            std::thread::sleep(TICK);
        }
    }
}

/// Whether a program gets what the user types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    /// It does.
    Forwarded,
    /// It gets nothing.
    Nothing,
}

/// Sends a program's output on until either end is gone.
async fn pump(mut output: Output, sender: Option<Sender<Vec<u8>>>) {
    while let Some(Ok(chunk)) = output.next().await {
        match (chunk, &sender) {
            // Whoever reads our own streams may be gone: that is no matter of the program's.
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

/// Sends what the user types on, from a thread that ends with the input or with this process.
fn forward(mut writer: Writer) {
    let copy = move || {
        let _ = io::copy(&mut io::stdin().lock(), &mut writer);
        writer.close();
    };
    // Without it the program runs all the same, and hears nothing.
    let _ = std::thread::Builder::new().name("tare-typed".to_owned()).spawn(copy);
}

/// An exit code as a shell gives it: above 128 it tells a signal.
fn exit_of(code: i64) -> Exit {
    const SIGNALS: std::ops::RangeInclusive<i64> = 129..=192;
    match i32::try_from(code) {
        Ok(code) if SIGNALS.contains(&i64::from(code)) => Exit::Signal(code - 128),
        Ok(code) => Exit::Code(code),
        Err(_) => Exit::Code(1),
    }
}

impl Process for DockerProcess {
    fn take_input(&mut self) -> Option<Box<dyn Write + Send>> {
        (!std::mem::replace(&mut self.taken, true)).then(|| {
            let (engine, input) = (Arc::clone(&self.engine), Arc::clone(&self.input));
            Box::new(Writer { engine, input }) as _
        })
    }

    fn take_output(&mut self) -> Option<Box<dyn Read + Send>> {
        self.output.take().map(|chunks| Box::new(Reader { chunks, chunk: Vec::new(), at: 0 }) as _)
    }

    fn wait(&mut self) -> Result<Exit, Error> {
        if let Some(exit) = self.ended {
            return Ok(exit);
        }
        if let Some(pump) = self.pump.take() {
            // It returns nothing; that it was cancelled says that the engine's thread is gone, which the next line sees.
            let _ = self.engine.wait(pump);
        }
        Ok(*self.ended.insert(self.ended()?))
    }

    fn kill(&mut self) {
        close(&self.engine, &self.input);
    }
}

impl Drop for DockerProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Ends a program's input.
fn close(engine: &Engine, input: &Shared) {
    let taken = input.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(mut input) = taken {
        // Where the connection is gone, so is the input.
        let _ = engine.wait(async { tokio::time::timeout(AFTERWARDS, input.shutdown()).await });
    }
}

/// The end of a program's input that is written to.
struct Writer {
    engine: Arc<Engine>,
    input: Shared,
}

impl Writer {
    fn close(&self) {
        close(&self.engine, &self.input);
    }

    fn with<T>(&self, act: impl FnOnce(&mut Input) -> io::Result<T>) -> io::Result<T> {
        let mut held = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        held.as_mut().map_or_else(|| Err(io::ErrorKind::BrokenPipe.into()), act)
    }
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.with(|input| self.engine.wait(input.write(bytes)))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.with(|input| self.engine.wait(input.flush()))
    }
}

/// The end of a program's output that is read from.
struct Reader {
    chunks: Receiver<Vec<u8>>,
    chunk: Vec<u8>,
    at: usize,
}

impl Read for Reader {
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
        assert_eq!(exit_of(0), Exit::Code(0));
        assert_eq!(exit_of(7), Exit::Code(7));
        assert_eq!(exit_of(137), Exit::Signal(9));
        assert_eq!(exit_of(255), Exit::Code(255));
    }

    #[test]
    fn chunks_are_read_as_one_stream() {
        let (sender, chunks) = channel(4);
        for chunk in ["one ", "", "two"] {
            sender.try_send(chunk.as_bytes().to_vec()).unwrap();
        }
        drop(sender);
        let mut text = String::new();
        Reader { chunks, chunk: Vec::new(), at: 0 }.read_to_string(&mut text).unwrap();
        assert_eq!(text, "one two");
    }
}
