//! Agent: the process that carries traffic inside a container, driven by orders on its standard input.
//!
//! One thread reads orders, so that the end of input is seen at once; another thread executes them one after another.
//! An agent that serves many containers has one executing thread for each: the thread enters the container's network
//! namespace and never leaves it, and so do the threads that it starts.

use crate::protocol::{self, AgentMessage, AgentOrder, AgentReply, ControllerMessage};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{self, BufReader};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use tare_confinement::{confine_agent, confine_agent_of_many, confine_thread_of_many};
use tare_traffic::{
    Client, Error, SentBytes, Server, TrialTask, Workload, WorkloadRegistry, clock, sleep_until,
};

/// Runs the agent on standard input and output until input ends: for the container in which it was started, or for the
/// containers with these network namespaces (files that setns(2) takes).
///
/// Work in progress at the end of input is abandoned: the caller is expected to end the process.
///
/// # Errors
/// Returns an error if standard input cannot be read or a thread cannot be started.
pub fn run_agent(namespaces: &[PathBuf], workloads: &WorkloadRegistry) -> Result<(), Error> {
    // Leaves the terminal's foreground group: a keyboard interrupt is for the process that gives the orders, which ends
    // this process by ending its input. The kernel refuses this for a group leader, for which it would change nothing.
    let _ = rustix::process::setsid();
    let refused = |error| Error::io("give up the rights that an agent does not need", error);
    if namespaces.is_empty() {
        confine_agent().map_err(refused)?;
        serve_own_container(workloads.clone())
    } else {
        confine_agent_of_many().map_err(refused)?;
        serve_containers(namespaces, workloads)
    }
}

/// Serves the container in which the agent was started.
fn serve_own_container(workloads: WorkloadRegistry) -> Result<(), Error> {
    let (orders, inbox) = channel();
    thread::spawn(move || {
        let say = |reply| protocol::write_line(&mut io::stdout(), &reply);
        // Writing fails only after the reader of standard output has gone; input ends then as well.
        let _ = OrderExecutor::new(workloads).run(&inbox, say);
    });
    read_orders(|order| orders.send(order).is_ok())
}

/// Serves many containers, one thread each.
fn serve_containers(namespaces: &[PathBuf], workloads: &WorkloadRegistry) -> Result<(), Error> {
    let output = Arc::new(Mutex::new(io::stdout()));
    let inboxes = namespaces
        .iter()
        .enumerate()
        .map(|(from, namespace)| {
            spawn_container_thread(namespace.clone(), from, &output, workloads)
        })
        .collect::<Result<Vec<_>, Error>>()?;
    read_orders(|addressed: Result<ControllerMessage, String>| match addressed {
        Ok(ControllerMessage { to, order }) => match inboxes.get(to) {
            Some(inbox) => inbox.send(Ok(order)).is_ok(),
            None => {
                let why =
                    format!("unknown container {to} in an order: use the same tare everywhere");
                write_reply(&output, to, AgentReply::Error(why)).is_ok()
            }
        },
        // The line names no container, so the first one answers.
        Err(why) => inboxes.first().is_some_and(|inbox| inbox.send(Err(why)).is_ok()),
    })
}

/// Starts the thread that serves one of many containers. Returns the sender of its orders.
fn spawn_container_thread(
    namespace: PathBuf,
    from: usize,
    output: &Arc<Mutex<io::Stdout>>,
    workloads: &WorkloadRegistry,
) -> Result<Sender<Result<AgentOrder, String>>, Error> {
    let (orders, inbox) = channel();
    let (output, workloads) = (Arc::clone(output), workloads.clone());
    thread::Builder::new()
        .spawn(move || {
            let say = |reply| write_reply(&output, from, reply);
            // As for a single container: once the reader is gone, input ends as well.
            let _ = match enter_namespace(&namespace) {
                Ok(()) => OrderExecutor::new(workloads).run(&inbox, say),
                Err(error) => say(AgentReply::Error(to_one_line(&error))),
            };
        })
        .map_err(|error| Error::io("start a thread", error))?;
    Ok(orders)
}

/// Moves the calling thread into a network namespace, for the rest of its life, and gives up the right to do so.
fn enter_namespace(namespace: &Path) -> Result<(), Error> {
    let refused = |error: io::Error| {
        Error::io(format!("enter the network namespace {}", namespace.display()), error)
    };
    let file = File::open(namespace).map_err(refused)?;
    move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
        .map_err(|errno| refused(errno.into()))?;
    confine_thread_of_many().map_err(refused)
}

/// Writes the reply of one of many containers.
fn write_reply(output: &Mutex<io::Stdout>, from: usize, reply: AgentReply) -> io::Result<()> {
    let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
    protocol::write_line(&mut *output, &AgentMessage { from, reply })
}

