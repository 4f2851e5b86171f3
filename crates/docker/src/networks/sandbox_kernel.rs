//! Kernel of a sandbox (gVisor, Kata) on the path: its own network stack carries the traffic of the container.

use super::layout::NetworkLayout;
use super::machine::MachineSnapshot;
use crate::engine_resources::EngineResources;
use tare_network::{Error, Hop, HopKind};

/// Name of the hop.
pub(super) const SANDBOX_KERNEL: &str = "sandbox-kernel";

/// Returns the hops of a path, with the kernels of the containers at its ends where they are not the engine's.
///
/// # Errors
/// A container's kernel cannot be asked.
pub(super) fn with_sandbox_kernels(
    work: &EngineResources,
    laid: &NetworkLayout,
    hops: Vec<Hop>,
    engine_kernel: Option<&str>,
) -> Result<Vec<Hop>, Error> {
    let kernel = |container, place: &str| -> Result<Option<Hop>, Error> {
        let seen = MachineSnapshot::snapshot_container(work, container)?;
        Ok(seen.kernel.and_then(|kernel| sandbox_hop(&kernel, engine_kernel, place)))
    };
    let client = laid.clients.first().map(|one| kernel(&one.container, "client-0")).transpose()?;
    let server = laid.servers.first().map(|one| kernel(&one.container, "server-0")).transpose()?;
    Ok(client.flatten().into_iter().chain(hops).chain(server.flatten()).collect())
}

/// Returns the hop of a container's kernel. Returns `None` if it is the engine's.
fn sandbox_hop(kernel: &str, engine_kernel: Option<&str>, place: &str) -> Option<Hop> {
    let is_own = engine_kernel.is_some_and(|engine| engine != kernel);
    is_own.then(|| {
        Hop::new(HopKind::Forwarder, SANDBOX_KERNEL, place)
            .with_detail(format!("network stack of a kernel that says it is {kernel}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_kernel_of_its_own_is_a_hop() {
        let hop = |kernel: &str, engine| sandbox_hop(kernel, engine, "client-0");
        assert_eq!(hop("6.1.0", Some("6.1.0")), None);
        assert_eq!(hop("4.4.0", None), None);
        let own = hop("4.4.0", Some("6.1.0")).unwrap();
        assert_eq!((own.name.as_str(), own.place.as_str()), ("sandbox-kernel", "client-0"));
    }
}
