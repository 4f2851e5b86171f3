//! Status of tasks as the manager reports it: the state of each, its node, and the reason.

use bollard::models::{NodeState, Task, TaskState};
use bollard::query_parameters::ListTasksOptionsBuilder;
use std::collections::HashMap;
use tare_docker::engine::Engine;
use tare_docker::{RUN_LABEL, RunId};
use tare_network::Error;

/// Status of a task, as reported by its manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TaskStatus {
    /// Service of the task.
    pub(crate) service: String,
    /// Node to which the task is assigned.
    pub(crate) node: Option<String>,
    /// State of the task.
    pub(crate) state: TaskState,
    /// Reason for the state, in Docker's words.
    pub(crate) why: String,
}

/// Lists the tasks of a run.
pub(crate) fn list_tasks(engine: &Engine, run: &RunId) -> Result<Vec<TaskStatus>, Error> {
    let filters = HashMap::from([("label".to_owned(), vec![format!("{RUN_LABEL}={run}")])]);
    let options = ListTasksOptionsBuilder::default().filters(&filters).build();
    let tasks = engine.docker().list_tasks(Some(options));
    Ok(engine
        .request("list the tasks of the Swarm", tasks)?
        .into_iter()
        .filter_map(task_status)
        .collect())
}

/// Returns the states of all nodes, by their ids in the Swarm.
pub(crate) fn node_states(engine: &Engine) -> Result<HashMap<String, NodeState>, Error> {
    let nodes = engine.request("list the nodes of the Swarm", engine.docker().list_nodes(None))?;
    Ok(nodes.into_iter().filter_map(|node| Some((node.id?, node.status?.state?))).collect())
}

fn task_status(task: Task) -> Option<TaskStatus> {
    let status = task.status?;
    let said = [status.err, status.message].into_iter().flatten().find(|words| !words.is_empty());
    Some(TaskStatus {
        service: task.service_id?,
        node: task.node_id.filter(|node| !node.is_empty()),
        state: status.state?,
        why: said.unwrap_or_default(),
    })
}

impl TaskStatus {
    /// Returns whether the task has ended for good.
    pub(crate) fn is_over(&self) -> bool {
        matches!(
            self.state,
            TaskState::COMPLETE
                | TaskState::SHUTDOWN
                | TaskState::FAILED
                | TaskState::REJECTED
                | TaskState::REMOVE
                | TaskState::ORPHANED
        )
    }

    /// Describes the status in words, with the node's hostname.
    pub(crate) fn describe(&self, name: impl Fn(&str) -> String) -> String {
        let on = self
            .node
            .as_deref()
            .map_or("without a node".to_owned(), |id| format!("on {}", name(id)));
        let why = self.why.split_whitespace().collect::<Vec<_>>().join(" ");
        format!("{on} is {}: {why}", self.state)
    }

    /// Returns the remedy; without a known one, the advice to read dockerd's log.
    pub(crate) fn remedy(&self, image: &str) -> String {
        if self.why.contains("No such image") || self.why.contains("pull access denied") {
            return format!(
                "load {image} on that node, for example by `tare image --tag {image} | ssh NODE docker load`, name \
                 the node's engine with --engine, or use --image with an image that the node can pull"
            );
        }
        if self.why.contains("no suitable node") {
            return "see `docker node ls`: the node must be ready and active, and have free resources".to_owned();
        }
        if self.why.contains("invalid cluster node") {
            return "the node has not joined completely: run `docker swarm leave --force` there, and join again".to_owned();
        }
        let known = tare_docker::error::known_remedy(&self.why);
        if known.is_empty() { "see the log of dockerd on that node".to_owned() } else { known }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(state: TaskState, why: &str) -> TaskStatus {
        let node = Some("x7".to_owned());
        TaskStatus { service: "s".to_owned(), node, state, why: why.to_owned() }
    }

    #[test]
    fn an_account_names_the_node_and_what_helps() {
        let one = account(TaskState::REJECTED, "No such image: tare:1");
        assert_eq!(one.describe(|_| "db1".to_owned()), "on db1 is rejected: No such image: tare:1");
        assert!(one.is_over() && one.remedy("tare:1").contains("docker load"));
        let one = TaskStatus { node: None, ..account(TaskState::PENDING, "no suitable node (x)") };
        assert!(one.describe(|_| String::new()).starts_with("without a node is pending"));
        assert!(!one.is_over() && one.remedy("i").contains("docker node ls"));
        assert!(account(TaskState::FAILED, "?").remedy("i").contains("dockerd"));
    }
}
