//! What a container sees of its network, told by tare's own binary inside: the hidden subcommand `look`.
//!
//! `tare look [--name NAME=ADDRESS]… [--listen ADDRESS | --dial ADDRESS | --count PLACE]` prints one line of JSON. One that
//! listens prints another line for every connection that comes, and ends with its input. So a place proves that packets pass,
//! and by which devices, before anything is measured; it needs no program of the image's. One that counts prints a line of
//! counters for every line that it reads.

mod counting;
mod seen;
mod wire;
mod within;

#[cfg(test)]
pub(crate) use seen::DeviceSeen;
pub(crate) use seen::{Counted, Seen, Wire};
pub use within::look;
pub(crate) use within::seen as here;

use crate::exec::{Exec, Lines};
use crate::patience::patience;
use std::time::Duration;

/// How long a look may take: a connection request that is lost is sent again after a second, and an IPv6 address is
/// usable one or two seconds after it was given (RFC 4862, 5.4).
const PATIENCE: Duration = Duration::from_secs(20);

/// The same on this machine.
pub(crate) fn limit() -> Duration {
    patience(PATIENCE)
}

/// Reads what a look saw, to its end.
pub(crate) async fn read(exec: Exec) -> Result<Seen, String> {
    // Its input stays open until it has spoken.
    let Exec { output, input, .. } = exec;
    let mut lines = Lines::of(output);
    let line = lines.next(limit()).await?;
    drop(input);
    parse(&line)
}

/// Reads one line of a look; what it could not do is an error.
pub(crate) fn parse(line: &str) -> Result<Seen, String> {
    let seen: Seen = serde_json::from_str(line).map_err(|error| format!("{error}: {line}"))?;
    match seen.error {
        Some(why) => Err(why),
        None => Ok(seen),
    }
}
