//! Link of a run to the agent of a pod: it attaches to the pod's container, again and again if need be, and shares the
//! connection among the programs in the pod.

use crate::cluster_client::ClusterClient;
use crate::cluster_error::{cluster_error, is_forbidden, is_not_found};
use crate::link::{LineBuffer, LinkEndpoint, LinkLine, MAX_PAYLOAD, PodMessage, ProgramRequest};
use crate::objects::CONTAINER;
use crate::pods::state;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, AttachParams, AttachedProcess};
use std::collections::HashMap;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tare_network::{Error, ProcessExit, scaled_timeout};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// Time without a connection after which a pod is given up. The agent in the pod waits longer.
const LOST: Duration = Duration::from_secs(240);

/// Pause between two attempts to attach.
const RETRY_PAUSE: Duration = Duration::from_millis(300);

/// Interval at which each end shows that it is alive.
const SIGN_OF_LIFE: Duration = Duration::from_secs(3);

/// Time without a line after which a connection is taken to be broken.
const SILENCE: Duration = Duration::from_secs(12);

/// Timeout of one attempt to attach.
const ATTACH_TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes of a connection that are buffered on their way.
const BUFFER_SIZE: usize = 256 << 10;

/// Link to the agent of a pod. Dropping it closes the connection; the agent goes on.
pub(crate) struct PodLink {
    state: Arc<LinkState>,
    task: JoinHandle<()>,
}

/// State that the connection and the programs share.
pub(crate) struct LinkState {
    pod: String,
    inner: Mutex<LinkContent>,
    /// Signalled when a program or the link ends.
    ended: Condvar,
    /// Wakes the connection: there is something to send.
    wake: Notify,
    /// True while a connection is there.
    connected: AtomicBool,
}

#[derive(Default)]
struct LinkContent {
    endpoint: LinkEndpoint,
    /// Lines to send on the connection.
    outgoing: String,
    programs: HashMap<u32, ProgramState>,
    next_program: u32,
    /// Reason why the link has ended.
    lost: Option<String>,
}

/// Program in the pod, as its messages tell.
struct ProgramState {
    output: Option<Sender<Vec<u8>>>,
    end: Option<ProgramEnd>,
}

/// End of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProgramEnd {
    /// It ran, and ended so.
    Ended(ProcessExit),
    /// It could not be started, or the pod is lost.
    Failed(String),
}

impl PodLink {
    /// Starts to attach to a pod.
    pub(crate) fn open(client: &ClusterClient, pod: &str) -> Self {
        let state = Arc::new(LinkState {
            pod: pod.to_owned(),
            inner: Mutex::default(),
            ended: Condvar::new(),
            wake: Notify::new(),
            connected: AtomicBool::new(false),
        });
        let pods: Api<Pod> = Api::namespaced(client.client(), client.namespace());
        let task = client.handle().spawn(keep_connected(Arc::clone(&state), pods));
        Self { state, task }
    }

    /// Returns the state that programs share with the connection.
    pub(crate) fn state(&self) -> &Arc<LinkState> {
        &self.state
    }
}

impl Drop for PodLink {
    fn drop(&mut self) {
        self.task.abort();
        self.state.give_up("the connection to the pod was closed");
    }
}

impl LinkState {
    fn inner(&self) -> MutexGuard<'_, LinkContent> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if there is no connection to the pod now.
    pub(crate) fn is_cut_off(&self) -> bool {
        !self.connected.load(Ordering::Relaxed)
    }

    /// Returns true if the link has ended for good.
    pub(crate) fn is_lost(&self) -> bool {
        self.inner().lost.is_some()
    }

