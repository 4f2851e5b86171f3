//! Docker's contexts: engines under names, as its own client keeps them.
//!
//! Source: docker/cli, cli/context/store: `contexts/meta/SHA256(NAME)/meta.json` below the client's directory, and the
//! certificates in `contexts/tls/SHA256(NAME)/docker`.

use crate::address::{Address, AddressError};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The name that stands for the engine that one speaks to without a context.
const DEFAULT: &str = "default";

/// What the client keeps of a context.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Meta {
    #[serde(default)]
    endpoints: HashMap<String, Endpoint>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Endpoint {
    #[serde(default)]
    host: String,
}

impl Address {
    /// The engine of a context.
    ///
    /// # Errors
    /// When there is no such context, or it names an engine that this build does not speak to.
    pub fn of_context(name: &str) -> Result<Self, AddressError> {
        if name == DEFAULT {
            return Self::from_environment();
        }
        of_context_in(&directory(), name)
    }
}

/// Where Docker's client keeps its own.
fn directory() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".docker");
    std::env::var_os("DOCKER_CONFIG").map_or_else(home, PathBuf::from)
}

fn of_context_in(directory: &Path, name: &str) -> Result<Address, AddressError> {
    let digest: String = Sha256::digest(name).iter().map(|byte| format!("{byte:02x}")).collect();
    let file = directory.join("contexts/meta").join(&digest).join("meta.json");
    let wrong = |why: String, remedy: &str| AddressError {
        reason: format!("Docker's context `{name}` cannot be used: {why}"),
        remedy: remedy.to_owned(),
    };
    let text = std::fs::read_to_string(&file).map_err(|error| {
        wrong(format!("{}: {error}", file.display()), "docker context ls; docker context create")
    })?;
    let meta: Meta = serde_json::from_str(&text)
        .map_err(|error| wrong(error.to_string(), "docker context inspect"))?;
    let host = meta.endpoints.get("docker").map(|one| one.host.as_str()).unwrap_or_default();
    if host.is_empty() {
        return Ok(Address::default());
    }
    let certificates = directory.join("contexts/tls").join(&digest).join("docker");
    Ok(match host.parse()? {
        Address::Tcp(host) if certificates.is_dir() => Address::Tls(host, Some(certificates)),
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_are_found_as_dockers_client_keeps_them() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, host: &str| {
            let digest: String =
                Sha256::digest(name).iter().map(|byte| format!("{byte:02x}")).collect();
            let own = directory.path().join("contexts/meta").join(&digest);
            std::fs::create_dir_all(&own).unwrap();
            let meta = format!(
                r#"{{"Name":"{name}","Metadata":{{}},"Endpoints":{{"docker":{{"Host":"{host}","SkipTLSVerify":false}}}}}}"#
            );
            std::fs::write(own.join("meta.json"), meta).unwrap();
            digest
        };
        write("db1", "tcp://db1:2376");
        write("near", "unix:///run/near.sock");
        write("far", "ssh://me@far");
        let of = |name| of_context_in(directory.path(), name);
        assert_eq!(of("db1").unwrap(), Address::Tcp("db1:2376".to_owned()));
        assert_eq!(of("near").unwrap(), Address::Unix("/run/near.sock".into()));
        assert_eq!(of("far").unwrap(), Address::Ssh("me@far".to_owned()));
        let digest = write("safe", "tcp://safe:2376");
        let certificates = directory.path().join("contexts/tls").join(digest).join("docker");
        std::fs::create_dir_all(&certificates).unwrap();
        assert_eq!(of("safe").unwrap(), Address::Tls("safe:2376".to_owned(), Some(certificates)));
        let error = of("nobody").unwrap_err();
        assert!(error.reason.contains("`nobody`") && error.remedy.contains("docker context"));
    }
}
