//! One client connection in the listener: the handshake, then one trial after another, each step with a deadline.

use crate::admission::AdmittedTrial;
use crate::control_connection::{ControlConnection, ControlError, WaitLimit};
use crate::failed_proofs::FailureCount;
use crate::handshake_queue::QueueSlot;
use crate::listener_state::ListenerState;
use crate::message::{
    ClientHello, ClientMessage, ClientProof, ListenerHello, ListenerMessage, ListenerWelcome,
    MAX_CLIENT_LINE, MAX_HANDSHAKE_LINE, TrialReady, TrialRequest,
};
use crate::quota::ClientSlot;
use crate::token::{Bits256, ProbeNonces, ProofSide, Token, random_bytes};
use crate::version::VERSION;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};
use tare_traffic::{Error, Server, clock};

/// Timeout of the whole handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// Longest time between two trials of a client.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// Time that a client may take in addition to its trial, to connect its flows and to say that it has finished.
const TRIAL_GRACE: Duration = Duration::from_secs(30);

/// Timeout of writing an answer to a client.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Timeout of writing the last answer before the listener closes a connection.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

/// Number of attempts to bind ports, when another process takes a chosen port first.
const PORT_ATTEMPTS: usize = 5;

/// Serves one connection until it ends.
pub(crate) fn serve_connection(stream: TcpStream, peer: SocketAddr, house: &ListenerState) {
    let stop = || house.stop.load(Ordering::Relaxed);
    let peer = canonical(peer);
    let Ok(wire) = ControlConnection::new(stream) else { return };
    let mut guest = ClientConnection { wire, peer, listener: house, one_clock: false, stop: &stop };
    // A client that fails the handshake keeps its slot while it is told why, and can lose it to others.
    let Ok(place) = house.handshakes.push(guest.wire.stream(), peer.ip()) else { return };
    match guest.shake_hands(&place) {
        Ok(_seat) => {
            drop(place);
            let left = guest.serve_trials();
            guest.close_after(&left);
        }
        Err(stranger) => guest.reject(stranger),
    }
}

/// Connection of one client.
struct ClientConnection<'h> {
    wire: ControlConnection,
    peer: SocketAddr,
    listener: &'h ListenerState,
    /// True if the client reads the same monotonic clock.
    one_clock: bool,
    stop: &'h dyn Fn() -> bool,
}

/// Reason for which a handshake failed.
enum HandshakeError {
    /// Failure of the connection.
    Connection(ControlError),
    /// Refusal of the client's message, with the reason that the answer carries.
    Refused(String),
    /// The client does not know the token. The operator has been told.
    WrongToken,
}

impl From<ControlError> for HandshakeError {
    fn from(trouble: ControlError) -> Self {
        Self::Connection(trouble)
    }
}

impl From<Error> for HandshakeError {
    fn from(error: Error) -> Self {
        Self::Refused(error.to_string())
    }
}

