//! Containers of Docker Engine 29 in gVisor's sandbox: its own network stack is on the path, and its CPU time is told.

use super::networks::assert_measured;
use support::counts::program_time;
use support::engine::release::{Engine29, Iptables, program};
use support::engine::runtime::runtime_flag;
use support::shared::SharedResource as _;
use support::{ScratchDirectory, hops};

const KERNEL: &str = "sandbox-kernel";

pub(crate) fn the_stack_of_gvisor_is_a_hop_with_its_time() {
    let scratch = ScratchDirectory::new();
    let runsc = program("runsc");
    let command = format!("{} --platform=systrap --ignore-cgroups", runsc.display());
    let engine = Engine29::<Iptables>::with(&[&runtime_flag(&scratch, "gvisor", &command)]);
    let before = engine.inventory();
    let network = "docker:bridge+runtime=gvisor";
    let document = engine.run_once(network, &[]);
    assert_measured(&document, &[network]);
    let path = hops(&document, network);
    let ends = [path.first(), path.last()].map(|hop| hop.cloned().unwrap_or_default());
    assert_eq!(ends, ["client-0", "server-0"].map(|place| format!("{place}:{KERNEL}")), "{path:?}");
    assert!(program_time(&engine.scratch().path(network), KERNEL) > 0, "{document}");
    assert_eq!(engine.inventory(), before);
}
