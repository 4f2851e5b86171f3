//! Client of `tare listen`: the generating side of trials whose serving side is a listener.
//!
//! The probe runs in this process, and the same code as in an agent makes its figures. Anything that goes wrong in a
//! trial can leave the connection in the middle of a message: the probe then closes the connection, and connects again
//! before it can do more.

use crate::admission;
use crate::caps::Caps;
use crate::client_handshake::{SETUP_TIMEOUT, shake_hands};
use crate::control_connection::{ControlConnection, ControlError, WaitLimit};
use crate::line_limit::LineLimit;
use crate::message::{
    ClientMessage, ListenerMessage, ListenerWelcome, MAX_LISTENER_LINE, TrialReady, TrialRequest,
};
use crate::notice::to_printable;
use crate::report_check::check_report;
use crate::token::Token;
use rustix::net::sockopt;
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};
use tare_record::Nanos;
use tare_traffic::{
    Error, SideReport, TrialJob, TrialOutcome, TrialTask, WorkloadRegistry, merge_reports,
};

/// Timeout of one attempt to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Timeout of either side's report after the end of the trial.
const REPORT_TIMEOUT: Duration = Duration::from_secs(30);

/// Time after the flows break in which the listener may say why.
const ERROR_GRACE: Duration = Duration::from_millis(500);

/// Period at which a thread that waits for the end of the trial checks for cancellation.
const TICK: Duration = Duration::from_millis(20);

/// Connection to a listener that has accepted this client. Dropping it closes the connection and ends the trial that is
/// being served.
#[derive(Debug)]
pub struct ProbeClient {
    /// `None` after a failed trial.
    wire: Option<ControlConnection>,
    workloads: WorkloadRegistry,
    listener: SocketAddr,
    token: Option<Token>,
    one_clock: bool,
    caps: Caps,
    mtu: Option<u32>,
}

/// Result of a trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProbeOutcome {
    /// Counts of both ends.
    pub outcome: TrialOutcome,
    /// CPU time of this process's threads that carried traffic.
    pub client_cpu: Nanos,
    /// CPU time of the listener's threads that carried traffic. `None` if the listener is on another machine.
    pub listener_cpu: Option<Nanos>,
}

impl ProbeClient {
    /// Connects to a listener. Both sides prove that they know the token.
    ///
    /// # Errors
    /// When nothing listens at the address, or the listener speaks another version of the protocol, refuses this
    /// client, or does not know the token.
    pub fn connect(
        listener: SocketAddr,
        token: Option<&Token>,
        workloads: &WorkloadRegistry,
    ) -> Result<Self, Error> {
        token.map_or(Ok(()), |token| token.check_length(listener))?;
        let said = |why: String| Error::Listener { listener, why };
        let stream = TcpStream::connect_timeout(&listener, CONNECT_TIMEOUT).map_err(|error| {
            said(format!(
                "cannot connect: {error}: start `tare listen` on that machine, or give the port of the listener with --port"
            ))
        })?;
        let mtu = path_mtu(&stream, listener);
        let mut wire = ControlConnection::new(stream).map_err(|error| said(error.to_string()))?;
        let welcome = shake_hands(&mut wire, token).map_err(|why| said(to_printable(&why)))?;
        let ListenerWelcome { one_clock, caps, .. } = welcome;
        let (workloads, token) = (workloads.clone(), token.cloned());
        Ok(Self { wire: Some(wire), workloads, listener, token, one_clock, caps, mtu })
    }

    /// Connects again if a trial failed, which ends the connection.
    ///
    /// # Errors
    /// As [`ProbeClient::connect`].
    pub fn reconnect(&mut self) -> Result<(), Error> {
        if self.wire.is_none() {
            *self = Self::connect(self.listener, self.token.as_ref(), &self.workloads)?;
        }
        Ok(())
    }

    /// Returns the address of the listener.
    #[must_use]
    pub fn listener(&self) -> SocketAddr {
        self.listener
    }

    /// Returns whether the listener is on this machine.
    #[must_use]
    pub fn is_same_host(&self) -> bool {
        self.one_clock
    }

    /// Returns the path MTU to the listener, bytes. Returns `None` if the kernel does not know it.
    #[must_use]
    pub fn mtu(&self) -> Option<u32> {
        self.mtu
    }

