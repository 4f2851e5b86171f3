//! Lines of a link. Each is complete in itself and has a checksum: a connection may begin and end within a line, and two
//! connections may be open for a while.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use flate2::Crc;

/// Longest payload of a line, bytes. A longer message is sent in several.
pub(crate) const MAX_PAYLOAD: usize = 48 << 10;

/// Longest line, bytes, with its newline: a payload in base64, and the other words.
pub(crate) const MAX_LINE: usize = MAX_PAYLOAD / 3 * 4 + 128;

/// First word of every line. The rest of a container's output, if any, has another.
const MARK: &str = "tare-link";

/// A line of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LinkLine {
    /// Message with its number. Numbers begin with 0, and have no gaps.
    Message {
        /// Number of the message.
        number: u64,
        /// Content of the message.
        payload: Vec<u8>,
    },
    /// All messages before this number have arrived.
    Received {
        /// Number of the first message that has not arrived.
        next: u64,
    },
    /// A connection begins or a message is missing: all messages from this number on are to be sent again, and the
    /// receiver of this line says what it lacks.
    Resume {
        /// Number of the first message that has not arrived.
        next: u64,
    },
}

impl LinkLine {
    /// Returns the text of the line, with its newline.
    pub(crate) fn to_text(&self) -> String {
        let words = match self {
            Self::Message { number, payload } => {
                format!("{MARK} message {number} {}", STANDARD_NO_PAD.encode(payload))
            }
            Self::Received { next } => format!("{MARK} received {next}"),
            Self::Resume { next } => format!("{MARK} resume {next}"),
        };
        format!("{words} {:08x}\n", checksum(&words))
    }

    /// Parses a line without its newline. Returns `None` if it is no line of a link, or is damaged.
    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(line).ok()?.trim_end_matches(['\r', '\n']);
        let (words, sum) = line.rsplit_once(' ')?;
        if sum.len() != 8 || u32::from_str_radix(sum, 16).ok()? != checksum(words) {
            return None;
        }
        let words: Vec<&str> = words.split(' ').collect();
        match words.as_slice() {
            [MARK, "message", number, payload] => {
                let payload = STANDARD_NO_PAD.decode(payload).ok()?;
                Some(Self::Message { number: number.parse().ok()?, payload })
                    .filter(|_| payload_fits(line.len()))
            }
            [MARK, "received", next] => Some(Self::Received { next: next.parse().ok()? }),
            [MARK, "resume", next] => Some(Self::Resume { next: next.parse().ok()? }),
            _ => None,
        }
    }
}

/// Returns whether a line of this length can be one of a link.
fn payload_fits(length: usize) -> bool {
    length < MAX_LINE
}

fn checksum(words: &str) -> u32 {
    let mut sum = Crc::new();
    sum.update(words.as_bytes());
    sum.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line() -> impl Strategy<Value = LinkLine> {
        let bytes = proptest::collection::vec(any::<u8>(), 0..300);
        prop_oneof![
            (any::<u64>(), bytes)
                .prop_map(|(number, payload)| LinkLine::Message { number, payload }),
            any::<u64>().prop_map(|next| LinkLine::Received { next }),
            any::<u64>().prop_map(|next| LinkLine::Resume { next }),
        ]
    }

    proptest! {
        #[test]
        fn a_line_is_read_as_it_was_written(line in line()) {
            let text = line.to_text();
            prop_assert!(text.ends_with('\n') && text.matches('\n').count() == 1);
            prop_assert_eq!(LinkLine::parse(text.as_bytes()), Some(line));
        }

        #[test]
        fn a_damaged_line_is_none(line in line(), at in any::<prop::sample::Index>(), bit in 0..7_u32) {
            let mut text = line.to_text().trim_end().as_bytes().to_vec();
            let at = at.index(text.len());
            text[at] ^= 1 << bit;
            let read = LinkLine::parse(&text);
            // The digits of the checksum may be of either case.
            prop_assert!(read.is_none() || read == Some(line));
        }

        #[test]
        fn part_of_a_line_is_none(line in line(), cut in any::<prop::sample::Index>()) {
            let text = line.to_text();
            let cut = cut.index(text.len() - 1);
            prop_assert_eq!(LinkLine::parse(&text.as_bytes()[..cut]), None);
            if cut > 0 {
                prop_assert_eq!(LinkLine::parse(&text.as_bytes()[cut..]), None);
            }
        }

        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = LinkLine::parse(&bytes);
        }
    }

    #[test]
    fn the_longest_payload_fits_a_line() {
        let line = LinkLine::Message { number: u64::MAX, payload: vec![0xff; MAX_PAYLOAD] };
        assert!(line.to_text().len() <= MAX_LINE);
        assert_eq!(LinkLine::parse(line.to_text().as_bytes()), Some(line));
    }
}