    /// Starts a program. Returns its number and the pieces of its output.
    pub(crate) fn start(&self, request: ProgramRequest) -> Result<(u32, Receiver<Vec<u8>>), Error> {
        let mut inner = self.inner();
        if let Some(why) = &inner.lost {
            return Err(Error::new(format!("start a program in the pod {}", self.pod), why));
        }
        let number = inner.next_program;
        inner.next_program += 1;
        let (sender, output) = channel();
        inner.programs.insert(number, ProgramState { output: Some(sender), end: None });
        drop(inner);
        self.send(number, &PodMessage::Start(request));
        Ok((number, output))
    }

    /// Sends a message about a program.
    pub(crate) fn send(&self, program: u32, message: &PodMessage) {
        let mut inner = self.inner();
        let line = inner.endpoint.send(message.to_bytes(program));
        // Without a connection the message is kept by the link, and sent when there is one.
        if self.connected.load(Ordering::Relaxed) {
            inner.outgoing += &line;
            self.wake.notify_one();
        }
    }

    /// Sends bytes to a program's standard input.
    pub(crate) fn send_input(&self, program: u32, bytes: &[u8]) {
        for piece in bytes.chunks(MAX_PAYLOAD - 16) {
            self.send(program, &PodMessage::Input(piece.to_vec()));
        }
    }

