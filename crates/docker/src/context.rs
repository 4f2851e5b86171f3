//! Engines of Docker contexts, as Docker's own client stores them under names, and the engine that the client uses; on a
//! machine without Docker, the engine that Podman's client uses.
//!
//! Source: docker/cli, cli/context/store: `contexts/meta/SHA256(NAME)/meta.json` below the client's directory, and the
//! certificates in `contexts/tls/SHA256(NAME)/docker`.

pub(crate) mod client_environment;

use crate::address::{EngineAddress, EngineAddressError};
use crate::product::EngineProduct;
use client_environment::{ClientEnvironment, is_default_context};
use rustix::fs::{Access, access};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::path::Path;

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
    /// Returns the address that Docker's own client uses: DOCKER_HOST, else the engine of the context that
    /// DOCKER_CONTEXT or the client's configuration names, else the local engine's. If that has no socket, it is
    /// Podman's: CONTAINER_HOST, else the user's socket, else the machine's.
    ///
    /// # Errors
    /// Fails if DOCKER_HOST or CONTAINER_HOST cannot be parsed, if there is no such context, or if one of them names a
    /// protocol that this build does not speak.
    pub fn from_environment() -> Result<Self, EngineAddressError> {
        Self::from_client(&ClientEnvironment::from_process(), Path::exists)
    }

    /// Returns the address for a client on a machine where these files exist.
    fn from_client(
        client: &ClientEnvironment,
        exists: impl Fn(&Path) -> bool,
    ) -> Result<Self, EngineAddressError> {
        if let Some(name) = client.context() {
            return read_context(&client.configuration_directory(), &name);
        }
        let default = Self::from_default_context(client)?;
        if client.host().is_some() || default.socket().is_some_and(&exists) {
            return Ok(default);
        }
        match client.podman_host() {
            Some(host) => address_of_podman(host),
            None => {
                let podman = client.podman_sockets().into_iter().find(|path| exists(path));
                Ok(podman.map_or(default, Self::Unix))
            }
        }
    }

    /// Returns the address of Podman's service: CONTAINER_HOST, else the first of the user's socket and the machine's that
    /// this user may use, else a DOCKER_HOST with the name of such a socket. Returns `None` if none of them is there.
    ///
    /// # Errors
    /// Fails if a variable cannot be parsed or names a protocol that tare does not speak to Podman.
    pub(crate) fn of_podman() -> Result<Option<Self>, EngineAddressError> {
        let may_use = |path: &Path| access(path, Access::READ_OK | Access::WRITE_OK).is_ok();
        Self::podman_from_client(&ClientEnvironment::from_process(), may_use)
    }

    fn podman_from_client(
        client: &ClientEnvironment,
        may_use: impl Fn(&Path) -> bool,
    ) -> Result<Option<Self>, EngineAddressError> {
        if let Some(host) = client.podman_host() {
            return address_of_podman(host).map(Some);
        }
        let socket = client.podman_sockets().into_iter().find(|path| may_use(path));
        match (socket, client.host()) {
            (Some(socket), _) => Ok(Some(Self::Unix(socket))),
            (None, Some(_)) => {
                let address = Self::from_default_context(client)?;
                let is_podman = EngineProduct::of_address(&address) == EngineProduct::Podman;
                Ok(is_podman.then_some(address))
            }
            (None, None) => Ok(None),
        }
    }

    /// Returns the address of the default context: DOCKER_HOST, else the local engine's.
    fn from_default_context(client: &ClientEnvironment) -> Result<Self, EngineAddressError> {
        match client.host().map_or_else(|| Ok(Self::default()), str::parse)? {
            Self::Tcp(host) if client.uses_tls() => Ok(Self::Tls(host, None)),
            other => Ok(other),
        }
    }

    /// Returns the address of a context's engine.
    ///
    /// # Errors
    /// Fails if there is no such context, or if it names a protocol that this build does not speak.
    pub fn from_context(name: &str) -> Result<Self, EngineAddressError> {
        let client = ClientEnvironment::from_process();
        if is_default_context(name) {
            return Self::from_default_context(&client);
        }
        read_context(&client.configuration_directory(), name)
    }
}

/// Returns the address that CONTAINER_HOST names. Podman's client reaches other machines by ssh and a path there, which
/// tare does not.
fn address_of_podman(host: &str) -> Result<EngineAddress, EngineAddressError> {
    match host.parse()? {
        EngineAddress::Ssh(_) => Err(EngineAddressError {
            reason: format!("cannot use CONTAINER_HOST `{host}`: tare does not reach Podman by ssh"),
            remedy: "forward its socket (`ssh -L /tmp/podman.sock:/run/podman/podman.sock HOST`), and set \
                     DOCKER_HOST=unix:///tmp/podman.sock"
                .to_owned(),
        }),
        other => Ok(other),
    }
}

/// Reads the address of a context's engine from the directory of Docker's own client.
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
    let address = address_of_context(&text).map_err(|error| {
        wrong(
            format!("cannot parse {}: {error}", file.display()),
            "see `docker context inspect`, or make the context again",
        )
    })??;
    let certificates = directory.join("contexts/tls").join(&digest).join("docker");
    Ok(match address {
        EngineAddress::Tcp(host) if certificates.is_dir() => {
            EngineAddress::Tls(host, Some(certificates))
        }
        other => other,
    })
}

