//! Forwarding of TCP connections, each by two threads, one per direction.
//!
//! Bytes go from socket to socket through a pipe, by splice(2), as in Docker's proxy (Go's `net.TCPConn.ReadFrom`).

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, pipe_with, splice};
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;

/// Largest number of bytes that one call moves: the default capacity of a pipe (pipe(7)).
const AT_ONCE: usize = 64 * 1024;

/// Forwards connections until the listener fails.
pub(super) fn forward(
    host: SocketAddr,
    container: SocketAddr,
    ready: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    let listener = TcpListener::bind(host)?;
    ready()?;
    loop {
        match listener.accept() {
            Ok((client, _)) => {
                std::thread::Builder::new().spawn(move || {
                    // Only the two ends of a broken connection have to handle it.
                    let _ = forward_connection(client, container);
                })?;
            }
            // A client that aborts before it is accepted does not end the proxy.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Joins a client with the container until both have closed their directions.
fn forward_connection(client: TcpStream, container: SocketAddr) -> io::Result<()> {
    let backend = Arc::new(TcpStream::connect(container)?);
    let client = Arc::new(client);
    for stream in [&client, &backend] {
        stream.set_nodelay(true)?;
    }
    let (from, to) = (Arc::clone(&backend), Arc::clone(&client));
    let back = std::thread::Builder::new().spawn(move || copy_stream(&from, &to))?;
    let there = copy_stream(&client, &backend);
    let back = back.join().unwrap_or(Ok(()));
    there.and(back)
}

/// Copies until the end of the input, and passes that end on. An error ends both directions.
fn copy_stream(from: &TcpStream, to: &TcpStream) -> io::Result<()> {
    let copied = splice_all(from, to);
    let end = if copied.is_ok() { Shutdown::Write } else { Shutdown::Both };
    // A peer that is gone need not be notified.
    let _ = to.shutdown(end);
    if copied.is_err() {
        let _ = from.shutdown(Shutdown::Both);
    }
    copied.map_err(Into::into)
}

fn splice_all(from: &TcpStream, to: &TcpStream) -> Result<(), Errno> {
    let (output, input) = pipe_with(PipeFlags::CLOEXEC)?;
    loop {
        let mut held = move_some(from, &input, AT_ONCE)?;
        if held == 0 {
            return Ok(());
        }
        while held > 0 {
            held -= move_some(&output, to, held)?;
        }
    }
}

/// Moves bytes from one descriptor to another. One of the two is a pipe.
fn move_some(from: impl AsFd, to: impl AsFd, most: usize) -> Result<usize, Errno> {
    loop {
        match splice(&from, None, &to, None, most, SpliceFlags::MOVE) {
            Err(Errno::INTR) => {}
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stand_ins::userland_proxy::tests::forwarding;
    use std::io::{Read, Write};

    #[test]
    fn both_directions_are_forwarded_to_their_ends() {
        let backend = TcpListener::bind("127.0.0.1:0").unwrap();
        let container = backend.local_addr().unwrap();
        let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let host = forwarding(free, move |host, ready| forward(host, container, ready));
        let answering = std::thread::spawn(move || {
            let (mut stream, _) = backend.accept().unwrap();
            let mut received = Vec::new();
            stream.read_to_end(&mut received).unwrap();
            stream.write_all(&received).unwrap();
            received.len()
        });
        let sent: Vec<u8> = (0..300_000_u32).map(|number| number as u8).collect();
        let mut client = TcpStream::connect(host).unwrap();
        let mut reader = client.try_clone().unwrap();
        let reading = std::thread::spawn(move || {
            let mut received = Vec::new();
            reader.read_to_end(&mut received).unwrap();
            received
        });
        client.write_all(&sent).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        assert_eq!(reading.join().unwrap(), sent);
        assert_eq!(answering.join().unwrap(), sent.len());
    }
}