impl<'h> ClientConnection<'h> {
    fn limit(&self, time: Duration) -> WaitLimit<'h> {
        WaitLimit::new(time, self.stop)
    }

    /// Runs the handshake: versions, nonces and proofs. Reserves a slot for the client.
    fn shake_hands(&mut self, place: &QueueSlot) -> Result<ClientSlot, HandshakeError> {
        let limit = self.limit(HANDSHAKE_TIMEOUT);
        let nonces = self.exchange_nonces(place, &limit)?;
        let ClientMessage::Prove(ClientProof { proof, clock }) =
            self.wire.read(MAX_HANDSHAKE_LINE, &limit)?
        else {
            return Err(HandshakeError::Refused(
                "the second line is not a `prove` message".to_owned(),
            ));
        };
        let answer = match &self.listener.token {
            Some(token) => {
                self.await_proof_turn(place)?;
                self.check_proof(token, proof.as_ref(), &nonces)?;
                Some(token.proof(ProofSide::Listener, &nonces))
            }
            None => None,
        };
        let seat = self.listener.quota.reserve_client()?;
        self.one_clock = !clock.is_empty() && clock == clock::name();
        let caps = self.listener.quota.caps().clone();
        let welcome = ListenerWelcome { proof: answer, one_clock: self.one_clock, caps };
        // Failed proofs of the address may have taken more time than the handshake's limit leaves.
        self.send(&ListenerMessage::Welcome(welcome))?;
        Ok(seat)
    }

    /// Waits as long as earlier failed proofs of the client's address cost, or until another connection takes the slot.
    fn await_proof_turn(&self, place: &QueueSlot) -> Result<(), ControlError> {
        let limit = self.limit(self.listener.failed_proofs.delay(self.peer.ip(), Instant::now()));
        loop {
            match limit.next_wait() {
                Ok(_) if place.is_evicted() => return Err(ControlError::Closed),
                Ok(tick) => thread::sleep(tick),
                Err(ControlError::TimedOut) => return Ok(()),
                Err(other) => return Err(other),
            }
        }
    }

    /// Checks the client's proof. Counts a wrong one.
    fn check_proof(
        &self,
        token: &Token,
        proof: Option<&Bits256>,
        nonces: &ProbeNonces,
    ) -> Result<(), HandshakeError> {
        let (failed, peer) = (&self.listener.failed_proofs, self.peer.ip());
        if proof.is_some_and(|proof| token.is_valid_proof(proof, ProofSide::Client, nonces)) {
            failed.forget(peer);
            return Ok(());
        }
        let FailureCount { of_address, total } = failed.record(peer, Instant::now());
        self.listener.notices.report_rejected(
            self.peer,
            format!("client refused: it does not know the token: failed proof {of_address} of its address, {total} in all"),
        );
        Err(HandshakeError::WrongToken)
    }

    fn exchange_nonces(
        &mut self,
        place: &QueueSlot,
        limit: &WaitLimit<'_>,
    ) -> Result<ProbeNonces, HandshakeError> {
        let ClientMessage::Hello(ClientHello { protocol, nonce, .. }) =
            self.wire.read(MAX_HANDSHAKE_LINE, limit)?
        else {
            return Err(HandshakeError::Refused(
                "the first line is not a `hello` message".to_owned(),
            ));
        };
        if protocol != VERSION {
            return Err(HandshakeError::Refused(format!(
                "the client speaks version {protocol} of the protocol, the listener version {VERSION}: use the same tare on both machines"
            )));
        }
        place.note_greeting();
        let nonces = ProbeNonces { client: nonce, listener: Bits256::random()? };
        let greeting = ListenerHello {
            protocol: VERSION,
            tare: env!("CARGO_PKG_VERSION").to_owned(),
            nonce: nonces.listener,
            token: self.listener.token.is_some(),
        };
        self.wire.write(&ListenerMessage::Hello(greeting), limit)?;
        Ok(nonces)
    }

    /// Serves trials, one after another. Returns why the connection ended.
    fn serve_trials(&mut self) -> ControlError {
        loop {
            let asked = self.wire.read(MAX_CLIENT_LINE, &self.limit(IDLE_TIMEOUT));
            let done = match asked {
                Ok(ClientMessage::Serve(request)) => self.serve_trial(&request),
                Ok(_) => Err(ControlError::OutOfTurn("serve")),
                Err(trouble) => Err(trouble),
            };
            if let Err(trouble) = done {
                return trouble;
            }
        }
    }

    /// Serves one trial. The server always ends with this call, whatever ends the trial.
    fn serve_trial(&mut self, request: &TrialRequest) -> Result<(), ControlError> {
        let caps = self.listener.quota.caps();
        let admitted =
            caps.admit(request, &self.listener.registry, self.one_clock).and_then(|admitted| {
                let share = self.listener.quota.reserve_trial(admitted.demand)?;
                Ok((admitted, share))
            });
        let (admitted, _share) = match admitted {
            Ok(admitted) => admitted,
            Err(error) => {
                self.listener.notices.report_rejected(self.peer, format!("trial refused: {error}"));
                return self.send(&ListenerMessage::Refused(error.to_string()));
            }
        };
        let (server, ready) = match self.start_server(&admitted) {
            Ok(served) => served,
            Err(error) => return self.send(&ListenerMessage::Failed(error.to_string())),
        };
        let flows = admitted.task.flows;
        self.listener.notices.report_client(
            self.peer,
            format!("{}, {flows} flow(s), {:?}", admitted.task.workload, admitted.duration),
        );
        self.send(&ListenerMessage::Ready(ready))?;
        let limit = self.limit(admitted.duration + TRIAL_GRACE);
        let ClientMessage::Finish = self.wire.read(MAX_CLIENT_LINE, &limit)? else {
            return Err(ControlError::OutOfTurn("finish"));
        };
        self.send(&match server.finish() {
            Ok(report) => ListenerMessage::Done(Box::new(report)),
            Err(error) => ListenerMessage::Failed(error.to_string()),
        })
    }

    /// Starts the serving side of the workload on the address that the client dialled.
    fn start_server(
        &self,
        admitted: &AdmittedTrial<'_>,
    ) -> Result<(Box<dyn Server>, TrialReady), Error> {
        let at = local_address(self.wire.stream())?;
        let trial = u64::from_ne_bytes(random_bytes()?);
        let mut task = admitted.task.clone();
        task.token = trial;
        let mut tries = 0;
        loop {
            task.addresses = self.listener.ports.choose(at, admitted.workload.port_count())?;
            tries += 1;
            match admitted.workload.serve(&task) {
                Ok(server) => {
                    let ports = task.addresses.iter().map(SocketAddr::port).collect();
                    return Ok((server, TrialReady { ports, trial }));
                }
                Err(error) if tries < PORT_ATTEMPTS && is_address_in_use(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn send(&mut self, answer: &ListenerMessage) -> Result<(), ControlError> {
        let limit = self.limit(ANSWER_TIMEOUT);
        self.wire.write(answer, &limit)
    }

    /// Tells a client that failed the handshake why, and closes the connection.
    fn reject(self, stranger: HandshakeError) {
        let answer = match stranger {
            HandshakeError::Connection(ControlError::Closed) => return,
            HandshakeError::Connection(trouble) => ListenerMessage::Failed(describe(&trouble)),
            HandshakeError::Refused(why) => ListenerMessage::Refused(why),
            HandshakeError::WrongToken => {
                return self.close_with(&ListenerMessage::Refused(
                    "the client does not know the token: give the listener's token with --token-file, --token or TARE_TOKEN".to_owned(),
                ));
            }
        };
        self.listener
            .notices
            .report_rejected(self.peer, format!("client refused: {}", answer.failure_reason()));
        self.close_with(&answer);
    }

    /// Closes the connection of a client, and tells it about an error first.
    fn close_after(self, trouble: &ControlError) {
        if !matches!(trouble, ControlError::Closed) {
            let why = describe(trouble);
            self.listener.notices.report_rejected(self.peer, format!("client disconnected: {why}"));
            self.close_with(&ListenerMessage::Failed(why));
        }
    }

    /// Writes the last answer and closes the connection.
    fn close_with(mut self, last: &ListenerMessage) {
        let limit = WaitLimit::new(CLOSE_TIMEOUT, &|| false);
        let _ = self.wire.write(last, &limit);
        self.wire.close(&limit);
    }
}

/// Returns the error as text for the client.
fn describe(trouble: &ControlError) -> String {
    match trouble {
        ControlError::Stopped => "the listener was stopped".to_owned(),
        other => other.to_string(),
    }
}

/// Returns the address that the client dialled.
fn local_address(stream: &TcpStream) -> Result<SocketAddr, Error> {
    let address = stream
        .local_addr()
        .map_err(|error| Error::io("read the address of a connection", error))?;
    Ok(canonical(address))
}

/// Converts an IPv4-mapped address to IPv4, because the listener may serve both families on one socket.
fn canonical(mut address: SocketAddr) -> SocketAddr {
    address.set_ip(address.ip().to_canonical());
    address
}

/// Returns whether another process had bound the port.
fn is_address_in_use(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == io::ErrorKind::AddrInUse)
}
