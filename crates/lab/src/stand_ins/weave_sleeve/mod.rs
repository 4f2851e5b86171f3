//! Role `weave-sleeve`: a stand-in for Weave Net's router in its sleeve mode, for machines without `weaver`.
//!
//! One process on each node takes the frames that a bridge sends to its device, and carries them to the other nodes in
//! UDP. A packet holds as many frames as are waiting and fit, each preceded by the names of the two nodes. With a key,
//! the frames of a packet are encrypted together (NaCl's secretbox: XSalsa20 and Poly1305). The process learns the node
//! of an address from the frames that arrive. Source: weaveworks/weave, `router/sleeve.go`, `router/crypto.go`,
//! `docs/router-encapsulation.md`.
//!
//! It reproduces the path of packets only. The other nodes and the key are arguments. Weave's gossip, its session keys
//! for each pair of nodes, its replay window and its search for the path MTU are left out. It prints `ready` when it
//! receives, and runs until it is killed.

mod arguments;
mod forward;
mod frames;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod seal;

use crate::stand_ins::process_name::set_process_name;
use arguments::Arguments;
pub(crate) use arguments::{SleeveArguments, command_line};
use std::ffi::OsString;
use std::io::Write;
use tare_network::Error;

/// Name of the process, by which its CPU time and its sockets are reported.
pub(crate) const PROCESS_NAME: &str = "tare-sleeve";

/// Line that it prints when it receives.
pub(crate) const READY: &str = "ready";

/// UDP port of Weave Net's sleeve mode.
pub(crate) const PORT: u16 = 6783;

/// Runs the role with its arguments (those after `weave-sleeve`). Returns only if it fails.
///
/// # Errors
/// Fails if an argument is missing or invalid, if the address cannot be bound, or if the device does not exist or
/// disappears.
pub fn sleeve(arguments: impl IntoIterator<Item = OsString>) -> Result<(), Error> {
    set_process_name(PROCESS_NAME);
    let words: Vec<OsString> = arguments.into_iter().collect();
    let words: Option<Vec<&str>> = words.iter().map(|word| word.to_str()).collect();
    let arguments = words.and_then(|words| Arguments::parse(&words)).ok_or_else(usage)?;
    let failed = |error: std::io::Error| {
        Error::new(format!("forward the frames of {} over UDP", arguments.device), error)
    };
    forward::forward(&arguments, ready).map_err(failed)
}

fn usage() -> Error {
    let why = "invalid arguments: expected --device D --name N --listen A:P --room BYTES --peer N=A:P .. [--key FILE]";
    Error::new("forward frames over UDP", why)
}

/// Prints that it receives.
fn ready() -> std::io::Result<()> {
    let mut output = std::io::stdout();
    writeln!(output, "{READY}")?;
    output.flush()
}
