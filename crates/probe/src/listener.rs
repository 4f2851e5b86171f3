//! Listener of `tare listen`: one thread that accepts connections, and one thread per connection.

use crate::connection;
use crate::handshake_queue;
use crate::listener_state::{ConnectionGuard, ListenerConfig, ListenerState};
use crate::notice::ListenerNotice;
use crate::token::is_beyond_loopback;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tare_traffic::sleep_until_readable;
use tare_traffic::{Error, WorkloadRegistry};

/// Period at which the accepting thread checks whether to stop.
const TICK: Duration = Duration::from_millis(50);

/// Pause of the accepting thread when the kernel has no descriptor or no thread left. Connections that end return
/// theirs.
const RESOURCE_BACKOFF: Duration = Duration::from_millis(100);

/// Longest wait for threads to end whose connections have made room for others.
const ROOM_TIMEOUT: Duration = Duration::from_secs(2);

/// Time that clients' threads may take to end after the listener stops. A server waits that long for its flows.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(6);

/// Bound listener. Dropping it closes its port.
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    state: Arc<ListenerState>,
}

impl Listener {
    /// Binds to an address. Port 0 lets the kernel choose one. `tell` receives the notices, for a log.
    ///
    /// # Errors
    /// [`Error::NoToken`] and [`Error::ShortToken`] when other machines could reach the address and no safe token is set,
    /// else the kernel's error.
    pub fn bind(
        address: SocketAddr,
        terms: ListenerConfig,
        workloads: WorkloadRegistry,
        tell: impl Fn(&ListenerNotice) + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        match &terms.token {
            Some(token) => token.check_length(address)?,
            None if is_beyond_loopback(address) => return Err(Error::NoToken { address }),
            None => {}
        }
        let refused = |error| Error::io(format!("listen on {address}"), error);
        let socket = TcpListener::bind(address).map_err(refused)?;
        socket.set_nonblocking(true).map_err(refused)?;
        let address = socket.local_addr().map_err(refused)?;
        Ok(Self { socket, address, state: Arc::new(ListenerState::new(terms, workloads, tell)) })
    }

    /// Returns the address on which the listener listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves clients until `stop` is set. Then it ends the trials that are being served, which takes a few seconds at
    /// most.
    ///
    /// # Errors
    /// When the listening socket fails. A failure of one client is no error of the listener.
    pub fn serve(&self, stop: &AtomicBool) -> Result<(), Error> {
        let result = self.accept_until(stop);
        self.state.stop.store(true, Ordering::Relaxed);
        let until = Instant::now() + SHUTDOWN_TIMEOUT;
        while self.state.connections.load(Ordering::Acquire) > 0 && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
        result
    }

    fn accept_until(&self, stop: &AtomicBool) -> Result<(), Error> {
        while !stop.load(Ordering::Relaxed) {
            match self.socket.accept() {
                Ok((stream, peer)) => self.spawn_connection(stream, peer),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.await_connection()?;
                }
                Err(error) if is_connection_error(&error) => {}
                // No descriptors or no memory left. A listener that stopped for that reason would be easy to stop from
                // outside.
                Err(_) => thread::sleep(RESOURCE_BACKOFF),
            }
        }
        Ok(())
    }

    /// Waits for a connection, at most for one tick.
    fn await_connection(&self) -> Result<(), Error> {
        sleep_until_readable([self.socket.as_fd()], TICK)
            .map_err(|error| Error::io(format!("wait for clients on {}", self.address), error))
    }

    /// Waits until there are fewer connections than the most. Threads whose connection made room for another one may not
    /// have noticed it yet: a newcomer, of whom nothing is known, does not pay for that. Returns false if they do not
    /// end.
    fn await_room(&self) -> bool {
        // Connections in the handshake, connections that are being refused, and clients.
        let most = 2 * handshake_queue::CAPACITY + self.state.quota.caps().clients as usize;
        let until = Instant::now() + ROOM_TIMEOUT;
        while self.state.connections.load(Ordering::Relaxed) >= most {
            if Instant::now() >= until {
                return false;
            }
            thread::sleep(Duration::from_millis(1));
        }
        true
    }

    /// Starts a thread for a connection. Closes the connection if there are too many, or if no thread can be started.
    fn spawn_connection(&self, stream: TcpStream, peer: SocketAddr) {
        if !self.await_room() {
            return;
        }
        let alive = ConnectionGuard::new(&self.state);
        let spawned = thread::Builder::new().name("client".to_owned()).spawn(move || {
            connection::serve_connection(stream, peer, &alive.0);
        });
        if spawned.is_err() {
            thread::sleep(RESOURCE_BACKOFF);
        }
    }
}

/// Returns whether an error of accept(2) concerns only one connection, which was aborted before it was accepted.
fn is_connection_error(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted)
}
