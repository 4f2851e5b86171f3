//! How tasks of a Swarm reach the run that made them: they dial home.
//!
//! The API of one engine reaches the containers of that engine only; of a Swarm's tasks most are elsewhere. So the run
//! has one container on its own engine, the *home*, in which `tare home serve` listens; every task runs `tare away`,
//! which dials it over an attachable overlay network. Both prove that they know the run's secret, which Docker gives to
//! the tasks ([`proof`]), and every connection then waits for one order: a program to start. Its streams go over that
//! connection ([`frame`]), while the task dials again for the next order. To give an order is to run `tare home call` in
//! the home, by `docker exec`: so a program in a task is, for everybody else, a program in a container.

mod away;
mod call;
mod frame;
mod order;
mod proof;
mod serve;
mod socket;

pub use away::away;
pub(crate) use order::{Order, Told};
pub(crate) use proof::fresh_secret;

use tare_network::Error;

/// The port on which the home listens, inside its own network namespace.
pub(crate) const PORT: u16 = 7467;

/// The abstract socket by which calls reach the server beside them. It is the home's own, like its network namespace.
const CALLS: &[u8] = b"tare-home";

/// Runs `tare home` with its arguments (those after `home`); returns the exit code.
///
/// # Errors
/// Bad arguments, no secret, a port that is taken.
pub fn home(arguments: impl IntoIterator<Item = String>) -> Result<u8, Error> {
    let arguments: Vec<String> = arguments.into_iter().collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["serve"] => serve::serve().map(|()| 0),
        ["call", task, order] => call::call(task, order),
        _ => Err(Error::new("home", "the arguments are serve, or call TASK ORDER")),
    }
}
