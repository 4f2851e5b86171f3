//! Containers: an address, a network namespace, and the programs started in it.

use crate::lab::Lab;
use crate::namespace::Namespace;
use crate::process::LabProcess;
use crate::programs::{Mounts, Running};
use crate::spawner::TARE;
use std::ffi::OsString;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Stdio as Stream;
use std::sync::Arc;
use tare_network::{Command, Container, Daemons, Error, Process, Stdio};

/// A container of the lab's.
pub(crate) struct LabContainer {
    pub(crate) lab: Arc<Lab>,
    pub(crate) name: String,
    pub(crate) address: IpAddr,
    /// Nothing where it shares the network namespace of tare itself.
    pub(crate) namespace: Option<Arc<Namespace>>,
    /// Variables that its programs find in their environment, unless they are given others.
    pub(crate) environment: Vec<(String, String)>,
    /// Names that its programs can resolve, where they have a hosts file of their own.
    pub(crate) names: Vec<(String, IpAddr)>,
    /// A view of files that is not the process's own: that of a node's programs.
    pub(crate) mounts: Option<Arc<Mounts>>,
    /// The programs of its network, where it has any.
    pub(crate) programs: Option<Arc<Running>>,
}

impl Container for LabContainer {
    fn name(&self) -> &str {
        &self.name
    }

    fn address(&self) -> IpAddr {
        self.address
    }

    fn namespace(&self) -> Option<PathBuf> {
        let namespace = self.namespace.as_ref()?;
        let descriptor = namespace.as_fd().as_raw_fd();
        Some(format!("/proc/{}/fd/{descriptor}", std::process::id()).into())
    }

    fn spawn(&self, command: &Command) -> Result<Box<dyn Process>, Error> {
        let (namespace, mounts) = (self.namespace.clone(), self.mounts.clone().map(Into::into));
        let child = self.lab.start_with(prepare(&self.with_own(command)), namespace, mounts)?;
        Ok(Box::new(LabProcess::new(child, command.stdio)))
    }

    fn daemons(&self) -> Option<&dyn Daemons> {
        self.programs.as_deref().map(|programs| programs as &dyn Daemons)
    }
}

impl LabContainer {
    /// The command with the container's own variables and names beneath its own.
    fn with_own(&self, command: &Command) -> Command {
        let environment = [&self.environment[..], &command.environment].concat();
        let mut hosts = command.hosts.clone();
        if !hosts.is_empty() {
            let own = self.names.iter().filter(|own| !command.hosts.contains(own));
            hosts.extend(own.cloned());
        }
        Command { environment, hosts, ..command.clone() }
    }
}

/// The command as the standard library starts it.
fn prepare(command: &Command) -> std::process::Command {
    let (program, arguments) = words(command);
    let mut prepared = std::process::Command::new(&program);
    if program == TARE {
        prepared.arg0("tare");
    }
    prepared.args(arguments);
    prepared.envs(command.environment.iter().map(|(name, value)| (name, value)));
    match command.stdio {
        // Ctrl-C at a terminal goes to its foreground process group: agents end in order, by us.
        Stdio::Piped => {
            prepared.stdin(Stream::piped()).stdout(Stream::piped()).process_group(0);
        }
        Stdio::Inherit => {}
    }
    prepared
}

/// The program and its arguments, through tare's `inside` where names must resolve.
fn words(command: &Command) -> (OsString, Vec<OsString>) {
    let program = command.program.clone().map_or_else(|| TARE.into(), OsString::from);
    let arguments = command.arguments.iter().map(OsString::from);
    if command.hosts.is_empty() {
        return (program, arguments.collect());
    }
    let hosts: Vec<String> =
        command.hosts.iter().map(|(name, address)| format!("{name}={address}")).collect();
    let inside = ["inside".into(), "--hosts".into(), hosts.join(",").into(), "--".into(), program];
    (TARE.into(), inside.into_iter().chain(arguments).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv6Addr;

    #[test]
    fn names_are_resolved_by_going_inside() {
        let mut command = Command::tare(["agent"]);
        assert_eq!(words(&command), (TARE.into(), vec!["agent".into()]));
        command.program = Some("ping".into());
        command.hosts = vec![("server".to_owned(), Ipv6Addr::LOCALHOST.into())];
        let (program, arguments) = words(&command);
        assert_eq!(program, TARE);
        assert_eq!(arguments, ["inside", "--hosts", "server=::1", "--", "ping", "agent"]);
    }
}
