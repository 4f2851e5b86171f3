//! The wait until a network's tasks have come home, and the account of one that has not.

use super::account::{self, Account};
use super::crew::{Crew, TICK};
use super::tasks;
use crate::look::Seen;
use crate::patience::patience;
use std::time::{Duration, Instant};
use tare_network::Error;

/// How long tasks may take to come home: Docker starts them one after another, and a network must reach their nodes.
const PATIENCE: Duration = Duration::from_secs(120);

/// After how many looks at who has come the manager is asked.
const TICKS: u32 = 5;

impl Crew {
    /// Waits until all of these have come; what each saw, in order.
    pub(super) fn wait(&self, wanted: &[tasks::Member]) -> Result<Vec<Seen>, Error> {
        let deadline = Instant::now() + patience(PATIENCE);
        for tick in 1_u32.. {
            let mut seen = Vec::new();
            for one in wanted {
                match self.swarm.roll.of(&one.task) {
                    Some(Ok(one)) => seen.push(one),
                    Some(Err(why)) => return Err(self.absent(one, &self.accounts()?, &why)),
                    None => {}
                }
            }
            if seen.len() == wanted.len() {
                return Ok(seen);
            }
            let late = Instant::now() >= deadline;
            if late || tick.is_multiple_of(TICKS) {
                self.check(wanted, &self.accounts()?, late)?;
            }
            std::thread::sleep(TICK);
        }
        Ok(Vec::new())
    }

    fn accounts(&self) -> Result<Vec<Account>, Error> {
        account::of_run(&self.swarm.engine, &self.swarm.run)
    }

    /// Fails where a task will never come, or it is too late for those that have not.
    fn check(
        &self,
        wanted: &[tasks::Member],
        accounts: &[Account],
        late: bool,
    ) -> Result<(), Error> {
        let mut absent = wanted.iter().filter(|one| self.swarm.roll.of(&one.task).is_none());
        let is_over = |one: &&tasks::Member| {
            accounts.iter().any(|account| account.service == one.service && account.is_over())
        };
        let hopeless = absent.clone().find(is_over);
        match hopeless.or_else(|| absent.next().filter(|_| late)) {
            None => Ok(()),
            Some(one) => {
                let why = format!("it has not come home within {} s", patience(PATIENCE).as_secs());
                Err(self.absent(one, accounts, &why))
            }
        }
    }

    /// A task that is not there, with what its manager says of it.
    fn absent(&self, one: &tasks::Member, accounts: &[Account], why: &str) -> Error {
        let members = &self.swarm.members;
        let node = members.name(&one.node);
        let what = format!("start {} on the node {node}", one.name);
        let mut own = accounts.iter().filter(|account| account.service == one.service);
        let Some(account) = own.clone().find(|one| one.is_over()).or_else(|| own.next()) else {
            return Error::new(what, format!("{why}: its manager has made no task"));
        };
        let said = account.words(|id| members.name(id).to_owned());
        if account.state == bollard::models::TaskState::RUNNING {
            return Error::new(what, format!("its task {said}, and {why}")).with_remedy(
                "see whether the nodes reach each other by UDP 4789 and TCP and UDP 7946, and \
                 whether the manager's own ports are open to them",
            );
        }
        Error::new(what, format!("its task {said}")).with_remedy(account.remedy(members.image()))
    }
}
