//! `tare home call`: a program in a task, with its streams here.

use super::CALLS;
use super::frame::{self, Kind};
use std::io::{self, Read as _, Write as _};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::thread;
use tare_network::Error;

/// Starts a program in a task, and returns its exit code.
pub(super) fn call(task: &str, order: &str) -> Result<u8, Error> {
    let what = || format!("start a program in the task {task}");
    let failed = |error: io::Error| Error::new(what(), error);
    let mut stream = SocketAddr::from_abstract_name(CALLS)
        .and_then(|address| UnixStream::connect_addr(&address))
        .map_err(failed)?;
    frame::write(&mut stream, Kind::Hello, task.as_bytes()).map_err(failed)?;
    frame::write(&mut stream, Kind::Order, order.as_bytes()).map_err(failed)?;
    let input = stream.try_clone().map_err(failed)?;
    thread::spawn(move || forward(input));
    match answer(&mut stream) {
        Ok(Some(code)) => Ok(code),
        Ok(None) => Err(Error::new(what(), "the connection to the task has broken")),
        Err(error) => Err(failed(error)),
    }
}

/// Sends what comes on standard input.
fn forward(mut stream: UnixStream) -> io::Result<()> {
    let mut chunk = vec![0; 64 << 10];
    let mut input = io::stdin().lock();
    loop {
        match input.read(&mut chunk)? {
            0 => return frame::write(&mut stream, Kind::InputEnds, &[]),
            length => frame::write(&mut stream, Kind::Input, &chunk[..length])?,
        }
    }
}

/// Writes what the program says until it has ended; nothing where the task was lost before.
fn answer(stream: &mut UnixStream) -> io::Result<Option<u8>> {
    while let Some((kind, bytes)) = frame::read(stream)? {
        match kind {
            Kind::Output => {
                let mut output = io::stdout().lock();
                output.write_all(&bytes)?;
                output.flush()?;
            }
            Kind::Complaint => io::stderr().write_all(&bytes)?,
            Kind::Ended => {
                let code = bytes.try_into().map(i32::from_be_bytes).unwrap_or(1);
                return Ok(Some(u8::try_from(code).unwrap_or(1)));
            }
            Kind::Hello | Kind::Order | Kind::Input | Kind::InputEnds => {}
        }
    }
    Ok(None)
}
