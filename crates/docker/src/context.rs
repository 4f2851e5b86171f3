//! Docker contexts: engines under names, as Docker's own client stores them.
//!
//! Source: docker/cli, cli/context/store: `contexts/meta/SHA256(NAME)/meta.json` below the client's directory, and the
//! certificates in `contexts/tls/SHA256(NAME)/docker`.

use crate::address::{EngineAddress, EngineAddressError};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Name of the context that stands for the engine used without a context.
const DEFAULT_CONTEXT: &str = "default";

/// Contents of a context's `meta.json`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ContextMetadata {
    #[serde(default)]
    endpoints: HashMap<String, ContextEndpoint>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ContextEndpoint {
    #[serde(default)]
    host: String,
}

impl EngineAddress {
    /// Returns the address of a context's engine.
    ///
    /// # Errors
    /// Fails if there is no such context, or if it names a protocol that this build does not speak.
    pub fn from_context(name: &str) -> Result<Self, EngineAddressError> {
        if name == DEFAULT_CONTEXT {
            return Self::from_environment();
        }
        read_context(&config_directory(), name)
    }
}

/// Returns the directory of Docker's own client: DOCKER_CONFIG, else `~/.docker`.
fn config_directory() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".docker");
    std::env::var_os("DOCKER_CONFIG").map_or_else(home, PathBuf::from)
}

fn read_context(directory: &Path, name: &str) -> Result<EngineAddress, EngineAddressError> {
    let digest: String = Sha256::digest(name).iter().map(|byte| format!("{byte:02x}")).collect();
    let file = directory.join("contexts/meta").join(&digest).join("meta.json");
    let wrong = |why: String, remedy: &str| EngineAddressError {
        reason: format!("cannot use the Docker context `{name}`: {why}"),
        remedy: remedy.to_owned(),
    };
    let text = std::fs::read_to_string(&file).map_err(|error| {
        wrong(
            format!("cannot read {}: {error}", file.display()),
            "see `docker context ls`, or make the context with `docker context create`",
        )
    })?;
    let meta: ContextMetadata = serde_json::from_str(&text).map_err(|error| {
        wrong(
            format!("cannot parse {}: {error}", file.display()),
            "see `docker context inspect`, or make the context again",
        )
    })?;
    let host = meta.endpoints.get("docker").map(|one| one.host.as_str()).unwrap_or_default();
    if host.is_empty() {
        return Ok(EngineAddress::default());
    }
    let certificates = directory.join("contexts/tls").join(&digest).join("docker");
    Ok(match host.parse()? {
        EngineAddress::Tcp(host) if certificates.is_dir() => {
            EngineAddress::Tls(host, Some(certificates))
        }
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
        let of = |name| read_context(directory.path(), name);
        assert_eq!(of("db1").unwrap(), EngineAddress::Tcp("db1:2376".to_owned()));
        assert_eq!(of("near").unwrap(), EngineAddress::Unix("/run/near.sock".into()));
        assert_eq!(of("far").unwrap(), EngineAddress::Ssh("me@far".to_owned()));
        let digest = write("safe", "tcp://safe:2376");
        let certificates = directory.path().join("contexts/tls").join(digest).join("docker");
        std::fs::create_dir_all(&certificates).unwrap();
        assert_eq!(
            of("safe").unwrap(),
            EngineAddress::Tls("safe:2376".to_owned(), Some(certificates))
        );
        let error = of("nobody").unwrap_err();
        assert!(error.reason.contains("`nobody`") && error.remedy.contains("docker context"));
    }
}
