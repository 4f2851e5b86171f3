//! Client: its threads through a trial in one piece, or through slices, and its report.

use super::CrrParameters;
use super::client_worker::CrrClientWorker;
use super::netstat::{find_overflow, time_wait_overflows};
use crate::placement::{SideCores, TrafficRole};
use crate::slices::client::ClientSlices;
use crate::tcp::{GrantedOptions, TcpOptions, connect, shut_down};
use crate::workers::{self, WorkerOutput};
use crate::{Client, Error, SideReport, TrialTask, cpu, merge};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, OnceLock};
use tare_record::finding::PortExhaustion;
use tare_record::{Finding, Nanos, Series};

/// Client of `tcp-crr`.
pub(super) struct CrrClient {
    /// Control connections, kept open: their end is the trial's end.
    controls: Vec<TcpStream>,
    callers: Vec<CrrClientWorker>,
    granted: GrantedOptions,
    cores: SideCores,
    epoch: Arc<OnceLock<u64>>,
    overflows: Option<u64>,
    /// Slices that have run; `None` before the first one.
    slices: Option<ClientSlices>,
    task: TrialTask,
}

impl CrrClient {
    pub(super) fn connect(task: &TrialTask) -> Result<Self, Error> {
        let plan = CrrParameters::from_parameters(&task.parameters)?;
        let (controls, granted) = connect(task, &TcpOptions::from_parameters(&task.parameters))?;
        let cores = SideCores::for_role(&task.cpus, TrafficRole::Client);
        let epoch = Arc::new(OnceLock::new());
        let addresses = task.addresses.iter().copied().cycle().take(controls.len()).collect();
        let hands = workers::distribute::<SocketAddr>(addresses, &cores, &task.parameters);
        let sharing = (hands.len() * task.peers as usize / cores.list().len().max(1)) as u64;
        let callers = hands
            .iter()
            .map(|hand| CrrClientWorker::new(hand[0], task, plan, sharing, &epoch))
            .collect::<Result<_, _>>()?;
        let overflows = time_wait_overflows();
        let task = task.clone();
        Ok(Self { controls, callers, granted, cores, epoch, overflows, slices: None, task })
    }

    /// Ends the control connections, which ends the trial.
    fn hang_up(&self) -> Result<(), Error> {
        self.controls
            .iter()
            .try_for_each(|control| shut_down(control, Shutdown::Both))
            .map_err(|error| Error::io("end the control connections", error))
    }

    /// Returns the report of threads that have finished.
    fn report(self, driven: WorkerOutput<CrrClientWorker>) -> Result<SideReport, Error> {
        let Self { granted, cores, epoch, overflows, task, .. } = self;
        let WorkerOutput { lanes: callers, cpu, mut findings } = driven;
        let times = callers.iter().map(|caller| caller.exhausted).sum();
        findings.extend((times > 0).then_some(Finding::PortExhaustion(PortExhaustion { times })));
        findings.extend(find_overflow(overflows));
        let mut report = SideReport { findings, cpu, ..SideReport::default() };
        report.epoch = epoch.get().copied().map(Nanos);
        let mut intervals = Vec::new();
        for caller in callers {
            report.ends.connected += caller.connects.completed();
            report.ends.completed += caller.exchanges.completed();
            report.findings.extend(caller.exchanges.gaps().finding(task.interval));
            cpu::add_rows(&mut report.cpu_by_interval, caller.cpu.rows());
            merge::add_intervals(&mut intervals, caller.intervals()?)?;
        }
        report.series = vec![Series::new(task.client, intervals)];
        report.parameters = task.parameters;
        Ok(report.with_granted(&granted, &cores, TrafficRole::Client))
    }
}

impl Client for CrrClient {
    fn run(self: Box<Self>) -> Result<SideReport, Error> {
        let mut client = *self;
        let callers = std::mem::take(&mut client.callers);
        let (cores, work) = (&client.cores, CrrClientWorker::run);
        let driven = workers::run_workers(callers, cores, &client.task, &Arc::default(), work);
        client.hang_up()?;
        client.report(driven?)
    }

    fn run_slice(&mut self) -> Result<u64, Error> {
        let slices = ClientSlices::started(&mut self.slices, &self.task)?;
        let window = slices.begin();
        let mut callers = std::mem::take(&mut self.callers);
        callers.iter_mut().for_each(|caller| caller.begin_slice(window));
        let (patience, work) = (Arc::default(), CrrClientWorker::run);
        self.callers = slices.run(callers, &self.cores, &self.task, &patience, work)?;
        // Every request has been answered: nothing is on its way.
        Ok(0)
    }

    fn finish(self: Box<Self>) -> Result<SideReport, Error> {
        let mut client = *self;
        let slices = client.slices.take().ok_or_else(Error::not_in_slices)?;
        let callers = std::mem::take(&mut client.callers);
        client.hang_up()?;
        client.report(slices.into_output(callers))
    }
}
