//! One connection as the listener sees it: the handshake, then one trial after another, each step with its deadline.

use super::caps::Admitted;
use super::ledger::Seat;
use super::listener::House;
use super::message::{
    Answer, Ask, Greeting, Hello, LONGEST_ASKED, LONGEST_AT_THE_DOOR, Prove, Ready, Request,
    VERSION, Welcome,
};
use super::secret::{Bits256, Nonces, Side, random};
use super::wire::{Limit, Trouble, Wire};
use crate::{Error, Server, clock};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How long the whole handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// How long a client may say nothing between two trials.
const IDLE: Duration = Duration::from_secs(60);

/// How long a client may take, beyond its trial, to connect its flows and to say that it is done.
const AROUND: Duration = Duration::from_secs(30);

/// How long a client may take to read an answer.
const ANSWER: Duration = Duration::from_secs(30);

/// How long somebody who is shown out may take to read why.
const FAREWELL: Duration = Duration::from_millis(500);

/// How often ports are chosen anew when another process was quicker.
const TRIES: usize = 5;

/// Lives through one connection.
pub(super) fn receive(stream: TcpStream, peer: SocketAddr, house: &House) {
    let stop = || house.stop.load(Ordering::Relaxed);
    let peer = plain(peer);
    let Ok(wire) = Wire::new(stream) else { return };
    let mut guest = Guest { wire, peer, house, one_clock: false, stop: &stop };
    // Whoever is not let in keeps the place at the door while being told why, and loses it to others.
    let Ok(place) = house.door.enter(guest.wire.stream()) else { return };
    match guest.shake_hands() {
        Ok(_seat) => {
            drop(place);
            let left = guest.stay();
            guest.leave(&left);
        }
        Err(stranger) => guest.turn_away(stranger),
    }
}

/// A connection.
struct Guest<'h> {
    wire: Wire,
    peer: SocketAddr,
    house: &'h House,
    /// Whether it reads the same monotonic clock.
    one_clock: bool,
    stop: &'h dyn Fn() -> bool,
}

/// Why somebody was not let in.
enum Stranger {
    /// By what went wrong.
    Trouble(Trouble),
    /// By what was said; the answer tells it.
    Refused(String),
}

impl From<Trouble> for Stranger {
    fn from(trouble: Trouble) -> Self {
        Self::Trouble(trouble)
    }
}

impl From<Error> for Stranger {
    fn from(error: Error) -> Self {
        Self::Refused(error.to_string())
    }
}

