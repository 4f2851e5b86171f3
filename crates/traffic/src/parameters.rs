//! A workload's parameters as a table: from it come validation, defaults and the documentation.

use crate::Error;
use serde_json::Value;
use tare_record::Parameters;

/// One parameter of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name, as users spell it.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// What it may be.
    pub kind: Kind,
    /// Its default as a user would write it; nothing where the system decides.
    pub default: Option<&'static str>,
}

/// What a parameter may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bytes, from the least to the most; K and M stand for 2¹⁰ and 2²⁰.
    Bytes {
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
    /// true or false.
    Switch,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// The name of something in the kernel: up to 15 letters, digits, `-` and `_`.
    Name,
}

impl Kind {
    /// What is allowed, in words.
    fn allowed(self) -> String {
        match self {
            Self::Bytes { least, most } => format!("a number of bytes from {least} to {most}"),
            Self::Switch => "true or false".to_owned(),
            Self::Choice(words) => words.join(" or "),
            Self::Name => "a name of at most 15 letters, digits, - and _".to_owned(),
        }
    }

    /// The value in its canonical form; nothing where it is not allowed.
    fn read(self, given: &Value) -> Option<Value> {
        match self {
            Self::Bytes { least, most } => {
                bytes(given).filter(|size| (least..=most).contains(size)).map(Value::from)
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
        }
    }
}

/// A size from a JSON number, or from text such as `1500` or `128K`.
fn bytes(given: &Value) -> Option<u64> {
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

fn is_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=15).contains(&text.len()) && text.bytes().all(fits)
}

/// Validates what was asked against the table, and fills in the defaults.
pub(crate) fn resolve(
    workload: &'static str,
    table: &[Parameter],
    asked: &Parameters,
) -> Result<Parameters, Error> {
    if let Some(name) = asked.keys().find(|name| table.iter().all(|one| one.name != **name)) {
        let known = table.iter().map(|one| one.name).collect::<Vec<_>>().join(", ");
        return Err(Error::UnknownParameter { workload, name: name.clone(), known });
    }
    let mut resolved = Parameters::new();
    for parameter in table {
        let default = parameter.default.map(Value::from);
        let Some(given) = asked.get(parameter.name).or(default.as_ref()) else {
            continue;
        };
        let value = parameter.kind.read(given).ok_or_else(|| Error::BadParameter {
            workload,
            name: parameter.name,
            given: given.as_str().map_or_else(|| given.to_string(), str::to_owned),
            allowed: parameter.kind.allowed(),
        })?;
        resolved.insert(parameter.name.to_owned(), value);
    }
    Ok(resolved)
}

/// A size that has a default, of resolved parameters.
pub(crate) fn size(parameters: &Parameters, name: &str) -> Result<usize, Error> {
    optional_size(parameters, name).ok_or_else(|| Error::Job(format!("the task says no `{name}`")))
}

/// A size of resolved parameters; nothing where the system decides.
pub(crate) fn optional_size(parameters: &Parameters, name: &str) -> Option<usize> {
    parameters.get(name).and_then(Value::as_u64).and_then(|size| usize::try_from(size).ok())
}

/// A word of resolved parameters; nothing where the system decides.
pub(crate) fn word<'p>(parameters: &'p Parameters, name: &str) -> Option<&'p str> {
    parameters.get(name).and_then(Value::as_str)
}

/// Whether a switch of resolved parameters is on.
pub(crate) fn is_on(parameters: &Parameters, name: &str) -> bool {
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
            kind: Kind::Bytes { least: 1, most: 1 << 20 },
            default: Some("128K"),
        },
        Parameter { name: "push", summary: "", kind: Kind::Switch, default: Some("false") },
        Parameter {
            name: "send",
            summary: "",
            kind: Kind::Choice(&["copy"]),
            default: Some("copy"),
        },
        Parameter { name: "control", summary: "", kind: Kind::Name, default: None },
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
        ] {
            let error =
                resolve("w", TABLE, &asked(&[(name, value.clone())])).unwrap_err().to_string();
            assert!(error.starts_with("w: `") && error.contains(name), "{value}: {error}");
        }
        let error = resolve("w", TABLE, &asked(&[("sise", json!(1))])).unwrap_err().to_string();
        assert_eq!(error, "w has no parameter `sise`: it has size, push, send, control");
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
