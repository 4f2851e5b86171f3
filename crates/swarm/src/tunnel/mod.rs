//! Reverse tunnel by which the tasks of a Swarm reach the run that made them.
//!
//! The API of one engine reaches the containers of that engine only, and most of a Swarm's tasks are on other nodes. So
//! the run has one container on its own engine, the *home*, in which `tare internal tunnel serve` listens: the tunnel
//! server. Every task runs `tare internal task-agent`, which connects to it over an attachable overlay network. Both
//! prove that they know the run's secret, which Docker gives to the tasks ([`handshake`]). Each connection then waits
//! for one request to start a program. The program's streams use that connection, in frames ([`frame`]) that prove their
//! sender ([`sealed`]), while the task connects again for the next request. A request is made by running `tare internal tunnel call` in the home container with
//! `docker exec`. So a program in a task is, for the rest of tare, a program in a container.

mod frame;
mod handshake;
mod keepalive;
mod messages;
mod sealed;
mod server;
mod task_agent;
mod task_call;
mod task_relay;
mod unproven;

pub(crate) use handshake::random_secret;
pub(crate) use messages::TaskEvent;
pub use task_agent::run_task_agent;
pub(crate) use task_relay::TaskRelay;

use tare_network::Error;

/// Port of the tunnel server, inside its own network namespace.
pub(crate) const TUNNEL_PORT: u16 = 7467;

/// Abstract socket by which calls reach the server in the same container. It belongs to the container's network
/// namespace.
const CALL_SOCKET: &[u8] = b"tare-home";

/// Runs `tare internal tunnel` with its arguments (those after `tunnel`), and returns the exit code.
///
/// # Errors
/// Fails if an argument is wrong, if there is no secret, or if the port is taken.
pub fn run_tunnel(arguments: impl IntoIterator<Item = String>) -> Result<u8, Error> {
    let arguments: Vec<String> = arguments.into_iter().collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["serve"] => server::serve_tunnel().map(|()| 0),
        ["call", task, order] => task_call::call_task(task, order),
        _ => {
            let why = "invalid arguments: expected serve or call TASK ORDER";
            Err(Error::new("run `tare internal tunnel`", why))
        }
    }
}
