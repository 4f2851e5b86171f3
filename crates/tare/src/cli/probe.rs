//! Arguments of `tare listen` and `tare probe`.

use crate::remote_arguments::RemoteArguments;
use crate::traffic_flags::TrafficArguments;
use clap::Args;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use tare_probe::TrialPorts;
use tare_record::{Family, Metric, Placement};
use tare_study::{TimeSpan, WarmUpSpan};
use tare_traffic::OfferedLoad;

#[derive(Debug, Args)]
pub(crate) struct ListenArguments {
    /// Address to listen on: 0.0.0.0 for all IPv4 addresses, :: for all addresses. Addresses other than loopback
    /// require a token
    #[arg(long, value_name = "ADDR", default_value_t = Ipv4Addr::LOCALHOST.into())]
    pub(crate) bind: IpAddr,
    #[command(flatten)]
    pub(crate) remote: RemoteArguments,
    /// TCP and UDP ports of the traffic, for example 5300-5399 [default: any free port]
    #[arg(long, value_name = "FIRST-LAST")]
    pub(crate) ports: Option<TrialPorts>,

    /// Maximum duration of a trial [default: 1h]
    #[arg(long, value_name = "T", help_heading = "Limits")]
    pub(crate) max_duration: Option<TimeSpan>,
    /// Maximum offered load of all trials together, bits of payload per second; workloads that send as fast as they can
    /// are then rejected [default: no limit]
    #[arg(long, value_name = "RATE", help_heading = "Limits")]
    pub(crate) max_rate: Option<OfferedLoad>,
    /// Maximum number of concurrent clients [default: 16]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) max_clients: Option<u32>,
    /// Maximum number of concurrent flows of all clients [default: 1024]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) max_flows: Option<u32>,
    /// Maximum memory of the concurrent trials of all clients, MiB [default: 1024]
    #[arg(long, value_name = "MIB", help_heading = "Limits")]
    pub(crate) max_memory: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct ProbeArguments {
    /// Name or address of the other machine
    pub(crate) host: String,
    #[command(flatten)]
    pub(crate) remote: RemoteArguments,

    /// Workloads to run [default: tcp-stream,tcp-rr]
    #[arg(
        short,
        long = "workload",
        value_name = "NAME",
        value_delimiter = ',',
        help_heading = "Selection"
    )]
    pub(crate) workloads: Vec<String>,
    /// Metrics to report [default: all metrics of the workloads]
    #[arg(
        short,
        long = "metric",
        value_name = "NAME",
        value_delimiter = ',',
        help_heading = "Selection"
    )]
    pub(crate) metrics: Vec<Metric>,

    /// Number of flows (connections); several numbers are measured one after another
    #[arg(short, long, value_name = "N", value_delimiter = ',', help_heading = "Shape")]
    pub(crate) flows: Vec<u32>,
    /// IP family of the connections: ipv4, ipv6 [default: family of the first address that answers]
    #[arg(long, value_name = "FAMILY", help_heading = "Shape")]
    pub(crate) family: Option<Family>,
    /// Cores of the two sides: spread (half of the cores each), same (one core for both), free (chosen by the kernel),
    /// or CLIENT/LISTENER, for example 0-1/2-3 [default: free; spread if both are on one machine]
    #[arg(long, value_name = "PLACEMENT", help_heading = "Shape")]
    pub(crate) cpus: Option<Placement>,

    #[command(flatten)]
    pub(crate) traffic: TrafficArguments,

    /// Time during which payload flows in a trial [default: 10s]
    #[arg(short, long, value_name = "T", allow_hyphen_values = true, help_heading = "Method")]
    pub(crate) duration: Option<TimeSpan>,
    /// Length of the intervals in which a trial is recorded [default: 100ms]
    #[arg(long, value_name = "T", help_heading = "Method")]
    pub(crate) interval: Option<TimeSpan>,
    /// Warm-up to discard from each trial: auto (detected), or a time span
    #[arg(long, value_name = "auto|T", help_heading = "Method")]
    pub(crate) warmup: Option<WarmUpSpan>,
    /// Number of trials of each workload; two or more give a confidence interval
    #[arg(
        short,
        long,
        value_name = "K",
        default_value_t = 1,
        allow_negative_numbers = true,
        help_heading = "Method"
    )]
    pub(crate) blocks: u32,

    /// Directory for the journal and the results [default: none, nothing is stored]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    /// Print one JSON document instead of the table
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}
