//! Where an engine listens, as Docker's own client spells it (DOCKER_HOST).

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Where an engine listens unless one is told otherwise.
const DEFAULT: &str = "/var/run/docker.sock";

/// The address of an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A Unix socket.
    Unix(PathBuf),
    /// A host and a port, without encryption.
    Tcp(String),
    /// A host and a port behind TLS, with the certificates of a context, else those of DOCKER_CERT_PATH.
    Tls(String, Option<PathBuf>),
    /// A host that is reached by ssh, as ssh takes it.
    Ssh(String),
}

/// An address that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressError {
    /// What is wrong.
    pub reason: String,
    /// What would help.
    pub remedy: String,
}

impl Address {
    /// The engine that Docker's own client would speak to: DOCKER_HOST, else the local one.
    ///
    /// # Errors
    /// When DOCKER_HOST cannot be read, or names what this build does not speak.
    pub fn from_environment() -> Result<Self, AddressError> {
        let host = std::env::var("DOCKER_HOST").ok().filter(|host| !host.is_empty());
        let address = host.map_or_else(|| Ok(Self::default()), |host| host.parse())?;
        let verify = std::env::var("DOCKER_TLS_VERIFY").is_ok_and(|value| !value.is_empty());
        match address {
            Self::Tcp(host) if verify => Ok(Self::Tls(host, None)),
            other => Ok(other),
        }
    }

    /// The path of its socket, where it has one: then the engine is on this machine.
    #[must_use]
    pub fn socket(&self) -> Option<&Path> {
        match self {
            Self::Unix(path) => Some(path),
            Self::Tcp(_) | Self::Tls(..) | Self::Ssh(_) => None,
        }
    }
}

impl Default for Address {
    fn default() -> Self {
        Self::Unix(DEFAULT.into())
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let wrong = |why: &str, remedy: &str| AddressError {
            reason: format!("`{text}` is no engine's address that tare can use: {why}"),
            remedy: remedy.to_owned(),
        };
        const SPELLED: &str = "write unix:///PATH, tcp://HOST:PORT or ssh://HOST";
        match text.split_once("://") {
            Some(("unix", path)) if path.starts_with('/') => Ok(Self::Unix(path.into())),
            Some(("tcp" | "http", host)) => {
                let host = host.trim_end_matches('/');
                let (name, port) = host.rsplit_once(':').unwrap_or((host, "2375"));
                if name.is_empty() || port.parse::<u16>().is_err() {
                    return Err(wrong("it has no host and port", SPELLED));
                }
                Ok(Self::Tcp(format!("{name}:{port}")))
            }
            Some(("ssh", host)) if !host.trim_end_matches('/').is_empty() => {
                Ok(Self::Ssh(host.trim_end_matches('/').to_owned()))
            }
            Some(_) => Err(wrong("it is neither a Unix socket nor TCP nor ssh", SPELLED)),
            None => Err(wrong("it has no scheme", SPELLED)),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix://{}", path.display()),
            Self::Tcp(host) | Self::Tls(host, _) => write!(f, "tcp://{host}"),
            Self::Ssh(host) => write!(f, "ssh://{host}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_read_as_they_are_written() {
        for text in [
            "unix:///run/user/1000/docker.sock",
            "tcp://db1:2376",
            "tcp://[::1]:2375",
            "ssh://me@db1",
        ] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        assert_eq!("tcp://db1".parse(), Ok(Address::Tcp("db1:2375".to_owned())));
        assert_eq!(Address::default().socket(), Some(Path::new(DEFAULT)));
    }

    #[test]
    fn what_is_no_address_is_refused_with_a_remedy() {
        for text in [
            "",
            "/var/run/docker.sock",
            "unix://run",
            "tcp://",
            "tcp://a:b",
            "npipe:////x",
            "ssh://",
        ] {
            let error = text.parse::<Address>().unwrap_err();
            assert!(error.remedy.contains("tcp://HOST:PORT"), "{error:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_reader(text in "(unix|tcp|ssh|http)?(://)?[a-z0-9:/.\\[\\]]{0,12}") {
            if let Ok(address) = text.parse::<Address>() {
                prop_assert_eq!(address.to_string().parse(), Ok(address));
            }
        }
    }
}
