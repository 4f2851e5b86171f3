//! Errors of the engine or of the connection to it, each on one line and with a remedy.

use crate::address::EngineAddress;
use crate::product::EngineProduct;
use bollard::errors::Error as Refusal;
use std::error::Error as _;
use std::io::ErrorKind;
use tare_network::{Error, UnmetRequirement};

/// HTTP status for an object that does not exist.
const NOT_FOUND: u16 = 404;
const CONFLICT: u16 = 409;

/// HTTP statuses for a Swarm request to an engine that manages none: of Docker, and of Podman and others that know no
/// such request.
const NO_SWARM: [u16; 4] = [503, NOT_FOUND, 405, 501];

/// Returns whether the engine reports that an object does not exist: by its status or, if a Swarm's manager reports it,
/// in words.
pub(crate) fn is_not_found(refusal: &Refusal) -> bool {
    match refusal {
        Refusal::DockerResponseServerError { status_code: NOT_FOUND, .. } => true,
        Refusal::DockerResponseServerError { message, .. } => {
            message.starts_with("network ") && message.trim_end().ends_with(" not found")
        }
        _ => false,
    }
}

/// Returns whether the engine reports that an object is being removed already, or is in use.
pub(crate) fn is_conflict(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::DockerResponseServerError { status_code: CONFLICT, .. })
}

/// Returns whether the engine's answer to a request for a Swarm's objects says that it manages none.
pub(crate) fn is_not_manager(refusal: &Refusal) -> bool {
    matches!(
        refusal,
        Refusal::DockerResponseServerError { status_code, .. } if NO_SWARM.contains(status_code)
    )
}

/// Returns whether the engine's answer has a value that Docker's API does not have.
pub(crate) fn is_unreadable(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::JsonDataError { .. })
}

/// Returns whether Podman refuses to remove a container because others share its network namespace.
pub(crate) fn has_dependents(refusal: &Refusal) -> bool {
    error_message(refusal).contains("has dependent containers")
}

/// Returns whether a Swarm did not attach a container to its network in time. Its limit of 20 s cannot be changed.
pub(crate) fn is_attach_timeout(refusal: &Refusal) -> bool {
    let words = error_message(refusal);
    let attaches = ["attaching to network failed", "Could not attach to network"];
    attaches.iter().any(|one| words.contains(one)) && words.contains("deadline exceeded")
}

/// Builds an error of tare's: the operation, the engine's own words, the remedy.
pub(crate) fn engine_error(
    what: impl Into<String>,
    refusal: &Refusal,
    address: &EngineAddress,
) -> Error {
    if let Some(kind) = io_error_kind(refusal) {
        let UnmetRequirement { reason, remedy } = unreachable_engine(kind, refusal, address);
        return Error::new(what, reason).with_remedy(remedy);
    }
    let why = error_message(refusal);
    let remedy = known_remedy(&why);
    Error::new(what, why).with_remedy(remedy)
}

/// Returns why no engine answers, and how to get one.
pub(crate) fn engine_missing(refusal: &Refusal, address: &EngineAddress) -> UnmetRequirement {
    match io_error_kind(refusal) {
        Some(kind) => unreachable_engine(kind, refusal, address),
        None => UnmetRequirement {
            reason: format!(
                "the {} at {address} refused the request: {}",
                EngineProduct::of_address(address),
                error_message(refusal)
            ),
            remedy: "see the engine's log".to_owned(),
        },
    }
}

/// Finds the kind of the input or output error below a refusal. Returns `None` if the engine itself answered.
fn io_error_kind(refusal: &Refusal) -> Option<ErrorKind> {
    if matches!(refusal, Refusal::SocketNotFoundError(_)) {
        return Some(ErrorKind::NotFound);
    }
    if matches!(refusal, Refusal::RequestTimeoutError) {
        return Some(ErrorKind::TimedOut);
    }
    let mut cause = refusal.source();
    let mut hung_up = None;
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<std::io::Error>() {
            return Some(error.kind());
        }
        if error.to_string().contains("connection closed") {
            hung_up = Some(ErrorKind::ConnectionReset);
        }
        cause = error.source();
    }
    hung_up
}

fn unreachable_engine(
    kind: ErrorKind,
    refusal: &Refusal,
    address: &EngineAddress,
) -> UnmetRequirement {
    match EngineProduct::of_address(address) {
        EngineProduct::Docker => unreachable_docker(kind, refusal, address),
        EngineProduct::Podman => unreachable_podman(kind, refusal, address),
    }
}

fn unreachable_podman(
    kind: ErrorKind,
    refusal: &Refusal,
    address: &EngineAddress,
) -> UnmetRequirement {
    let why = match kind {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => "it is not running".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::TimedOut => "it does not answer in time".to_owned(),
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof => {
            "it closed the connection".to_owned()
        }
        _ => error_message(refusal),
    };
    UnmetRequirement {
        reason: format!("cannot reach Podman's service at {address}: {why}"),
        remedy: "run `systemctl --user start podman.socket` (`sudo systemctl start podman.socket` for root's), or set CONTAINER_HOST"
            .to_owned(),
    }
}

