//! Limits of what tools can be asked for, and the figures of a task that all of them need.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use tare_traffic::{Error, TrialTask, WorkloadRequest};

/// Name of the parameter with the address of an existing server.
pub(crate) const EXISTING_SERVER: &str = "server";

/// Returns the task's duration in whole seconds, rounded up, at least 1.
pub(crate) fn whole_seconds(task: &TrialTask) -> u64 {
    task.duration.0.div_ceil(1_000_000_000).max(1)
}

/// Returns the address that a client dials. Fails if the task has none.
pub(crate) fn dialled_address(task: &TrialTask) -> Result<SocketAddr, Error> {
    let first = task.addresses.first().copied();
    first.ok_or_else(|| {
        Error::Job("the task has no address to listen on or to connect to".to_owned())
    })
}

/// Returns the address on which a server listens for all its clients: its own one, or every address of its namespace
/// if its clients reach it at several (over `veth` each client has a device pair of its own). Many programs bind one
/// address only. Fails if the task has none.
pub(crate) fn listen_address(task: &TrialTask) -> Result<SocketAddr, Error> {
    let first = dialled_address(task)?;
    if task.addresses.iter().all(|address| address.ip() == first.ip()) {
        return Ok(first);
    }
    let every: IpAddr = match first {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    Ok(SocketAddr::new(every, first.port()))
}

/// Checks that each client process has its own server and one flow.
pub(crate) fn require_one_flow(
    tool: &str,
    why_not_shared: &str,
    asked: &WorkloadRequest<'_>,
) -> Result<(), Error> {
    if asked.shape.flows > 1 {
        return unsupported(
            tool,
            "each client process has one flow: use tcp-stream or iperf3 for more flows",
        );
    }
    require_server_per_client(tool, why_not_shared, asked)
}

/// Checks that each client process has its own server.
pub(crate) fn require_server_per_client(
    tool: &str,
    why_not_shared: &str,
    asked: &WorkloadRequest<'_>,
) -> Result<(), Error> {
    if asked.client_processes() > asked.shape.servers {
        let what = format!("{why_not_shared}: use as many --servers as client processes");
        return unsupported(tool, &what);
    }
    Ok(())
}

/// Returns the error that a tool does not support something, with the remedy.
pub(crate) fn unsupported<O>(tool: &str, what: &str) -> Result<O, Error> {
    Err(Error::Job(format!("{tool}: {what}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::task_of;

    #[test]
    fn a_server_that_is_reached_at_several_addresses_listens_on_all() {
        let listen = |addresses: &[&str]| {
            let addresses = addresses.iter().map(|one| one.parse().unwrap()).collect();
            let task = task_of("mysql", addresses);
            listen_address(&task).map(|address| address.to_string()).ok()
        };
        assert_eq!(listen(&[]), None);
        let two_ports = ["192.0.2.1:80", "192.0.2.1:81"];
        assert_eq!(listen(&two_ports), Some("192.0.2.1:80".to_owned()));
        assert_eq!(listen(&["192.0.2.1:80", "192.0.2.5:80"]), Some("0.0.0.0:80".to_owned()));
        assert_eq!(listen(&["[2001:db8::1]:80", "[2001:db8::5]:80"]), Some("[::]:80".to_owned()));
    }
}
