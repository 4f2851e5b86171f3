//! Peers and middleboxes for this crate's tests, as programs, so that they can run in a namespace of a test.
//!
//! - `connect ADDRESS` connects and sends nothing;
//! - `listen ADDRESS` listens and accepts no connection;
//! - `resolve ADDRESS NAME` answers queries of DNS: of NAME without an error, of others that they do not exist;
//! - `forward ADDRESS SERVER` forwards connections, and datagrams, some of which it repeats or swaps.
//!
//! Each prints `ready`, and ends with its input; a forwarder then prints how many datagrams it received, repeated and
//! swapped.
#![allow(clippy::print_stdout, reason = "tests read it")]

use std::error::Error;
use std::io::{self, ErrorKind, Read as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["connect", address] => {
            let _stream = TcpStream::connect(address)?;
            wait_for_end()?;
        }
        ["listen", address] => {
            let _listener = TcpListener::bind(address)?;
            wait_for_end()?;
        }
        ["resolve", address, name] => {
            let (socket, name) = (UdpSocket::bind(address)?, name.to_owned());
            thread::spawn(move || resolve(&socket, &name));
            wait_for_end()?;
        }
        ["forward", address, server] => forward(address.parse()?, server.parse()?)?,
        _ => return Err("a role and addresses are missing".into()),
    }
    Ok(())
}

/// Prints `ready`, and waits for the end of the input.
fn wait_for_end() -> io::Result<()> {
    println!("ready");
    io::stdin().read_to_end(&mut Vec::new()).map(drop)
}

/// Answers queries of names that have one label.
fn resolve(socket: &UdpSocket, name: &str) -> io::Result<()> {
    let mut message = [0; 512];
    loop {
        let (length, client) = socket.recv_from(&mut message)?;
        let is_known = message[13..].starts_with(name.as_bytes());
        // A response, with recursion; the code is 3 for a name that does not exist.
        message[2..4].copy_from_slice(&[0x81, if is_known { 0x80 } else { 0x83 }]);
        socket.send_to(&message[..length], client)?;
    }
}

/// Forwards until the input ends.
fn forward(address: SocketAddr, server: SocketAddr) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    let inside = UdpSocket::bind(address)?;
    let over = Arc::new(AtomicBool::new(false));
    thread::spawn(move || forward_connections(&listener, server));
    let datagrams = thread::spawn({
        let over = Arc::clone(&over);
        move || forward_datagrams(&inside, server, &over)
    });
    wait_for_end()?;
    over.store(true, Ordering::Release);
    let done = datagrams.join().map_err(|_| io::Error::other("the forwarder panicked"))??;
    println!("{} {} {}", done.came, done.repeated, done.swapped);
    Ok(())
}

/// Forwards every connection, in both directions.
fn forward_connections(listener: &TcpListener, server: SocketAddr) -> io::Result<()> {
    for client in listener.incoming() {
        let (client, server) = (client?, TcpStream::connect(server)?);
        for (mut from, mut to) in [(client.try_clone()?, server.try_clone()?), (server, client)] {
            thread::spawn(move || {
                let _ = io::copy(&mut from, &mut to);
                let _ = to.shutdown(Shutdown::Write);
            });
        }
    }
    Ok(())
}

/// Counters of the datagrams with payload that a forwarder has handled.
#[derive(Default)]
struct ForwardCounts {
    came: u64,
    repeated: u64,
    swapped: u64,
}

/// Forwards datagrams until `over` is set: sends each 10th with payload twice, and each 7th after the one that follows
/// it.
fn forward_datagrams(
    inside: &UdpSocket,
    server: SocketAddr,
    over: &AtomicBool,
) -> io::Result<ForwardCounts> {
    let outside = UdpSocket::bind((server.ip(), 0))?;
    outside.connect(server)?;
    inside.set_read_timeout(Some(Duration::from_millis(50)))?;
    let mut done = ForwardCounts::default();
    let mut held: Option<Vec<u8>> = None;
    let mut bytes = [0; 2000];
    while !over.load(Ordering::Acquire) {
        let length = match inside.recv(&mut bytes) {
            Ok(length) => length,
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                // No datagram follows, so this one is not sent late.
                held.take().map(|late| outside.send(&late)).transpose()?;
                continue;
            }
            Err(error) => return Err(error),
        };
        let datagram = &bytes[..length];
        // An announcement is not payload.
        if datagram[8..16] == [0xff; 8] {
            outside.send(datagram)?;
            continue;
        }
        done.came += 1;
        if held.is_none() && done.came.is_multiple_of(7) {
            held = Some(datagram.to_vec());
            continue;
        }
        outside.send(datagram)?;
        if let Some(late) = held.take() {
            outside.send(&late)?;
            done.swapped += 1;
        }
        if done.came.is_multiple_of(10) {
            outside.send(datagram)?;
            done.repeated += 1;
        }
    }
    Ok(done)
}
