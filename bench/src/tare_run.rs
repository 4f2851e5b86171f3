//! Runs of tare: agents of the released binary, run by tare's session.

use crate::network::BenchNetwork;
use crate::rows::{ComparisonRow, ParameterValues};
use crate::traffic::{RowCores, RunResult, ToolReading, TrafficKind};
use anyhow::Context as _;
use serde_json::Value;
use tare_agent::AgentSession;
use tare_record::{Interval, Nanos, Parameters, Placement, Shape};
use tare_traffic::{TrialJob, TrialOutcome, WorkloadRegistry};

/// Interval between samples.
const INTERVAL: Nanos = Nanos(100_000_000);

/// Returns all parameters of a row, with those of one try, and with this congestion control if the workload has one.
///
/// # Errors
/// Fails if this build does not have the workload, or the workload does not have a parameter.
pub(crate) fn parameters(
    row: &ComparisonRow,
    values: ParameterValues,
    congestion: Option<&str>,
) -> anyhow::Result<Parameters> {
    let registry = registry();
    let workload = registry.find(row.workload)?;
    let has = |name: &str| workload.parameters().iter().any(|one| one.name == name);
    let size = Value::from(row.traffic.size);
    let sizes = ["size", "request", "response"].into_iter().filter(|name| has(name));
    let threads = Some("threads").filter(|name| has(name));
    let congestion = congestion.filter(|_| has("congestion"));
    let asked: Parameters = sizes
        .map(|name| (name.to_owned(), size.clone()))
        .chain(threads.map(|name| (name.to_owned(), row.traffic.threads.into())))
        .chain(congestion.map(|control| ("congestion".to_owned(), control.into())))
        .chain(
            row.parameters
                .iter()
                .chain(values)
                .map(|&(name, value)| (name.to_owned(), value.into())),
        )
        .collect();
    Ok(workload.resolve(&asked)?)
}

/// Runs a row once.
pub(crate) fn run(
    stage: &mut BenchNetwork,
    row: &ComparisonRow,
    values: ParameterValues,
    cores: &RowCores,
    seconds: u32,
) -> anyhow::Result<RunResult> {
    let port = stage.port();
    // A new connection for every request is part of the workload: one flow is the set of connections of one thread.
    let flows = match row.traffic.kind {
        TrafficKind::TcpCrr => row.traffic.threads,
        _ => row.traffic.flows,
    };
    let cpus = Placement::List { clients: cores.client.clone(), servers: cores.server.clone() };
    let job = TrialJob {
        workload: row.workload.to_owned(),
        parameters: parameters(row, values, Some(stage.congestion()))?,
        shape: Shape { flows, cpus, ..Shape::default() },
        ports: vec![port],
        duration: Nanos(u64::from(seconds) * 1_000_000_000),
        interval: INTERVAL,
        slices: None,
    };
    let mut session = AgentSession::open(stage.serving(port), &registry())?;
    let outcome = session.run_trial(&job, &|| false)?;
    measured(row.traffic.kind, &outcome).context("tare's own figure")
}

/// Returns the registry of the workloads that are compared.
fn registry() -> WorkloadRegistry {
    tare_traffic::workloads().into_iter().collect()
}

/// Returns the figure of a whole trial, as the peers measure it.
fn measured(kind: TrafficKind, outcome: &TrialOutcome) -> anyhow::Result<RunResult> {
    let intervals: Vec<&Interval> =
        outcome.series.iter().flat_map(|series| &series.intervals).collect();
    let (first, last) = intervals.first().zip(intervals.last()).context("no intervals")?;
    let span = (last.start + last.length).saturating_sub(first.start).as_secs_f64();
    let sum = |count: fn(&Interval) -> u64| intervals.iter().map(|one| count(one)).sum::<u64>();
    let datagrams = |count: fn(&tare_record::DatagramCounts) -> u64| {
        intervals.iter().filter_map(|one| one.datagrams.as_ref()).map(count).sum::<u64>()
    };
    let reading = match kind {
        TrafficKind::TcpStream => {
            ToolReading::lossless(sum(|one| one.bytes) as f64 * 8.0 / 1e9 / span)
        }
        TrafficKind::UdpStream => {
            let (sent, received) = (datagrams(|one| one.sent), datagrams(|one| one.received));
            let loss = sent.saturating_sub(received) as f64 / (sent as f64).max(1.0);
            ToolReading { rate: received as f64 / span, loss }
        }
        _ => ToolReading::lossless(sum(|one| one.operations) as f64 / span),
    };
    Ok(RunResult { reading, cpu: Some(outcome.agents_cpu.as_secs_f64()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::ROWS;
    use tare_record::{DatagramCounts, Series};

    #[test]
    fn every_try_is_one_that_the_workload_takes() {
        for row in ROWS {
            assert!(!row.tries.is_empty(), "{}", row.name);
            for values in row.tries {
                let parameters = parameters(row, values, Some("reno")).unwrap();
                let over_tcp = row.workload.starts_with("tcp");
                let control = parameters.get("congestion").and_then(Value::as_str);
                assert_eq!(control, over_tcp.then_some("reno"), "{}", row.name);
                for (name, _) in *values {
                    assert!(parameters.contains_key(*name), "{}: {name}", row.name);
                }
            }
        }
    }

    #[test]
    fn figures_are_over_the_whole_trial() {
        let interval = |start, received| Interval {
            start: Nanos(start),
            length: Nanos(500_000_000),
            bytes: 1_000_000_000,
            operations: 7,
            datagrams: Some(DatagramCounts { sent: 100, received, ..DatagramCounts::default() }),
            ..Interval::default()
        };
        let intervals = vec![interval(0, 100), interval(500_000_000, 98)];
        let outcome = TrialOutcome {
            series: vec![Series::new(0, intervals)],
            agents_cpu: Nanos(2_000_000_000),
            ..TrialOutcome::default()
        };
        let rate = |kind| measured(kind, &outcome).unwrap().reading;
        assert_eq!(rate(TrafficKind::TcpStream), ToolReading::lossless(16.0));
        assert_eq!(rate(TrafficKind::UdpStream), ToolReading { rate: 198.0, loss: 0.01 });
        assert_eq!(rate(TrafficKind::TcpRr), ToolReading::lossless(14.0));
        assert_eq!(measured(TrafficKind::TcpRr, &outcome).unwrap().cpu, Some(2.0));
        assert!(measured(TrafficKind::TcpRr, &TrialOutcome::default()).is_err());
    }
}
