//! Errors of a cluster's API or of the connection to it, each on one line and with a remedy.

use kube::Error as Refusal;
use std::error::Error as StdError;
use tare_network::Error;

/// HTTP statuses of the API's answers.
const UNAUTHORIZED: u16 = 401;
const FORBIDDEN: u16 = 403;
const NOT_FOUND: u16 = 404;

/// Words of the API where a pod does not meet the namespace's Pod Security Standard.
const POD_SECURITY: &str = "violates PodSecurity";

/// Words of the API where a pod names a runtime class that the cluster does not have.
const RUNTIME_CLASS: &str = "RuntimeClass";

/// Returns whether the API reports that an object does not exist.
pub(crate) fn is_not_found(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::Api(status) if status.code == NOT_FOUND)
}

/// Returns whether the user may not do this.
pub(crate) fn is_forbidden(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::Api(status) if status.code == FORBIDDEN)
}

/// Converts the answer to the deletion of an object: one that does not exist is deleted.
pub(crate) fn deletion<T>(what: String, answer: Result<T, Refusal>) -> Result<(), Error> {
    match answer {
        Ok(_) => Ok(()),
        Err(refusal) if is_not_found(&refusal) => Ok(()),
        Err(refusal) => Err(cluster_error(what, &refusal)),
    }
}

/// Builds an error of tare's: the operation, the API's own words, the remedy.
pub(crate) fn cluster_error(what: impl Into<String>, refusal: &Refusal) -> Error {
    match refusal {
        Refusal::Api(status) => {
            let why = one_line(&status.message);
            Error::new(what, why).with_remedy(match status.code {
                UNAUTHORIZED => "log in to the cluster again: its credentials are not accepted",
                FORBIDDEN if status.message.contains(POD_SECURITY) => {
                    "use a namespace whose Pod Security Standard allows these pods, or other networks"
                }
                FORBIDDEN if status.message.contains(RUNTIME_CLASS) => {
                    "see `kubectl get runtimeclasses` for those that the cluster has"
                }
                FORBIDDEN => "ask for a Role with this: `tare kubernetes rbac` prints it",
                _ => "",
            })
        }
        other => Error::new(what, one_line(&root_cause(other)))
            .with_remedy("check the cluster with `kubectl get --raw /readyz`"),
    }
}

/// Builds the error of a configuration that cannot be used.
pub(crate) fn config_error(error: &(dyn StdError + 'static)) -> Error {
    Error::new("read the configuration of the Kubernetes cluster", one_line(&root_cause(error)))
        .with_remedy(
            "set KUBECONFIG or give --kubeconfig FILE, and see `kubectl config get-contexts`",
        )
}

/// Returns the words of the error that caused another.
fn root_cause(error: &(dyn StdError + 'static)) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

fn one_line(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}
