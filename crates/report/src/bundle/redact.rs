//! Redaction of a journal: removes everything that distinguishes one machine from others of its kind.

use tare_record::journal::{Journal, Record};
use tare_record::{Environment, NetworkFailure};

/// Text that replaces a removed path or name.
const REDACTED: &str = "redacted";

/// Removes from a journal everything that distinguishes this machine, its owner or its location: the names of its
/// devices, the builder of its kernel and the build time, the time of day, and every path. Everything that affects a
/// figure stays, and so does every figure.
#[must_use]
pub fn redact(mut journal: Journal) -> Journal {
    environment(&mut journal.run.environment);
    for skipped in &mut journal.run.plan.skipped {
        skipped.reason = without_paths(&skipped.reason);
        skipped.remedy = without_paths(&skipped.remedy);
    }
    for record in &mut journal.records {
        match record {
            Record::Failure(NetworkFailure { reason, remedy, .. }) => {
                *reason = without_paths(reason);
                *remedy = without_paths(remedy);
            }
            Record::Resumed(resumed) => resumed.time = day(&resumed.time),
            _ => {}
        }
    }
    journal
}

fn environment(environment: &mut Environment) {
    environment.kernel_build = REDACTED.to_owned();
    environment.time = day(&environment.time);
    for (at, device) in environment.devices.iter_mut().enumerate() {
        device.name = format!("device-{at}");
    }
    for word in &mut environment.command {
        *word = without_paths(word);
    }
    for version in environment.programs.values_mut() {
        *version = without_paths(version);
    }
}

/// Returns midnight of the day of an RFC 3339 time.
fn day(time: &str) -> String {
    time.split('T').next().map_or_else(String::new, |day| format!("{day}T00:00:00Z"))
}

/// Replaces every word that is a path, or that contains one after a sign such as `=` or a quote.
fn without_paths(text: &str) -> String {
    let is_path = |word: &str| word.split(['=', '\'', '"', '(', '`', ':']).any(starts_like_a_path);
    let words = text.split(' ').map(|word| if is_path(word) { REDACTED } else { word });
    words.collect::<Vec<_>>().join(" ")
}

fn starts_like_a_path(part: &str) -> bool {
    let file = part.contains('/') && !part.contains("//");
    part.starts_with(['/', '~']) && part.len() > 1
        || part.starts_with("./")
        || part.starts_with("../")
        || file && part.ends_with(".toml")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_out_and_shares_are_not() {
        assert_eq!(without_paths("write /home/me/x: no room"), "write redacted no room");
        assert_eq!(without_paths("--out=/tmp/x"), REDACTED);
        assert_eq!(without_paths("studies/mine.toml"), REDACTED);
        for kept in ["CLIENT/SERVER", "0-1/2-3", "10 Gbit/s", "rmem_max/wmem_max", "a, b"] {
            assert_eq!(without_paths(kept), kept);
        }
        assert_eq!(day("2026-11-21T18:00:00Z"), "2026-11-21T00:00:00Z");
    }
}
