//! The flags that are parameters of workloads, the same for `run` and `probe`: a list is a sweep.

use crate::exit::usage;
use clap::Args;
use serde_json::Value;
use tare_record::Parameters;
use tare_study::WorkloadStudy;

/// How the traffic is made. What a flag may be is the workload's to say: see `tare list workloads`.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Traffic")]
pub(crate) struct TrafficArguments {
    /// Threads that carry the flows of each side [default: as many as cores, no more than flows]
    #[arg(long, value_name = "N", value_delimiter = ',')]
    threads: Vec<String>,
    /// Payload bytes of a write, a datagram, or a request and a response
    #[arg(long, value_name = "BYTES", value_delimiter = ',')]
    size: Vec<String>,
    /// Bytes that a receiver of bulk asks the kernel for in one read
    #[arg(long, value_name = "BYTES", value_delimiter = ',')]
    read: Vec<String>,
    /// Payload bytes of a request
    #[arg(long, value_name = "BYTES", value_delimiter = ',')]
    request: Vec<String>,
    /// Payload bytes of a response
    #[arg(long, value_name = "BYTES", value_delimiter = ',')]
    response: Vec<String>,
    /// Which way bulk goes: up (client to server), down, both
    #[arg(long, value_name = "WAY", value_delimiter = ',')]
    direction: Vec<String>,
    /// How payload gets into the kernel: copy, vmsplice, sendfile
    #[arg(long, value_name = "HOW", value_delimiter = ',')]
    send: Vec<String>,
    /// What becomes of received payload: copy, drop
    #[arg(long, value_name = "HOW", value_delimiter = ',')]
    receive: Vec<String>,
    /// TCP congestion control of both ends [default: the host's]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    congestion: Vec<String>,
    /// TCP_NODELAY for bulk
    #[arg(long)]
    no_delay: bool,
    /// Bytes of each socket buffer [default: TCP, the kernel's own tuning; UDP, 8M]
    #[arg(long, value_name = "BYTES", value_delimiter = ',')]
    buffer: Vec<String>,
    /// Offered load of each client: bits of payload or datagrams per second, as in 200mbit or 50kpps
    #[arg(long, value_name = "RATE", value_delimiter = ',')]
    rate: Vec<String>,
    /// The most payload that each flow of bulk sends, as in 200mbit, paced by the kernel [default: as fast as it can]
    #[arg(long, value_name = "RATE", value_delimiter = ',')]
    pacing_rate: Vec<String>,
    /// Hand the kernel many datagrams as one (UDP GSO and GRO)
    #[arg(long)]
    gso: bool,
    /// The loss ratio that a search for the partial drop rate allows
    #[arg(long, value_name = "SHARE", value_delimiter = ',')]
    pdr: Vec<String>,
    /// How a thread waits for the other end: block, spin, busy-poll
    #[arg(long, value_name = "HOW", value_delimiter = ',')]
    wait: Vec<String>,
    /// Transactions per second of each client, whatever the network: latency counts from when each was due
    #[arg(long, value_name = "RATE", value_delimiter = ',')]
    open_loop: Vec<String>,
    /// Connections in progress at once in each flow's thread
    #[arg(long, value_name = "N", value_delimiter = ',')]
    slots: Vec<String>,
    /// How a connection is closed: fin, rst
    #[arg(long, value_name = "HOW", value_delimiter = ',')]
    close: Vec<String>,
    /// Tables of a database
    #[arg(long, value_name = "N", value_delimiter = ',')]
    tables: Vec<String>,
    /// Rows of each table of a database
    #[arg(long, value_name = "N", value_delimiter = ',')]
    rows: Vec<String>,
    /// How large pgbench's database is, in 100000 rows
    #[arg(long, value_name = "N", value_delimiter = ',')]
    scale: Vec<String>,
    /// What is asked of a server again and again, as redis's get and set, or qperf's tests
    #[arg(long, value_name = "WHICH", value_delimiter = ',')]
    operation: Vec<String>,
    /// A database or server that is there already, as 192.0.2.7:3306: none is started
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',')]
    server_address: Vec<String>,
}

