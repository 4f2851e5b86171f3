//! Program in a pod, behind the interface that the rest of tare uses.

use crate::link::{PodMessage, ProgramRequest};
use crate::pod_link::{LinkState, ProgramEnd};
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use tare_network::{Error, Process, ProcessExit};

/// Program in a pod. Dropping it ends the program.
pub(crate) struct PodProgram {
    link: Arc<LinkState>,
    number: u32,
    name: String,
    output: Option<Receiver<Vec<u8>>>,
    input_taken: bool,
}

impl PodProgram {
    /// Starts a program.
    pub(crate) fn start(
        link: &Arc<LinkState>,
        name: String,
        request: ProgramRequest,
    ) -> Result<Self, Error> {
        let (number, output) = link.start(request)?;
        let link = Arc::clone(link);
        Ok(Self { link, number, name, output: Some(output), input_taken: false })
    }

    /// Returns the number of the program on its link.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }
}

impl Process for PodProgram {
    fn take_input(&mut self) -> Option<Box<dyn Write + Send>> {
        (!std::mem::replace(&mut self.input_taken, true)).then(|| {
            Box::new(ProgramInput { link: Arc::clone(&self.link), number: self.number }) as _
        })
    }

    fn take_output(&mut self) -> Option<Box<dyn Read + Send>> {
        let pieces = self.output.take()?;
        Some(Box::new(ProgramOutput { pieces, piece: Vec::new(), at: 0 }))
    }

    fn is_cut_off(&self) -> bool {
        self.link.is_cut_off()
    }

    fn wait(&mut self) -> Result<ProcessExit, Error> {
        match self.link.await_end(self.number) {
            ProgramEnd::Ended(exit) => Ok(exit),
            ProgramEnd::Failed(why) => Err(Error::new(format!("run {}", self.name), why)),
        }
    }

    fn kill(&mut self) {
        self.link.send(self.number, &PodMessage::Kill);
    }
}

impl Drop for PodProgram {
    fn drop(&mut self) {
        self.kill();
        self.link.forget(self.number);
    }
}

/// Writing end of a program's input. Dropping it ends the input.
struct ProgramInput {
    link: Arc<LinkState>,
    number: u32,
}

impl Write for ProgramInput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.link.send_input(self.number, bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for ProgramInput {
    fn drop(&mut self) {
        self.link.send(self.number, &PodMessage::EndOfInput);
    }
}

/// Reading end of a program's output.
struct ProgramOutput {
    pieces: Receiver<Vec<u8>>,
    piece: Vec<u8>,
    at: usize,
}

impl Read for ProgramOutput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.piece.len() {
            match self.pieces.recv() {
                Ok(piece) => (self.piece, self.at) = (piece, 0),
                Err(_) => return Ok(0),
            }
        }
        let length = buffer.len().min(self.piece.len() - self.at);
        buffer[..length].copy_from_slice(&self.piece[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}
