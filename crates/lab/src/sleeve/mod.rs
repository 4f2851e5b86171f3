//! The hidden subcommand `sleeve`: what Weave Net's router does in its sleeve mode, for machines that have no `weaver`.
//!
//! On each node one process takes the frames that a bridge sends to its device, and carries them to the other nodes in UDP:
//! as many frames in one packet as wait and fit, each with the names of the two nodes before it. With a key a packet's
//! frames are sealed together (NaCl's secretbox, XSalsa20 and Poly1305). It learns behind which node an address is from
//! where frames come. Source: weaveworks/weave, `router/sleeve.go`, `router/crypto.go`, `docs/router-encapsulation.md`.
//!
//! It stands for the path of packets alone. Who the other nodes are and the key it is told; Weave's gossip, its session keys
//! for each pair of nodes, its replay window and its search for the path's MTU are left out. It says `ready` when it listens,
//! and runs until it is killed.

mod arguments;
mod forward;
mod frames;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod seal;

use arguments::Arguments;
pub(crate) use arguments::{Told, words};
use std::ffi::OsString;
use std::io::Write;
use tare_network::Error;

/// What it prints when it listens.
pub(crate) const READY: &str = "ready";

/// The port of Weave Net's.
pub(crate) const PORT: u16 = 6783;

/// Runs the subcommand with its arguments (those after `sleeve`); returns only when it fails.
///
/// # Errors
/// Bad arguments, an address that cannot be listened on, a device that is not there or goes.
pub fn sleeve(arguments: impl IntoIterator<Item = OsString>) -> Result<(), Error> {
    let words: Vec<OsString> = arguments.into_iter().collect();
    let words: Option<Vec<&str>> = words.iter().map(|word| word.to_str()).collect();
    let arguments = words.and_then(|words| Arguments::read(&words)).ok_or_else(usage)?;
    let failed = |error: std::io::Error| {
        Error::new(format!("carry the frames of {} in UDP", arguments.device), error)
    };
    forward::forward(&arguments, ready).map_err(failed)
}

fn usage() -> Error {
    let why = "the arguments are --device D --name N --listen A:P --room BYTES --peer N=A:P .. [--key FILE]";
    Error::new("carry frames in UDP", why)
}

/// Says that it listens.
fn ready() -> std::io::Result<()> {
    let mut output = std::io::stdout();
    writeln!(output, "{READY}")?;
    output.flush()
}
