//! Trial in slices, driven slice by slice: its agents stay connected, and asleep, while other networks have theirs.

use super::agent_pool::AgentPool;
use super::member::MemberId;
use super::{AgentClocks, REPORT_TIMEOUT, SideTasks, WorkloadTimes, common_start, set_up_timeout};
use crate::protocol::AgentOrder;
use std::collections::BTreeMap;
use std::time::Duration;
use tare_traffic::{Error, TrialOutcome, TrialTask, merge_reports};

/// Trial whose flows are connected.
#[derive(Debug)]
pub(super) struct SlicedTrial {
    servers: Vec<MemberId>,
    /// Client processes, by their index.
    clients: Vec<MemberId>,
    /// Server that each client sends to.
    server_of: BTreeMap<MemberId, MemberId>,
    clock: AgentClocks,
    set_up: Duration,
    slice_time: Duration,
    /// True if the servers are external programs, which may exit on their own.
    external_servers: bool,
}

impl SlicedTrial {
    /// Lets the servers listen and all clients connect.
    pub(super) fn connect(
        crew: &mut AgentPool,
        tasks: SideTasks,
        times: &WorkloadTimes,
        clock: AgentClocks,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Self, Error> {
        let SideTasks { servers, clients, server_of } = tasks;
        let members = |side: &[(MemberId, TrialTask)]| -> Vec<MemberId> {
            side.iter().map(|(member, _)| *member).collect()
        };
        let slices = clients.first().and_then(|(_, task)| task.slices);
        let trial = Self {
            servers: members(&servers),
            clients: members(&clients),
            server_of,
            clock,
            set_up: set_up_timeout(servers.len() + clients.len()),
            slice_time: slices.map_or(Duration::ZERO, |plan| plan.slice_time().into()),
            external_servers: times.external_servers,
        };
        let orders = |side: Vec<(MemberId, TrialTask)>, order: fn(TrialTask) -> AgentOrder| {
            side.into_iter().map(|(member, task)| (member, order(task))).collect::<Vec<_>>()
        };
        let listen = orders(servers, AgentOrder::Serve);
        crew.prepare(listen, trial.set_up + times.startup, cancelled)?;
        crew.prepare(orders(clients, AgentOrder::Connect), trial.set_up, cancelled)?;
        Ok(trial)
    }

    /// Runs one slice: all clients generate together; the slice is over once both sides have everything.
    pub(super) fn run_slice(
        &self,
        crew: &mut AgentPool,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        let at = common_start(self.clients.len(), self.clock);
        let go = self.clients.iter().map(|one| (*one, AgentOrder::Slice { at })).collect();
        let sent = match crew.run_slice(go, self.slice_time + self.set_up, cancelled) {
            Err(error) if self.external_servers && !cancelled() => {
                return Err(crew.prefer_server_error(self.servers.iter().copied().collect(), error));
            }
            sent => sent?,
        };
        let mut expected: BTreeMap<MemberId, u64> =
            self.servers.iter().map(|server| (*server, 0)).collect();
        for (client, sent) in sent {
            if let Some(all) =
                self.server_of.get(&client).and_then(|server| expected.get_mut(server))
            {
                *all += sent;
            }
        }
        let settle = |(member, sent)| (member, AgentOrder::Settle { sent });
        let servers = expected.into_iter().map(settle).collect();
        let returned = crew.settle(servers, self.set_up, cancelled)?;
        let clients: Vec<_> = returned
            .into_iter()
            .filter_map(|(process, sent)| Some((*self.clients.get(process as usize)?, sent)))
            .map(settle)
            .collect();
        crew.settle(clients, self.set_up, cancelled).map(drop)
    }

    /// Ends the flows, and returns the outcome of all slices.
    pub(super) fn finish(
        self,
        crew: &mut AgentPool,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<TrialOutcome, Error> {
        let finish = |members: Vec<MemberId>| {
            members.into_iter().map(|one| (one, AgentOrder::Finish)).collect::<Vec<_>>()
        };
        let limit = self.set_up.max(REPORT_TIMEOUT);
        let mut sent = crew.collect(finish(self.clients), limit, cancelled)?;
        let mut received = crew.collect(finish(self.servers), limit, cancelled)?;
        // Slice time has one zero for all: that some clients began their first slice later does not move their rounds.
        let zero = sent.iter().filter_map(|report| report.epoch).min();
        let zero = zero.filter(|_| self.clock != AgentClocks::Different);
        sent.iter_mut().chain(&mut received).for_each(|report| report.epoch = zero);
        Ok(merge_reports(received, sent)?)
    }
}
