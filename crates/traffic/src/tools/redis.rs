//! `redis`: a real Redis server, asked by its own benchmark.

use super::call::Call;
use super::calling::Reading;
use super::offspring::{Offspring, Said};
use super::program::Program;
use super::serving::{Elsewhere, Serve};
use super::words::whole;
use super::{THERE, Tool, dials, seconds};
use crate::parameters::{address, size, word};
use crate::workload::Asked;
use crate::{About, Error, Kind, Parameter, Server, Task};
use std::time::{Duration, Instant};
use tare_record::{Interval, Metric, Nanos};

const SERVER: Program = Program::new("redis-server", "sudo apt-get install redis", &["--version"]);
const CLIENT: Program =
    Program::new("redis-benchmark", "sudo apt-get install redis", &["--version"]);

/// How many requests of each flow find out at first how fast it goes, how long they have to take to say so, and how long
/// they may.
const TRIED: u64 = 500;
const ENOUGH: Duration = Duration::from_millis(250);
const TRIES: Duration = Duration::from_secs(6);

/// What is allowed, as its configuration says it: to ask for the benchmark's one key and to set it. The benchmark takes a
/// password as an argument and in no other way, and arguments are everybody's to read: so there is none, and nothing to be
/// had by whoever else reaches the server.
const WHOEVER_COMES: &str = "user default on nopass resetkeys ~key:__rand_int__ -@all +get +set\n";

/// The tool.
#[derive(Clone, Debug)]
pub(crate) struct Redis;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "operation",
        summary: "what is asked (-t)",
        kind: Kind::Choice(&["get", "set"]),
        default: Some("get"),
    },
    Parameter {
        name: "size",
        summary: "bytes of a value (-d)",
        kind: Kind::Bytes { least: 1, most: 1 << 20 },
        default: Some("3"),
    },
    Parameter {
        name: "pipeline",
        summary: "requests on their way at once on each connection (-P)",
        kind: Kind::Count { least: 1, most: 10_000 },
        default: Some("1"),
    },
    Parameter {
        name: THERE,
        summary: "a server that is there already and asks for no password: its benchmark takes one as an argument alone, which everybody could read",
        kind: Kind::Address,
        default: None,
    },
];

impl Tool for Redis {
    fn about(&self) -> About {
        About {
            name: "redis",
            summary: "requests to a real Redis server, by its own benchmark",
            stands_for: "redis-benchmark: its own programs are run",
            source: "https://redis.io/docs/latest/operate/oss_and_stack/management/optimization/benchmarks/",
        }
    }

    fn metrics(&self) -> &'static [Metric] {
        &[
            Metric::Transactions,
            Metric::LatencyMean,
            Metric::LatencyP50,
            Metric::LatencyP95,
            Metric::LatencyP99,
            Metric::LatencyMax,
            Metric::CpuPerOp,
            Metric::CyclesPerOp,
            Metric::InstructionsPerOp,
        ]
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn client(&self) -> &'static Program {
        &CLIENT
    }

    fn servers(&self) -> &'static [&'static Program] {
        &[&SERVER]
    }

    fn fits(&self, _: &Asked<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// It counts requests, not seconds: it may be that it goes at a fraction of the rate that was tried.
    fn lasts(&self, task: &Task) -> Duration {
        Duration::from_secs(4 * seconds(task) + 10)
    }

    fn serve(&self, task: &Task) -> Result<Box<dyn Server>, Error> {
        if address(&task.parameters, THERE).is_some() {
            return Ok(Box::new(Elsewhere));
        }
        let at = dials(task)?;
        let call = Call::new(SERVER.require()?, ["-", "--save", "", "--appendonly", "no"])
            .with([
                "--bind".to_owned(),
                at.ip().to_string(),
                "--port".to_owned(),
                at.port().to_string(),
                // Refuses all but loopback where no password is asked for, whatever else is.
                "--protected-mode".to_owned(),
                "no".to_owned(),
            ])
            .reading(WHOEVER_COMES.to_owned());
        Ok(Box::new(Serve::new(&SERVER, call.within("/".into()), task).start()?))
    }

    fn call(&self, task: &Task, program: Call) -> Result<Call, Error> {
        let call = called(task, program)?;
        let rate = rate(&call, task.flows)?;
        let requests = (rate * seconds(task) as f64).max(f64::from(task.flows));
        Ok(call.with([whole(requests)]))
    }

    fn read(&self, _: &Task, said: &Said) -> Result<Reading, String> {
        read(&said.output)
    }
}

