//! What a side says in the end.

use super::lane::Bulk;
use crate::interval::Meter;
use crate::lanes::Driven;
use crate::{Error, Report, Task, cpu, merge};
use std::collections::BTreeMap;
use tare_record::{Ends, Interval, Series};

/// The report of a side whose lanes have come to their end: a series a client of what was received, where any was, and
/// one of what the kernel said of the flows that sent.
pub(super) fn report(driven: Driven<Bulk>, task: &Task) -> Result<Report, Error> {
    let Driven { lanes, cpu, findings } = driven;
    let mut report = Report { findings, cpu, ..Report::default() };
    let mut meters: BTreeMap<u32, Meter> = BTreeMap::new();
    let mut states: BTreeMap<u32, Vec<Interval>> = BTreeMap::new();
    let mut sent = 0;
    for lane in lanes {
        sent += lane.sent;
        cpu::add(&mut report.cpu_by_interval, lane.cpu.rows());
        for count in lane.counts {
            let began = count.clocks.taking.began().or_else(|| count.clocks.giving.began());
            report.epoch = report.epoch.into_iter().chain(began).min();
            if let Some(log) = count.state {
                merge::intervals(states.entry(count.client).or_default(), log.intervals())?;
            }
            match (meters.get_mut(&count.client), count.meter) {
                (Some(all), Some(meter)) => all.merge(&meter),
                (None, Some(meter)) => drop(meters.insert(count.client, meter)),
                (_, None) => {}
            }
        }
    }
    report.findings.extend(meters.values().filter_map(|one| one.gaps().finding(task.interval)));
    report.ends = Ends { sent, received: meters.values().map(Meter::total).sum(), ..report.ends };
    let received = meters.into_iter().map(|(client, meter)| (client, meter.intervals()));
    report.series =
        received.chain(states).map(|(client, intervals)| Series::of(client, intervals)).collect();
    Ok(report)
}
