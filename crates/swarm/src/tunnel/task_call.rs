//! Client of the tunnel server, `tare internal tunnel call`: runs a program in a task, with its streams connected to
//! this process.

use super::CALL_SOCKET;
use super::frame::{self, FrameKind};
use std::io::{self, Read as _, Write as _};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::thread;
use tare_network::Error;

/// Starts a program in a task, and returns its exit code.
pub(super) fn call_task(task: &str, order: &str) -> Result<u8, Error> {
    let what = || format!("start a program in the task {task}");
    let failed = |error: io::Error| Error::new(what(), error);
    let mut stream = SocketAddr::from_abstract_name(CALL_SOCKET)
        .and_then(|address| UnixStream::connect_addr(&address))
        .map_err(failed)?;
    frame::write_frame(&mut stream, FrameKind::Hello, task.as_bytes()).map_err(failed)?;
    frame::write_frame(&mut stream, FrameKind::Start, order.as_bytes()).map_err(failed)?;
    let input = stream.try_clone().map_err(failed)?;
    thread::spawn(move || forward_stdin(input));
    match copy_output(&mut stream) {
        Ok(Some(code)) => Ok(code),
        Ok(None) => Err(Error::new(what(), "the connection to the task broke")),
        Err(error) => Err(failed(error)),
    }
}

/// Forwards standard input to the task.
fn forward_stdin(mut stream: UnixStream) -> io::Result<()> {
    let mut chunk = vec![0; 64 << 10];
    let mut input = io::stdin().lock();
    loop {
        match input.read(&mut chunk)? {
            0 => return frame::write_frame(&mut stream, FrameKind::InputEnds, &[]),
            length => frame::write_frame(&mut stream, FrameKind::Input, &chunk[..length])?,
        }
    }
}

/// Writes the program's output until it has ended, and returns its exit code. Returns `None` if the connection to the
/// task broke before.
fn copy_output(stream: &mut UnixStream) -> io::Result<Option<u8>> {
    while let Some((kind, bytes)) = frame::read_frame(stream)? {
        match kind {
            FrameKind::Output => {
                let mut output = io::stdout().lock();
                output.write_all(&bytes)?;
                output.flush()?;
            }
            FrameKind::ErrorOutput => io::stderr().write_all(&bytes)?,
            FrameKind::Exit => {
                let code = bytes.try_into().map(i32::from_be_bytes).unwrap_or(1);
                return Ok(Some(u8::try_from(code).unwrap_or(1)));
            }
            FrameKind::Hello | FrameKind::Start | FrameKind::Input | FrameKind::InputEnds => {}
        }
    }
    Ok(None)
}
