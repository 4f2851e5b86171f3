//! Counters of netfilter rules, read from the kernel by netlink: starting nft(8) for every trial would take too long.
//!
//! A rule is a list of expressions (linux/netfilter/nf_tables.h). This module reads the expressions that count, and
//! those that decide about a packet. Rules that iptables-nft has loaded are included.

use crate::netlink::raw::{self, DONE, ERROR, attributes, messages};
use netlink_sys::protocols::NETLINK_NETFILTER;
use netlink_sys::{Socket, SocketAddr};
use std::io;
use tare_network::{CounterDeltas, CounterGroups};

/// `NFNL_SUBSYS_NFTABLES`, and two of its messages.
const SUBSYSTEM: u16 = 10;
const NEW_RULE: u16 = 6;
const GET_RULE: u16 = 7;
/// Size of `struct nfgenmsg`, bytes.
const GENERIC: usize = 4;

/// Attributes of a rule.
const TABLE: u16 = 1;
const CHAIN: u16 = 2;
const HANDLE: u16 = 3;
const EXPRESSIONS: u16 = 4;
/// Attributes of an expression in its list.
const NAME: u16 = 1;
const DATA: u16 = 2;
/// Attributes of expressions: the number of packets that were counted, and the constant that is loaded, which can be a
/// verdict.
const PACKETS: u16 = 2;
const CONSTANT: u16 = 2;
const VERDICT: u16 = 2;
const CODE: u16 = 1;

/// Reader of the counters of rules, in the network namespace in which it was opened.
pub(super) struct RuleReader {
    socket: Socket,
    buffer: Vec<u8>,
}

impl RuleReader {
    /// Opens a reader in the calling thread's namespace.
    pub(super) fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_NETFILTER)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self { socket, buffer: Vec::with_capacity(64 * 1024) })
    }

    /// Returns the counters of all counting rules, by the name of the rule.
    pub(super) fn read_all(&mut self) -> io::Result<CounterGroups> {
        self.socket.send(&request(), 0)?;
        let mut rules = Vec::new();
        loop {
            raw::receive(&self.socket, &mut self.buffer)?;
            if parse_rules(&self.buffer, &mut rules)? {
                return Ok(rules.into_iter().collect());
            }
        }
    }
}

/// Parses the rules in one received buffer, each with its name. Returns `true` if the list ends with it.
pub(super) fn parse_rules(
    bytes: &[u8],
    rules: &mut Vec<(String, CounterDeltas)>,
) -> io::Result<bool> {
    for (kind, body) in messages(bytes) {
        match kind {
            DONE => return Ok(true),
            ERROR => {
                return Err(io::Error::other("the kernel refused to list the netfilter rules"));
            }
            _ if kind == SUBSYSTEM << 8 | NEW_RULE => {
                rules.extend(body.get(GENERIC..).and_then(rule));
            }
            _ => {}
        }
    }
    Ok(false)
}

/// Returns the request for all rules of all families and tables.
fn request() -> Vec<u8> {
    // Any family, version 0, no resource.
    raw::dump_request(SUBSYSTEM << 8 | GET_RULE, &[0; GENERIC])
}

/// Returns the value of the attribute of this kind.
fn find(bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    attributes(bytes).find_map(|(kind, value)| (kind == wanted).then_some(value))
}

/// Converts a text without its trailing null byte.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// Parses a counting rule. Returns its name and its counters.
fn rule(body: &[u8]) -> Option<(String, CounterDeltas)> {
    let table = text(find(body, TABLE)?);
    let chain = text(find(body, CHAIN)?);
    let handle = u64::from_be_bytes(find(body, HANDLE)?.try_into().ok()?);
    let (mut packets, mut end) = (None, None);
    for (_, expression) in attributes(find(body, EXPRESSIONS)?) {
        let name = text(find(expression, NAME)?);
        let data = find(expression, DATA).unwrap_or_default();
        match name.as_str() {
            "counter" => packets = Some(u64::from_be_bytes(find(data, PACKETS)?.try_into().ok()?)),
            "immediate" => end = verdict(data).or(end),
            "masq" => end = Some("masquerade"),
            "nat" | "redir" | "reject" | "notrack" | "tproxy" => {
                end = ["nat", "redir", "reject", "notrack", "tproxy"]
                    .into_iter()
                    .find(|one| *one == name);
            }
            _ => {}
        }
    }
    let end = end.map(|end| format!(" {end}")).unwrap_or_default();
    let gains = CounterDeltas::from_iter([("packets".to_owned(), packets?)]);
    Some((format!("{table}/{chain}#{handle}{end}"), gains))
}

/// Returns the verdict if the loaded constant is one.
fn verdict(data: &[u8]) -> Option<&'static str> {
    let verdict = find(find(data, CONSTANT)?, VERDICT)?;
    let code = i32::from_be_bytes(find(verdict, CODE)?.try_into().ok()?);
    match code {
        0 => Some("drop"),
        1 => Some("accept"),
        -3 => Some("jump"),
        -4 => Some("goto"),
        -5 => Some("return"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::raw::ATTRIBUTE;
    use proptest::prelude::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let length = (ATTRIBUTE + value.len()) as u16;
        let mut bytes = [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), value].concat();
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn expression(name: &str, data: &[u8]) -> Vec<u8> {
        let name = [name.as_bytes(), &[0]].concat();
        attribute(1, &[attribute(NAME, &name), attribute(DATA, data)].concat())
    }

    #[test]
    fn a_rule_that_drops_is_read() {
        let counter =
            [attribute(1, &900u64.to_be_bytes()), attribute(PACKETS, &7u64.to_be_bytes())].concat();
        let code = attribute(VERDICT, &attribute(CODE, &0i32.to_be_bytes()));
        let dropped = [attribute(1, &0u32.to_be_bytes()), attribute(CONSTANT, &code)].concat();
        let expressions =
            [expression("counter", &counter), expression("immediate", &dropped)].concat();
        let head = |expressions: &[u8]| {
            [
                attribute(TABLE, b"lossy\0"),
                attribute(CHAIN, b"forward\0"),
                attribute(HANDLE, &3u64.to_be_bytes()),
                attribute(EXPRESSIONS, expressions),
            ]
            .concat()
        };
        let (name, gains) = rule(&head(&expressions)).unwrap();
        assert_eq!((name.as_str(), gains.get("packets")), ("lossy/forward#3 drop", Some(&7)));
        assert_eq!(rule(&head(&expression("masq", &[]))), None, "it counts nothing");
    }

    proptest! {
        #[test]
        fn no_bytes_break_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = rule(&bytes);
            prop_assert!(messages(&bytes).count() <= bytes.len());
        }
    }
}
