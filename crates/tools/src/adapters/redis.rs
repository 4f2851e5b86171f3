//! `redis`: a real Redis server under its own benchmark.

use crate::adapters::parse::format_whole;
use crate::child_process::{ChildProcess, ProgramOutput};
use crate::command::ToolCommand;
use crate::program::ExternalProgram;
use crate::report::ToolReport;
use crate::request::{EXISTING_SERVER, dialled_address, listen_address, whole_seconds};
use crate::server::ToolServerSpec;
use crate::tool::{Tool, ToolDescription};
use std::time::{Duration, Instant};
use tare_record::{Interval, Metric, Nanos};
use tare_traffic::WorkloadRequest;
use tare_traffic::parameters::{address, size, word};
use tare_traffic::{
    Error, ExistingServer, Parameter, ParameterKind, Server, TrialTask, WorkloadInfo,
};

const SERVER: ExternalProgram =
    ExternalProgram::new("redis-server", "sudo apt-get install redis", &["--version"]);
const CLIENT: ExternalProgram =
    ExternalProgram::new("redis-benchmark", "sudo apt-get install redis", &["--version"]);

/// Calibration of the request rate: number of requests of each flow at first, the minimum duration of a conclusive run,
/// and the timeout of a run.
const CALIBRATION_REQUESTS: u64 = 500;
const MIN_CALIBRATION: Duration = Duration::from_millis(250);
const CALIBRATION_TIMEOUT: Duration = Duration::from_secs(6);

/// Access rules of the server, as its configuration states them: to get and to set the benchmark's one key. The
/// benchmark takes a password only as an argument, and every user can read arguments: so there is no password, and
/// others who reach the server can do nothing else.
const ACL_RULES: &str = "user default on nopass resetkeys ~key:__rand_int__ -@all +get +set\n";

/// The `redis` tool.
#[derive(Clone, Debug)]
pub(crate) struct Redis;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "operation",
        summary: "command of each request (-t)",
        kind: ParameterKind::Choice(&["get", "set"]),
        default: Some("get"),
    },
    Parameter {
        name: "size",
        summary: "bytes of a value (-d)",
        kind: ParameterKind::Bytes { least: 1, most: 1 << 20 },
        default: Some("3"),
    },
    Parameter {
        name: "pipeline",
        summary: "outstanding requests of each connection (-P)",
        kind: ParameterKind::Count { least: 1, most: 10_000 },
        default: Some("1"),
    },
    Parameter {
        name: EXISTING_SERVER,
        summary: "address of an existing server without a password: redis-benchmark takes a password only as an argument, which every user can read",
        kind: ParameterKind::Address,
        default: None,
    },
];

const DESCRIPTION: ToolDescription = ToolDescription {
    info: WorkloadInfo {
        name: "redis",
        summary: "requests to a real Redis server, by its own benchmark",
        stands_for: "redis-benchmark: its own programs are run",
        source: "https://redis.io/docs/latest/operate/oss_and_stack/management/optimization/benchmarks/",
    },
    metrics: &[
        Metric::Transactions,
        Metric::LatencyMean,
        Metric::LatencyP50,
        Metric::LatencyP95,
        Metric::LatencyP99,
        Metric::LatencyMax,
        Metric::CpuPerOp,
        Metric::CyclesPerOp,
        Metric::InstructionsPerOp,
    ],
    parameters: PARAMETERS,
    port_count: 1,
    client: &CLIENT,
    servers: &[&SERVER],
};

impl Tool for Redis {
    fn description(&self) -> &'static ToolDescription {
        &DESCRIPTION
    }

    fn validate(&self, _: &WorkloadRequest<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// Returns a bound: the benchmark counts requests, not seconds, and may run at a fraction of the calibrated rate.
    fn duration(&self, task: &TrialTask) -> Duration {
        Duration::from_secs(4 * whole_seconds(task) + 10)
    }

    fn serve(&self, task: &TrialTask) -> Result<Box<dyn Server>, Error> {
        if address(&task.parameters, EXISTING_SERVER).is_some() {
            return Ok(Box::new(ExistingServer));
        }
        let at = listen_address(task)?;
        let call = ToolCommand::new(SERVER.require()?, ["-", "--save", "", "--appendonly", "no"])
            .with_arguments([
                "--bind".to_owned(),
                at.ip().to_string(),
                "--port".to_owned(),
                at.port().to_string(),
                // Protected mode would refuse all clients but loopback when there is no password, whatever else is
                // configured.
                "--protected-mode".to_owned(),
                "no".to_owned(),
            ])
            .with_input(ACL_RULES.to_owned());
        Ok(Box::new(ToolServerSpec::new(&SERVER, call.in_directory("/".into()), task).start()?))
    }

    fn client_command(&self, task: &TrialTask, program: ToolCommand) -> Result<ToolCommand, Error> {
        let call = benchmark_command(task, program)?;
        let rate = measure_rate(&call, task.flows)?;
        let requests = (rate * whole_seconds(task) as f64).max(f64::from(task.flows));
        Ok(call.with_arguments([format_whole(requests)]))
    }

    fn parse_output(&self, _: &TrialTask, said: &ProgramOutput) -> Result<ToolReport, String> {
        read(&said.output)
    }
}

