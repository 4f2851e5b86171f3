//! What tells one machine from others of its kind, taken out of a journal.

use tare_record::journal::{Journal, Record};
use tare_record::{Environment, Failure};

/// Stands where something was taken out.
const GONE: &str = "redacted";

/// The journal without what tells this machine, its owner or its place from others of its kind: names of its devices,
/// who built its kernel and when, the time of day, and every path. What moves a figure stays, and so does every figure.
#[must_use]
pub fn redact(mut journal: Journal) -> Journal {
    environment(&mut journal.run.environment);
    for skipped in &mut journal.run.plan.skipped {
        skipped.reason = without_paths(&skipped.reason);
        skipped.remedy = without_paths(&skipped.remedy);
    }
    for record in &mut journal.records {
        match record {
            Record::Failure(Failure { reason, remedy, .. }) => {
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
    environment.kernel_build = GONE.to_owned();
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

/// The beginning of the day of a time in RFC 3339.
fn day(time: &str) -> String {
    time.split('T').next().map_or_else(String::new, |day| format!("{day}T00:00:00Z"))
}

/// The text with every word that is a path, or names one after a sign, without it.
fn without_paths(text: &str) -> String {
    let is_path = |word: &str| word.split(['=', '\'', '"', '(', '`', ':']).any(starts_like_a_path);
    let words = text.split(' ').map(|word| if is_path(word) { GONE } else { word });
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
        assert_eq!(without_paths("--out=/tmp/x"), GONE);
        assert_eq!(without_paths("studies/mine.toml"), GONE);
        for kept in ["CLIENT/SERVER", "0-1/2-3", "10 Gbit/s", "rmem_max/wmem_max", "a, b"] {
            assert_eq!(without_paths(kept), kept);
        }
        assert_eq!(day("2026-11-21T18:00:00Z"), "2026-11-21T00:00:00Z");
    }
}
