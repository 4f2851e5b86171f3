//! Messages of DNS (RFC 1035, section 4): the query of a lookup, and tare's own answer to it.

use crate::domain_name::DomainName;
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Largest message over UDP without EDNS, bytes (RFC 1035, section 4.2.1).
pub(super) const LONGEST_MESSAGE: usize = 512;

/// Length of a message's header, bytes.
const HEADER: usize = 12;

/// Index of the first byte of the flags.
const FLAGS: usize = 2;

/// Bit of desired recursion in the first byte of the flags.
const RECURSION_DESIRED: u8 = 0x01;

/// Flags of tare's own answer, with recursion as the query has it: response, authoritative, recursion available.
const ANSWER_FLAGS: [u8; 2] = [0x84, 0x80];

/// Bit of a response in the first byte of the flags.
const IS_RESPONSE: u8 = 0x80;

/// Bits of the kind of query in the first byte of the flags; 0 is a standard query.
const OPCODE: u8 = 0x78;

/// Class of the Internet.
const INTERNET: [u8; 2] = [0, 1];

/// Seconds for which an answer may be kept: none, because every lookup is to be a lookup.
const TIME_TO_LIVE: [u8; 4] = [0; 4];

/// Addresses of tare's own answers: of blocks for documentation (RFC 5737, RFC 3849).
const IPV4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const IPV6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);

/// Type of the record that is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordType {
    /// IPv4 address.
    A,
    /// IPv6 address (RFC 3596).
    Aaaa,
}

impl RecordType {
    const fn number(self) -> u8 {
        match self {
            Self::A => 1,
            Self::Aaaa => 28,
        }
    }
}

/// Builds the query of a name's records. Its first two bytes are the identifier, 0.
pub(super) fn build_query(name: &DomainName, record: RecordType) -> Vec<u8> {
    let mut message = vec![0, 0];
    message.extend([RECURSION_DESIRED, 0]);
    // One question, and no records.
    message.extend([0, 1, 0, 0, 0, 0, 0, 0]);
    name.write_labels(&mut message);
    message.extend([0, record.number()]);
    message.extend(INTERNET);
    message
}

/// Sets whether a query desires recursion.
pub(super) fn set_recursion(query: &mut [u8], is_desired: bool) {
    query[FLAGS] = if is_desired { RECURSION_DESIRED } else { 0 };
}

/// Returns true if a query desires recursion.
pub(super) fn desires_recursion(query: &[u8]) -> bool {
    query.get(FLAGS).is_some_and(|flags| flags & RECURSION_DESIRED != 0)
}

/// Builds tare's own answer to a query, with one address of the type that is asked for. Returns `None` if the message is
/// no query of one name in the class of the Internet.
pub(super) fn build_answer(query: &[u8]) -> Option<Vec<u8>> {
    let header = query.first_chunk::<HEADER>()?;
    let is_query = header[FLAGS] & (IS_RESPONSE | OPCODE) == 0 && header[4..6] == [0, 1];
    let question = &query[HEADER..end_of_question(query)?];
    let (kind, class) = question[question.len() - 4..].split_at(2);
    if !is_query || class != INTERNET {
        return None;
    }
    let address: Option<Vec<u8>> = match kind {
        [0, number] if *number == RecordType::A.number() => Some(IPV4.octets().into()),
        [0, number] if *number == RecordType::Aaaa.number() => Some(IPV6.octets().into()),
        _ => None,
    };
    let mut answer = header[..2].to_vec();
    answer.extend([ANSWER_FLAGS[0] | header[FLAGS] & RECURSION_DESIRED, ANSWER_FLAGS[1]]);
    answer.extend([0, 1, 0, u8::from(address.is_some()), 0, 0, 0, 0]);
    answer.extend(question);
    if let Some(address) = address {
        // The name is that of the question: a pointer to the end of the header.
        answer.extend([0xc0, HEADER as u8]);
        answer.extend(kind);
        answer.extend(class);
        answer.extend(TIME_TO_LIVE);
        answer.extend([0, address.len() as u8]);
        answer.extend(address);
    }
    Some(answer)
}

/// Returns the index after a query's only question. Returns `None` if the message ends before, or compresses the name.
fn end_of_question(query: &[u8]) -> Option<usize> {
    let mut at = HEADER;
    loop {
        match usize::from(*query.get(at)?) {
            0 => break,
            length @ 1..=63 => at += 1 + length,
            _ => return None,
        }
    }
    let end = at + 5;
    (end <= query.len()).then_some(end)
}

