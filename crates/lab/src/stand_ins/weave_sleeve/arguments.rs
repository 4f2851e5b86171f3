//! Command line of the role `weave-sleeve`.

use super::frames::PeerName;
use std::net::SocketAddrV4;
use tare_network::INTERNAL;

/// Options of the forwarder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SleeveArguments {
    /// Device whose frames it carries.
    pub(crate) device: String,
    /// Number of its own node.
    pub(crate) node: u8,
    /// Address and UDP port on which it receives.
    pub(crate) listen: SocketAddrV4,
    /// Largest UDP payload that it fills with several frames, bytes.
    pub(crate) room: usize,
    /// Number, address and UDP port of each other node.
    pub(crate) peers: Vec<(u8, SocketAddrV4)>,
    /// File with the key; `None` if frames are not encrypted.
    pub(crate) key: Option<String>,
}

/// Options as the forwarder reads them.
pub(super) type Arguments = SleeveArguments;

/// Largest UDP payload over IPv4, bytes.
const LARGEST: usize = 65_507;

impl SleeveArguments {
    /// Parses a command line. Returns `None` if an option is missing or invalid.
    pub(super) fn parse(words: &[&str]) -> Option<Self> {
        let all = |name: &str| {
            let pairs = words.chunks(2).filter(move |pair| pair.first() == Some(&name));
            pairs.filter_map(|pair| pair.get(1).copied()).collect::<Vec<&str>>()
        };
        let one = |name| all(name).first().copied();
        let peer = |word: &str| {
            let (number, address) = word.split_once('=')?;
            Some((number.parse().ok()?, address.parse().ok()?))
        };
        Some(Self {
            device: one("--device")?.to_owned(),
            node: one("--name")?.parse().ok()?,
            listen: one("--listen")?.parse().ok()?,
            room: one("--room")?.parse().ok().filter(|room| (576..=LARGEST).contains(room))?,
            peers: all("--peer").into_iter().map(peer).collect::<Option<_>>()?,
            key: one("--key").map(str::to_owned),
        })
    }
}

/// Returns the command line that starts a forwarder: the role and its options.
pub(crate) fn command_line(told: &SleeveArguments) -> Vec<String> {
    let pair = |name: &str, value: String| [name.to_owned(), value];
    let mut words = vec![INTERNAL.to_owned(), "weave-sleeve".to_owned()];
    words.extend(pair("--device", told.device.clone()));
    words.extend(pair("--name", told.node.to_string()));
    words.extend(pair("--listen", told.listen.to_string()));
    words.extend(pair("--room", told.room.to_string()));
    for (number, address) in &told.peers {
        words.extend(pair("--peer", format!("{number}={address}")));
    }
    words.extend(told.key.iter().flat_map(|key| pair("--key", key.clone())));
    words
}

/// Returns Weave's peer name of a node, in the form of a link-layer address.
pub(super) fn peer_name(number: u8) -> PeerName {
    [0x0a, 0, 0, 0, 0, number]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn its_own_words_are_read_back() {
        let told = SleeveArguments {
            device: "vethwe-pcap".to_owned(),
            node: 1,
            listen: "10.20.1.1:6783".parse().unwrap(),
            room: 1472,
            peers: vec![(0, "10.20.0.1:6783".parse().unwrap())],
            key: Some("/run/node-1/key".to_owned()),
        };
        let words = command_line(&told);
        let words: Vec<&str> = words.iter().skip(2).map(String::as_str).collect();
        assert_eq!(SleeveArguments::parse(&words), Some(told));
        assert_eq!(SleeveArguments::parse(&words[2..]), None);
        let tight: Vec<&str> =
            words.iter().map(|&word| if word == "1472" { "70000" } else { word }).collect();
        assert_eq!(SleeveArguments::parse(&tight), None, "no UDP packet is so large");
    }

    proptest! {
        #[test]
        fn no_words_break_the_reader(words in proptest::collection::vec("(--peer|--room|0=1.1.1.1:1|[a-z0-9]{0,4})", 0..12)) {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let _ = SleeveArguments::parse(&words);
        }
    }
}
