//! How a network is spelled: `bridge`, `veth+plain`, `bridge+rate=970mbit`.

use crate::options::{NetworkOption, Options, listed};
use crate::{Offload, RateError, UnknownOffload};
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// The MTUs that IP has (RFC 791).
const MTUS: RangeInclusive<u32> = 68..=65_535;

/// A network's name, with the options that change it. It is written with its options in one order, however it was read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Spelled {
    /// The name in the registry.
    pub name: String,
    /// The options.
    pub options: Options,
}

/// A spelling that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing before the options.
    #[error("`{0}` names no network")]
    Empty(String),
    /// An option that no network has.
    #[error("`{spelled}`: unknown option `+{option}`; the options are {all}", all = listed(&NetworkOption::ALL))]
    Option {
        /// What was written.
        spelled: String,
        /// The option.
        option: String,
    },
    /// An option twice.
    #[error("`{spelled}`: `+{option}` stands there twice; leave one out")]
    Twice {
        /// What was written.
        spelled: String,
        /// The option's name.
        option: &'static str,
    },
    /// A rate that is none.
    #[error("`{spelled}`: {source}")]
    Rate {
        /// What was written.
        spelled: String,
        /// What is wrong with it.
        source: RateError,
    },
    /// An MTU that no device has.
    #[error("`{spelled}`: `{mtu}` is no MTU: it is from {least} to {most} bytes", least = MTUS.start(), most = MTUS.end())]
    Mtu {
        /// What was written.
        spelled: String,
        /// What was given as the MTU.
        mtu: String,
    },
    /// An offload that there is not.
    #[error("`{spelled}`: {source}")]
    Offload {
        /// What was written.
        spelled: String,
        /// What is wrong with it.
        source: UnknownOffload,
    },
}

impl FromStr for Spelled {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let (name, parts) = split(text);
        if name.is_empty() {
            return Err(NameError::Empty(text.to_owned()));
        }
        let mut options = Options::default();
        for part in parts {
            read(part, text, &mut options)?;
        }
        Ok(Self { name: name.to_owned(), options })
    }
}

impl Spelled {
    /// What follows the colon of a name such as `cni:FILE`.
    #[must_use]
    pub fn argument(&self) -> Option<&str> {
        self.name.split_once(':').map(|(_, argument)| argument)
    }
}

/// A name, and what stands after it as options. Behind a colon a `+` may belong to the name, a path or what another place
/// calls its networks: there, only what reads as an option at the very end is one.
fn split(text: &str) -> (&str, Vec<&str>) {
    let is_option = |part: &str| {
        !matches!(read(part, text, &mut Options::default()), Err(NameError::Option { .. }))
    };
    let (mut name, mut parts) = (text, Vec::new());
    while let Some((before, part)) = name.rsplit_once('+') {
        if text.split('+').next().is_some_and(|first| first.contains(':')) && !is_option(part) {
            break;
        }
        name = before;
        parts.insert(0, part);
    }
    (name, parts)
}

/// Adds one option, which stands in `spelled` after a `+`.
fn read(option: &str, spelled: &str, options: &mut Options) -> Result<(), NameError> {
    let (name, value) = match option.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (option, None),
    };
    match (name, value) {
        ("plain", None) => once("plain", spelled, &mut options.plain),
        ("unconfined", None) => once("unconfined", spelled, &mut options.unconfined),
        ("untracked", None) => once("untracked", spelled, &mut options.untracked),
        ("rps", None) => once("rps", spelled, &mut options.rps),
        ("rate", Some(rate)) => read_rate(rate, spelled, options),
        ("mtu", Some(mtu)) => read_mtu(mtu, spelled, options),
        ("without", Some(offload)) => read_offload(offload, spelled, options),
        _ => {
            let (spelled, option) = (spelled.to_owned(), option.to_owned());
            Err(NameError::Option { spelled, option })
        }
    }
}

fn twice(option: &'static str, spelled: &str) -> NameError {
    NameError::Twice { spelled: spelled.to_owned(), option }
}

/// An option without a value.
fn once(option: &'static str, spelled: &str, chosen: &mut bool) -> Result<(), NameError> {
    if std::mem::replace(chosen, true) { Err(twice(option, spelled)) } else { Ok(()) }
}

fn read_rate(rate: &str, spelled: &str, options: &mut Options) -> Result<(), NameError> {
    let wrong = |source| NameError::Rate { spelled: spelled.to_owned(), source };
    match options.rate.replace(rate.parse().map_err(wrong)?) {
        Some(_) => Err(twice("rate", spelled)),
        None => Ok(()),
    }
}

