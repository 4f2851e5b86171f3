//! The listener: one thread that accepts, one for every connection.

use super::caps::Caps;
use super::door::{self, Door};
use super::guest;
use super::ledger::Ledger;
use super::notice::{Notice, Notices};
use super::ports::Ports;
use super::secret::Token;
use crate::{Error, Registry, workloads};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often the accepting thread looks whether to stop.
const TICK: Duration = Duration::from_millis(50);

/// How long it waits when the kernel has no descriptor or no thread left: connections that end give theirs back.
const PAUSE: Duration = Duration::from_millis(100);

/// How long clients' threads may take to end once the listener stops: a server waits as long for its flows.
const LEAVE: Duration = Duration::from_secs(6);

/// On what terms a listener serves.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// What clients must know; nothing: whoever reaches the listener may use it, so nobody but this machine may.
    pub token: Option<Token>,
    /// What it allows them.
    pub caps: Caps,
    /// Where it looks for ports of trials.
    pub ports: Ports,
}

/// A listener that is bound. Dropping it closes its port.
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    house: Arc<House>,
}

/// What all connections share.
pub(super) struct House {
    pub(super) registry: Registry,
    pub(super) token: Option<Token>,
    pub(super) ports: Ports,
    pub(super) ledger: Arc<Ledger>,
    pub(super) door: Arc<Door>,
    pub(super) notices: Notices,
    pub(super) stop: AtomicBool,
    /// Connections that have a thread.
    alive: AtomicUsize,
}

impl House {
    pub(super) fn new(terms: Terms, tell: impl Fn(&Notice) + Send + Sync + 'static) -> Self {
        Self {
            registry: workloads(),
            token: terms.token,
            ports: terms.ports,
            ledger: Ledger::new(terms.caps),
            door: Arc::default(),
            notices: Notices::new(tell),
            stop: AtomicBool::new(false),
            alive: AtomicUsize::new(0),
        }
    }
}

impl Listener {
    /// Binds to an address; port 0 stands for any. `tell` is given what happens, for a log.
    ///
    /// # Errors
    /// [`Error::NoToken`] where others than this machine could reach it and no token is asked for, else what the
    /// kernel refuses.
    pub fn bind(
        address: SocketAddr,
        terms: Terms,
        tell: impl Fn(&Notice) + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        if terms.token.is_none() && !address.ip().to_canonical().is_loopback() {
            return Err(Error::NoToken { address });
        }
        let refused = |error| Error::io(format!("listen on {address}"), error);
        let socket = TcpListener::bind(address).map_err(refused)?;
        socket.set_nonblocking(true).map_err(refused)?;
        let address = socket.local_addr().map_err(refused)?;
        Ok(Self { socket, address, house: Arc::new(House::new(terms, tell)) })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is set; then whatever is being served is ended, which takes some seconds at most.
    ///
    /// # Errors
    /// When its socket breaks. What goes wrong with one client is no error of the listener's.
    pub fn serve(&self, stop: &AtomicBool) -> Result<(), Error> {
        let result = self.accept_until(stop);
        self.house.stop.store(true, Ordering::Relaxed);
        let until = Instant::now() + LEAVE;
        while self.house.alive.load(Ordering::Acquire) > 0 && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
        result
    }

    fn accept_until(&self, stop: &AtomicBool) -> Result<(), Error> {
        while !stop.load(Ordering::Relaxed) {
            match self.socket.accept() {
                Ok((stream, peer)) => self.receive(stream, peer),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait()?,
                Err(error) if is_of_one(&error) => {}
                // No descriptors or no memory left: a listener that gave up for that would be easily stopped.
                Err(_) => thread::sleep(PAUSE),
            }
        }
        Ok(())
    }

    /// Waits for somebody, or for a tick.
    fn wait(&self) -> Result<(), Error> {
        let tick = Timespec { tv_sec: 0, tv_nsec: TICK.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&tick)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(Error::io(format!("wait for clients on {}", self.address), error)),
        }
    }

    /// Gives a connection a thread. Where there are too many already, or none can be had, it is closed.
    fn receive(&self, stream: TcpStream, peer: SocketAddr) {
        // Those at the door, those being shown out of it, and the clients.
        let most = 2 * door::MOST + self.house.ledger.caps().clients as usize;
        let alive = Alive::count(&self.house);
        if self.house.alive.load(Ordering::Relaxed) > most {
            return;
        }
        let spawned = thread::Builder::new().name("client".to_owned()).spawn(move || {
            guest::receive(stream, peer, &alive.0);
        });
        if spawned.is_err() {
            thread::sleep(PAUSE);
        }
    }
}

/// Whether an error of accept(2) is that one connection's, which was given up before it was accepted.
fn is_of_one(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted)
}

/// One connection among those that have a thread.
struct Alive(Arc<House>);

impl Alive {
    fn count(house: &Arc<House>) -> Self {
        house.alive.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(house))
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.alive.fetch_sub(1, Ordering::Release);
    }
}