/// Reads orders and passes them to `hand`, until input ends or `hand` returns false.
fn read_orders<O: DeserializeOwned>(
    mut hand: impl FnMut(Result<O, String>) -> bool,
) -> Result<(), Error> {
    let mut input = BufReader::new(io::stdin());
    loop {
        match protocol::read_order(&mut input) {
            Ok(Some(order)) => {
                if !hand(order) {
                    return Ok(());
                }
            }
            Ok(None) => return Ok(()),
            Err(error) => return Err(Error::io("read orders from standard input", error)),
        }
    }
}

/// Side of a trial that the agent has prepared.
enum PreparedSide {
    None,
    Server(Box<dyn Server>),
    Client(Box<dyn Client>),
}

/// Executor of a container's orders.
struct OrderExecutor {
    registry: WorkloadRegistry,
    side: PreparedSide,
}

impl OrderExecutor {
    fn new(registry: WorkloadRegistry) -> Self {
        Self { registry, side: PreparedSide::None }
    }

    fn run(
        &mut self,
        inbox: &Receiver<Result<AgentOrder, String>>,
        mut say: impl FnMut(AgentReply) -> io::Result<()>,
    ) -> io::Result<()> {
        say(AgentReply::Hello { protocol: protocol::VERSION, clock: clock::name() })?;
        for order in inbox {
            let reply = match order {
                Ok(order) => self
                    .execute(order)
                    .unwrap_or_else(|error| AgentReply::Error(to_one_line(&error))),
                Err(why) => AgentReply::Error(why),
            };
            say(reply)?;
        }
        Ok(())
    }

    fn execute(&mut self, order: AgentOrder) -> Result<AgentReply, Error> {
        let name = order.name();
        match (order, std::mem::replace(&mut self.side, PreparedSide::None)) {
            (AgentOrder::Serve(task), _) => {
                let (workload, task) = self.validate_task(task)?;
                self.side = PreparedSide::Server(workload.serve(&task)?);
                Ok(AgentReply::Ready)
            }
            (AgentOrder::Connect(task), _) => {
                let (workload, task) = self.validate_task(task)?;
                self.side = PreparedSide::Client(workload.connect(&task)?);
                Ok(AgentReply::Ready)
            }
            (AgentOrder::Go { at }, PreparedSide::Client(client)) => {
                if let Some(at) = at {
                    sleep_until(at.0);
                }
                Ok(AgentReply::Done(Box::new(client.run()?)))
            }
            (AgentOrder::Slice { at }, PreparedSide::Client(mut client)) => {
                if let Some(at) = at {
                    sleep_until(at.0);
                }
                let sent = client.run_slice()?;
                self.side = PreparedSide::Client(client);
                Ok(AgentReply::Sliced { sent })
            }
            (AgentOrder::Settle { sent }, PreparedSide::Server(mut server)) => {
                let sent = server.settle(sent)?;
                self.side = PreparedSide::Server(server);
                Ok(AgentReply::Settled { sent })
            }
            (AgentOrder::Settle { sent }, PreparedSide::Client(mut client)) => {
                client.settle(sent)?;
                self.side = PreparedSide::Client(client);
                Ok(AgentReply::Settled { sent: SentBytes::new() })
            }
            (AgentOrder::Finish, PreparedSide::Client(client)) => {
                Ok(AgentReply::Done(Box::new(client.finish()?)))
            }
            (AgentOrder::Finish, PreparedSide::Server(server)) => {
                Ok(AgentReply::Done(Box::new(server.finish()?)))
            }
            (_, side) => {
                self.side = side;
                Err(Error::Job(format!(
                    "cannot execute the order `{name}`: this side of the trial is not prepared: send `serve` or `connect` first"
                )))
            }
        }
    }

    /// Returns the workload of a task, and the task with its parameters validated: it came from another process.
    fn validate_task(&self, mut task: TrialTask) -> Result<(&dyn Workload, TrialTask), Error> {
        let workload = self.registry.find(&task.workload)?;
        task.parameters = workload.resolve(&task.parameters)?;
        task.validate()?;
        Ok((workload, task))
    }
}

/// Returns an error's text without line breaks, as the protocol promises.
fn to_one_line(error: &Error) -> String {
    error.to_string().replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replies(orders: Vec<Result<AgentOrder, String>>) -> Vec<AgentReply> {
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
        OrderExecutor::new(tare_traffic::workloads().into_iter().collect())
            .run(&inbox, say)
            .unwrap();
        said
    }

    #[test]
    fn garbage_and_orders_out_of_turn_are_answered_with_errors() {
        let replies = replies(vec![
            Err("not an order".to_owned()),
            Ok(AgentOrder::Go { at: None }),
            Ok(AgentOrder::Finish),
        ]);
        assert!(matches!(replies[0], AgentReply::Hello { protocol: protocol::VERSION, .. }));
        assert_eq!(replies.len(), 4);
        assert!(
            replies[1..].iter().all(|reply| matches!(reply, AgentReply::Error(_))),
            "{replies:?}"
        );
    }
}
