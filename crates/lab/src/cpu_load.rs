//! CPU load that runs on the nodes beside the traffic: processes that only compute.

use std::hint::black_box;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio as Stream};
use std::sync::Arc;
use tare_network::{Background, Error, INTERNAL, Shape, Stdio};
use tare_sandbox::{Namespace, Sandbox, SandboxProcess, TARE};

/// Starts the background load of a shape, spread over its nodes. Dropping the processes ends them.
pub(crate) fn start(
    sandbox: &Sandbox,
    shape: &Shape,
    nodes: &[Arc<Namespace>],
) -> Result<Vec<SandboxProcess>, Error> {
    let Some(text) = &shape.background else { return Ok(Vec::new()) };
    let background: Background =
        text.parse().map_err(|why: String| Error::new("parse the background load", why))?;
    let start_one = |index: u32| {
        let node = nodes.get(index as usize % nodes.len().max(1)).cloned();
        let mut command = Command::new(TARE);
        command.arg0("tare").args([INTERNAL, "cpu-load"]).process_group(0);
        command.stdin(Stream::null()).stdout(Stream::null());
        sandbox.start_process(command, node, None, Stdio::Piped)
    };
    (0..background.cpu).map(start_one).collect()
}

/// Computes until it is killed. This is the program behind `tare internal cpu-load`.
pub fn burn_cpu() -> ! {
    // Knuth's multiplier (MMIX): neither a compiler nor a CPU can shorten the computation.
    const MULTIPLIER: u64 = 6_364_136_223_846_793_005;
    let mut number = 1_u64;
    loop {
        number = black_box(number.wrapping_mul(MULTIPLIER).wrapping_add(1));
    }
}
