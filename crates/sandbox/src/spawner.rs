//! Spawner: one thread whose children are born in the sandbox's PID namespace.
//!
//! A thread whose children are in another PID namespace cannot start threads any more, and a child that is killed with
//! its parent is killed when *the thread* that started it ends. For both reasons one thread lives as long as the
//! namespace, and does nothing else. Its first child is the init process. If that is killed, the kernel kills all
//! others and lets no more be born: the next program gets a thread and a namespace of its own.

use crate::cgroup::SandboxCgroup;
use crate::init_process::{InitProcess, InitWatch};
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use tare_network::Error;

/// Program to start, and the channel for the result.
struct SpawnRequest {
    command: Command,
    answer: SyncSender<std::io::Result<Child>>,
}

/// Starter of the sandbox's programs. Dropping it ends all of them.
pub(crate) struct Spawner {
    /// Directory of the control group, which the init process removes at its end. Empty if there is none.
    group: Vec<u8>,
    /// `None` once the sandbox has ended.
    thread: Mutex<Option<SpawnerThread>>,
}

/// Thread of one PID namespace.
struct SpawnerThread {
    orders: Sender<SpawnRequest>,
    thread: JoinHandle<()>,
    init: Arc<InitWatch>,
}

impl Spawner {
    /// Starts the thread and, in a new PID namespace, the init process, which removes the group at its end.
    pub(crate) fn start(group: Option<&SandboxCgroup>) -> Result<Self, Error> {
        let group = group.map(|group| group.directory().as_os_str().as_bytes().to_owned());
        let group = group.unwrap_or_default();
        let thread = Mutex::new(Some(SpawnerThread::start(&group)?));
        Ok(Self { group, thread })
    }

    /// Starts a program in the sandbox's PID namespace. Returns it with the watch on the init process of that
    /// namespace, with which it ends.
    pub(crate) fn spawn(&self, command: Command) -> Result<(Child, Arc<InitWatch>), Error> {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        let current = thread.take().filter(|thread| !thread.init.has_ended());
        let current = match current {
            Some(current) => current,
            // The thread of the namespace before is not joined: it waits for the init process, which ends only after all
            // others of its namespace were waited for.
            None => SpawnerThread::start(&self.group)?,
        };
        let current = thread.insert(current);
        Ok((current.spawn(command)?, Arc::clone(&current.init)))
    }
}

impl Drop for Spawner {
    fn drop(&mut self) {
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread.filter(|thread| !thread.init.has_ended()) {
            thread.end();
        }
    }
}

impl SpawnerThread {
    /// Starts a thread with a PID namespace of its own, and that namespace's init process.
    fn start(group: &[u8]) -> Result<Self, Error> {
        let (orders, received) = channel();
        let (ready, started) = sync_channel(1);
        let group = group.to_owned();
        let thread = std::thread::Builder::new()
            .name("tare-spawner".to_owned())
            .spawn(move || serve(&group, &received, &ready))
            .map_err(|error| Error::new("start the lab's spawner", error))?;
        let init = Arc::new(started.recv().map_err(|_| sandbox_ended())??);
        Ok(Self { orders, thread, init })
    }

    /// Starts a program in the thread's PID namespace.
    fn spawn(&self, command: Command) -> Result<Child, Error> {
        let what = format!("start {}", command.get_program().to_string_lossy());
        let (answer, started) = sync_channel(1);
        self.orders.send(SpawnRequest { command, answer }).map_err(|_| sandbox_ended())?;
        let started = started.recv().map_err(|_| sandbox_ended())?;
        started.map_err(|error| match self.init.has_ended() {
            true => Error::new(what, "the lab's init process was killed"),
            false => Error::new(what, error),
        })
    }

    /// Ends the init process, with all programs of the namespace, and the thread.
    fn end(self) {
        drop(self.orders);
        // The thread returns nothing, and a panic of it changes nothing here.
        let _ = self.thread.join();
    }
}

fn sandbox_ended() -> Error {
    Error::new("start a program", "the lab has ended")
}

/// Runs the spawner's thread: it starts the init process, then the requested programs until the channel is closed.
fn serve(
    group: &[u8],
    orders: &Receiver<SpawnRequest>,
    ready: &SyncSender<Result<InitWatch, Error>>,
) {
    let init = match InitProcess::start(group) {
        Ok((init, watch)) => {
            let _ = ready.send(Ok(watch));
            init
        }
        Err(error) => {
            // If this fails, the receiver has given up.
            let _ = ready.send(Err(error));
            return;
        }
    };
    for SpawnRequest { mut command, answer } in orders {
        if let Err(unheard) = answer.send(command.spawn())
            && let Ok(mut child) = unheard.0
        {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
    init.end();
}