fn unreachable_docker(
    kind: ErrorKind,
    refusal: &Refusal,
    address: &EngineAddress,
) -> UnmetRequirement {
    let (reason, remedy) = match (kind, address.socket()) {
        (ErrorKind::NotFound, Some(path)) => (
            format!("Docker is not running: {} does not exist", path.display()),
            "run `sudo apt-get install docker.io` and `sudo systemctl start docker`, or set DOCKER_HOST",
        ),
        (ErrorKind::PermissionDenied, Some(path)) => (
            format!("permission denied on the Docker socket {}", path.display()),
            "run `sudo usermod -aG docker $USER` and log in again, or run tare as root",
        ),
        (ErrorKind::ConnectionRefused, Some(path)) => (
            format!("Docker is not running: no process listens on {}", path.display()),
            "run `sudo systemctl start docker`, or set DOCKER_HOST",
        ),
        (ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof, _) => (
            format!(
                "the Docker Engine at {address} closed the connection: dockerd stopped or restarted"
            ),
            "see `sudo systemctl status docker` and the log of dockerd",
        ),
        (ErrorKind::TimedOut, _) => (
            format!("the Docker Engine at {address} does not answer"),
            "check whether dockerd is overloaded or hangs, or set DOCKER_HOST",
        ),
        _ => (
            format!("no Docker Engine answers at {address}: {}", error_message(refusal)),
            "start the engine, or set DOCKER_HOST",
        ),
    };
    UnmetRequirement { reason, remedy: remedy.to_owned() }
}

/// Returns the engine's own words, or the innermost cause, on one line.
pub(crate) fn error_message(refusal: &Refusal) -> String {
    let text = match refusal {
        Refusal::DockerResponseServerError { message, .. } => message.clone(),
        Refusal::DockerStreamError { error } => error.clone(),
        other => {
            let mut innermost = other.to_string();
            let mut cause = other.source();
            while let Some(error) = cause {
                innermost = error.to_string();
                cause = error.source();
            }
            innermost
        }
    };
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the remedy for an error message of the engine; an empty string if none is known.
pub fn known_remedy(why: &str) -> String {
    const KNOWN: [(&str, &str); 8] = [
        (
            "no space left on device",
            "free space on the disk that holds Docker's data (`docker info`: Docker Root Dir), or run `docker system prune`",
        ),
        ("port is already allocated", "stop the container that publishes this port"),
        ("address already in use", "stop the program that listens on this port"),
        ("No such image", "run `docker pull` or `docker load` for the image, or omit --image"),
        (
            "non-overlapping",
            "run `docker network prune`, or give dockerd more --default-address-pool",
        ),
        (
            "operation not supported",
            "boot a kernel that supports this device on the engine's machine, or choose another network",
        ),
        ("swarm manager", "run `docker swarm init`, or point DOCKER_HOST at a manager"),
        ("not part of a swarm", "run `docker swarm init` or `docker swarm join`"),
    ];
    KNOWN
        .iter()
        .find(|(words, _)| why.to_lowercase().contains(&words.to_lowercase()))
        .map(|(_, remedy)| (*remedy).to_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn io(kind: ErrorKind) -> Refusal {
        Refusal::IOError { err: std::io::Error::from(kind) }
    }

    #[test]
    fn every_way_of_not_reaching_an_engine_has_its_remedy() {
        let local = EngineAddress::default();
        let cases = [
            (Refusal::SocketNotFoundError("x".to_owned()), "is not running", "docker.io"),
            (Refusal::RequestTimeoutError, "does not answer", "DOCKER_HOST"),
        ];
        for (refusal, reason, remedy) in cases {
            let missing = engine_missing(&refusal, &local);
            assert!(missing.reason.contains(reason), "{missing:?}");
            assert!(missing.remedy.contains(remedy), "{missing:?}");
        }
        let denied = unreachable_engine(
            ErrorKind::PermissionDenied,
            &io(ErrorKind::PermissionDenied),
            &local,
        );
        assert!(denied.remedy.contains("usermod"), "{denied:?}");
    }

    #[test]
    fn only_a_swarm_that_is_late_is_asked_again() {
        let said = |message: &str| Refusal::DockerResponseServerError {
            status_code: 500,
            message: message.to_owned(),
        };
        assert!(is_attach_timeout(&said(
            "attaching to network failed, make sure your network options are correct and check \
             manager logs: context deadline exceeded"
        )));
        assert!(is_attach_timeout(&said(
            "Could not attach to network net: context deadline exceeded"
        )));
        assert!(!is_attach_timeout(&said("attaching to network failed: invalid cluster node")));
        assert!(!is_attach_timeout(&said("context deadline exceeded")));
    }

    #[test]
    fn an_engine_that_knows_no_swarm_manages_none() {
        let said = |status_code| Refusal::DockerResponseServerError {
            status_code,
            message: "Not Found".to_owned(),
        };
        assert!([503, 404, 405, 501].into_iter().all(|status| is_not_manager(&said(status))));
        assert!(![400, 500, 403].into_iter().any(|status| is_not_manager(&said(status))));
        assert!(!is_not_manager(&Refusal::RequestTimeoutError));
    }

    #[test]
    fn what_is_gone_is_gone_in_words_too() {
        let said = |status_code, message: &str| Refusal::DockerResponseServerError {
            status_code,
            message: message.to_owned(),
        };
        assert!(is_not_found(&said(404, "")));
        assert!(is_not_found(&said(500, "network qqpfl9byn12i not found")));
        assert!(!is_not_found(&said(500, "network x has active endpoints")));
        assert!(!is_not_found(&said(500, "driver for network x not found: plugin")));
    }

    #[test]
    fn a_full_disk_is_said_as_the_engine_says_it() {
        let refusal = Refusal::DockerResponseServerError {
            status_code: 500,
            message: "write /var/lib/docker/x:\n no space left on device".to_owned(),
        };
        let error = engine_error("load the image", &refusal, &EngineAddress::default());
        assert_eq!(error.to_string().lines().count(), 1);
        assert!(error.remedy.contains("free space"), "{error:?}");
        assert!(is_not_found(&Refusal::DockerResponseServerError {
            status_code: 404,
            message: String::new()
        }));
    }
}
