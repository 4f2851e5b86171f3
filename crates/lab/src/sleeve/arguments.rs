//! What a sleeve is told on its command line.

use super::frames::Name;
use std::net::SocketAddrV4;

/// What it is told, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    /// The device whose frames it carries.
    pub(crate) device: String,
    /// Its node's number.
    pub(crate) number: u8,
    /// Where it listens.
    pub(crate) listen: SocketAddrV4,
    /// How many bytes of a UDP packet it fills.
    pub(crate) room: usize,
    /// The other nodes' numbers, and where they listen.
    pub(crate) peers: Vec<(u8, SocketAddrV4)>,
    /// The file that has the key, where frames are sealed.
    pub(crate) key: Option<String>,
}

/// What it is told, as it uses it.
pub(super) type Arguments = Told;

/// The most that a UDP packet over IPv4 holds, bytes.
const LARGEST: usize = 65_507;

impl Told {
    /// Reads the words of a command line; nothing where one is missing or makes no sense.
    pub(super) fn read(words: &[&str]) -> Option<Self> {
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
            number: one("--name")?.parse().ok()?,
            listen: one("--listen")?.parse().ok()?,
            room: one("--room")?.parse().ok().filter(|room| (576..=LARGEST).contains(room))?,
            peers: all("--peer").into_iter().map(peer).collect::<Option<_>>()?,
            key: one("--key").map(str::to_owned),
        })
    }
}

/// The words by which one is started.
pub(crate) fn words(told: &Told) -> Vec<String> {
    let pair = |name: &str, value: String| [name.to_owned(), value];
    let mut words = vec!["sleeve".to_owned()];
    words.extend(pair("--device", told.device.clone()));
    words.extend(pair("--name", told.number.to_string()));
    words.extend(pair("--listen", told.listen.to_string()));
    words.extend(pair("--room", told.room.to_string()));
    for (number, address) in &told.peers {
        words.extend(pair("--peer", format!("{number}={address}")));
    }
    words.extend(told.key.iter().flat_map(|key| pair("--key", key.clone())));
    words
}

/// The name of a node, as Weave has them: the form of a link-layer address.
pub(super) fn name(number: u8) -> Name {
    [0x0a, 0, 0, 0, 0, number]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn its_own_words_are_read_back() {
        let told = Told {
            device: "vethwe-pcap".to_owned(),
            number: 1,
            listen: "10.20.1.1:6783".parse().unwrap(),
            room: 1472,
            peers: vec![(0, "10.20.0.1:6783".parse().unwrap())],
            key: Some("/run/node-1/key".to_owned()),
        };
        let words = words(&told);
        let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
        assert_eq!(Told::read(&words), Some(told));
        assert_eq!(Told::read(&words[2..]), None);
        let tight: Vec<&str> =
            words.iter().map(|&word| if word == "1472" { "70000" } else { word }).collect();
        assert_eq!(Told::read(&tight), None, "no UDP packet is so large");
    }

    proptest! {
        #[test]
        fn no_words_break_the_reader(words in proptest::collection::vec("(--peer|--room|0=1.1.1.1:1|[a-z0-9]{0,4})", 0..12)) {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let _ = Told::read(&words);
        }
    }
}
