//! What is said between home and a task: who the task is, and what it shall start.

use crate::look::Seen;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// What a task says when it has come home.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hello {
    /// The task, by the name that the run gave it.
    pub(crate) task: String,
    /// What it sees of its network.
    pub(crate) seen: Seen,
}

/// A program to start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Order {
    /// The program and its arguments.
    pub(crate) command: Vec<String>,
    /// Variables added to its environment, as `NAME=value`.
    #[serde(default)]
    pub(crate) environment: Vec<String>,
}

impl Order {
    /// The order as one argument.
    pub(crate) fn line(&self) -> String {
        json!({ "command": self.command, "environment": self.environment }).to_string()
    }
}

/// What home tells the run of its tasks, one line each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Told {
    /// Home listens.
    Open,
    /// A task has come, and waits for orders.
    Came(Box<Hello>),
    /// The connection to a task that waited for orders has broken.
    Gone {
        /// Its name.
        task: String,
        /// What the kernel says of it.
        why: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_read_as_it_is_written() {
        let order = Order {
            command: vec!["/tare".to_owned(), "a b\n".to_owned()],
            environment: vec!["A=\"".to_owned()],
        };
        assert_eq!(serde_json::from_str::<Order>(&order.line()).unwrap(), order);
    }

    #[test]
    fn what_is_told_is_a_line_each() {
        let hello = Hello { task: "server-0".to_owned(), seen: Seen::default() };
        let gone = Told::Gone { task: "server-0".to_owned(), why: "x".to_owned() };
        for told in [Told::Open, Told::Came(Box::new(hello)), gone] {
            let line = serde_json::to_string(&told).unwrap();
            assert!(!line.contains('\n'));
            assert_eq!(serde_json::from_str::<Told>(&line).unwrap(), told);
        }
    }
}
