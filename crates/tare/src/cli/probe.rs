//! What `tare listen` and `tare probe` take.

use crate::remote::RemoteArguments;
use crate::traffic_flags::TrafficArguments;
use clap::Args;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use tare_record::{Family, Metric, Placement};
use tare_study::{Span, WarmUpSpan};
use tare_traffic::Load;
use tare_traffic::probe::Ports;

#[derive(Debug, Args)]
pub(crate) struct ListenArguments {
    /// The address to listen on: 0.0.0.0 for all of IPv4, :: for all of both. Beyond this machine a token is needed
    #[arg(long, value_name = "ADDR", default_value_t = Ipv4Addr::LOCALHOST.into())]
    pub(crate) bind: IpAddr,
    #[command(flatten)]
    pub(crate) remote: RemoteArguments,
    /// Ports for the traffic itself, TCP and UDP, as in 5300-5399 [default: whatever is free]
    #[arg(long, value_name = "FIRST-LAST")]
    pub(crate) ports: Option<Ports>,

    /// The longest trial [default: 1h]
    #[arg(long, value_name = "T", help_heading = "Caps")]
    pub(crate) max_duration: Option<Span>,
    /// The most that all trials together may offer, bits of payload per second; workloads that go as fast as they can
    /// are refused then [default: no cap]
    #[arg(long, value_name = "RATE", help_heading = "Caps")]
    pub(crate) max_rate: Option<Load>,
    /// Clients at once [default: 16]
    #[arg(long, value_name = "N", help_heading = "Caps")]
    pub(crate) max_clients: Option<u32>,
    /// Flows of all clients at once [default: 1024]
    #[arg(long, value_name = "N", help_heading = "Caps")]
    pub(crate) max_flows: Option<u32>,
    /// Memory that the trials of all clients at once may ask for, MiB [default: 1024]
    #[arg(long, value_name = "MIB", help_heading = "Caps")]
    pub(crate) max_memory: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct ProbeArguments {
    /// The other machine: a name or an address
    pub(crate) host: String,
    #[command(flatten)]
    pub(crate) remote: RemoteArguments,

    /// Workloads [default: tcp-stream,tcp-rr]
    #[arg(
        short,
        long = "workload",
        value_name = "NAME",
        value_delimiter = ',',
        help_heading = "What"
    )]
    pub(crate) workloads: Vec<String>,
    /// Metrics, of those that the workloads measure
    #[arg(
        short,
        long = "metric",
        value_name = "NAME",
        value_delimiter = ',',
        help_heading = "What"
    )]
    pub(crate) metrics: Vec<Metric>,

    /// Flows (connections); several counts are measured one after another
    #[arg(short, long, value_name = "N", value_delimiter = ',', help_heading = "Shape")]
    pub(crate) flows: Vec<u32>,
    /// The IP family to reach the host by: ipv4, ipv6 [default: the first that answers]
    #[arg(long, value_name = "FAMILY", help_heading = "Shape")]
    pub(crate) family: Option<Family>,
    /// Cores of the two sides: spread, same, free, or CLIENT/LISTENER as in 0-1/2-3 [default: free; spread where both
    /// are on one machine]
    #[arg(long, value_name = "PLACEMENT", help_heading = "Shape")]
    pub(crate) cpus: Option<Placement>,

    #[command(flatten)]
    pub(crate) traffic: TrafficArguments,

    /// How long payload flows in a trial [default: 10s]
    #[arg(short, long, value_name = "T", allow_hyphen_values = true, help_heading = "Method")]
    pub(crate) duration: Option<Span>,
    /// How long an interval record is [default: 100ms]
    #[arg(long, value_name = "T", help_heading = "Method")]
    pub(crate) interval: Option<Span>,
    /// How the beginning of a trial is treated: found (auto), or this long discarded
    #[arg(long, value_name = "auto|T", help_heading = "Method")]
    pub(crate) warmup: Option<WarmUpSpan>,
    /// How many trials of each; two or more give an interval
    #[arg(
        short,
        long,
        value_name = "K",
        default_value_t = 1,
        allow_negative_numbers = true,
        help_heading = "Method"
    )]
    pub(crate) blocks: u32,

    /// A directory for the journal and the results; nothing is kept unless given
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    /// Print one JSON document instead of the table
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}
