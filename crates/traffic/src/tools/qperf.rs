//! `qperf` and `qperf-lat`: bulk and round trips as qperf measures them.

use super::call::Call;
use super::calling::Reading;
use super::offspring::Said;
use super::program::Program;
use super::serving::Serve;
use super::words::leading;
use super::{Tool, dials, one_flow_each, seconds};
use crate::parameters::optional_size;
use crate::workload::Asked;
use crate::{About, Error, Kind, Parameter, Server, Task};
use tare_record::Metric;

const PROGRAM: Program = Program::new("qperf", "sudo apt-get install qperf", &["--version"]);

/// The tool: its tests tcp_bw and tcp_lat.
#[derive(Clone, Debug)]
pub(crate) struct Qperf {
    pub(crate) latency: bool,
}

const PARAMETERS: &[Parameter] = &[Parameter {
    name: "size",
    summary: "bytes of a message (-m) [qperf's own: 64K of bulk, 1 of latency]",
    kind: Kind::Bytes { least: 1, most: 1 << 20 },
    default: None,
}];

impl Tool for Qperf {
    fn about(&self) -> About {
        let (name, summary, stands_for) = if self.latency {
            (
                "qperf-lat",
                "round trips over TCP, as qperf measures them",
                "qperf tcp_lat, doubled, for it states one way: its own program is run",
            )
        } else {
            ("qperf", "bulk over TCP, as qperf measures it", "qperf tcp_bw: its own program is run")
        };
        About { name, summary, stands_for, source: "https://github.com/linux-rdma/qperf" }
    }

    fn metrics(&self) -> &'static [Metric] {
        if self.latency {
            &[
                Metric::LatencyMean,
                Metric::Transactions,
                Metric::CpuPerOp,
                Metric::CyclesPerOp,
                Metric::InstructionsPerOp,
            ]
        } else {
            &[
                Metric::Throughput,
                Metric::CpuPerGb,
                Metric::CyclesPerByte,
                Metric::InstructionsPerByte,
            ]
        }
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    /// One for orders, one for traffic.
    fn ports(&self) -> usize {
        2
    }

    fn client(&self) -> &'static Program {
        &PROGRAM
    }

    fn servers(&self) -> &'static [&'static Program] {
        &[&PROGRAM]
    }

    fn fits(&self, asked: &Asked<'_>) -> Result<(), Error> {
        one_flow_each(self.about().name, "its server takes one client at a time", asked)
    }

    fn serve(&self, task: &Task) -> Result<Box<dyn Server>, Error> {
        let at = dials(task)?;
        let call =
            Call::new(PROGRAM.require()?, ["--listen_port".to_owned(), at.port().to_string()]);
        let mut serve = Serve::new(&PROGRAM, call, task);
        serve.forks = true;
        Ok(Box::new(serve.start()?))
    }

    fn call(&self, task: &Task, program: Call) -> Result<Call, Error> {
        let [orders, traffic] = task.addresses.as_slice() else {
            return Err(Error::Job("qperf dials two ports".to_owned()));
        };
        let call = program.with([
            orders.ip().to_string(),
            "--listen_port".to_owned(),
            orders.port().to_string(),
            "--ip_port".to_owned(),
            traffic.port().to_string(),
            "--time".to_owned(),
            seconds(task).to_string(),
            "--precision".to_owned(),
            "6".to_owned(),
            "--unify_units".to_owned(),
        ]);
        let call = match optional_size(&task.parameters, "size") {
            Some(size) => call.with(["--msg_size".to_owned(), size.to_string()]),
            None => call,
        };
        Ok(call.with([if self.latency { "tcp_lat" } else { "tcp_bw" }]))
    }

    fn read(&self, task: &Task, said: &Said) -> Result<Reading, String> {
        if self.latency { latency(&said.output, task) } else { bandwidth(&said.output, task) }
    }
}

/// A figure of a report with its unit: `    bw  =  1.17 GB/sec`.
fn figure<'t>(text: &'t str, name: &str) -> Option<(f64, &'t str)> {
    let found = text.lines().find_map(|line| {
        let (of, value) = line.split_once('=')?;
        (of.trim() == name).then_some(value.trim())
    })?;
    Some((leading(found)?, found.split_whitespace().nth(1)?))
}

fn bandwidth(text: &str, task: &Task) -> Result<Reading, String> {
    let missing = "it does not say its bandwidth";
    let (number, unit) = figure(text, "bw").ok_or(missing)?;
    let unit = match unit {
        "bytes/sec" => 1.0,
        "KB/sec" => 1e3,
        "MB/sec" => 1e6,
        "GB/sec" => 1e9,
        "TB/sec" => 1e12,
        other => return Err(format!("{other} is no unit of its bandwidth that is known")),
    };
    let bytes = number * unit;
    let mut reading =
        Reading { bytes: (bytes * seconds(task) as f64) as u64, ..Reading::default() };
    reading.state(Metric::Throughput, Some(bytes * 8.0 / 1e9));
    Ok(reading)
}

/// Its latency is that of one way: half of a round trip, for it counts the messages of both sides.
fn latency(text: &str, task: &Task) -> Result<Reading, String> {
    let (number, unit) = figure(text, "latency").ok_or("it does not say its latency")?;
    let unit = match unit {
        "ns" => 1e-3,
        "us" => 1.0,
        "ms" => 1e3,
        "sec" => 1e6,
        other => return Err(format!("{other} is no unit of its latency that is known")),
    };
    let micros = 2.0 * number * unit;
    if micros <= 0.0 {
        return Err("its latency is nought".to_owned());
    }
    let rate = 1e6 / micros;
    let mut reading =
        Reading { operations: (rate * seconds(task) as f64) as u64, ..Reading::default() };
    reading.state(Metric::LatencyMean, Some(micros));
    reading.state(Metric::Transactions, Some(rate));
    Ok(reading)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BULK: &str = include_str!("../../fixtures/qperf/0.4.11-tcp_bw.txt");
    const BULK_OLD: &str = include_str!("../../fixtures/qperf/0.4.9-tcp_bw.txt");
    const LATENCY: &str = include_str!("../../fixtures/qperf/0.4.11-tcp_lat.txt");

    fn task() -> Task {
        crate::Task::made_up("qperf", vec![([127, 0, 0, 1], 7).into()])
    }

    #[test]
    fn units_are_understood() {
        let of = |text: &str| bandwidth(text, &task()).unwrap().stated[&Metric::Throughput];
        assert!((of(BULK) - 2_981_953_536.0 * 8.0 / 1e9).abs() < 1e-9);
        assert!((of(BULK_OLD) - 9.36).abs() < 1e-9);
        assert!(bandwidth("bw = 3 parsec\n", &task()).unwrap_err().contains("parsec"));
    }

    #[test]
    fn a_latency_of_one_way_is_half_of_a_round_trip() {
        let reading = latency(LATENCY, &task()).unwrap();
        assert!((reading.stated[&Metric::LatencyMean] - 4.706_44).abs() < 1e-9);
        assert!((reading.stated[&Metric::Transactions] - 1e6 / 4.706_44).abs() < 1e-6);
        assert!(latency("latency = 0 us\n", &task()).is_err());
    }

    proptest! {
        #[test]
        fn garbage_never_breaks_anything(text in "\\PC{0,40}", unit in "\\PC{0,9}") {
            for text in [text.clone(), format!("bw = 1 {unit}"), format!("latency = {text} us")] {
                let _ = (bandwidth(&text, &task()), latency(&text, &task()));
            }
        }
    }
}
