//! Words that a redacted archive may keep: those that tare itself says, numbers, and placeholders.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Words of the program's own texts and built-in studies, one a line (`cargo xtask messages`).
static WORDS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("vocabulary.txt").lines().collect());

/// Kinds of namespaces of a trial, which are numbered: `client-0`.
const PLACES: [&str; 4] = ["client", "node", "overlay", "server"];

/// Returns true if tare itself says this word, or if it is a number.
pub(super) fn is_public(word: &str) -> bool {
    WORDS.contains(word) || is_number(word) || is_numbered(word, &PLACES) || is_versioned(word)
}

/// Returns true for a word of tare's with a version, such as `iproute2-6.1.0`.
fn is_versioned(word: &str) -> bool {
    let split = word.rsplit_once('-');
    split.is_some_and(|(name, version)| {
        WORDS.contains(name) && version.contains('.') && is_number(version)
    })
}

/// Returns true for one of these kinds with a number, such as `client-0`.
pub(super) fn is_numbered(word: &str, kinds: &[&str]) -> bool {
    word.rsplit_once('-').is_some_and(|(kind, number)| {
        kinds.contains(&kind) && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
    })
}

/// Returns true for a number with its unit, a range of numbers or a version: `100mbit`, `2.5`, `0-1/2-3`, `1.7.1`. Four
/// numbers with dots between them are an address.
fn is_number(word: &str) -> bool {
    let word = word.strip_prefix(['-', '+', 'v']).unwrap_or(word);
    let digits = word.bytes().take_while(|byte| byte.is_ascii_digit()).count();
    let end = word.trim_start_matches(|c: char| c.is_ascii_digit() || ".-/%".contains(c));
    let is_unit = end.len() <= 6 && end.bytes().all(|byte| byte.is_ascii_alphabetic());
    digits > 0 && is_unit && word.matches('.').count() != 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_public_and_addresses_are_not() {
        for public in [
            "7",
            "100mbit",
            "2.5",
            "-0.3",
            "0-1/2-3",
            "1.7.1",
            "v2.0",
            "12ms",
            "client-0",
            "iproute2-6.1.0",
        ] {
            assert!(is_public(public), "{public}");
        }
        for private in [
            "10.1.2.3",
            "192.168.0.1/24",
            "fe80::1",
            "02:42:ac:11:00:02",
            "db-7",
            "7f3a9c0d12ef",
            "",
        ] {
            assert!(!is_public(private), "{private}");
        }
    }

    #[test]
    fn the_words_of_messages_and_the_names_of_networks_are_public() {
        for public in ["cannot", "open", "docker", "bridge", "vxlan-encrypted", "tcp-rr", "eth0"] {
            assert!(is_public(public), "{public}");
        }
        for private in ["/home/me", "build-box.lan", "alice", "/var/run/docker.sock"] {
            assert!(!is_public(private), "{private}");
        }
    }
}
