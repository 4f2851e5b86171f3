//! Environment of Docker's own client: its variables, its configuration directory, and the context that it uses; and the
//! variables of Podman's client.
//!
//! Source: docker/cli, cli/config/config.go and `resolveContextName` in cli/command/cli.go. A variable that is empty
//! counts as not set.

use serde::Deserialize;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Name of the context that stands for the engine used without a context.
const DEFAULT_CONTEXT: &str = "default";

/// Socket of the machine's Podman, and of a user's, below the directory of the user's sockets.
const PODMAN_SOCKET: &str = "/run/podman/podman.sock";
const PODMAN_USER_SOCKET: &str = "podman/podman.sock";

/// Variables that the clients read.
const VARIABLES: [&str; 8] = [
    "CONTAINER_HOST",
    "DOCKER_CERT_PATH",
    "DOCKER_CONFIG",
    "DOCKER_CONTEXT",
    "DOCKER_HOST",
    "DOCKER_TLS_VERIFY",
    "HOME",
    "XDG_RUNTIME_DIR",
];

/// Variables of Docker's own client and of Podman's.
pub(crate) struct ClientEnvironment {
    variables: HashMap<&'static str, OsString>,
}

/// Contents of the client's `config.json`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClientConfiguration {
    current_context: Option<String>,
}

impl ClientEnvironment {
    /// Reads the variables of this process.
    pub(crate) fn from_process() -> Self {
        let set = VARIABLES.iter().filter_map(|&name| Some((name, std::env::var_os(name)?)));
        set.collect()
    }

    fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(name).map(OsString::as_os_str)
    }

    /// Returns DOCKER_HOST.
    pub(crate) fn host(&self) -> Option<&str> {
        self.variable("DOCKER_HOST")?.to_str()
    }

    /// Returns CONTAINER_HOST, the address of Podman's client.
    pub(crate) fn podman_host(&self) -> Option<&str> {
        self.variable("CONTAINER_HOST")?.to_str()
    }

    /// Returns the paths where a socket of Podman may be: the user's, then the machine's.
    pub(crate) fn podman_sockets(&self) -> Vec<PathBuf> {
        let user = self.variable("XDG_RUNTIME_DIR");
        let user = user.map(|directory| PathBuf::from(directory).join(PODMAN_USER_SOCKET));
        user.into_iter().chain([PODMAN_SOCKET.into()]).collect()
    }

    /// Returns whether DOCKER_TLS_VERIFY is set: addresses without a context are then behind TLS.
    pub(crate) fn uses_tls(&self) -> bool {
        self.variable("DOCKER_TLS_VERIFY").is_some()
    }

    /// Returns the directory of the client's files: DOCKER_CONFIG, else `~/.docker`.
    pub(crate) fn configuration_directory(&self) -> PathBuf {
        let home = || PathBuf::from(self.variable("HOME").unwrap_or_default()).join(".docker");
        self.variable("DOCKER_CONFIG").map_or_else(home, PathBuf::from)
    }

    /// Returns the directory of the certificates that are used without a context: DOCKER_CERT_PATH, else that of the
    /// client's files.
    #[cfg(any(feature = "tls", test))]
    pub(crate) fn certificate_directory(&self) -> PathBuf {
        let named = self.variable("DOCKER_CERT_PATH").map(PathBuf::from);
        named.unwrap_or_else(|| self.configuration_directory())
    }

    /// Returns the name of the context in use. DOCKER_HOST excludes any; otherwise it is DOCKER_CONTEXT, else the
    /// current context of the client's configuration. Returns `None` if that is the default context.
    pub(crate) fn context(&self) -> Option<String> {
        if self.host().is_some() {
            return None;
        }
        let named = self.variable("DOCKER_CONTEXT").map(|name| name.to_string_lossy().into_owned());
        let name = named.or_else(|| self.current_context())?;
        (!is_default_context(&name)).then_some(name)
    }

    /// Reads the current context of `config.json`. As for Docker's client, a file that cannot be read names none.
    fn current_context(&self) -> Option<String> {
        let text = std::fs::read(self.configuration_directory().join("config.json")).ok()?;
        let configuration: ClientConfiguration = serde_json::from_slice(&text).ok()?;
        configuration.current_context.filter(|name| !name.is_empty())
    }
}

impl FromIterator<(&'static str, OsString)> for ClientEnvironment {
    fn from_iter<I: IntoIterator<Item = (&'static str, OsString)>>(variables: I) -> Self {
        let variables = variables.into_iter().filter(|(_, value)| !value.is_empty()).collect();
        Self { variables }
    }
}

/// Returns whether a context is the default one: the engine that is used without a context.
pub(crate) fn is_default_context(name: &str) -> bool {
    name == DEFAULT_CONTEXT
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn environment<const N: usize>(variables: [(&'static str, &str); N]) -> ClientEnvironment {
        variables.into_iter().map(|(name, value)| (name, value.into())).collect()
    }

    #[test]
    fn certificates_are_where_dockers_client_keeps_them() {
        let home = ("HOME", "/home/me");
        for (variables, directory) in [
            ([home, ("DOCKER_CONFIG", ""), ("DOCKER_CERT_PATH", "")], "/home/me/.docker"),
            ([home, ("DOCKER_CONFIG", "/c"), ("DOCKER_CERT_PATH", "")], "/c"),
            ([home, ("DOCKER_CONFIG", "/c"), ("DOCKER_CERT_PATH", "/d")], "/d"),
        ] {
            assert_eq!(environment(variables).certificate_directory(), Path::new(directory));
        }
    }

    #[test]
    fn the_context_is_the_one_that_dockers_client_uses() {
        let directory = tempfile::tempdir().unwrap();
        let config = ("DOCKER_CONFIG", directory.path().to_str().unwrap());
        let (host, named) = (("DOCKER_HOST", "unix:///a.sock"), ("DOCKER_CONTEXT", "named"));
        let current = |text: &str| {
            std::fs::write(directory.path().join("config.json"), text).unwrap();
            environment([config]).context()
        };
        assert_eq!(environment([config]).context(), None);
        assert_eq!(current(r#"{"auths": {}, "currentContext": "used"}"#).as_deref(), Some("used"));
        assert_eq!(environment([config, named]).context().as_deref(), Some("named"));
        assert_eq!(environment([config, named, host]).context(), None);
        assert_eq!(environment([config, ("DOCKER_CONTEXT", "default")]).context(), None);
        for text in [r#"{"currentContext": ""}"#, r#"{"currentContext": "default"}"#, "{}", "?"] {
            assert_eq!(current(text), None, "{text}");
        }
    }
}