fn read_mtu(mtu: &str, spelled: &str, options: &mut Options) -> Result<(), NameError> {
    let wrong = || NameError::Mtu { spelled: spelled.to_owned(), mtu: mtu.to_owned() };
    let bytes = mtu.parse().ok().filter(|bytes| MTUS.contains(bytes)).ok_or_else(wrong)?;
    match options.mtu.replace(bytes) {
        Some(_) => Err(twice("mtu", spelled)),
        None => Ok(()),
    }
}

fn read_offload(offload: &str, spelled: &str, options: &mut Options) -> Result<(), NameError> {
    let wrong = |source| NameError::Offload { spelled: spelled.to_owned(), source };
    let offload: Offload = offload.parse().map_err(wrong)?;
    if options.without.contains(offload) {
        return Err(twice("without", spelled));
    }
    options.without = options.without.with(offload);
    Ok(())
}

impl fmt::Display for Spelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name, self.options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BitsPerSecond;
    use proptest::prelude::*;

    fn spelled(text: &str) -> Result<Spelled, NameError> {
        text.parse()
    }

    #[test]
    fn options_stand_in_any_order() {
        let one = spelled("bridge+plain+rate=970mbit").unwrap();
        assert_eq!(Ok(&one), spelled("bridge+rate=970mbit+plain").as_ref());
        assert_eq!(one.to_string(), "bridge+plain+rate=970mbit");
        assert!(one.options.plain);
        assert_eq!(one.options.rate.map(BitsPerSecond::bits), Some(970_000_000));
    }

    #[test]
    fn what_is_wrong_is_said_in_one_line() {
        let cases = [
            ("+plain", "`+plain` names no network"),
            ("bridge+fast", "unknown option `+fast`; the options are +plain (without netfilter), "),
            ("bridge+rate", "unknown option `+rate`; the options are "),
            ("bridge+plain=1", "unknown option `+plain=1`"),
            ("bridge+", "unknown option `+`"),
            ("bridge+plain+plain", "`+plain` stands there twice"),
            ("bridge+rate=1gbit+rate=2gbit", "`+rate` stands there twice"),
            ("bridge+rate=fast", "`bridge+rate=fast`: `fast` is no rate"),
            ("bridge+rate=0mbit", "`bridge+rate=0mbit`: the rate `0mbit` is not "),
            ("bridge+mtu=67", "`bridge+mtu=67`: `67` is no MTU: it is from 68 to 65535 bytes"),
            ("bridge+mtu=9000+mtu=1500", "`+mtu` stands there twice"),
            ("bridge+rps+rps", "`+rps` stands there twice"),
            ("bridge+without=lro", "`bridge+without=lro`: unknown offload `lro`: it is one of gro"),
            ("bridge+without=gro+without=gro", "`+without` stands there twice"),
        ];
        for (text, words) in cases {
            let error = spelled(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn behind_a_colon_a_plus_may_belong_to_the_name() {
        for (text, name, plain) in [
            ("cni:/etc/cni/net.d/10-a.conflist", "cni:/etc/cni/net.d/10-a.conflist", false),
            ("cni:/tmp/a+b.conf+plain", "cni:/tmp/a+b.conf", true),
            ("docker:none+veth", "docker:none+veth", false),
            ("docker:none+veth+plain", "docker:none+veth", true),
        ] {
            let one = spelled(text).unwrap();
            assert_eq!((one.name.as_str(), one.options.plain), (name, plain));
            assert_eq!(one.to_string(), text);
        }
        assert_eq!(spelled("exec:a:b").unwrap().argument(), Some("a:b"));
        assert_eq!(spelled("bridge").unwrap().argument(), None);
        assert!(spelled("cni:x+rate=fast").unwrap_err().to_string().contains("no rate"));
    }

    proptest! {
        #[test]
        fn a_name_reads_as_it_is_written(
            name in "[a-z][a-z0-9:-]{0,12}",
            plain: bool,
            unconfined: bool,
            untracked: bool,
            rps: bool,
            mtu in proptest::option::of(MTUS),
            rate in proptest::option::of(8_u64..1_000_000),
            without in proptest::collection::vec(0..Offload::ALL.len(), 0..3),
        ) {
            let rate = rate.map(|kilobits| format!("{kilobits}kbit").parse().unwrap());
            let without = without.into_iter().map(|index| Offload::ALL[index]).collect();
            let options =
                Options { plain, rate, without, unconfined, untracked, mtu, rps };
            let one = Spelled { name, options };
            prop_assert_eq!(spelled(&one.to_string()), Ok(one));
        }

        #[test]
        fn no_text_breaks_the_reader(text in "([a-z=]{0,5}[+]?(plain|rate=[0-9]mbit|without=(gro|tso))?){0,4}") {
            if let Ok(one) = spelled(&text) {
                prop_assert_eq!(spelled(&one.to_string()), Ok(one));
            }
        }
    }
}