/// Answer of a resolver, as far as a lookup needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ResolverAnswer {
    /// Identifier of its query.
    pub(super) id: [u8; 2],
    /// Result of the lookup.
    pub(super) code: ResponseCode,
}

impl ResolverAnswer {
    /// Reads an answer from a datagram. Returns `None` if it is no answer to a standard query.
    pub(super) fn read(datagram: &[u8]) -> Option<Self> {
        let header = datagram.first_chunk::<HEADER>()?;
        let is_answer = header[FLAGS] & (IS_RESPONSE | OPCODE) == IS_RESPONSE;
        is_answer.then(|| Self { id: [header[0], header[1]], code: ResponseCode(header[3] & 0x0f) })
    }
}

/// Result of a lookup (RFC 1035, section 4.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ResponseCode(pub(super) u8);

impl ResponseCode {
    /// The lookup succeeded. The name may have no record of the type.
    pub(super) const NO_ERROR: Self = Self(0);
    /// The server failed, perhaps for now only.
    pub(super) const SERVER_FAILURE: Self = Self(2);
}

/// Mnemonic of the code, as dig(1) shows it.
impl fmt::Display for ResponseCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 6] =
            ["NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED"];
        match NAMES.get(usize::from(self.0)) {
            Some(name) => f.write_str(name),
            None => write!(f, "RCODE{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn query(name: &str, record: RecordType) -> Vec<u8> {
        build_query(&name.parse().unwrap(), record)
    }

    /// Bytes by hand from RFC 1035 and RFC 3596.
    #[test]
    fn a_query_and_its_answer_are_as_the_standard_has_them() {
        let mut asked = query("a.test", RecordType::A);
        assert_eq!(asked, b"\0\0\x01\0\0\x01\0\0\0\0\0\0\x01a\x04test\0\0\x01\0\x01");
        asked[..2].copy_from_slice(&[7, 9]);
        let answer = build_answer(&asked).unwrap();
        let expected = b"\x07\x09\x85\x80\0\x01\0\x01\0\0\0\0\x01a\x04test\0\0\x01\0\x01\
            \xc0\x0c\0\x01\0\x01\0\0\0\0\0\x04\xc0\0\x02\x01";
        assert_eq!(answer, expected);
        let read = ResolverAnswer::read(&answer).unwrap();
        assert_eq!(read, ResolverAnswer { id: [7, 9], code: ResponseCode::NO_ERROR });
        set_recursion(&mut asked, false);
        assert_eq!(build_answer(&asked).unwrap()[2], 0x84, "recursion is as the query has it");
        let six = build_answer(&query("a.test", RecordType::Aaaa)).unwrap();
        assert_eq!((six.len(), &six[six.len() - 18..][..2]), (expected.len() + 12, &[0, 16][..]));
    }

    #[test]
    fn what_is_no_query_has_no_answer() {
        let good = query("a.test", RecordType::A);
        let changed = |at: usize, to: u8| {
            let mut bytes = good.clone();
            bytes[at] = to;
            bytes
        };
        // A response, another kind of query, two questions, a compressed name, another class.
        for (at, to) in [(2, 0x81), (2, 0x09), (5, 2), (HEADER, 0xc0), (good.len() - 1, 3)] {
            assert_eq!(build_answer(&changed(at, to)), None, "byte {at}");
        }
        let mail = build_answer(&changed(good.len() - 3, 15)).unwrap();
        assert_eq!(mail[6..8], [0, 0], "no record of another type");
        assert_eq!(ResolverAnswer::read(&good), None);
        assert_eq!(ResponseCode(3).to_string(), "NXDOMAIN");
        assert_eq!(ResponseCode(9).to_string(), "RCODE9");
    }

    proptest! {
        #[test]
        fn no_bytes_break_a_reader(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _ = ResolverAnswer::read(&bytes);
            if let Some(answer) = build_answer(&bytes) {
                prop_assert!(answer.len() <= bytes.len() + 28);
            }
        }

        #[test]
        fn each_query_is_answered(id: [u8; 2], labels in proptest::collection::vec("[a-z0-9_-]{1,63}", 1..4)) {
            let mut asked = query(&labels.join("."), RecordType::Aaaa);
            asked[..2].copy_from_slice(&id);
            let answer = build_answer(&asked).unwrap();
            prop_assert_eq!(ResolverAnswer::read(&answer).map(|one| one.id), Some(id));
            prop_assert!(answer.len() <= LONGEST_MESSAGE);
        }
    }
}
