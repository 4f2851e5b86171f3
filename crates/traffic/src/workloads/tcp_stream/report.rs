//! Report of a side.

use super::bulk::BulkFlowGroup;
use crate::byte_meter::ByteMeter;
use crate::workers::WorkerOutput;
use crate::{Error, SideReport, TrialTask, cpu, merge};
use std::collections::BTreeMap;
use tare_record::{EndCounts, Interval, Series};

/// Builds the report of a side whose flow groups have finished: for each client a series of received bytes, if any were
/// received, and a series of kernel statistics of the flows that sent.
pub(super) fn build_report(
    driven: WorkerOutput<BulkFlowGroup>,
    task: &TrialTask,
) -> Result<SideReport, Error> {
    let WorkerOutput { lanes, cpu, findings } = driven;
    let mut report = SideReport { findings, cpu, ..SideReport::default() };
    let mut meters: BTreeMap<u32, ByteMeter> = BTreeMap::new();
    let mut states: BTreeMap<u32, Vec<Interval>> = BTreeMap::new();
    let mut sent = 0;
    for lane in lanes {
        sent += lane.sent;
        cpu::add_rows(&mut report.cpu_by_interval, lane.cpu.rows());
        for count in lane.counts {
            let began =
                count.clocks.receiving.started_at().or_else(|| count.clocks.sending.started_at());
            report.epoch = report.epoch.into_iter().chain(began).min();
            if let Some(log) = count.state {
                merge::add_intervals(states.entry(count.client).or_default(), log.intervals())?;
            }
            match (meters.get_mut(&count.client), count.meter) {
                (Some(all), Some(meter)) => all.merge(&meter),
                (None, Some(meter)) => drop(meters.insert(count.client, meter)),
                (_, None) => {}
            }
        }
    }
    report.findings.extend(meters.values().filter_map(|one| one.gaps().finding(task.interval)));
    report.ends =
        EndCounts { sent, received: meters.values().map(ByteMeter::total).sum(), ..report.ends };
    let received = meters.into_iter().map(|(client, meter)| (client, meter.intervals()));
    report.series =
        received.chain(states).map(|(client, intervals)| Series::new(client, intervals)).collect();
    Ok(report)
}