/// Sets of parameters' names: of these, a flag sets the first that a workload has.
type Names = &'static [&'static [&'static str]];

/// A flag that was given.
struct Given {
    flag: &'static str,
    names: Names,
    value: Value,
}

impl TrafficArguments {
    /// What was given.
    fn given(&self) -> Vec<Given> {
        let lists: [(&'static str, Names, &[String]); 22] = [
            ("threads", &[&["threads"]], &self.threads),
            ("size", &[&["size"], &["request", "response"]], &self.size),
            ("read", &[&["read"]], &self.read),
            ("request", &[&["request"]], &self.request),
            ("response", &[&["response"]], &self.response),
            ("direction", &[&["direction"]], &self.direction),
            ("send", &[&["send"]], &self.send),
            ("receive", &[&["receive"]], &self.receive),
            ("congestion", &[&["congestion"]], &self.congestion),
            ("buffer", &[&["buffer"]], &self.buffer),
            ("rate", &[&["rate"]], &self.rate),
            ("pacing-rate", &[&["pacing_rate"]], &self.pacing_rate),
            ("pdr", &[&["pdr"]], &self.pdr),
            ("wait", &[&["wait"]], &self.wait),
            ("open-loop", &[&["open_loop"]], &self.open_loop),
            ("slots", &[&["slots"]], &self.slots),
            ("close", &[&["close"]], &self.close),
            ("tables", &[&["tables"]], &self.tables),
            ("rows", &[&["rows"]], &self.rows),
            ("scale", &[&["scale"]], &self.scale),
            ("operation", &[&["operation"]], &self.operation),
            ("server-address", &[&["server"]], &self.server_address),
        ];
        let switches: [(&'static str, Names, bool); 2] =
            [("no-delay", &[&["no_delay"]], self.no_delay), ("gso", &[&["gso"]], self.gso)];
        let listed = lists.into_iter().filter_map(|(flag, names, values)| {
            let value = match values {
                [] => return None,
                [one] => Value::from(one.as_str()),
                several => Value::from(several.to_vec()),
            };
            Some(Given { flag, names, value })
        });
        let switched = switches.into_iter().filter(|(.., on)| *on).map(|(flag, names, _)| Given {
            flag,
            names,
            value: Value::from(true),
        });
        listed.chain(switched).collect()
    }

    /// Lays the flags over the workloads that have such parameters, as `has` says.
    ///
    /// # Errors
    /// When none has.
    pub(crate) fn apply(
        &self,
        workloads: &mut [WorkloadStudy],
        has: impl Fn(&str, &str) -> bool,
    ) -> anyhow::Result<()> {
        for given in self.given() {
            let mut taken = false;
            for workload in workloads.iter_mut() {
                let names = given.names.iter().find(|names| has(&workload.name, names[0]));
                let set = names.into_iter().flat_map(|names| names.iter());
                let set: Parameters =
                    set.map(|name| ((*name).to_owned(), given.value.clone())).collect();
                taken |= !set.is_empty();
                workload.parameters.extend(set);
            }
            if !taken {
                return Err(usage(anyhow::anyhow!(
                    "--{}: none of the workloads has it; see `tare list workloads`",
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

    fn applied(arguments: &TrafficArguments) -> anyhow::Result<Vec<WorkloadStudy>> {
        let mut workloads: Vec<WorkloadStudy> = ["bulk", "rr"]
            .map(|name| WorkloadStudy { name: name.to_owned(), ..WorkloadStudy::default() })
            .into();
        let has = |workload: &str, name: &str| match workload {
            "bulk" => name == "size",
            _ => ["request", "response", "wait"].contains(&name),
        };
        arguments.apply(&mut workloads, has).map(|()| workloads)
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
        assert!(applied(&flags).unwrap_err().to_string().starts_with("--gso: none"));
    }
}
