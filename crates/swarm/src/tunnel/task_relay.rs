//! Start of programs in a task, by a program in the home container.

use super::messages::StartRequest;
use tare_docker::container_handle::ExecRelay;
use tare_docker::exec::ExecCommand;
use tare_docker::image::PROGRAM;
use tare_network::INTERNAL;

/// Relay to a task: `tare internal tunnel call` in the home container.
#[derive(Debug)]
pub(crate) struct TaskRelay {
    /// Name of the task at the tunnel server.
    pub(crate) task: String,
}

impl ExecRelay for TaskRelay {
    fn relay(&self, words: ExecCommand) -> ExecCommand {
        let order = StartRequest { command: words.command, environment: words.environment };
        let command = [PROGRAM, INTERNAL, "tunnel", "call", &self.task, &order.to_argument()]
            .map(str::to_owned)
            .to_vec();
        ExecCommand { command, ..ExecCommand::default() }
    }
}
