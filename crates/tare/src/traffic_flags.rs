//! Flags for parameters of workloads, the same for `run` and `probe`. A list of values is a sweep.

use crate::exit::usage_error;
use clap::Args;
use serde_json::Value;
use tare_record::Parameters;
use tare_study::WorkloadSpec;
use tare_traffic::parameters::CONGESTION;

/// Traffic parameters. The allowed values are those of the workload: see `tare list workloads`.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Traffic")]
pub(crate) struct TrafficArguments {
    /// Number of threads for the flows of each side [default: number of cores, but at most the number of flows]
    #[arg(long, value_name = "N", value_delimiter = ',')]
    threads: Vec<String>,
    /// Payload bytes of each write, of each datagram, or of each request and each response
    #[arg(long, value_name = "BYTES", value_delimiter = ',')]
    size: Vec<String>,
    /// Bytes that a receiver of bulk traffic reads at once
    #[arg(long, value_name = "BYTES", value_delimiter = ',')]
    read: Vec<String>,
    /// Payload bytes of each request
    #[arg(long, value_name = "BYTES", value_delimiter = ',')]
    request: Vec<String>,
    /// Payload bytes of each response
    #[arg(long, value_name = "BYTES", value_delimiter = ',')]
    response: Vec<String>,
    /// Direction of bulk traffic: up (client to server), down, both
    #[arg(long, value_name = "WAY", value_delimiter = ',')]
    direction: Vec<String>,
    /// Method of sending payload: copy, vmsplice, sendfile
    #[arg(long, value_name = "HOW", value_delimiter = ',')]
    send: Vec<String>,
    /// Method of receiving payload: copy, drop
    #[arg(long, value_name = "HOW", value_delimiter = ',')]
    receive: Vec<String>,
    /// TCP congestion control of both ends, also of programs that choose none; system is the host's [default: cubic
    /// where every end may use it, else reno]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    congestion: Vec<String>,
    /// Set TCP_NODELAY for bulk traffic
    #[arg(long)]
    no_delay: bool,
    /// Size of each socket buffer in bytes [default: TCP, tuned by the kernel; UDP, 8M]
    #[arg(long, value_name = "BYTES", value_delimiter = ',')]
    buffer: Vec<String>,
    /// Offered load of each client: bits of payload or datagrams per second, for example 200mbit or 50kpps
    #[arg(long, value_name = "RATE", value_delimiter = ',')]
    rate: Vec<String>,
    /// Maximum payload rate of each bulk flow, paced by the kernel, for example 200mbit [default: unlimited]
    #[arg(long, value_name = "RATE", value_delimiter = ',')]
    pacing_rate: Vec<String>,
    /// Pass many datagrams to the kernel in one call (UDP GSO and GRO)
    #[arg(long)]
    gso: bool,
    /// Loss ratio that is accepted in a search for the partial drop rate
    #[arg(long, value_name = "SHARE", value_delimiter = ',')]
    pdr: Vec<String>,
    /// Method of waiting for the other end: block, spin, busy-poll
    #[arg(long, value_name = "HOW", value_delimiter = ',')]
    wait: Vec<String>,
    /// Fixed number of transactions per second of each client; latency is measured from the time at which each
    /// transaction was due
    #[arg(long, value_name = "RATE", value_delimiter = ',')]
    open_loop: Vec<String>,
    /// Number of transactions after which a trial in one piece ends, if its duration is not over before
    #[arg(long, value_name = "N", value_delimiter = ',')]
    count: Vec<String>,
    /// Number of concurrent connections in each flow's thread
    #[arg(long, value_name = "N", value_delimiter = ',')]
    slots: Vec<String>,
    /// Method of closing a connection: fin, rst
    #[arg(long, value_name = "HOW", value_delimiter = ',')]
    close: Vec<String>,
    /// Number of tables of a database
    #[arg(long, value_name = "N", value_delimiter = ',')]
    tables: Vec<String>,
    /// Number of rows in each table of a database
    #[arg(long, value_name = "N", value_delimiter = ',')]
    rows: Vec<String>,
    /// Scale factor of the database of pgbench, in units of 100000 rows
    #[arg(long, value_name = "N", value_delimiter = ',')]
    scale: Vec<String>,
    /// Operation to repeat, for example get or set for redis, or a test of qperf
    #[arg(long, value_name = "WHICH", value_delimiter = ',')]
    operation: Vec<String>,
    /// Address of an existing database or server, for example 192.0.2.7:3306; tare then starts no server
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',')]
    server_address: Vec<String>,
    /// Resolver that is asked for names, for example 10.96.0.10; system: the container's own [default: tare's own]
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',')]
    resolver: Vec<String>,
    /// Name that is looked up, without a search list
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    query_name: Vec<String>,
    /// Type of record that is looked up: a, aaaa
    #[arg(long, value_name = "TYPE", value_delimiter = ',')]
    query_type: Vec<String>,
}

