//! How a network is spelled: `bridge`, `veth+plain`.

use std::fmt;
use std::str::FromStr;

/// A network's name, with the options that change it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Spelled {
    /// The name in the registry.
    pub name: String,
    /// Whether netfilter is left out (`+plain`).
    pub plain: bool,
}

/// A spelling that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing before the options.
    #[error("`{0}` names no network")]
    Empty(String),
    /// An option that no network has.
    #[error("`{spelled}`: unknown option `+{option}`; the options are +plain (without netfilter)")]
    Option {
        /// What was written.
        spelled: String,
        /// The option.
        option: String,
    },
}

impl FromStr for Spelled {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let mut parts = text.split('+');
        let name = parts.next().unwrap_or_default();
        if name.is_empty() {
            return Err(NameError::Empty(text.to_owned()));
        }
        let mut spelled = Self { name: name.to_owned(), plain: false };
        for option in parts {
            match option {
                "plain" => spelled.plain = true,
                other => {
                    return Err(NameError::Option {
                        spelled: text.to_owned(),
                        option: other.to_owned(),
                    });
                }
            }
        }
        Ok(spelled)
    }
}

impl fmt::Display for Spelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name, if self.plain { "+plain" } else { "" })
    }
}
