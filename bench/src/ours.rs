//! tare's own run of a row: the shipped binary's agents, driven by tare's session.

use crate::rows::{Row, Values};
use crate::stage::Stage;
use crate::traffic::{Cores, Kind, Measured, Reading};
use anyhow::Context as _;
use serde_json::Value;
use tare_record::{Interval, Nanos, Parameters, Placement, Shape};
use tare_traffic::{Job, Outcome, Session, workloads};

/// How long an interval record is.
const INTERVAL: Nanos = Nanos(100_000_000);

/// The row's parameters in full, with those of one try.
///
/// # Errors
/// When this build has no such workload, or the workload no such parameter: in words.
pub(crate) fn parameters(row: &Row, values: Values) -> anyhow::Result<Parameters> {
    let workloads = workloads();
    let workload = workloads.find(row.workload)?;
    let has = |name: &str| workload.parameters().iter().any(|one| one.name == name);
    let size = Value::from(row.traffic.size);
    let sizes = ["size", "request", "response"].into_iter().filter(|name| has(name));
    let threads = Some("threads").filter(|name| has(name));
    let asked: Parameters = sizes
        .map(|name| (name.to_owned(), size.clone()))
        .chain(threads.map(|name| (name.to_owned(), row.traffic.threads.into())))
        .chain(
            row.parameters
                .iter()
                .chain(values)
                .map(|&(name, value)| (name.to_owned(), value.into())),
        )
        .collect();
    Ok(workload.resolve(&asked)?)
}

/// One run.
pub(crate) fn run(
    stage: &mut Stage,
    row: &Row,
    values: Values,
    cores: &Cores,
    seconds: u32,
) -> anyhow::Result<Measured> {
    let port = stage.port();
    // A connection for every request is the workload's own business: one flow is one thread's slots.
    let flows = match row.traffic.kind {
        Kind::TcpCrr => row.traffic.threads,
        _ => row.traffic.flows,
    };
    let cpus = Placement::List { clients: cores.client.clone(), servers: cores.server.clone() };
    let job = Job {
        workload: row.workload.to_owned(),
        parameters: parameters(row, values)?,
        shape: Shape { flows, cpus, ..Shape::default() },
        ports: vec![port],
        duration: Nanos(u64::from(seconds) * 1_000_000_000),
        interval: INTERVAL,
    };
    let mut session = Session::open(stage.serving(port))?;
    let outcome = session.trial(&job, &|| false)?;
    measured(row.traffic.kind, &outcome).context("tare's own figure")
}

/// The figure of a trial, over the whole of it, as the peers have it.
fn measured(kind: Kind, outcome: &Outcome) -> anyhow::Result<Measured> {
    let intervals: Vec<&Interval> =
        outcome.series.iter().flat_map(|series| &series.intervals).collect();
    let (first, last) = intervals.first().zip(intervals.last()).context("no intervals")?;
    let span = (last.start + last.length).saturating_sub(first.start).as_secs_f64();
    let sum = |count: fn(&Interval) -> u64| intervals.iter().map(|one| count(one)).sum::<u64>();
    let datagrams = |count: fn(&tare_record::Datagrams) -> u64| {
        intervals.iter().filter_map(|one| one.datagrams.as_ref()).map(count).sum::<u64>()
    };
    let reading = match kind {
        Kind::TcpStream => Reading::lossless(sum(|one| one.bytes) as f64 * 8.0 / 1e9 / span),
        Kind::UdpStream => {
            let (sent, received) = (datagrams(|one| one.sent), datagrams(|one| one.received));
            let loss = sent.saturating_sub(received) as f64 / (sent as f64).max(1.0);
            Reading { rate: received as f64 / span, loss }
        }
        _ => Reading::lossless(sum(|one| one.operations) as f64 / span),
    };
    Ok(Measured { reading, cpu: Some(outcome.agents_cpu.as_secs_f64()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::ROWS;
    use tare_record::{Datagrams, Series};

    #[test]
    fn every_try_is_one_that_the_workload_takes() {
        for row in ROWS {
            assert!(!row.tries.is_empty(), "{}", row.name);
            for values in row.tries {
                let parameters = parameters(row, values).unwrap();
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
            datagrams: Some(Datagrams { sent: 100, received, ..Datagrams::default() }),
            ..Interval::default()
        };
        let intervals = vec![interval(0, 100), interval(500_000_000, 98)];
        let outcome = Outcome {
            series: vec![Series::of(0, intervals)],
            agents_cpu: Nanos(2_000_000_000),
            ..Outcome::default()
        };
        let rate = |kind| measured(kind, &outcome).unwrap().reading;
        assert_eq!(rate(Kind::TcpStream), Reading::lossless(16.0));
        assert_eq!(rate(Kind::UdpStream), Reading { rate: 198.0, loss: 0.01 });
        assert_eq!(rate(Kind::TcpRr), Reading::lossless(14.0));
        assert_eq!(measured(Kind::TcpRr, &outcome).unwrap().cpu, Some(2.0));
        assert!(measured(Kind::TcpRr, &Outcome::default()).is_err());
    }
}
