//! Spawner: one thread whose children are born in the sandbox's PID namespace.
//!
//! A thread whose children are in another PID namespace cannot start threads any more, and a child that is killed with
//! its parent is killed when *the thread* that started it ends. For both reasons one thread lives as long as the
//! sandbox, and does nothing else. Its first child is the init process.

use crate::cgroup::SandboxCgroup;
use crate::init::READY;
use crate::sys;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use tare_network::{Error, INTERNAL};

/// Program of tare itself, also if its file was replaced or removed after the start.
pub const TARE: &str = "/proc/self/exe";

/// Program to start, and the channel for the result.
struct SpawnRequest {
    command: Command,
    answer: SyncSender<std::io::Result<Child>>,
}

/// Thread that starts the sandbox's programs. Dropping it ends all of them.
pub(crate) struct Spawner {
    orders: Option<Sender<SpawnRequest>>,
    thread: Option<JoinHandle<()>>,
}

impl Spawner {
    /// Starts the thread and, in a new PID namespace, the init process, which removes the group at its end.
    pub(crate) fn start(group: Option<&SandboxCgroup>) -> Result<Self, Error> {
        let group = group.map(|group| group.directory().as_os_str().as_bytes().to_owned());
        let group = group.unwrap_or_default();
        let (orders, received) = channel();
        let (ready, started) = sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("tare-spawner".to_owned())
            .spawn(move || serve(&group, &received, &ready))
            .map_err(|error| Error::new("start the lab's spawner", error))?;
        let spawner = Self { orders: Some(orders), thread: Some(thread) };
        started.recv().map_err(|_| sandbox_ended())??;
        Ok(spawner)
    }

    /// Starts a program in the sandbox's PID namespace.
    pub(crate) fn spawn(&self, command: Command) -> Result<Child, Error> {
        let what = format!("start {}", command.get_program().to_string_lossy());
        let (answer, started) = sync_channel(1);
        let orders = self.orders.as_ref().ok_or_else(sandbox_ended)?;
        orders.send(SpawnRequest { command, answer }).map_err(|_| sandbox_ended())?;
        started.recv().map_err(|_| sandbox_ended())?.map_err(|error| Error::new(what, error))
    }
}

impl Drop for Spawner {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // The thread returns nothing, and a panic of it changes nothing here.
            let _ = thread.join();
        }
    }
}

fn sandbox_ended() -> Error {
    Error::new("start a program", "the lab has ended")
}

/// Runs the spawner's thread: it starts the init process, then the requested programs until the channel is closed.
fn serve(group: &[u8], orders: &Receiver<SpawnRequest>, ready: &SyncSender<Result<(), Error>>) {
    let mut keeper = match start_keeper(group) {
        Ok(keeper) => keeper,
        Err(error) => {
            // If this fails, the receiver has given up.
            let _ = ready.send(Err(error));
            return;
        }
    };
    let _ = ready.send(Ok(()));
    for SpawnRequest { mut command, answer } in orders {
        if let Err(unheard) = answer.send(command.spawn())
            && let Ok(mut child) = unheard.0
        {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
    // The end of its input ends the init process, and with it all processes in the namespace.
    keeper.stdin = None;
    let _ = keeper.wait();
}

/// Starts the init process, sends it the group's directory and waits until it is ready.
///
/// It is the only child that is not killed with its parent, because it has to outlive tare for a moment.
fn start_keeper(group: &[u8]) -> Result<Child, Error> {
    const WHAT: &str = "start the lab's init process";
    sys::unshare_children().map_err(|error| Error::new("create the lab's PID namespace", error))?;
    let mut command = Command::new(TARE);
    command.arg0("tare").args([INTERNAL, "init"]).process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut keeper = command.spawn().map_err(|error| Error::new(WHAT, error))?;
    let mut first = [0];
    let told = keeper.stdin.as_mut().map(|input| input.write_all(group));
    let read = keeper.stdout.take().map(|mut output| output.read_exact(&mut first));
    match (told, read) {
        (Some(Ok(())), Some(Ok(()))) if first[0] == READY => Ok(keeper),
        _ => {
            let _ = keeper.kill();
            let _ = keeper.wait();
            Err(Error::new(WHAT, "the init process ended before it was ready"))
        }
    }
}