/// Returns the engine's address from the metadata of a context. The inner error is of an address that is invalid.
pub(crate) fn address_of_context(
    metadata: &str,
) -> serde_json::Result<Result<EngineAddress, EngineAddressError>> {
    let metadata: ContextMetadata = serde_json::from_str(metadata)?;
    let host = metadata.endpoints.get("docker").map(|one| one.host.as_str()).unwrap_or_default();
    Ok(if host.is_empty() { Ok(EngineAddress::default()) } else { host.parse() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a context as Docker's own client does. Returns the digest of its name.
    fn write_context(directory: &Path, name: &str, host: &str) -> String {
        let digest: String =
            Sha256::digest(name).iter().map(|byte| format!("{byte:02x}")).collect();
        let own = directory.join("contexts/meta").join(&digest);
        let meta = format!(
            r#"{{"Name":"{name}","Metadata":{{}},"Endpoints":{{"docker":{{"Host":"{host}","SkipTLSVerify":false}}}}}}"#
        );
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(own.join("meta.json"), meta).unwrap();
        digest
    }

    #[test]
    fn the_engine_is_the_one_that_dockers_client_uses() {
        let directory = tempfile::tempdir().unwrap();
        write_context(directory.path(), "db1", "tcp://db1:2375");
        let own = |variables: &[(&'static str, &str)]| {
            let config = ("DOCKER_CONFIG", directory.path().into());
            let rest = variables.iter().map(|&(name, value)| (name, value.into()));
            EngineAddress::from_client(&rest.chain([config]).collect(), |_| false)
        };
        let (db1, host) = (EngineAddress::Tcp("db1:2375".to_owned()), ("DOCKER_HOST", "tcp://h:1"));
        let (by_context, of_default) = (("DOCKER_CONTEXT", "db1"), ("DOCKER_CONTEXT", "default"));
        assert_eq!(own(&[]), Ok(EngineAddress::default()));
        assert_eq!(own(&[by_context]), Ok(db1.clone()));
        std::fs::write(directory.path().join("config.json"), r#"{"currentContext": "db1"}"#)
            .unwrap();
        assert_eq!(own(&[]), Ok(db1));
        assert_eq!(own(&[of_default]), Ok(EngineAddress::default()));
        assert_eq!(own(&[by_context, host]), Ok(EngineAddress::Tcp("h:1".to_owned())));
        let tls = [host, ("DOCKER_TLS_VERIFY", "1")];
        assert_eq!(own(&tls), Ok(EngineAddress::Tls("h:1".to_owned(), None)));
        assert!(own(&[("DOCKER_CONTEXT", "nobody")]).unwrap_err().reason.contains("`nobody`"));
    }

    #[test]
    fn podman_is_found_where_there_is_no_docker() {
        const DOCKER: &str = "/var/run/docker.sock";
        const USER: &str = "/run/user/1000/podman/podman.sock";
        const MACHINE: &str = "/run/podman/podman.sock";
        let address = |variables: &[(&'static str, &str)], sockets: &[&str]| {
            let client = variables.iter().map(|&(name, value)| (name, value.into())).collect();
            EngineAddress::from_client(&client, |path| sockets.iter().any(|one| path == *one))
        };
        let unix = |path: &str| Ok(EngineAddress::Unix(path.into()));
        let user = ("XDG_RUNTIME_DIR", "/run/user/1000");
        let named = ("CONTAINER_HOST", "unix:///named.sock");
        let all = [DOCKER, USER, MACHINE];
        assert_eq!(address(&[user, named], &all), unix(DOCKER));
        assert_eq!(address(&[user, named], &all[1..]), unix("/named.sock"));
        assert_eq!(address(&[user], &all[1..]), unix(USER));
        assert_eq!(address(&[user], &all[2..]), unix(MACHINE));
        assert_eq!(address(&[], &all[1..]), unix(MACHINE));
        assert_eq!(address(&[user], &[]), unix(DOCKER));
        let docker_host = ("DOCKER_HOST", "unix:///mine.sock");
        assert_eq!(address(&[user, named, docker_host], &all[1..]), unix("/mine.sock"));
        let by_ssh = ("CONTAINER_HOST", "ssh://me@far/run/podman/podman.sock");
        let error = address(&[by_ssh], &[]).unwrap_err();
        assert!(error.reason.contains("CONTAINER_HOST") && error.remedy.contains("ssh -L"));
    }

    #[test]
    fn podmans_own_place_is_podmans_socket_beside_docker() {
        const USER: &str = "/run/user/1000/podman/podman.sock";
        let address = |variables: &[(&'static str, &str)], usable: &[&str]| {
            let client = variables.iter().map(|&(name, value)| (name, value.into())).collect();
            let found = EngineAddress::podman_from_client(&client, |path| {
                usable.iter().any(|one| path == *one)
            });
            found.unwrap()
        };
        let unix = |path: &str| Some(EngineAddress::Unix(path.into()));
        let user = ("XDG_RUNTIME_DIR", "/run/user/1000");
        let named = ("CONTAINER_HOST", "unix:///named.sock");
        let docker = ("DOCKER_HOST", "unix:///run/docker.sock");
        assert_eq!(address(&[user, named, docker], &[USER]), unix("/named.sock"));
        assert_eq!(address(&[user, docker], &[USER]), unix(USER));
        assert_eq!(address(&[user, docker], &[]), None, "tare starts the service");
        let podman = ("DOCKER_HOST", "unix:///tmp/podman.sock");
        assert_eq!(address(&[user, podman], &[]), unix("/tmp/podman.sock"));
    }

    #[test]
    fn contexts_are_found_as_dockers_client_keeps_them() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, host: &str| write_context(directory.path(), name, host);
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
