//! Report of a container about its network, written by tare's own binary inside: the role `netns-probe`.
//!
//! `tare internal netns-probe [--name NAME=ADDRESS]… [--listen ADDRESS | [--within MS] --dial ADDRESS | --count PLACE |
//! --service-proxy ADDRESS | --wire ADDRESS,ADDRESS]` prints one line of JSON. With `--listen` it prints another line for
//! every connection that it accepts, and ends with its input. So tare verifies that packets pass, and by which devices,
//! before anything is measured, without any program of the image. With `--count` it prints a line of counters for every
//! line that it reads. With `--service-proxy` it asks kube-proxy for its mode. With `--wire` it prints a line when the
//! capture begins, counts encrypted and readable packets on the node's devices until its input ends, and prints the
//! counts.

#![forbid(unsafe_code)]

mod capture;
mod connection;
mod counters;
mod namespace_snapshot;
mod service_proxy;
mod snapshot;
mod subcommand;
mod tracking;

pub use namespace_snapshot::take_snapshot;
pub use snapshot::{DeviceSnapshot, NetnsCounters, NetnsSnapshot, UnderlayCounts};
pub use subcommand::run_netns_probe;

use std::time::Duration;
use tare_network::scaled_timeout;

/// Timeout of a report. A lost connection request is sent again after a second, and an IPv6 address is usable one or
/// two seconds after it was assigned (RFC 4862, 5.4).
const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(20);

/// Returns the timeout of a report on this machine.
pub fn snapshot_timeout() -> Duration {
    scaled_timeout(SNAPSHOT_TIMEOUT)
}

/// Parses one line of a report.
///
/// # Errors
/// The line is not valid, or the program reports an error.
pub fn parse_snapshot(line: &str) -> Result<NetnsSnapshot, String> {
    let seen: NetnsSnapshot = serde_json::from_str(line)
        .map_err(|error| format!("invalid snapshot `{line}`: {error}"))?;
    match seen.error {
        Some(why) => Err(why),
        None => Ok(seen),
    }
}
