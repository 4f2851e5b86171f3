//! Wait until the tasks of a network have connected, and the error if a task does not.

use crate::deployment::{POLL_INTERVAL, SwarmDeployment};
use crate::task_monitor;
use crate::task_status::{self, TaskStatus};
use std::time::{Duration, Instant};
use tare_netns_probe::NetnsSnapshot;
use tare_network::Error;
use tare_network::scaled_timeout;

/// Timeout for tasks to connect. Docker starts them one after another, and the network must reach their nodes.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(120);

/// Number of polls between two requests to the manager.
const POLLS_PER_CHECK: u32 = 5;

impl SwarmDeployment {
    /// Waits until all of these tasks have connected. Returns their snapshots, in the same order.
    pub(crate) fn await_tasks(
        &self,
        wanted: &[task_monitor::NetworkTask],
    ) -> Result<Vec<NetnsSnapshot>, Error> {
        let deadline = Instant::now() + scaled_timeout(CONNECT_TIMEOUT);
        for tick in 1_u32.. {
            let mut seen = Vec::new();
            for one in wanted {
                match self.swarm.registry.snapshot_of(&one.task) {
                    Some(Ok(one)) => seen.push(one),
                    Some(Err(why)) => {
                        return Err(self.absence_error(one, &self.task_statuses()?, &why));
                    }
                    None => {}
                }
            }
            if seen.len() == wanted.len() {
                return Ok(seen);
            }
            let late = Instant::now() >= deadline;
            if late || tick.is_multiple_of(POLLS_PER_CHECK) {
                self.check_absent(wanted, &self.task_statuses()?, late)?;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(Vec::new())
    }

    fn task_statuses(&self) -> Result<Vec<TaskStatus>, Error> {
        task_status::list_tasks(&self.swarm.engine, &self.swarm.run)
    }

    /// Fails if a task has ended for good, or if a task is missing after the timeout.
    fn check_absent(
        &self,
        wanted: &[task_monitor::NetworkTask],
        accounts: &[TaskStatus],
        late: bool,
    ) -> Result<(), Error> {
        let mut absent =
            wanted.iter().filter(|one| self.swarm.registry.snapshot_of(&one.task).is_none());
        let is_over = |one: &&task_monitor::NetworkTask| {
            accounts.iter().any(|account| account.service == one.service && account.is_over())
        };
        let hopeless = absent.clone().find(is_over);
        match hopeless.or_else(|| absent.next().filter(|_| late)) {
            None => Ok(()),
            Some(one) => {
                let why = format!(
                    "the task did not connect to tare within {} s",
                    scaled_timeout(CONNECT_TIMEOUT).as_secs()
                );
                Err(self.absence_error(one, accounts, &why))
            }
        }
    }

    /// Builds the error of a missing task, with the status that its manager reports.
    fn absence_error(
        &self,
        one: &task_monitor::NetworkTask,
        accounts: &[TaskStatus],
        why: &str,
    ) -> Error {
        let members = &self.swarm.nodes;
        let node = members.hostname(&one.node);
        let what = format!("start {} on the node {node}", one.name);
        let mut own = accounts.iter().filter(|account| account.service == one.service);
        let Some(account) = own.clone().find(|one| one.is_over()).or_else(|| own.next()) else {
            return Error::new(what, format!("{why}: the Swarm manager has created no task"));
        };
        let said = account.describe(|id| members.hostname(id).to_owned());
        if account.state == bollard::models::TaskState::RUNNING {
            return Error::new(what, format!("the task {said}; {why}")).with_remedy(
                "check that the nodes reach each other on UDP port 4789 and TCP and UDP port 7946, and \
                 that the ports that Docker publishes on the manager are open to the nodes",
            );
        }
        Error::new(what, format!("the task {said}")).with_remedy(account.remedy(members.image()))
    }
}