/// Alternative sets of parameter names; a flag sets the first set that a workload has.
type ParameterNames = &'static [&'static [&'static str]];

/// Flag on the command line, with its value.
struct TrafficFlag {
    flag: &'static str,
    names: ParameterNames,
    value: Value,
}

impl TrafficArguments {
    /// Returns the congestion controls that are asked for.
    pub(crate) fn congestion(&self) -> &[String] {
        &self.congestion
    }

    /// Returns the flags that are set.
    fn given_flags(&self) -> Vec<TrafficFlag> {
        let lists: [(&'static str, ParameterNames, &[String]); 26] = [
            ("threads", &[&["threads"]], &self.threads),
            ("size", &[&["size"], &["request", "response"]], &self.size),
            ("read", &[&["read"]], &self.read),
            ("request", &[&["request"]], &self.request),
            ("response", &[&["response"]], &self.response),
            ("direction", &[&["direction"]], &self.direction),
            ("send", &[&["send"]], &self.send),
            ("receive", &[&["receive"]], &self.receive),
            (CONGESTION, &[&[CONGESTION]], &self.congestion),
            ("buffer", &[&["buffer"]], &self.buffer),
            ("rate", &[&["rate"]], &self.rate),
            ("pacing-rate", &[&["pacing_rate"]], &self.pacing_rate),
            ("pdr", &[&["pdr"]], &self.pdr),
            ("wait", &[&["wait"]], &self.wait),
            ("open-loop", &[&["open_loop"]], &self.open_loop),
            ("count", &[&["count"]], &self.count),
            ("slots", &[&["slots"]], &self.slots),
            ("close", &[&["close"]], &self.close),
            ("tables", &[&["tables"]], &self.tables),
            ("rows", &[&["rows"]], &self.rows),
            ("scale", &[&["scale"]], &self.scale),
            ("operation", &[&["operation"]], &self.operation),
            ("server-address", &[&["server"]], &self.server_address),
            ("resolver", &[&["resolver"]], &self.resolver),
            ("query-name", &[&["query_name"]], &self.query_name),
            ("query-type", &[&["query_type"]], &self.query_type),
        ];
        let switches: [(&'static str, ParameterNames, bool); 2] =
            [("no-delay", &[&["no_delay"]], self.no_delay), ("gso", &[&["gso"]], self.gso)];
        let listed = lists.into_iter().filter_map(|(flag, names, values)| {
            let value = match values {
                [] => return None,
                [one] => Value::from(one.as_str()),
                several => Value::from(several.to_vec()),
            };
            Some(TrafficFlag { flag, names, value })
        });
        let switched = switches
            .into_iter()
            .filter(|(.., on)| *on)
            .map(|(flag, names, _)| TrafficFlag { flag, names, value: Value::from(true) });
        listed.chain(switched).collect()
    }

    /// Applies the flags to the workloads that have their parameters, according to `has`. One congestion control is also
    /// that of workloads for which `has_default_congestion` is true.
    ///
    /// # Errors
    /// Fails if no workload has the parameter of a flag.
    pub(crate) fn apply(
        &self,
        workloads: &mut [WorkloadSpec],
        has: impl Fn(&str, &str) -> bool,
        has_default_congestion: impl Fn(&WorkloadSpec) -> bool,
    ) -> anyhow::Result<()> {
        let is_default_taken =
            self.congestion.len() == 1 && workloads.iter().any(has_default_congestion);
        for given in self.given_flags() {
            let mut taken = given.flag == CONGESTION && is_default_taken;
            for workload in workloads.iter_mut() {
                let names = given.names.iter().find(|names| has(&workload.name, names[0]));
                let set = names.into_iter().flat_map(|names| names.iter());
                let set: Parameters =
                    set.map(|name| ((*name).to_owned(), given.value.clone())).collect();
                taken |= !set.is_empty();
                workload.parameters.extend(set);
            }
            if !taken {
                return Err(usage_error(anyhow::anyhow!(
                    "--{}: no workload of this run has this parameter: see `tare list workloads`",
                    given.flag
                )));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn applied(arguments: &TrafficArguments) -> anyhow::Result<Vec<WorkloadSpec>> {
        let mut workloads: Vec<WorkloadSpec> = ["bulk", "rr"]
            .map(|name| WorkloadSpec { name: name.to_owned(), ..WorkloadSpec::default() })
            .into();
        let has = |workload: &str, name: &str| match workload {
            "bulk" => name == "size",
            _ => ["request", "response", "wait"].contains(&name),
        };
        arguments.apply(&mut workloads, has, |one| one.name == "rr").map(|()| workloads)
    }

    #[test]
    fn a_flag_goes_to_whoever_has_its_parameter() {
        let flags = |size: &[&str]| TrafficArguments {
            size: size.iter().map(|one| (*one).to_owned()).collect(),
            wait: vec!["spin".to_owned()],
            ..TrafficArguments::default()
        };
        let workloads = applied(&flags(&["64"])).unwrap();
        assert_eq!(workloads[0].parameters, [("size".to_owned(), json!("64"))].into());
        let rr = &workloads[1].parameters;
        assert_eq!(
            (&rr["request"], &rr["response"], &rr["wait"]),
            (&json!("64"), &json!("64"), &json!("spin"))
        );
        let swept = applied(&flags(&["64", "1400"])).unwrap();
        assert_eq!(swept[0].parameters["size"], json!(["64", "1400"]));
    }

    #[test]
    fn a_flag_that_nobody_has_is_an_error() {
        let flags = TrafficArguments { gso: true, ..TrafficArguments::default() };
        assert!(applied(&flags).unwrap_err().to_string().starts_with("--gso: no workload"));
    }

    #[test]
    fn one_congestion_control_is_that_of_programs_which_choose_none() {
        let flags = |names: &[&str]| TrafficArguments {
            congestion: names.iter().map(|one| (*one).to_owned()).collect(),
            ..TrafficArguments::default()
        };
        let workloads = applied(&flags(&["reno"])).unwrap();
        assert!(workloads.iter().all(|one| one.parameters.is_empty()), "{workloads:?}");
        let refused = applied(&flags(&["cubic", "reno"])).unwrap_err().to_string();
        assert!(refused.starts_with("--congestion: no workload"), "{refused}");
    }
}
