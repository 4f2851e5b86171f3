//! Messages between the tunnel server, the tasks and the run.

use serde::{Deserialize, Serialize};
use serde_json::json;
use tare_netns_probe::NetnsSnapshot;

/// First message of a task on a new connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TaskHello {
    /// Name that the run gave to the task.
    pub(crate) task: String,
    /// Snapshot of the task's network.
    pub(crate) seen: NetnsSnapshot,
}

/// Request to start a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StartRequest {
    /// The program and its arguments.
    pub(crate) command: Vec<String>,
    /// Variables added to its environment, as `NAME=value`.
    #[serde(default)]
    pub(crate) environment: Vec<String>,
}

impl StartRequest {
    /// Returns the request as one argument of a command.
    pub(crate) fn to_argument(&self) -> String {
        json!({ "command": self.command, "environment": self.environment }).to_string()
    }
}

/// Event of a task that the tunnel server reports to the run, one line each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TaskEvent {
    /// The server listens for connections.
    Open,
    /// A task has connected, and waits for requests.
    Came(Box<TaskHello>),
    /// The connection to a waiting task has broken.
    Gone {
        /// Name of the task.
        task: String,
        /// Reason that the kernel gives.
        why: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_read_as_it_is_written() {
        let order = StartRequest {
            command: vec!["/tare".to_owned(), "a b\n".to_owned()],
            environment: vec!["A=\"".to_owned()],
        };
        assert_eq!(serde_json::from_str::<StartRequest>(&order.to_argument()).unwrap(), order);
    }

    #[test]
    fn what_is_told_is_a_line_each() {
        let hello = TaskHello { task: "server-0".to_owned(), seen: NetnsSnapshot::default() };
        let gone = TaskEvent::Gone { task: "server-0".to_owned(), why: "x".to_owned() };
        for told in [TaskEvent::Open, TaskEvent::Came(Box::new(hello)), gone] {
            let line = serde_json::to_string(&told).unwrap();
            assert!(!line.contains('\n'));
            assert_eq!(serde_json::from_str::<TaskEvent>(&line).unwrap(), told);
        }
    }
}
