//! Connection from one container to another, as the role makes it: one end listens and greets, the other dials.

use super::namespace_snapshot::{devices, take_snapshot};
use super::snapshot::{NetnsSnapshot, write_snapshot};
use super::tracking;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};
use tare_network::{Error, scaled_timeout};

/// Timeout for an address to become usable, and for a server to answer.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout of one attempt to connect.
const ATTEMPT_TIMEOUT: Duration = Duration::from_millis(500);

/// What the server says to a client at once.
const GREETING: [u8; 1] = [0];

/// Pause between two attempts.
const RETRY_PAUSE: Duration = Duration::from_millis(50);

/// Listens, and reports every connection, until standard input ends.
pub(super) fn listen(address: SocketAddr) -> Result<(), Error> {
    let listener = match retry(CONNECT_TIMEOUT, || TcpListener::bind(address)) {
        Ok(listener) => listener,
        Err(error) => {
            return write_snapshot(&NetnsSnapshot {
                error: Some(error.to_string()),
                ..NetnsSnapshot::default()
            });
        }
    };
    write_snapshot(&take_snapshot())?;
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            if stream.write_all(&GREETING).is_err() {
                // The client has gone, and tries again.
                continue;
            }
            let (peer, tracked) = (stream.peer_addr().ok(), tracking::is_tracked(&stream));
            let seen = NetnsSnapshot { peer, tracked, ..NetnsSnapshot::default() };
            if write_snapshot(&seen).is_err() {
                return;
            }
        }
    });
    let _ = io::stdin().read_to_end(&mut Vec::new());
    Ok(())
}

/// Connects, in as many attempts as the time allows, and counts the packets that leave each device during that.
pub(super) fn dial(address: SocketAddr, patience: Duration) -> NetnsSnapshot {
    let before = devices();
    let dialled = retry(patience, || connect(address));
    let mut seen = take_snapshot();
    for device in &mut seen.devices {
        let earlier = before.iter().find(|one| one.name == device.name);
        device.sent = device.sent.saturating_sub(earlier.map_or(0, |one| one.sent));
    }
    match dialled {
        Ok(stream) => NetnsSnapshot {
            local: stream.local_addr().ok(),
            tracked: tracking::is_tracked(&stream),
            ..seen
        },
        Err(error) => NetnsSnapshot { error: Some(error.to_string()), ..seen },
    }
}

/// Connects, and waits for the server's greeting. A connection alone says little: proxies accept it before they have one to
/// the server, and end it if they get none.
fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&address, scaled_timeout(ATTEMPT_TIMEOUT))?;
    stream.set_read_timeout(Some(scaled_timeout(CONNECT_TIMEOUT)))?;
    stream.read_exact(&mut [0; GREETING.len()])?;
    Ok(stream)
}

/// Retries until an attempt succeeds or the timeout has passed.
fn retry<T>(timeout: Duration, mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let deadline = Instant::now() + scaled_timeout(timeout);
    loop {
        match attempt() {
            Err(_) if Instant::now() < deadline => std::thread::sleep(RETRY_PAUSE),
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_counts_once_its_server_greets() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            // A proxy that gets no connection to its server ends the client's.
            drop(listener.accept().unwrap());
            let (mut stream, peer) = listener.accept().unwrap();
            stream.write_all(&GREETING).unwrap();
            peer
        });
        let seen = dial(address, CONNECT_TIMEOUT);
        assert_eq!(seen.error, None);
        assert_eq!(seen.local, Some(server.join().unwrap()), "the connection that was greeted");
        assert!(dial(address, Duration::ZERO).error.is_some(), "nobody listens");
    }
}
