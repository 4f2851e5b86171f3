//! Limits of what tools can be asked for, and the figures of a task that all of them need.

use tare_traffic::{Error, TrialTask, WorkloadRequest};

/// Name of the parameter with the address of an existing server.
pub(crate) const EXISTING_SERVER: &str = "server";

/// Returns the task's duration in whole seconds, rounded up, at least 1.
pub(crate) fn whole_seconds(task: &TrialTask) -> u64 {
    task.duration.0.div_ceil(1_000_000_000).max(1)
}

/// Returns the address that a client dials. Fails if the task has none.
pub(crate) fn dialled_address(task: &TrialTask) -> Result<std::net::SocketAddr, Error> {
    let first = task.addresses.first().copied();
    first.ok_or_else(|| {
        Error::Job("the task has no address to listen on or to connect to".to_owned())
    })
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
