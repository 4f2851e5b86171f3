//! The probe: the generating side of trials whose serving side is a listener.
//!
//! It works in this process: its figures are made by the same code as an agent's. Whatever goes wrong in a trial, the
//! connection may be in the middle of anything: it is closed, and the probe can do nothing more.

use super::caps::{self, Caps};
use super::message::{
    Answer, Ask, Greeting, Hello, LONGEST_ANSWER, Prove, Ready, Request, VERSION, Welcome,
};
use super::notice::printable;
use super::secret::{Bits256, Nonces, Side, Token};
use super::wire::{Limit, Trouble, Wire};
use crate::{Error, Job, Outcome, Report, Task, clock, merge, workloads};
use rustix::net::sockopt;
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};
use tare_record::Nanos;

/// How long one try to connect may take.
const CONNECT: Duration = Duration::from_secs(5);

/// How long the handshake, or the preparation of a trial, may take.
const SET_UP: Duration = Duration::from_secs(10);

/// How long either side may take, beyond the trial, to say what it counted.
const AFTERWARDS: Duration = Duration::from_secs(30);

/// How long after the flows broke the listener may say why.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How often one who waits for the trial's end looks whether to go on.
const TICK: Duration = Duration::from_millis(20);

/// A connection to a listener that takes this client. Dropping it closes it, and ends what is being served.
#[derive(Debug)]
pub struct Probe {
    /// Nothing after something went wrong.
    wire: Option<Wire>,
    listener: SocketAddr,
    one_clock: bool,
    caps: Caps,
    mtu: Option<u32>,
}

/// What came of a trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Probed {
    /// What both ends counted.
    pub outcome: Outcome,
    /// CPU time of this process's threads that carried traffic.
    pub client_cpu: Nanos,
    /// CPU time of the listener's threads that carried traffic, where it is on this machine.
    pub listener_cpu: Option<Nanos>,
}

impl Probe {
    /// Connects to a listener, and proves the token to each other.
    ///
    /// # Errors
    /// When nothing listens there, it speaks another version, does not take this client or does not know the token.
    pub fn connect(listener: SocketAddr, token: Option<&Token>) -> Result<Self, Error> {
        let said = |why: String| Error::Listener { listener, why };
        let stream = TcpStream::connect_timeout(&listener, CONNECT).map_err(|error| {
            said(format!("{error}: start `tare listen` there, or name its port by --port"))
        })?;
        let mtu = mtu(&stream, listener);
        let mut wire = Wire::new(stream).map_err(|error| said(error.to_string()))?;
        let welcome = shake_hands(&mut wire, token).map_err(|why| said(printable(&why)))?;
        let Welcome { one_clock, caps, .. } = welcome;
        Ok(Self { wire: Some(wire), listener, one_clock, caps, mtu })
    }

    /// The listener's address.
    #[must_use]
    pub fn listener(&self) -> SocketAddr {
        self.listener
    }

    /// Whether the listener is on this machine.
    #[must_use]
    pub fn is_here(&self) -> bool {
        self.one_clock
    }

    /// The largest packet that passes to the listener, bytes, as far as the kernel knows.
    #[must_use]
    pub fn mtu(&self) -> Option<u32> {
        self.mtu
    }

    /// Whether the listener would serve this job if nobody else were there.
    ///
    /// # Errors
    /// The listener's cap, or what makes no sense in the job.
    pub fn check(&self, job: &Job) -> Result<(), Error> {
        self.caps
            .admit(&request(job), &workloads())
            .map(drop)
            .map_err(|error| self.said(&error.to_string()))
    }

    /// Does one trial. The shape's containers, and the job's ports, mean nothing here.
    ///
    /// # Errors
    /// [`Error::Cancelled`] when the caller wished it, else what went wrong first. Afterwards this probe is at its end.
    pub fn trial(&mut self, job: &Job, cancelled: &dyn Fn() -> bool) -> Result<Probed, Error> {
        let mut wire = self.wire.take().ok_or_else(|| {
            self.said("this connection ended when its last trial failed: connect anew")
        })?;
        let probed = self
            .conduct(&mut wire, job, cancelled)
            .map_err(|error| if cancelled() { Error::Cancelled } else { error })?;
        self.wire = Some(wire);
        Ok(probed)
    }

