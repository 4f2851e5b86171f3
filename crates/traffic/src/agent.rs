//! The agent: the process that carries traffic inside a container, on orders from its standard input.
//!
//! One thread reads, so that the end of input is seen at once; another does the orders, one after another.

use crate::clock;
use crate::protocol::{self, Order, Reply};
use crate::{Client, Error, Registry, Server, Task, Workload, workloads};
use std::io::{self, BufReader, Write};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// Runs the agent on standard input and output until input ends.
///
/// What it was doing then is abandoned: the caller is expected to end the process.
///
/// # Errors
/// When standard input cannot be read.
pub fn agent() -> Result<(), Error> {
    // Out of the terminal's foreground group: an interrupt from the keyboard is for whoever gives the orders, who
    // ends this process by ending its input. Refused to the leader of a group, to which it would change nothing.
    let _ = rustix::process::setsid();
    let (orders, inbox) = channel();
    thread::spawn(move || {
        // Standard output is gone only when nobody listens any more; then input ends as well.
        let _ = Worker::new(workloads()).work(&inbox, &mut io::stdout());
    });
    let mut input = BufReader::new(io::stdin());
    loop {
        match protocol::read_order(&mut input) {
            Ok(Some(order)) => {
                if orders.send(order).is_err() {
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
        output: &mut impl Write,
    ) -> io::Result<()> {
        protocol::write_line(
            output,
            &Reply::Hello { protocol: protocol::VERSION, clock: clock::name() },
        )?;
        for order in inbox {
            let reply = match order {
                Ok(order) => {
                    self.obey(order).unwrap_or_else(|error| Reply::Error(one_line(&error)))
                }
                Err(why) => Reply::Error(why),
            };
            protocol::write_line(output, &reply)?;
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
            (Order::Go, Side::Client(client)) => Ok(Reply::Done(Box::new(client.run()?))),
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
        let mut output = Vec::new();
        Worker::new(workloads()).work(&inbox, &mut output).unwrap();
        output
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    }

    #[test]
    fn garbage_and_orders_out_of_turn_are_answered_with_errors() {
        let replies =
            replies(vec![Err("not an order".to_owned()), Ok(Order::Go), Ok(Order::Finish)]);
        assert!(matches!(replies[0], Reply::Hello { protocol: protocol::VERSION, .. }));
        assert_eq!(replies.len(), 4);
        assert!(replies[1..].iter().all(|reply| matches!(reply, Reply::Error(_))), "{replies:?}");
    }
}
