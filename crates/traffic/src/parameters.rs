//! Table of a workload's parameters, from which validation, defaults and documentation follow.

use crate::domain_name::DomainName;
use crate::load::parse_decimal;
use crate::{Error, OfferedLoad};
use serde_json::Value;
use std::net::{IpAddr, SocketAddr};
use tare_record::Parameters;

/// Word for the first resolver of a container's own.
pub(crate) const SYSTEM_RESOLVER: &str = "system";

/// Port of DNS.
pub(crate) const DNS_PORT: u16 = 53;

/// Parameter of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name, as users write it.
    pub name: &'static str,
    /// Description in one line.
    pub summary: &'static str,
    /// Kind and range of the values.
    pub kind: ParameterKind,
    /// Default, as a user would write it. `None` if the system decides.
    pub default: Option<&'static str>,
}

/// Kind of a parameter's values, with their range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// Bytes, from the least to the most; K and M stand for 2¹⁰ and 2²⁰.
    Bytes {
        /// Smallest value, bytes.
        least: u64,
        /// Largest value, bytes.
        most: u64,
    },
    /// Boolean: true or false.
    Switch,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Name of a kernel object: up to 15 letters, digits, `-` and `_`.
    Name,
    /// Whole number, from the least to the most.
    Count {
        /// Smallest value.
        least: u64,
        /// Largest value.
        most: u64,
    },
    /// Offered load: bits of payload or datagrams per second.
    Load,
    /// Bits of payload per second.
    BitRate,
    /// Rate per second; k and m stand for 10³ and 10⁶.
    PerSecond,
    /// Share between 0 and 1, written in per cent.
    Share,
    /// Address and port of an external server.
    Address,
    /// Resolver of domain names: `system`, or an address, with a port unless it is 53.
    Resolver,
    /// Domain name, absolute.
    DomainName,
}

impl ParameterKind {
    /// Describes the valid values in words.
    #[must_use]
    pub fn describe(self) -> String {
        match self {
            Self::Bytes { least, most } => format!("a number of bytes from {least} to {most}"),
            Self::Switch => "true or false".to_owned(),
            Self::Choice(words) => words.join(" or "),
            Self::Name => "a name of at most 15 letters, digits, - and _".to_owned(),
            Self::Count { least, most } => format!("a number from {least} to {most}"),
            Self::Load => "a number with kbit, mbit, gbit, pps, kpps or mpps".to_owned(),
            Self::BitRate => "a number with kbit, mbit or gbit".to_owned(),
            Self::PerSecond => "a number per second above 0, with k or m for 10³ or 10⁶".to_owned(),
            Self::Share => "a percentage between 0% and 100%".to_owned(),
            Self::Address => {
                "an address and a port, for example 192.0.2.7:3306 or [2001:db8::7]:3306".to_owned()
            }
            Self::Resolver => {
                "system, or an address with or without a port, for example 10.96.0.10".to_owned()
            }
            Self::DomainName => "a domain name, for example server.example.com".to_owned(),
        }
    }

    /// Parses a value into its canonical form. Returns `None` if it is not valid.
    fn parse(self, given: &Value) -> Option<Value> {
        match self {
            Self::Bytes { least, most } => {
                parse_bytes(given).filter(|size| (least..=most).contains(size)).map(Value::from)
            }
            Self::Switch => match given {
                Value::Bool(_) => Some(given.clone()),
                Value::String(text) => text.parse::<bool>().ok().map(Value::from),
                _ => None,
            },
            Self::Choice(words) => {
                given.as_str().filter(|word| words.contains(word)).map(Value::from)
            }
            Self::Name => given.as_str().filter(|name| is_name(name)).map(Value::from),
            Self::Count { least, most } => {
                parse_count(given).filter(|count| (least..=most).contains(count)).map(Value::from)
            }
            Self::Load => given
                .as_str()?
                .parse::<OfferedLoad>()
                .ok()
                .map(|load| Value::from(load.to_string())),
            Self::BitRate => match given.as_str()?.parse().ok()? {
                rate @ OfferedLoad::Bits(_) => Some(Value::from(rate.to_string())),
                OfferedLoad::Packets(_) => None,
            },
            Self::PerSecond => parse_per_second(given).map(Value::from),
            Self::Share => parse_share(given).map(Value::from),
            Self::Address => {
                given.as_str()?.parse::<SocketAddr>().ok().map(|at| Value::from(at.to_string()))
            }
            Self::Resolver => parse_resolver(given.as_str()?).map(Value::from),
            Self::DomainName => {
                let name = given.as_str()?.parse::<DomainName>().ok()?;
                Some(Value::from(name.to_string()))
            }
        }
    }
}