    fn conduct(
        &self,
        wire: &mut Wire,
        job: &Job,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Probed, Error> {
        let registry = workloads();
        let request = request(job);
        let workload = registry.find(&job.workload)?;
        let mut task = caps::task(&request, workload)?;
        let set_up = Limit::of(SET_UP, cancelled);
        let Ready { ports, trial } = self.prepare(wire, request, &set_up)?;
        task.addresses = ports.into_iter().map(|port| at(self.listener, port)).collect();
        (task.token, task.one_clock) = (trial, self.one_clock);
        task.check()?;
        let lasts = workload.lasts(&task);
        let sent = self.generate(wire, task, lasts, cancelled)?;
        let received = self.finish(wire, cancelled)?;
        let (client_cpu, listener_cpu) = (sent.cpu, self.one_clock.then_some(received.cpu));
        let outcome = merge::outcome(vec![received], vec![sent])?;
        Ok(Probed { outcome, client_cpu, listener_cpu })
    }

    /// Has the listener serve.
    fn prepare(
        &self,
        wire: &mut Wire,
        request: Request,
        limit: &Limit<'_>,
    ) -> Result<Ready, Error> {
        match self.ask(wire, &Ask::Serve(request), limit)? {
            Answer::Ready(ready) => Ok(ready),
            other => Err(self.unwanted(&other)),
        }
    }

    /// Connects all flows and generates, on a thread of its own so that this one can look after the listener and the
    /// caller's wish to stop. Where that comes first, the thread is left behind: the process is expected to end.
    fn generate(
        &self,
        wire: &mut Wire,
        task: Task,
        lasts: Duration,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Report, Error> {
        let (sender, reports) = channel();
        let until = Instant::now() + SET_UP + lasts + AFTERWARDS;
        thread::Builder::new()
            .name("probe".to_owned())
            .spawn(move || drop(sender.send(run(&task))))
            .map_err(|error| Error::io("start a thread", error))?;
        self.await_report(wire, &reports, until, cancelled)
    }

    fn await_report(
        &self,
        wire: &mut Wire,
        reports: &Receiver<Result<Report, Error>>,
        until: Instant,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Report, Error> {
        loop {
            if cancelled() {
                return Err(Error::Cancelled);
            }
            match reports.recv_timeout(TICK) {
                Ok(Ok(report)) => return Ok(report),
                Ok(Err(error)) => return Err(self.why_broken(wire).unwrap_or(error)),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::io("generate", std::io::Error::other("its thread died")));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Some(error) = self.last_words(wire) {
                return Err(error);
            }
            if Instant::now() >= until {
                return Err(self.said("the trial does not come to its end; the network lost it, or the machine is overloaded"));
            }
        }
    }

    /// When the listener has ended, that is why the flows broke; it may say so a little later than they do.
    fn why_broken(&self, wire: &mut Wire) -> Option<Error> {
        let until = Instant::now() + LAST_WORDS;
        loop {
            let words = self.last_words(wire);
            if words.is_some() || Instant::now() >= until {
                return words;
            }
            thread::sleep(TICK);
        }
    }

    /// What the listener said out of turn; nothing as long as it is silent, as it should be.
    fn last_words(&self, wire: &mut Wire) -> Option<Error> {
        if !wire.is_stirring() {
            return None;
        }
        let said = wire.read(LONGEST_ANSWER, &Limit::of(SET_UP, &|| false));
        Some(
            said.map_or_else(
                |trouble| self.lost(&trouble),
                |answer: Answer| self.unwanted(&answer),
            ),
        )
    }

    /// Has the listener say what came.
    fn finish(&self, wire: &mut Wire, cancelled: &dyn Fn() -> bool) -> Result<Report, Error> {
        let limit = Limit::of(AFTERWARDS, cancelled);
        match self.ask(wire, &Ask::Finish, &limit)? {
            // Another machine's clock says nothing here.
            Answer::Done(report) if !self.one_clock => Ok(Report { epoch: None, ..*report }),
            Answer::Done(report) => Ok(*report),
            other => Err(self.unwanted(&other)),
        }
    }

    fn ask(&self, wire: &mut Wire, ask: &Ask, limit: &Limit<'_>) -> Result<Answer, Error> {
        wire.write(ask, limit)
            .and_then(|()| wire.read(LONGEST_ANSWER, limit))
            .map_err(|trouble| self.lost(&trouble))
    }

    /// What the listener answered instead of what was asked.
    fn unwanted(&self, answer: &Answer) -> Error {
        match answer.why() {
            "" => self.said("it answers something else than what it was asked"),
            why => self.said(why),
        }
    }

    fn lost(&self, trouble: &Trouble) -> Error {
        match trouble {
            Trouble::Stopped => Error::Cancelled,
            Trouble::Ended => self.said("it ended, or the connection to it was lost"),
            Trouble::Late => {
                self.said("it does not answer; the network lost it, or the machine is overloaded")
            }
            other => self.said(&format!("it answers what makes no sense: {other}")),
        }
    }

    fn said(&self, why: &str) -> Error {
        Error::Listener { listener: self.listener, why: printable(why) }
    }
}

/// Both proofs. What goes wrong is said in words.
pub(super) fn shake_hands(wire: &mut Wire, token: Option<&Token>) -> Result<Welcome, String> {
    let limit = Limit::of(SET_UP, &|| false);
    let nonce = Bits256::random().map_err(|error| error.to_string())?;
    let tare = env!("CARGO_PKG_VERSION").to_owned();
    let greeting = match say(wire, &Ask::Hello(Hello { protocol: VERSION, tare, nonce }), &limit)? {
        Answer::Hello(greeting) => greeting,
        other => return Err(other.why().to_owned()),
    };
    let Greeting { protocol, nonce: other, token: wanted, .. } = greeting;
    if protocol != VERSION {
        return Err(format!(
            "it speaks version {protocol} of the protocol, not {VERSION}: use the same tare on both machines"
        ));
    }
    let nonces = Nonces { client: nonce, listener: other };
    let proof = match (wanted, token) {
        (true, Some(token)) => token.proof(Side::Client, &nonces),
        (true, None) => {
            return Err(
                "it asks for a token: give it by --token-file, --token or TARE_TOKEN".to_owned()
            );
        }
        (false, Some(_)) => {
            return Err("it asks for no token, so it need not be yours: start it with the token, or leave the token out here".to_owned());
        }
        (false, None) => None,
    };
    match say(wire, &Ask::Prove(Prove { proof, clock: clock::name() }), &limit)? {
        Answer::Welcome(welcome) => {
            let proved = |token: &Token| {
                welcome.proof.is_some_and(|proof| token.is_proved(&proof, Side::Listener, &nonces))
            };
            match token.is_none_or(proved) {
                true => Ok(welcome),
                false => {
                    Err("it does not know the token itself: it is not the listener that you mean"
                        .to_owned())
                }
            }
        }
        other => Err(other.why().to_owned()),
    }
}

/// One question of the handshake with its answer.
fn say(wire: &mut Wire, ask: &Ask, limit: &Limit<'_>) -> Result<Answer, String> {
    let answer = wire.write(ask, limit).and_then(|()| wire.read(1 << 16, limit));
    answer.map_err(|trouble| match trouble {
        Trouble::Nonsense(_) | Trouble::TooLong(_) => {
            "what answers there is no tare listener".to_owned()
        }
        Trouble::Late => {
            "it does not answer: it is no tare listener, or it is overloaded".to_owned()
        }
        other => other.to_string(),
    })
}

/// What the listener is asked for.
fn request(job: &Job) -> Request {
    Request {
        workload: job.workload.clone(),
        parameters: job.parameters.clone(),
        flows: job.shape.flows,
        cpus: job.shape.cpus.clone(),
        duration: job.duration,
        interval: job.interval,
    }
}

/// The generating side of one trial, from its beginning to its end.
fn run(task: &Task) -> Result<Report, Error> {
    workloads().find(&task.workload)?.connect(task)?.run()
}

/// Another port of the same address; an IPv6 address keeps its scope.
fn at(mut address: SocketAddr, port: u16) -> SocketAddr {
    address.set_port(port);
    address
}

/// The largest packet that this connection's path takes, as the kernel knows it (ip(7), ipv6(7)).
fn mtu(stream: &TcpStream, listener: SocketAddr) -> Option<u32> {
    if listener.is_ipv4() { sockopt::ip_mtu(stream).ok() } else { sockopt::ipv6_mtu(stream).ok() }
}
