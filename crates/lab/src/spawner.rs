//! Starting programs: one thread whose children are born in the lab's PID namespace.
//!
//! A thread that has left its PID namespace for its children can start no threads any more, and a child asks to be
//! killed when *the thread* that started it ends. Both say the same: one thread that lives as long as the lab, and does
//! nothing else. Its first child is the keeper.

use crate::group::Group;
use crate::keeper::READY;
use crate::sys;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use tare_network::Error;

/// The program that tare itself is, even when its file was replaced or removed meanwhile.
pub(crate) const TARE: &str = "/proc/self/exe";

/// A program to start, and who waits to hear of it.
struct Order {
    command: Command,
    answer: SyncSender<std::io::Result<Child>>,
}

/// The thread that starts the lab's programs. Dropping it ends all of them.
pub(crate) struct Spawner {
    orders: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

impl Spawner {
    /// Starts the thread and, in a PID namespace of its own, the keeper; the group is the keeper's to remove.
    pub(crate) fn start(group: Option<&Group>) -> Result<Self, Error> {
        let group = group.map(|group| group.directory().as_os_str().as_bytes().to_owned());
        let group = group.unwrap_or_default();
        let (orders, received) = channel();
        let (ready, started) = sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("tare-spawner".to_owned())
            .spawn(move || serve(&group, &received, &ready))
            .map_err(|error| Error::new("start the lab's spawner", error))?;
        let spawner = Self { orders: Some(orders), thread: Some(thread) };
        started.recv().map_err(|_| gone())??;
        Ok(spawner)
    }

    /// Starts a program in the lab's PID namespace.
    pub(crate) fn spawn(&self, command: Command) -> Result<Child, Error> {
        let what = format!("start {}", command.get_program().to_string_lossy());
        let (answer, started) = sync_channel(1);
        let orders = self.orders.as_ref().ok_or_else(gone)?;
        orders.send(Order { command, answer }).map_err(|_| gone())?;
        started.recv().map_err(|_| gone())?.map_err(|error| Error::new(what, error))
    }
}

impl Drop for Spawner {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // The thread returns nothing; that it panicked changes nothing for the one who ends it.
            let _ = thread.join();
        }
    }
}

fn gone() -> Error {
    Error::new("start a program", "the lab has ended")
}

/// The spawner's thread: the keeper first, then what is ordered until nobody can order any more.
fn serve(group: &[u8], orders: &Receiver<Order>, ready: &SyncSender<Result<(), Error>>) {
    let mut keeper = match start_keeper(group) {
        Ok(keeper) => keeper,
        Err(error) => {
            // Whoever waits for the answer has given up if this fails.
            let _ = ready.send(Err(error));
            return;
        }
    };
    let _ = ready.send(Ok(()));
    for Order { mut command, answer } in orders {
        if let Err(unheard) = answer.send(command.spawn())
            && let Ok(mut child) = unheard.0
        {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
    // The end of its input ends the keeper, and with it everything in the namespace.
    keeper.stdin = None;
    let _ = keeper.wait();
}

/// Starts the keeper, tells it the group's directory and waits until it keeps.
///
/// It is the one child that does not ask to be killed with its parent: it has to survive tare for a moment.
fn start_keeper(group: &[u8]) -> Result<Child, Error> {
    const WHAT: &str = "start the lab's keeper";
    sys::unshare_children().map_err(|error| Error::new("make the lab's PID namespace", error))?;
    let mut command = Command::new(TARE);
    command.arg0("tare").arg("keeper").process_group(0);
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
            Err(Error::new(WHAT, "it ended before it kept"))
        }
    }
}