/// The benchmark, but for how many requests.
fn called(task: &Task, program: Call) -> Result<Call, Error> {
    let there = address(&task.parameters, THERE);
    let at = there.map_or_else(|| dials(task), Ok)?;
    Ok(program.with(["--csv", "-h"]).with([
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

/// How many requests a second it does, found out by doing more and more of them until it takes some time.
fn rate(call: &Call, flows: u32) -> Result<f64, Error> {
    let mut requests = TRIED.saturating_mul(flows.into());
    loop {
        let began = Instant::now();
        Offspring::start(&call.clone().with([requests.to_string()]))?.finish(TRIES, &|| false)?;
        let took = began.elapsed();
        if took >= ENOUGH {
            return Ok(requests as f64 / took.as_secs_f64());
        }
        requests = requests.saturating_mul(4);
    }
}

/// Reads its CSV: since 6.2 with a line of names, before that a rate alone.
fn read(text: &str) -> Result<Reading, String> {
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.starts_with('"'))
        .map(|line| line.split(',').map(|cell| cell.trim_matches('"')).collect())
        .collect();
    let (names, row): (&[&str], &[&str]) = match rows.as_slice() {
        [names, row] if names.first() == Some(&"test") => (names, row),
        [row] if row.first() != Some(&"test") => (&["test", "rps"], row),
        _ => return Err("it said no figures of one test".to_owned()),
    };
    let of = |name: &str| -> Option<f64> {
        let at = names.iter().position(|one| *one == name)?;
        row.get(at)?.parse().ok().filter(|figure: &f64| figure.is_finite() && *figure >= 0.0)
    };
    let rate = of("rps").filter(|rate| *rate > 0.0).ok_or("it does not say how many a second")?;
    let mut reading = Reading::default();
    reading.state(Metric::Transactions, Some(rate));
    for (metric, name) in [
        (Metric::LatencyMean, "avg_latency_ms"),
        (Metric::LatencyP50, "p50_latency_ms"),
        (Metric::LatencyP95, "p95_latency_ms"),
        (Metric::LatencyP99, "p99_latency_ms"),
        (Metric::LatencyMax, "max_latency_ms"),
    ] {
        reading.state(metric, of(name).map(|milliseconds| milliseconds * 1000.0));
    }
    // It does not say how long it took: a second of it stands for all.
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
    use proptest::prelude::*;

    const V_7: &str = include_str!("../../fixtures/redis/7.0.15.csv");

    #[test]
    fn figures_are_found_by_their_names() {
        let reading = read(V_7).unwrap();
        assert_eq!(reading.stated[&Metric::Transactions], 104_712.04);
        assert_eq!(reading.stated[&Metric::LatencyP95], 39.0);
        assert_eq!(reading.stated[&Metric::LatencyMax], 6_487.0);
        // Before version 6.2.
        let old = read("\"GET\",\"51072.52\"\n").unwrap();
        assert_eq!(old.stated, [(Metric::Transactions, 51_072.52)].into());
    }

    #[test]
    fn no_password_is_an_argument_and_a_server_of_somebody_elses_is_dialled_where_it_is() {
        let at = vec![([127, 0, 0, 1], 7).into()];
        let mut task = crate::Task::made_up("redis", at);
        let call = |task: &Task| {
            format!("{:?}", called(task, Call::new("/bin/true".into(), [""; 0])).unwrap())
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
