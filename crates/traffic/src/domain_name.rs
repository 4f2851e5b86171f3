//! Domain names (RFC 1035, section 2.3.4), always absolute: no search list of a resolver is applied.

use std::fmt;
use std::str::FromStr;

/// Longest label, bytes.
const LONGEST_LABEL: usize = 63;

/// Longest name, characters: 255 bytes as labels with their lengths, and the root's.
const LONGEST_NAME: usize = 253;

/// Absolute domain name of letters, digits, `-` and `_`. `_` is common in names of services (RFC 2782).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DomainName(String);

/// Error of a text that is no domain name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DomainNameError;

impl DomainName {
    /// Appends the name as a message has it: each label after its length, and the root.
    pub(crate) fn write_labels(&self, message: &mut Vec<u8>) {
        for label in self.0.split('.') {
            // A label has at most 63 bytes.
            message.push(label.len() as u8);
            message.extend_from_slice(label.as_bytes());
        }
        message.push(0);
    }
}

impl FromStr for DomainName {
    type Err = DomainNameError;

    fn from_str(text: &str) -> Result<Self, DomainNameError> {
        let name = text.strip_suffix('.').unwrap_or(text);
        let is_character = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let is_label = |label: &str| {
            (1..=LONGEST_LABEL).contains(&label.len()) && label.bytes().all(is_character)
        };
        let is_valid = name.len() <= LONGEST_NAME && name.split('.').all(is_label);
        if is_valid { Ok(Self(name.to_owned())) } else { Err(DomainNameError) }
    }
}

/// The name without the root's dot.
impl fmt::Display for DomainName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_labels_of_bounded_length() {
        for name in ["server-0", "_dns._udp.example.com", "a.b.", &"x".repeat(63)] {
            let read: DomainName = name.parse().unwrap();
            assert_eq!(read.to_string(), name.trim_end_matches('.'));
        }
        let long = vec!["x".repeat(50); 5].join(".");
        for name in ["", ".", "a..b", ".a", "a b", "ä.example", &"x".repeat(64), &long] {
            assert_eq!(name.parse::<DomainName>(), Err(DomainNameError), "{name}");
        }
    }

    #[test]
    fn labels_are_written_after_their_lengths() {
        let mut message = Vec::new();
        "www.example.com.".parse::<DomainName>().unwrap().write_labels(&mut message);
        assert_eq!(message, b"\x03www\x07example\x03com\x00");
    }
}