    /// Waits until a program ends.
    pub(crate) fn await_end(&self, program: u32) -> ProgramEnd {
        let mut inner = self.inner();
        loop {
            let end = inner.programs.get(&program).and_then(|state| state.end.clone());
            match (end, &inner.lost) {
                (Some(end), _) => return end,
                (None, Some(why)) => return ProgramEnd::Failed(why.clone()),
                (None, None) => {
                    inner = self.ended.wait(inner).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    /// Forgets a program, whose end nobody waits for any more.
    pub(crate) fn forget(&self, program: u32) {
        self.inner().programs.remove(&program);
    }

    /// Ends the link: all outputs end, and all who wait learn why.
    fn give_up(&self, why: &str) {
        let mut inner = self.inner();
        inner.lost.get_or_insert_with(|| why.to_owned());
        inner.programs.values_mut().for_each(|program| program.output = None);
        self.connected.store(false, Ordering::Relaxed);
        self.ended.notify_all();
    }

    /// Begins a connection. Returns what is to be sent first.
    fn begin_connection(&self) -> String {
        let mut inner = self.inner();
        inner.outgoing.clear();
        self.connected.store(true, Ordering::Relaxed);
        inner.endpoint.begin_connection()
    }

    fn end_connection(&self) {
        self.connected.store(false, Ordering::Relaxed);
    }

    fn take_outgoing(&self) -> String {
        std::mem::take(&mut self.inner().outgoing)
    }

    fn confirmation(&self) -> String {
        self.inner().endpoint.confirm()
    }

    /// Handles a line from the pod.
    fn receive(&self, line: LinkLine) {
        let mut inner = self.inner();
        let arrived = inner.endpoint.receive(line);
        if !arrived.answer.is_empty() {
            inner.outgoing += &arrived.answer;
            self.wake.notify_one();
        }
        let Some((number, message)) = arrived.message.as_deref().and_then(PodMessage::parse) else {
            return;
        };
        let Some(program) = inner.programs.get_mut(&number) else { return };
        let end = match message {
            PodMessage::Output(bytes) => {
                // The reader may be gone, which does not concern the program.
                let _ = program.output.as_ref().map(|output| output.send(bytes));
                return;
            }
            PodMessage::ErrorOutput(bytes) => {
                drop(inner);
                return drop(std::io::stderr().write_all(&bytes));
            }
            PodMessage::Exited(code) => ProgramEnd::Ended(ProcessExit::Code(code)),
            PodMessage::Killed(signal) => ProgramEnd::Ended(ProcessExit::Signal(signal)),
            PodMessage::Refused(why) => ProgramEnd::Failed(why),
            // The rest is what a run says.
            PodMessage::Start(_)
            | PodMessage::Input(_)
            | PodMessage::EndOfInput
            | PodMessage::Kill => {
                return;
            }
        };
        (program.output, program.end) = (None, Some(end));
        self.ended.notify_all();
    }
}

/// Keeps a connection to the pod, until the pod has ended or cannot be reached for too long.
async fn keep_connected(state: Arc<LinkState>, pods: Api<Pod>) {
    let mut last_seen = Instant::now();
    loop {
        let why = match attach(&pods, &state.pod).await {
            Ok(attached) => {
                last_seen = exchange(&state, attached).await.unwrap_or(last_seen);
                state.end_connection();
                "the connection breaks at once".to_owned()
            }
            Err(AttachFailure::Final(why)) => return state.give_up(&why),
            Err(AttachFailure::Passing(why)) => why,
        };
        if last_seen.elapsed() > scaled_timeout(LOST) {
            let seconds = last_seen.elapsed().as_secs();
            return state.give_up(&format!("the pod cannot be reached for {seconds} s: {why}"));
        }
        tokio::time::sleep(RETRY_PAUSE).await;
    }
}

/// Reason why an attempt to attach failed.
enum AttachFailure {
    /// No other attempt can succeed.
    Final(String),
    /// Another attempt may succeed.
    Passing(String),
}

async fn attach(pods: &Api<Pod>, pod: &str) -> Result<AttachedProcess, AttachFailure> {
    let streams = AttachParams {
        stdin: true,
        stdout: true,
        stderr: false,
        tty: false,
        container: Some(CONTAINER.to_owned()),
        max_stdin_buf_size: Some(BUFFER_SIZE),
        max_stdout_buf_size: Some(BUFFER_SIZE),
        max_stderr_buf_size: None,
    };
    let attaching =
        tokio::time::timeout(scaled_timeout(ATTACH_TIMEOUT), pods.attach(pod, &streams));
    let refusal = match attaching.await {
        Ok(Ok(attached)) => return Ok(attached),
        Ok(Err(refusal)) => refusal,
        Err(_) => return Err(AttachFailure::Passing("the API server does not answer".to_owned())),
    };
    let error = cluster_error(format!("attach to the pod {pod}"), &refusal);
    if is_forbidden(&refusal) {
        return Err(AttachFailure::Final(format!("{error}: {}", error.remedy)));
    }
    // The kubelet refuses when the pod has ended, in words only.
    match pods.get(pod).await {
        Ok(found) => match state::end_of(&found) {
            Some(why) => Err(AttachFailure::Final(why)),
            None => Err(AttachFailure::Passing(error.to_string())),
        },
        Err(gone) if is_not_found(&gone) => {
            Err(AttachFailure::Final("the pod was deleted".to_owned()))
        }
        Err(_) => Err(AttachFailure::Passing(error.to_string())),
    }
}

/// Carries lines until the connection breaks. Returns when the last line arrived; `None` if none did.
async fn exchange(state: &LinkState, mut attached: AttachedProcess) -> Option<Instant> {
    let (mut output, mut input) = (attached.stdout()?, attached.stdin()?);
    let (mut buffer, mut bytes) = (LineBuffer::default(), vec![0; 64 << 10]);
    let (begun, mut last_line) = (Instant::now(), None);
    let mut ticks = tokio::time::interval(SIGN_OF_LIFE);
    let mut sending = state.begin_connection();
    loop {
        if !sending.is_empty() && input.write_all(sending.as_bytes()).await.is_err() {
            return last_line;
        }
        sending.clear();
        tokio::select! {
            read = output.read(&mut bytes) => match read {
                Ok(length @ 1..) => {
                    for line in buffer.add(&bytes[..length]) {
                        last_line = Some(Instant::now());
                        state.receive(line);
                    }
                }
                Ok(0) | Err(_) => return last_line,
            },
            () = state.wake.notified() => sending = state.take_outgoing(),
            _ = ticks.tick() => {
                if last_line.unwrap_or(begun).elapsed() > scaled_timeout(SILENCE) {
                    attached.abort();
                    return last_line;
                }
                sending = state.confirmation();
            }
        }
    }
}
