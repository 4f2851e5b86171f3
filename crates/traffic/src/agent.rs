//! The agent: the process that carries traffic inside a container, on orders from its standard input.
//!
//! One thread reads, so that the end of input is seen at once; another does the orders, one after another. An agent that
//! serves many containers has such a thread for each: it enters the container's network namespace and never leaves it,
//! and so do the threads that it starts.

use crate::protocol::{self, From, Order, Reply, To};
use crate::{Client, Error, Registry, Server, Task, Workload, clock, wait, workloads};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{self, BufReader};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Runs the agent on standard input and output until input ends: for the container in which it was started, or for
/// those with these network namespaces (files that setns(2) takes).
///
/// What it was doing then is abandoned: the caller is expected to end the process.
///
/// # Errors
/// When standard input cannot be read, or no thread can be started.
pub fn agent(namespaces: &[PathBuf]) -> Result<(), Error> {
    // Out of the terminal's foreground group: an interrupt from the keyboard is for whoever gives the orders, who
    // ends this process by ending its input. Refused to the leader of a group, to which it would change nothing.
    let _ = rustix::process::setsid();
    if namespaces.is_empty() { for_one() } else { for_many(namespaces) }
}

/// The agent of the container in which it was started.
fn for_one() -> Result<(), Error> {
    let (orders, inbox) = channel();
    thread::spawn(move || {
        let say = |reply| protocol::write_line(&mut io::stdout(), &reply);
        // Standard output is gone only when nobody listens any more; then input ends as well.
        let _ = Worker::new(workloads()).work(&inbox, say);
    });
    read(|order| orders.send(order).is_ok())
}

/// The agent of many containers.
fn for_many(namespaces: &[PathBuf]) -> Result<(), Error> {
    let output = Arc::new(Mutex::new(io::stdout()));
    let inboxes = namespaces
        .iter()
        .enumerate()
        .map(|(from, namespace)| serve_in(namespace.clone(), from, &output))
        .collect::<Result<Vec<_>, Error>>()?;
    read(|addressed: Result<To, String>| match addressed {
        Ok(To { to, order }) => match inboxes.get(to) {
            Some(inbox) => inbox.send(Ok(order)).is_ok(),
            None => tell(&output, to, Reply::Error(format!("there is no container {to}"))).is_ok(),
        },
        // Nobody in particular was meant: the first one says so.
        Err(why) => inboxes.first().is_some_and(|inbox| inbox.send(Err(why)).is_ok()),
    })
}

/// Starts the thread of one of many containers; its orders go where this says.
fn serve_in(
    namespace: PathBuf,
    from: usize,
    output: &Arc<Mutex<io::Stdout>>,
) -> Result<Sender<Result<Order, String>>, Error> {
    let (orders, inbox) = channel();
    let output = Arc::clone(output);
    thread::Builder::new()
        .spawn(move || {
            let say = |reply| tell(&output, from, reply);
            // As for one: where nobody listens any more, input ends as well.
            let _ = match enter(&namespace) {
                Ok(()) => Worker::new(workloads()).work(&inbox, say),
                Err(error) => say(Reply::Error(one_line(&error))),
            };
        })
        .map_err(|error| Error::io("start a thread", error))?;
    Ok(orders)
}

/// Moves the calling thread into a network namespace, for the rest of its life.
fn enter(namespace: &Path) -> Result<(), Error> {
    let refused = |error: io::Error| Error::io(format!("enter {}", namespace.display()), error);
    let file = File::open(namespace).map_err(refused)?;
    move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
        .map_err(|errno| refused(errno.into()))
}

/// Says what one of many containers answers.
fn tell(output: &Mutex<io::Stdout>, from: usize, reply: Reply) -> io::Result<()> {
    let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
    protocol::write_line(&mut *output, &From { from, reply })
}

/// Reads orders and hands them on, until input ends or nobody takes them.
fn read<O: DeserializeOwned>(mut hand: impl FnMut(Result<O, String>) -> bool) -> Result<(), Error> {
    let mut input = BufReader::new(io::stdin());
    loop {
        match protocol::read_order(&mut input) {
            Ok(Some(order)) => {
                if !hand(order) {
                    return Ok(());
                }
            }
            Ok(None) => return Ok(()),
            Err(error) => return Err(Error::io("read orders", error)),
        }
    }
}

/// The side of a trial that an agent has been told to be.
enum Side {
    None,
    Server(Box<dyn Server>),
    Client(Box<dyn Client>),
}

/// Does orders.
struct Worker {
    registry: Registry,
    side: Side,
}

impl Worker {
    fn new(registry: Registry) -> Self {
        Self { registry, side: Side::None }
    }

    fn work(
        &mut self,
        inbox: &Receiver<Result<Order, String>>,
        mut say: impl FnMut(Reply) -> io::Result<()>,
    ) -> io::Result<()> {
        say(Reply::Hello { protocol: protocol::VERSION, clock: clock::name() })?;
        for order in inbox {
            let reply = match order {
                Ok(order) => {
                    self.obey(order).unwrap_or_else(|error| Reply::Error(one_line(&error)))
                }
                Err(why) => Reply::Error(why),
            };
            say(reply)?;
        }
        Ok(())
    }

    fn obey(&mut self, order: Order) -> Result<Reply, Error> {
        let name = order.name();
        match (order, std::mem::replace(&mut self.side, Side::None)) {
            (Order::Serve(task), _) => {
                let (workload, task) = self.checked(task)?;
                self.side = Side::Server(workload.serve(&task)?);
                Ok(Reply::Ready)
            }
            (Order::Connect(task), _) => {
                let (workload, task) = self.checked(task)?;
                self.side = Side::Client(workload.connect(&task)?);
                Ok(Reply::Ready)
            }
            (Order::Go { at }, Side::Client(client)) => {
                if let Some(at) = at {
                    wait::sleep_until(at.0);
                }
                Ok(Reply::Done(Box::new(client.run()?)))
            }
            (Order::Finish, Side::Server(server)) => Ok(Reply::Done(Box::new(server.finish()?))),
            (_, side) => {
                self.side = side;
                Err(Error::Job(format!("the order `{name}` came before its preparation")))
            }
        }
    }

    /// The workload of a task, and the task with its parameters validated: it came from another process.
    fn checked(&self, mut task: Task) -> Result<(&dyn Workload, Task), Error> {
        let workload = self.registry.find(&task.workload)?;
        task.parameters = workload.resolve(&task.parameters)?;
        task.check()?;
        Ok((workload, task))
    }
}

/// An error without line breaks, as the protocol promises.
fn one_line(error: &Error) -> String {
    error.to_string().replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replies(orders: Vec<Result<Order, String>>) -> Vec<Reply> {
        let (sender, inbox) = channel();
        for order in orders {
            sender.send(order).unwrap();
        }
        drop(sender);
        let mut said = Vec::new();
        let say = |reply| {
            said.push(reply);
            Ok(())
        };
        Worker::new(workloads()).work(&inbox, say).unwrap();
        said
    }

    #[test]
    fn garbage_and_orders_out_of_turn_are_answered_with_errors() {
        let replies = replies(vec![
            Err("not an order".to_owned()),
            Ok(Order::Go { at: None }),
            Ok(Order::Finish),
        ]);
        assert!(matches!(replies[0], Reply::Hello { protocol: protocol::VERSION, .. }));
        assert_eq!(replies.len(), 4);
        assert!(replies[1..].iter().all(|reply| matches!(reply, Reply::Error(_))), "{replies:?}");
    }
}
