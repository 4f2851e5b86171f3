//! What the manager says of tasks: in which state each is, on which node, and why.

use crate::engine::Engine;
use crate::label::{RUN, RunId};
use bollard::models::{NodeState, Task, TaskState};
use bollard::query_parameters::ListTasksOptionsBuilder;
use std::collections::HashMap;
use tare_network::Error;

/// A task as its manager knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Account {
    /// The service that it belongs to.
    pub(super) service: String,
    /// The node that it was given to.
    pub(super) node: Option<String>,
    /// Its state.
    pub(super) state: TaskState,
    /// Why it is in it, in Docker's words.
    pub(super) why: String,
}

/// All tasks of a run.
pub(super) fn of_run(engine: &Engine, run: &RunId) -> Result<Vec<Account>, Error> {
    let filters = HashMap::from([("label".to_owned(), vec![format!("{RUN}={run}")])]);
    let options = ListTasksOptionsBuilder::default().filters(&filters).build();
    let tasks = engine.docker().list_tasks(Some(options));
    Ok(engine.get("list the tasks of the Swarm", tasks)?.into_iter().filter_map(account).collect())
}

/// The states of all nodes, by the Swarm's names for them.
pub(super) fn nodes(engine: &Engine) -> Result<HashMap<String, NodeState>, Error> {
    let nodes = engine.get("list the nodes of the Swarm", engine.docker().list_nodes(None))?;
    Ok(nodes.into_iter().filter_map(|node| Some((node.id?, node.status?.state?))).collect())
}

fn account(task: Task) -> Option<Account> {
    let status = task.status?;
    let said = [status.err, status.message].into_iter().flatten().find(|words| !words.is_empty());
    Some(Account {
        service: task.service_id?,
        node: task.node_id.filter(|node| !node.is_empty()),
        state: status.state?,
        why: said.unwrap_or_default(),
    })
}

impl Account {
    /// Whether it will never run any more.
    pub(super) fn is_over(&self) -> bool {
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

    /// The same in words, with the node's own name.
    pub(super) fn words(&self, name: impl Fn(&str) -> String) -> String {
        let on =
            self.node.as_deref().map_or("on no node".to_owned(), |id| format!("on {}", name(id)));
        let why = self.why.split_whitespace().collect::<Vec<_>>().join(" ");
        format!("{on} is {}: {why}", self.state)
    }

    /// What helps, where that is known.
    pub(super) fn remedy(&self, image: &str) -> String {
        if self.why.contains("No such image") || self.why.contains("pull access denied") {
            return format!(
                "load {image} there, as by `tare image --tag {image} | ssh NODE docker load`, name its engine by \
                 --engine, or --image one that it can pull"
            );
        }
        if self.why.contains("no suitable node") {
            return "docker node ls: the node must be ready and active, and have room".to_owned();
        }
        if self.why.contains("invalid cluster node") {
            return "the node has not joined wholly: docker swarm leave --force there, and join again".to_owned();
        }
        let known = crate::trouble::remedy(&self.why);
        if known.is_empty() { "see the log of dockerd there".to_owned() } else { known }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(state: TaskState, why: &str) -> Account {
        let node = Some("x7".to_owned());
        Account { service: "s".to_owned(), node, state, why: why.to_owned() }
    }

    #[test]
    fn an_account_names_the_node_and_what_helps() {
        let one = account(TaskState::REJECTED, "No such image: tare:1");
        assert_eq!(one.words(|_| "db1".to_owned()), "on db1 is rejected: No such image: tare:1");
        assert!(one.is_over() && one.remedy("tare:1").contains("docker load"));
        let one = Account { node: None, ..account(TaskState::PENDING, "no suitable node (x)") };
        assert!(one.words(|_| String::new()).starts_with("on no node is pending"));
        assert!(!one.is_over() && one.remedy("i").contains("docker node ls"));
        assert!(account(TaskState::FAILED, "?").remedy("i").contains("dockerd"));
    }
}