    /// Checks whether the listener would serve this job if it had no other clients.
    ///
    /// # Errors
    /// With the listener's limit that the job exceeds, or with the value of the job that is invalid.
    pub fn check(&self, job: &TrialJob) -> Result<(), Error> {
        self.caps
            .admit(&request_from_job(job), &self.workloads, self.one_clock)
            .map(drop)
            .map_err(|error| self.listener_error(&error.to_string()))
    }

    /// Runs one trial. The shape's containers and the job's ports are ignored.
    ///
    /// # Errors
    /// [`Error::Cancelled`] when the caller cancelled, else the first failure. After an error the probe must be
    /// [reconnected](ProbeClient::reconnect).
    pub fn run_trial(
        &mut self,
        job: &TrialJob,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<ProbeOutcome, Error> {
        let mut wire = self.wire.take().ok_or_else(|| {
            self.listener_error("the connection ended when its last trial failed: connect again")
        })?;
        let probed = self
            .try_trial(&mut wire, job, cancelled)
            .map_err(|error| if cancelled() { Error::Cancelled } else { error })?;
        self.wire = Some(wire);
        Ok(probed)
    }

    fn try_trial(
        &self,
        wire: &mut ControlConnection,
        job: &TrialJob,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<ProbeOutcome, Error> {
        let request = request_from_job(job);
        let workload = self.workloads.find(&job.workload)?;
        let mut task = admission::task_from_request(&request, workload)?;
        let set_up = WaitLimit::new(SETUP_TIMEOUT, cancelled);
        let TrialReady { ports, trial } = self.prepare(wire, request, &set_up)?;
        task.addresses = ports.into_iter().map(|port| with_port(self.listener, port)).collect();
        (task.token, task.one_clock) = (trial, self.one_clock);
        if task.addresses.len() != workload.port_count() {
            return Err(self.listener_error("the answer has another number of ports than the workload: use the same tare on both machines"));
        }
        task.validate()?;
        let lasts = workload.duration(&task);
        let sent = self.generate(wire, task.clone(), lasts, cancelled)?;
        let received = self.finish(wire, &task, cancelled)?;
        let (client_cpu, listener_cpu) = (sent.cpu, self.one_clock.then_some(received.cpu));
        let outcome = merge_reports(vec![received], vec![sent])?;
        Ok(ProbeOutcome { outcome, client_cpu, listener_cpu })
    }

    /// Asks the listener to start the serving side.
    fn prepare(
        &self,
        wire: &mut ControlConnection,
        request: TrialRequest,
        limit: &WaitLimit<'_>,
    ) -> Result<TrialReady, Error> {
        match self.exchange(
            wire,
            &ClientMessage::Serve(request),
            MAX_LISTENER_LINE.into(),
            limit,
        )? {
            ListenerMessage::Ready(ready) => Ok(ready),
            other => Err(self.unexpected_answer(&other)),
        }
    }

    /// Connects all flows and generates traffic on a thread of its own, so that this thread can watch the listener and
    /// the caller's cancellation. If either ends the trial first, the thread is left behind: the process is expected to
    /// exit.
    fn generate(
        &self,
        wire: &mut ControlConnection,
        task: TrialTask,
        lasts: Duration,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<SideReport, Error> {
        let (sender, reports) = channel();
        let until = Instant::now() + SETUP_TIMEOUT + lasts + REPORT_TIMEOUT;
        let workloads = self.workloads.clone();
        thread::Builder::new()
            .name("probe".to_owned())
            .spawn(move || drop(sender.send(run_client(&workloads, &task))))
            .map_err(|error| Error::io("start a thread", error))?;
        self.await_report(wire, &reports, until, cancelled)
    }

    fn await_report(
        &self,
        wire: &mut ControlConnection,
        reports: &Receiver<Result<SideReport, Error>>,
        until: Instant,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<SideReport, Error> {
        loop {
            if cancelled() {
                return Err(Error::Cancelled);
            }
            match reports.recv_timeout(TICK) {
                Ok(Ok(report)) => return Ok(report),
                Ok(Err(error)) => return Err(self.await_listener_error(wire).unwrap_or(error)),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::io(
                        "generate traffic",
                        std::io::Error::other("the thread of the client panicked"),
                    ));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Some(error) = self.read_unsolicited_error(wire) {
                return Err(error);
            }
            if Instant::now() >= until {
                return Err(self.listener_error("the trial did not end in time: the network lost its traffic, or a machine is overloaded: check the network, or stop other load"));
            }
        }
    }

    /// Waits for the listener to say why the flows broke: its end breaks them, and its message may come a little later.
    /// Returns `None` if no message comes in time.
    fn await_listener_error(&self, wire: &mut ControlConnection) -> Option<Error> {
        let until = Instant::now() + ERROR_GRACE;
        loop {
            let words = self.read_unsolicited_error(wire);
            if words.is_some() || Instant::now() >= until {
                return words;
            }
            thread::sleep(TICK);
        }
    }

    /// Returns the error that the listener sent, or whose connection was lost, during a trial. Returns `None` while the
    /// listener is silent, as it should be.
    fn read_unsolicited_error(&self, wire: &mut ControlConnection) -> Option<Error> {
        if !wire.has_input() {
            return None;
        }
        let said = wire.read(MAX_LISTENER_LINE, &WaitLimit::new(SETUP_TIMEOUT, &|| false));
        Some(said.map_or_else(
            |trouble| self.connection_error(&trouble),
            |answer: ListenerMessage| self.unexpected_answer(&answer),
        ))
    }

    /// Asks the listener for its report of the trial.
    fn finish(
        &self,
        wire: &mut ControlConnection,
        task: &TrialTask,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<SideReport, Error> {
        let limit = WaitLimit::new(REPORT_TIMEOUT, cancelled);
        let most = LineLimit::for_report(task);
        let mut report = match self.exchange(wire, &ClientMessage::Finish, most, &limit)? {
            ListenerMessage::Done(report) => *report,
            other => return Err(self.unexpected_answer(&other)),
        };
        check_report(&report, task).map_err(|problem| self.listener_error(&problem))?;
        // The monotonic clock of another machine has no meaning here.
        report.epoch = report.epoch.filter(|_| self.one_clock);
        Ok(report)
    }

    fn exchange(
        &self,
        wire: &mut ControlConnection,
        ask: &ClientMessage,
        most: LineLimit,
        limit: &WaitLimit<'_>,
    ) -> Result<ListenerMessage, Error> {
        wire.write(ask, limit)
            .and_then(|()| wire.read(most, limit))
            .map_err(|trouble| self.connection_error(&trouble))
    }

    /// Returns the error for an answer that does not fit the request.
    fn unexpected_answer(&self, answer: &ListenerMessage) -> Error {
        match answer.failure_reason() {
            "" => self.listener_error(
                "the answer does not match the request: use the same tare on both machines",
            ),
            why => self.listener_error(why),
        }
    }

    fn connection_error(&self, trouble: &ControlError) -> Error {
        match trouble {
            ControlError::Stopped => Error::Cancelled,
            ControlError::Closed => self.listener_error(
                "the listener ended, or the connection was lost: see the output of the listener",
            ),
            ControlError::TimedOut => self.listener_error(
                "the listener did not answer in time: the network lost the answer, or the machine is overloaded: check the network, or stop other load",
            ),
            other => self.listener_error(&format!(
                "invalid answer: {other}: use the same tare on both machines"
            )),
        }
    }

    fn listener_error(&self, why: &str) -> Error {
        Error::Listener { listener: self.listener, why: to_printable(why) }
    }
}

/// Returns the request to the listener for this job.
fn request_from_job(job: &TrialJob) -> TrialRequest {
    TrialRequest {
        workload: job.workload.clone(),
        parameters: job.parameters.clone(),
        flows: job.shape.flows,
        cpus: job.shape.cpus.clone(),
        duration: job.duration,
        interval: job.interval,
    }
}

/// Runs the generating side of one trial, from connecting to its report.
fn run_client(workloads: &WorkloadRegistry, task: &TrialTask) -> Result<SideReport, Error> {
    workloads.find(&task.workload)?.connect(task)?.run()
}

/// Returns the address with another port. An IPv6 address keeps its scope.
fn with_port(mut address: SocketAddr, port: u16) -> SocketAddr {
    address.set_port(port);
    address
}

/// Returns the path MTU of this connection, as the kernel knows it (ip(7), ipv6(7)).
fn path_mtu(stream: &TcpStream, listener: SocketAddr) -> Option<u32> {
    if listener.is_ipv4() { sockopt::ip_mtu(stream).ok() } else { sockopt::ipv6_mtu(stream).ok() }
}