impl<'h> Guest<'h> {
    fn limit(&self, time: Duration) -> Limit<'h> {
        Limit::of(time, self.stop)
    }

    /// The handshake: versions, nonces, proofs, a seat.
    fn shake_hands(&mut self) -> Result<Seat, Stranger> {
        let limit = self.limit(HANDSHAKE);
        let nonces = self.exchange_nonces(&limit)?;
        let Ask::Prove(Prove { proof, clock }) = self.wire.read(LONGEST_AT_THE_DOOR, &limit)?
        else {
            return Err(Stranger::Refused("its second line is no `prove`".to_owned()));
        };
        let answer = match &self.house.token {
            Some(token) => {
                if !proof.is_some_and(|proof| token.is_proved(&proof, Side::Client, &nonces)) {
                    return Err(Stranger::Refused(
                        "it does not know the token: give the listener's by --token-file, --token or TARE_TOKEN".to_owned(),
                    ));
                }
                token.proof(Side::Listener, &nonces)
            }
            None => None,
        };
        let seat = self.house.ledger.seat()?;
        self.one_clock = !clock.is_empty() && clock == clock::name();
        let caps = self.house.ledger.caps().clone();
        let welcome = Welcome { proof: answer, one_clock: self.one_clock, caps };
        self.wire.write(&Answer::Welcome(welcome), &limit)?;
        Ok(seat)
    }

    fn exchange_nonces(&mut self, limit: &Limit<'_>) -> Result<Nonces, Stranger> {
        let Ask::Hello(Hello { protocol, nonce, .. }) =
            self.wire.read(LONGEST_AT_THE_DOOR, limit)?
        else {
            return Err(Stranger::Refused("its first line is no `hello`".to_owned()));
        };
        if protocol != VERSION {
            return Err(Stranger::Refused(format!(
                "it speaks version {protocol} of the protocol, the listener version {VERSION}: use the same tare on both machines"
            )));
        }
        let nonces = Nonces { client: nonce, listener: Bits256::random()? };
        let greeting = Greeting {
            protocol: VERSION,
            tare: env!("CARGO_PKG_VERSION").to_owned(),
            nonce: nonces.listener,
            token: self.house.token.is_some(),
        };
        self.wire.write(&Answer::Hello(greeting), limit)?;
        Ok(nonces)
    }

    /// Trials, one after another, until the client leaves or something goes wrong with it.
    fn stay(&mut self) -> Trouble {
        loop {
            let asked = self.wire.read(LONGEST_ASKED, &self.limit(IDLE));
            let done = match asked {
                Ok(Ask::Serve(request)) => self.trial(&request),
                Ok(_) => self.say(&Answer::Failed("it comes out of turn".to_owned())),
                Err(trouble) => Err(trouble),
            };
            if let Err(trouble) = done {
                return trouble;
            }
        }
    }

    /// One trial. Whatever ends it, the server ends with this call.
    fn trial(&mut self, request: &Request) -> Result<(), Trouble> {
        let caps = self.house.ledger.caps();
        let admitted = caps.admit(request, &self.house.registry).and_then(|admitted| {
            let share = self.house.ledger.take(admitted.demand)?;
            Ok((admitted, share))
        });
        let (admitted, _share) = match admitted {
            Ok(admitted) => admitted,
            Err(error) => {
                self.house.notices.of_stranger(self.peer, format!("refused: {error}"));
                return self.say(&Answer::Refused(error.to_string()));
            }
        };
        let (server, ready) = match self.serve(&admitted) {
            Ok(served) => served,
            Err(error) => return self.say(&Answer::Failed(error.to_string())),
        };
        let flows = admitted.task.flows;
        self.house.notices.of_client(
            self.peer,
            format!("{}, {flows} flow(s), {:?}", admitted.task.workload, admitted.lasts),
        );
        self.say(&Answer::Ready(ready))?;
        let answer = match self.wire.read(LONGEST_ASKED, &self.limit(admitted.lasts + AROUND))? {
            Ask::Finish => match server.finish() {
                Ok(report) => Answer::Done(Box::new(report)),
                Err(error) => Answer::Failed(error.to_string()),
            },
            _ => Answer::Failed("it comes out of turn".to_owned()),
        };
        self.say(&answer)
    }

    /// Starts the serving side, on the address that the client dialled.
    fn serve(&self, admitted: &Admitted<'_>) -> Result<(Box<dyn Server>, Ready), Error> {
        let at = here(self.wire.stream())?;
        let trial = u64::from_ne_bytes(random()?);
        let mut task = admitted.task.clone();
        (task.token, task.one_clock) = (trial, self.one_clock);
        let mut tries = 0;
        loop {
            task.addresses = self.house.ports.choose(at, admitted.workload.ports())?;
            tries += 1;
            match admitted.workload.serve(&task) {
                Ok(server) => {
                    let ports = task.addresses.iter().map(SocketAddr::port).collect();
                    return Ok((server, Ready { ports, trial }));
                }
                Err(error) if tries < TRIES && is_taken(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn say(&mut self, answer: &Answer) -> Result<(), Trouble> {
        let limit = self.limit(ANSWER);
        self.wire.write(answer, &limit)
    }

    /// Tells somebody who is not let in why.
    fn turn_away(self, stranger: Stranger) {
        let answer = match stranger {
            Stranger::Trouble(Trouble::Ended) => return,
            Stranger::Trouble(trouble) => Answer::Failed(told(&trouble)),
            Stranger::Refused(why) => Answer::Refused(why),
        };
        self.house.notices.of_stranger(self.peer, format!("not let in: {}", answer.why()));
        self.part(&answer);
    }

    /// The end of a client: one that went wrong is told how.
    fn leave(self, trouble: &Trouble) {
        if !matches!(trouble, Trouble::Ended) {
            let why = told(trouble);
            self.house.notices.of_stranger(self.peer, format!("shown out: {why}"));
            self.part(&Answer::Failed(why));
        }
    }

    /// Says the last thing, and closes.
    fn part(mut self, last: &Answer) {
        let limit = Limit::of(FAREWELL, &|| false);
        let _ = self.wire.write(last, &limit);
        self.wire.part(&limit);
    }
}

/// What is wrong, as the client shall read it.
fn told(trouble: &Trouble) -> String {
    match trouble {
        Trouble::Stopped => "the listener was stopped".to_owned(),
        other => other.to_string(),
    }
}

/// The address that the client dialled.
fn here(stream: &TcpStream) -> Result<SocketAddr, Error> {
    let address =
        stream.local_addr().map_err(|error| Error::io("read a connection's address", error))?;
    Ok(plain(address))
}

/// An address of IPv4 as itself, where the listener takes both families by one socket.
fn plain(mut address: SocketAddr) -> SocketAddr {
    address.set_ip(address.ip().to_canonical());
    address
}

/// Whether somebody else had a port first.
fn is_taken(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == io::ErrorKind::AddrInUse)
}