/// Returns the command of the benchmark, without its number of requests.
fn benchmark_command(task: &TrialTask, program: ToolCommand) -> Result<ToolCommand, Error> {
    let there = address(&task.parameters, EXISTING_SERVER);
    let at = there.map_or_else(|| dialled_address(task), Ok)?;
    Ok(program.with_arguments(["--csv", "-h"]).with_arguments([
        at.ip().to_string(),
        "-p".to_owned(),
        at.port().to_string(),
        "-t".to_owned(),
        word(&task.parameters, "operation").unwrap_or("get").to_owned(),
        "-d".to_owned(),
        size(&task.parameters, "size")?.to_string(),
        "-P".to_owned(),
        size(&task.parameters, "pipeline")?.to_string(),
        "-c".to_owned(),
        task.flows.to_string(),
        "-n".to_owned(),
    ]))
}

/// Measures the rate of the benchmark, requests per second, with more and more requests until a run takes
/// [`MIN_CALIBRATION`].
fn measure_rate(call: &ToolCommand, flows: u32) -> Result<f64, Error> {
    let mut requests = CALIBRATION_REQUESTS.saturating_mul(flows.into());
    loop {
        let began = Instant::now();
        ChildProcess::start(&call.clone().with_arguments([requests.to_string()]))?
            .finish(CALIBRATION_TIMEOUT, &|| false)?;
        let took = began.elapsed();
        if took >= MIN_CALIBRATION {
            return Ok(requests as f64 / took.as_secs_f64());
        }
        requests = requests.saturating_mul(4);
    }
}

/// Parses the benchmark's CSV: since version 6.2 with a line of names, before that a rate only.
fn read(text: &str) -> Result<ToolReport, String> {
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.starts_with('"'))
        .map(|line| line.split(',').map(|cell| cell.trim_matches('"')).collect())
        .collect();
    let (names, row): (&[&str], &[&str]) = match rows.as_slice() {
        [names, row] if names.first() == Some(&"test") => (names, row),
        [row] if row.first() != Some(&"test") => (&["test", "rps"], row),
        _ => return Err("the output has no figures of exactly one test".to_owned()),
    };
    let of = |name: &str| -> Option<f64> {
        let at = names.iter().position(|one| *one == name)?;
        row.get(at)?.parse().ok().filter(|figure: &f64| figure.is_finite() && *figure >= 0.0)
    };
    let rate = of("rps")
        .filter(|rate| *rate > 0.0)
        .ok_or("the output has no requests per second (rps)")?;
    let mut reading = ToolReport::default();
    reading.add_figure(Metric::Transactions, Some(rate));
    for (metric, name) in [
        (Metric::LatencyMean, "avg_latency_ms"),
        (Metric::LatencyP50, "p50_latency_ms"),
        (Metric::LatencyP95, "p95_latency_ms"),
        (Metric::LatencyP99, "p99_latency_ms"),
        (Metric::LatencyMax, "max_latency_ms"),
    ] {
        reading.add_figure(metric, of(name).map(|milliseconds| milliseconds * 1000.0));
    }
    // The benchmark does not state its duration: one second represents the whole.
    reading.intervals = vec![Interval {
        length: Nanos(1_000_000_000),
        operations: rate.round() as u64,
        ..Interval::default()
    }];
    Ok(reading)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::task_of;
    use proptest::prelude::*;

    const V_7: &str = include_str!("../../fixtures/redis/7.0.15.csv");

    #[test]
    fn figures_are_found_by_their_names() {
        let reading = read(V_7).unwrap();
        assert_eq!(reading.stated[&Metric::Transactions], 104_712.04);
        assert_eq!(reading.stated[&Metric::LatencyP95], 39.0);
        assert_eq!(reading.stated[&Metric::LatencyMax], 6_487.0);
        // Output of versions before 6.2.
        let old = read("\"GET\",\"51072.52\"\n").unwrap();
        assert_eq!(old.stated, [(Metric::Transactions, 51_072.52)].into());
    }

    #[test]
    fn no_password_is_an_argument_and_a_server_of_somebody_elses_is_dialled_where_it_is() {
        let at = vec![([127, 0, 0, 1], 7).into()];
        let mut task = task_of("redis", at);
        let call = |task: &TrialTask| {
            format!(
                "{:?}",
                benchmark_command(task, ToolCommand::new("/bin/true".into(), [""; 0])).unwrap()
            )
        };
        assert!(
            !call(&task).contains("\"-a\"") && call(&task).contains("\"127.0.0.1\", \"-p\", \"7\"")
        );
        task.parameters.insert("server".to_owned(), "192.0.2.7:6379".into());
        assert!(call(&task).contains("\"192.0.2.7\", \"-p\", \"6379\""), "{}", call(&task));
        assert!(Redis.serve(&task).is_ok(), "nothing is started for it");
    }

    #[test]
    fn what_has_no_rate_is_refused() {
        for text in
            ["", "\"test\",\"rps\"\n", "\"GET\",\"0\"\n", "\"GET\",\"1\"\n\"SET\",\"1\"\n", "ERR"]
        {
            assert!(read(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn garbage_never_breaks_anything(text in "[\"\\PC,\n]{0,60}") {
            let _ = read(&text);
        }
    }
}
