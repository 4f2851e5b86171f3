//! Proof that a cluster enforces network policies: a policy that admits nobody keeps the client out, and the same policy,
//! once it admits the client, lets it in. Without that, an object of the API that no plugin looks at would be measured.

use super::RaisedNetwork;
use crate::path_proof::ListeningProbe;
use crate::running_pod::RunningPod;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};
use tare_network::{Error, Family, scaled_timeout};

/// Time within which a plugin must have done what policies say.
const ENFORCEMENT_TIMEOUT: Duration = Duration::from_secs(30);

/// Pause between two attempts to connect.
const PAUSE: Duration = Duration::from_millis(100);

/// Creates the policies of a network that has been raised, and proves that they are enforced. Those of an earlier block
/// stay.
///
/// # Errors
/// The cluster refuses a policy, does not enforce it, or goes on to keep the client out.
pub(super) fn enforce_policies(
    raised: &RaisedNetwork,
    count: u16,
    family: Family,
) -> Result<(), Error> {
    let policies = &raised.deployment.policies;
    let Some(route) = raised.routes.first().filter(|_| !policies.admit_clients()) else {
        return Ok(());
    };
    let client = &raised.clients[route.client];
    let mut server = ListeningProbe::start(&raised.servers[route.server], route.listen)?;
    policies.create(count, family)?;
    await_refusal(&mut server, client, route.dial)?;
    policies.let_clients_in()?;
    await_admission(&mut server, client, route.dial)
}

fn await_refusal(
    server: &mut ListeningProbe,
    client: &RunningPod,
    address: SocketAddr,
) -> Result<(), Error> {
    if await_reach(server, client, address, |is_reached| !is_reached)? {
        return Ok(());
    }
    let seconds = ENFORCEMENT_TIMEOUT.as_secs();
    Err(Error::new(
        "prove that the cluster enforces network policies",
        format!(
            "{seconds} s after a NetworkPolicy that admits nobody, {} still reaches {address}",
            client.member
        ),
    )
    .with_remedy("install a network plugin that enforces NetworkPolicies, or omit k8s:policy"))
}

fn await_admission(
    server: &mut ListeningProbe,
    client: &RunningPod,
    address: SocketAddr,
) -> Result<(), Error> {
    if await_reach(server, client, address, |is_reached| is_reached)? {
        return Ok(());
    }
    let seconds = ENFORCEMENT_TIMEOUT.as_secs();
    Err(Error::new(
        format!("reach {address} from the pod {}", client.name),
        format!("{seconds} s after a NetworkPolicy that admits it, it is still kept out"),
    )
    .with_remedy(
        "see whether another NetworkPolicy of the namespace or a firewall keeps these pods apart",
    ))
}

/// Waits until a client reaches its server as it should. Returns false if it does not in time.
fn await_reach(
    server: &mut ListeningProbe,
    client: &RunningPod,
    address: SocketAddr,
    is_wanted: fn(bool) -> bool,
) -> Result<bool, Error> {
    let deadline = Instant::now() + scaled_timeout(ENFORCEMENT_TIMEOUT);
    loop {
        if is_wanted(server.is_reached_from(client, address)?) {
            return Ok(true);
        }
        if Instant::now() >= deadline {
            return Ok(false);
        }
        thread::sleep(PAUSE);
    }
}
