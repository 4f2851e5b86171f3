//! Role `netns-probe`, which runs in the container: its arguments, and what each of them asks for.

use super::capture::UnderlayCapture;
use super::connection::{CONNECT_TIMEOUT, dial, listen};
use super::counters;
use super::namespace_snapshot::take_snapshot;
use super::service_proxy::read_proxy_mode;
use super::snapshot::{NetnsSnapshot, UnderlayCounts, write_snapshot};
use std::fs;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tare_network::Error;

/// Runs the role with its arguments (those after `netns-probe`).
///
/// # Errors
/// Fails if an argument is wrong, or if standard output is closed. A failed connection is reported in the output, and
/// is no error.
pub fn run_netns_probe(arguments: impl IntoIterator<Item = String>) -> Result<(), Error> {
    let mut arguments = arguments.into_iter();
    let mut task = Ok(SnapshotRequest::Look);
    let mut patience = CONNECT_TIMEOUT;
    while let (Some(flag), Some(value)) = (arguments.next(), arguments.next()) {
        let address = || value.parse::<SocketAddr>().map_err(|_| usage());
        match flag.as_str() {
            "--name" => add_host(&value)?,
            "--within" => patience = parse_milliseconds(&value)?,
            "--listen" => task = address().map(SnapshotRequest::Listen),
            "--dial" => task = address().map(SnapshotRequest::Dial),
            "--service-proxy" => task = address().map(SnapshotRequest::ServiceProxy),
            "--count" => task = Ok(SnapshotRequest::Count(value)),
            "--wire" => {
                task = parse_pair(&value).map(|(one, other)| SnapshotRequest::Wire(one, other));
            }
            _ => return Err(usage()),
        }
    }
    match task? {
        SnapshotRequest::Look => write_snapshot(&take_snapshot()),
        SnapshotRequest::Listen(address) => listen(address),
        SnapshotRequest::Dial(address) => write_snapshot(&dial(address, patience)),
        SnapshotRequest::ServiceProxy(address) => {
            let service_proxy = read_proxy_mode(address).ok().flatten();
            write_snapshot(&NetnsSnapshot { service_proxy, ..NetnsSnapshot::default() })
        }
        SnapshotRequest::Count(place) => counters::report_counters(&place),
        SnapshotRequest::Wire(one, other) => capture(one, other),
    }
}

/// Request of a call to the subcommand.
enum SnapshotRequest {
    Look,
    Listen(SocketAddr),
    Dial(SocketAddr),
    ServiceProxy(SocketAddr),
    Count(String),
    Wire(IpAddr, IpAddr),
}

fn parse_milliseconds(value: &str) -> Result<Duration, Error> {
    value.parse().map(Duration::from_millis).map_err(|_| usage())
}

/// Parses two addresses with a comma between.
fn parse_pair(value: &str) -> Result<(IpAddr, IpAddr), Error> {
    let (one, other) = value.split_once(',').ok_or_else(usage)?;
    Ok((one.parse().map_err(|_| usage())?, other.parse().map_err(|_| usage())?))
}

fn usage() -> Error {
    Error::new(
        "run `tare internal netns-probe`",
        "invalid arguments: expected --name NAME=ADDRESS, --listen ADDRESS:PORT, --within MILLISECONDS, --dial ADDRESS:PORT, --service-proxy ADDRESS:PORT, --count PLACE or --wire ADDRESS,ADDRESS",
    )
}

/// Adds a name to the hosts file.
fn add_host(value: &str) -> Result<(), Error> {
    let (name, address) = value.split_once('=').ok_or_else(usage)?;
    let address: IpAddr = address.parse().map_err(|_| usage())?;
    fs::OpenOptions::new()
        .append(true)
        .open("/etc/hosts")
        .and_then(|mut file| writeln!(file, "{address}\t{name}"))
        .map_err(|error| Error::new("write /etc/hosts", error))
}

/// Counts packets that pass the devices while two containers communicate, from its first line of output until standard
/// input ends.
fn capture(one: IpAddr, other: IpAddr) -> Result<(), Error> {
    let tap = match UnderlayCapture::open(one, other) {
        Ok(tap) => tap,
        Err(error) => {
            return write_snapshot(&NetnsSnapshot {
                error: Some(error.to_string()),
                ..NetnsSnapshot::default()
            });
        }
    };
    write_snapshot(&NetnsSnapshot::default())?;
    let counted = Arc::new(Mutex::new(UnderlayCounts::default()));
    let shared = Arc::clone(&counted);
    std::thread::spawn(move || {
        let (mut so_far, mut buffer) = (UnderlayCounts::default(), Vec::new());
        while tap.count_packet(&mut so_far, &mut buffer).is_ok() {
            *shared.lock().unwrap_or_else(PoisonError::into_inner) = so_far;
        }
    });
    let _ = io::stdin().read_to_end(&mut Vec::new());
    let wire = *counted.lock().unwrap_or_else(PoisonError::into_inner);
    write_snapshot(&NetnsSnapshot { wire: Some(wire), ..NetnsSnapshot::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_that_is_no_address_is_refused() {
        assert!(run_netns_probe(["--dial".to_owned(), "nowhere".to_owned()]).is_err());
    }
}