/// Parses a whole number from JSON or from text.
fn parse_count(given: &Value) -> Option<u64> {
    given.as_str().map_or_else(|| given.as_u64(), |text| text.parse().ok())
}

/// Parses a rate per second, above 0, from a JSON number or from text such as `10000` or `2.5k`.
fn parse_per_second(given: &Value) -> Option<f64> {
    const MOST: f64 = 1e9;
    let number = match given {
        Value::String(text) => {
            let (digits, unit) = match text.as_bytes().last()? {
                b'k' => (&text[..text.len() - 1], 1e3),
                b'm' => (&text[..text.len() - 1], 1e6),
                _ => (text.as_str(), 1.0),
            };
            parse_decimal(digits)? * unit
        }
        other => other.as_f64()?,
    };
    (number > 0.0 && number <= MOST).then_some(number)
}

/// Parses a share from a JSON number (0.005) or from text such as `0.5%`.
fn parse_share(given: &Value) -> Option<f64> {
    let share = match given {
        Value::String(text) => parse_decimal(text.strip_suffix('%')?)? / 100.0,
        other => other.as_f64()?,
    };
    (share > 0.0 && share < 1.0).then_some(share)
}

/// Parses a size from a JSON number, or from text such as `1500` or `128K`.
fn parse_bytes(given: &Value) -> Option<u64> {
    let Value::String(text) = given else {
        return given.as_u64();
    };
    let (digits, unit) = match text.as_bytes().last()? {
        b'K' | b'k' => (&text[..text.len() - 1], 1 << 10),
        b'M' | b'm' => (&text[..text.len() - 1], 1 << 20),
        _ => (text.as_str(), 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// Parses a resolver into the word for the system's own, or an address with its port.
fn parse_resolver(text: &str) -> Option<String> {
    if text == SYSTEM_RESOLVER {
        return Some(text.to_owned());
    }
    let bare = text.parse::<IpAddr>().map(|address| SocketAddr::new(address, DNS_PORT));
    bare.or_else(|_| text.parse()).ok().map(|address| address.to_string())
}

fn is_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=15).contains(&text.len()) && text.bytes().all(fits)
}

/// Validates the given parameters against the table, and fills in the defaults.
pub(crate) fn resolve(
    workload: &'static str,
    table: &[Parameter],
    asked: &Parameters,
) -> Result<Parameters, Error> {
    if let Some(name) = asked.keys().find(|name| table.iter().all(|one| one.name != **name)) {
        let names = table.iter().map(|one| one.name).collect::<Vec<_>>().join(", ");
        let known = if names.is_empty() { "none".to_owned() } else { names };
        return Err(Error::UnknownParameter { workload, name: name.clone(), known });
    }
    let mut resolved = Parameters::new();
    for parameter in table {
        let default = parameter.default.map(Value::from);
        let Some(given) = asked.get(parameter.name).or(default.as_ref()) else {
            continue;
        };
        let value = parameter.kind.parse(given).ok_or_else(|| Error::BadParameter {
            workload,
            name: parameter.name,
            given: given.as_str().map_or_else(|| given.to_string(), str::to_owned),
            allowed: parameter.kind.describe(),
        })?;
        resolved.insert(parameter.name.to_owned(), value);
    }
    Ok(resolved)
}

/// Returns a size that has a default, from resolved parameters.
///
/// # Errors
/// [`Error::Job`] if the parameters are not resolved.
pub fn size(parameters: &Parameters, name: &str) -> Result<usize, Error> {
    optional_size(parameters, name)
        .ok_or_else(|| Error::Job(format!("the task has no parameter `{name}`")))
}

/// Returns a size from resolved parameters. Returns `None` if the system decides.
#[must_use]
pub fn optional_size(parameters: &Parameters, name: &str) -> Option<usize> {
    parameters.get(name).and_then(Value::as_u64).and_then(|size| usize::try_from(size).ok())
}

/// Returns the payload that a workload with this table offers in one direction, bits/s, at most. Returns `None` if it
/// sends as fast as it can.
///
/// The offered load is the workload's load, or its transactions per second of its largest message.
pub(crate) fn offered_load(table: &[Parameter], resolved: &Parameters) -> Option<f64> {
    let named = |kind: fn(ParameterKind) -> bool| table.iter().filter(move |one| kind(one.kind));
    let largest = ["size", "request", "response"]
        .into_iter()
        .filter_map(|name| optional_size(resolved, name))
        .max()
        .unwrap_or(0);
    let bits = |size: usize| size as f64 * 8.0;
    let load = named(|kind| kind == ParameterKind::Load).find_map(|one| load(resolved, one.name));
    let paced =
        named(|kind| kind == ParameterKind::PerSecond).find_map(|one| number(resolved, one.name));
    let datagrams = load.map(|load| load.packets_per_second(largest));
    datagrams.or(paced).map(|each| each * bits(largest))
}

/// Returns an address from resolved parameters. Returns `None` if none was given.
#[must_use]
pub fn address(parameters: &Parameters, name: &str) -> Option<SocketAddr> {
    word(parameters, name)?.parse().ok()
}

/// Returns a number from resolved parameters. Returns `None` if the system decides.
#[must_use]
pub fn number(parameters: &Parameters, name: &str) -> Option<f64> {
    parameters.get(name).and_then(Value::as_f64)
}

/// Returns the load from resolved parameters. Returns `None` if the system decides.
#[must_use]
pub fn load(parameters: &Parameters, name: &str) -> Option<OfferedLoad> {
    word(parameters, name)?.parse().ok()
}

/// Name of the parameter of workloads over TCP that choose their congestion control.
pub const CONGESTION: &str = "congestion";

/// Value of the parameter `congestion` that leaves the choice to the host.
pub const SYSTEM_CONGESTION: &str = "system";

/// Returns the congestion control to set, from resolved parameters. Returns `None` if the host's own is used.
#[must_use]
pub fn congestion(parameters: &Parameters) -> Option<&str> {
    word(parameters, CONGESTION).filter(|name| *name != SYSTEM_CONGESTION)
}

/// Returns a word from resolved parameters. Returns `None` if the system decides.
#[must_use]
pub fn word<'p>(parameters: &'p Parameters, name: &str) -> Option<&'p str> {
    parameters.get(name).and_then(Value::as_str)
}

