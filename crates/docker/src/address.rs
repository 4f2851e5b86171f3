//! Address of a Docker Engine, as Docker's own client writes it (DOCKER_HOST).

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Socket of the engine if no address is given.
const DEFAULT_SOCKET: &str = "/var/run/docker.sock";

/// Address of a Docker Engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EngineAddress {
    /// Path of a Unix socket.
    Unix(PathBuf),
    /// A host and a port, without encryption.
    Tcp(String),
    /// A host and a port behind TLS, with the directory of a context's certificates. Without a context, the directory
    /// is DOCKER_CERT_PATH, else that of the files of Docker's own client.
    Tls(String, Option<PathBuf>),
    /// A host that is reached by ssh, as ssh takes it.
    Ssh(String),
}

/// Error of an engine's address that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineAddressError {
    /// Reason why the address cannot be used.
    pub reason: String,
    /// Remedy: a spelling or a command.
    pub remedy: String,
}

impl EngineAddress {
    /// Returns the path of its Unix socket, which means that the engine is on this machine. Returns `None` for other
    /// addresses.
    #[must_use]
    pub fn socket(&self) -> Option<&Path> {
        match self {
            Self::Unix(path) => Some(path),
            Self::Tcp(_) | Self::Tls(..) | Self::Ssh(_) => None,
        }
    }
}

impl Default for EngineAddress {
    fn default() -> Self {
        Self::Unix(DEFAULT_SOCKET.into())
    }
}

impl FromStr for EngineAddress {
    type Err = EngineAddressError;

    fn from_str(text: &str) -> Result<Self, EngineAddressError> {
        let wrong = |why: &str, remedy: &str| EngineAddressError {
            reason: format!("invalid Docker Engine address `{text}`: {why}"),
            remedy: remedy.to_owned(),
        };
        const SPELLED: &str = "use unix:///PATH, tcp://HOST:PORT or ssh://HOST";
        match text.split_once("://") {
            Some(("unix", path)) if path.starts_with('/') => Ok(Self::Unix(path.into())),
            Some(("tcp" | "http", host)) => {
                let host = host.trim_end_matches('/');
                let (name, port) = host.rsplit_once(':').unwrap_or((host, "2375"));
                if name.is_empty() || port.parse::<u16>().is_err() {
                    return Err(wrong("expected a host and a port", SPELLED));
                }
                Ok(Self::Tcp(format!("{name}:{port}")))
            }
            Some(("ssh", host)) if !host.trim_end_matches('/').is_empty() => {
                Ok(Self::Ssh(host.trim_end_matches('/').to_owned()))
            }
            Some(_) => Err(wrong("expected a Unix socket, a TCP address or an ssh host", SPELLED)),
            None => Err(wrong("the scheme is missing", SPELLED)),
        }
    }
}

impl fmt::Display for EngineAddress {
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
            assert_eq!(text.parse::<EngineAddress>().unwrap().to_string(), text);
        }
        assert_eq!("tcp://db1".parse(), Ok(EngineAddress::Tcp("db1:2375".to_owned())));
        assert_eq!(EngineAddress::default().socket(), Some(Path::new(DEFAULT_SOCKET)));
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
            let error = text.parse::<EngineAddress>().unwrap_err();
            assert!(error.remedy.contains("tcp://HOST:PORT"), "{error:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_reader(text in "(unix|tcp|ssh|http)?(://)?[a-z0-9:/.\\[\\]]{0,12}") {
            if let Ok(address) = text.parse::<EngineAddress>() {
                prop_assert_eq!(address.to_string().parse(), Ok(address));
            }
        }
    }
}
