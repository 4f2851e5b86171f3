//! Reaper of a run: a process of its own that removes the run's objects if the run ends without doing so, even by
//! SIGKILL.
//!
//! `tare internal kubernetes-reaper` reads lines: `watch NAMESPACE OWNER` names the object that owns all others, `done`
//! says that nothing is left. If its input ends without that word, the run is gone, and the owner is deleted. It is
//! started before the lab is entered, since what is started later ends with the lab.

use crate::cluster_client::ask_once;
use crate::cluster_error::deletion;
use crate::options::ClusterOptions;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::DeleteParams;
use std::ffi::OsString;
use std::io::{self, BufRead as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tare_network::{Error, INTERNAL};

/// Role of the process.
pub(crate) const ROLE: &str = "kubernetes-reaper";

/// Number of attempts to delete the owner, and the pause between two: the API server may be away for a while.
const ATTEMPTS: u32 = 60;
const PAUSE: Duration = Duration::from_secs(2);

/// Reaper of a run. Dropping it without [`Reaper::release`] makes it remove what it was told of.
pub struct Reaper {
    process: Mutex<Child>,
    input: Mutex<Option<ChildStdin>>,
}

impl Reaper {
    /// Starts the process. It is not in this process's group: a signal from the terminal does not reach it.
    ///
    /// # Errors
    /// The process cannot be started.
    pub fn start(options: &ClusterOptions) -> Result<Self, Error> {
        let failed =
            |error: io::Error| Error::new("start the process that cleans up in the cluster", error);
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command.arg0("tare").args([INTERNAL, ROLE]).args(to_arguments(options));
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let mut process = command.spawn().map_err(failed)?;
        let input = process.stdin.take();
        Ok(Self { process: Mutex::new(process), input: Mutex::new(input) })
    }

    /// Names the object that owns everything of the run.
    pub(crate) fn watch(&self, namespace: &str, owner: &str) {
        self.say(&format!("watch {namespace} {owner}\n"));
    }

    /// Ends the process: nothing is left.
    pub fn release(&self) {
        self.say("done\n");
        self.input.lock().unwrap_or_else(PoisonError::into_inner).take();
        // Its exit says nothing that this process could act on.
        let _ = self.process.lock().unwrap_or_else(PoisonError::into_inner).wait();
    }

    fn say(&self, line: &str) {
        let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        // A reaper that was killed cannot be told; the pods then end by themselves.
        let _ = input.as_mut().map(|input| input.write_all(line.as_bytes()));
    }
}

/// Runs the role with its arguments (those after the role's name), until the run ends.
///
/// # Errors
/// The owner could not be deleted.
pub fn run_reaper(arguments: impl IntoIterator<Item = OsString>) -> Result<(), Error> {
    let options = from_arguments(arguments);
    let mut watched = None;
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        match line.split(' ').collect::<Vec<_>>().as_slice() {
            ["watch", namespace, owner] => {
                watched = Some((namespace.to_string(), owner.to_string()));
            }
            ["done"] => return Ok(()),
            _ => {}
        }
    }
    watched.map_or(Ok(()), |(namespace, owner)| delete_owner(options, &namespace, &owner))
}

fn delete_owner(options: ClusterOptions, namespace: &str, owner: &str) -> Result<(), Error> {
    let options = ClusterOptions { namespace: Some(namespace.to_owned()), ..options };
    let mut result = Ok(());
    for _ in 0..ATTEMPTS {
        result = ask_once(&options, |client, address| async move {
            let owners: Api<ConfigMap> = Api::namespaced(client, &address.namespace);
            let answer = owners.delete(owner, &DeleteParams::background()).await;
            deletion(format!("delete the ConfigMap {owner}"), answer)
        });
        if result.is_ok() {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    result
}

/// Returns the options by which the process reaches the same cluster as the same user.
fn to_arguments(options: &ClusterOptions) -> Vec<OsString> {
    let word = |name: &str, value: Option<OsString>| value.map(|value| [name.into(), value]);
    let all = [
        word("--kubeconfig", options.kubeconfig.clone().map(Into::into)),
        word("--kube-context", options.context.clone().map(Into::into)),
        word("--as", options.impersonated_user.clone().map(Into::into)),
    ];
    all.into_iter().flatten().flatten().collect()
}

fn from_arguments(arguments: impl IntoIterator<Item = OsString>) -> ClusterOptions {
    let mut options = ClusterOptions::default();
    let mut arguments = arguments.into_iter();
    while let (Some(name), Some(value)) = (arguments.next(), arguments.next()) {
        match name.to_str() {
            Some("--kubeconfig") => options.kubeconfig = Some(value.into()),
            Some("--kube-context") => options.context = value.into_string().ok(),
            Some("--as") => options.impersonated_user = value.into_string().ok(),
            _ => {}
        }
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_gets_the_same_cluster_and_user() {
        let options = ClusterOptions {
            kubeconfig: Some("/a/config".into()),
            context: Some("dev".to_owned()),
            impersonated_user: Some("jane".to_owned()),
            ..ClusterOptions::default()
        };
        assert_eq!(from_arguments(to_arguments(&options)), options);
        assert_eq!(
            from_arguments(to_arguments(&ClusterOptions::default())),
            ClusterOptions::default()
        );
    }
}