/// Returns true if a boolean of resolved parameters is on.
#[must_use]
pub fn is_on(parameters: &Parameters, name: &str) -> bool {
    parameters.get(name).and_then(Value::as_bool).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    const TABLE: &[Parameter] = &[
        Parameter {
            name: "size",
            summary: "",
            kind: ParameterKind::Bytes { least: 1, most: 1 << 20 },
            default: Some("128K"),
        },
        Parameter {
            name: "push",
            summary: "",
            kind: ParameterKind::Switch,
            default: Some("false"),
        },
        Parameter {
            name: "send",
            summary: "",
            kind: ParameterKind::Choice(&["copy"]),
            default: Some("copy"),
        },
        Parameter { name: "control", summary: "", kind: ParameterKind::Name, default: None },
        Parameter { name: "rate", summary: "", kind: ParameterKind::Load, default: None },
        Parameter { name: "open_loop", summary: "", kind: ParameterKind::PerSecond, default: None },
        Parameter { name: "pdr", summary: "", kind: ParameterKind::Share, default: None },
        Parameter { name: "server", summary: "", kind: ParameterKind::Address, default: None },
        Parameter {
            name: "slots",
            summary: "",
            kind: ParameterKind::Count { least: 1, most: 64 },
            default: None,
        },
    ];

    fn asked(pairs: &[(&str, Value)]) -> Parameters {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    #[test]
    fn defaults_are_filled_in_and_values_made_canonical() {
        let resolved = resolve("w", TABLE, &asked(&[("push", json!("true"))])).unwrap();
        let expected =
            asked(&[("push", json!(true)), ("send", json!("copy")), ("size", json!(131_072))]);
        assert_eq!(resolved, expected);
        assert_eq!(size(&resolved, "size").unwrap(), 131_072);
        assert!(size(&resolved, "buffer").is_err());
        assert!(is_on(&resolved, "push"));
        assert_eq!(word(&resolved, "control"), None);
    }

    #[test]
    fn rates_shares_and_counts_have_one_form() {
        let given = [
            ("rate", json!("1000kbit")),
            ("open_loop", json!("2.5k")),
            ("pdr", json!("0.5%")),
            ("slots", json!("8")),
            ("server", json!("[2001:DB8::7]:3306")),
        ];
        let resolved = resolve("w", TABLE, &asked(&given)).unwrap();
        assert_eq!(resolved["rate"], json!("1mbit"));
        assert_eq!(load(&resolved, "rate"), Some(OfferedLoad::Bits(1_000_000)));
        assert_eq!(number(&resolved, "open_loop"), Some(2500.0));
        assert_eq!(resolved["pdr"], json!(0.005));
        assert_eq!(resolved["slots"], json!(8));
        assert_eq!(address(&resolved, "server").unwrap().to_string(), "[2001:db8::7]:3306");
        assert_eq!(resolve("w", TABLE, &resolved).unwrap(), resolved);
    }

    #[test]
    fn an_offer_is_what_the_load_says_or_so_many_messages_a_second() {
        let offer = |given: &[(&str, Value)]| {
            offered_load(TABLE, &resolve("w", TABLE, &asked(given)).unwrap())
        };
        assert_eq!(offer(&[]), None);
        assert_eq!(offer(&[("rate", json!("8mbit"))]), Some(8e6));
        assert_eq!(offer(&[("rate", json!("1kpps")), ("size", json!(100))]), Some(8e5));
        assert_eq!(offer(&[("open_loop", json!(10)), ("size", json!(100))]), Some(8e3));
    }

    #[test]
    fn what_is_not_allowed_is_refused_with_what_is() {
        for (name, value) in [
            ("size", json!(0)),
            ("size", json!(-1)),
            ("size", json!(1.5)),
            ("size", json!("2M")),
            ("size", json!("99999999999999999999M")),
            ("size", json!("K")),
            ("push", json!(1)),
            ("send", json!("teleport")),
            ("control", json!("a/b")),
            ("control", json!("")),
            ("rate", json!("200")),
            ("rate", json!(200)),
            ("open_loop", json!("0")),
            ("open_loop", json!("-1")),
            ("pdr", json!("1")),
            ("pdr", json!("100%")),
            ("server", json!("192.0.2.7")),
            ("server", json!("name:3306")),
            ("slots", json!(65)),
            ("slots", json!("many")),
        ] {
            let error =
                resolve("w", TABLE, &asked(&[(name, value.clone())])).unwrap_err().to_string();
            assert!(
                error.starts_with("w: invalid value `") && error.contains(name),
                "{value}: {error}"
            );
        }
        let error = resolve("w", TABLE, &asked(&[("sise", json!(1))])).unwrap_err().to_string();
        assert_eq!(
            error,
            "w has no parameter `sise`: valid parameters: size, push, send, control, rate, open_loop, pdr, server, slots"
        );
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_reader(text in ".{0,12}") {
            for parameter in TABLE {
                let given = asked(&[(parameter.name, json!(text))]);
                if let Ok(once) = resolve("w", TABLE, &given) {
                    prop_assert_eq!(resolve("w", TABLE, &once).unwrap(), once);
                }
            }
        }
    }
}
