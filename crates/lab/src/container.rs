//! Containers of the lab: an address, a network namespace, and the programs started in it.

use crate::programs::RunningPrograms;
use std::ffi::OsString;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Stdio as Stream;
use std::sync::Arc;
use tare_network::{Command, Container, Error, INTERNAL, NetworkDaemons, Process, Stdio};
use tare_sandbox::programs::MountNamespace;
use tare_sandbox::sys::FilesystemView;
use tare_sandbox::{Namespace, Sandbox, TARE};

/// Container in the lab.
pub(crate) struct LabContainer {
    pub(crate) sandbox: Arc<Sandbox>,
    pub(crate) name: String,
    pub(crate) address: IpAddr,
    /// Network namespace. `None` if the container shares the network namespace of tare itself.
    pub(crate) namespace: Option<Arc<Namespace>>,
    /// Environment variables of its programs, unless a command overrides them.
    pub(crate) environment: Vec<(String, String)>,
    /// Names that its programs can resolve if they have a private hosts file.
    pub(crate) names: Vec<(String, IpAddr)>,
    /// Mount namespace of a node's programs. `None` for the mount namespace of this process.
    pub(crate) mounts: Option<Arc<MountNamespace>>,
    /// Programs of its network, if the network has any.
    pub(crate) programs: Option<Arc<RunningPrograms>>,
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
        let view = self.mounts.clone().map(|mounts| FilesystemView::in_root(mounts));
        let command_line = prepare(&self.with_defaults(command));
        let namespace = self.namespace.clone();
        Ok(Box::new(self.sandbox.start_process(command_line, namespace, view, command.stdio)?))
    }

    fn daemons(&self) -> Option<&dyn NetworkDaemons> {
        self.programs.as_deref().map(|programs| programs as &dyn NetworkDaemons)
    }
}

impl LabContainer {
    /// Adds the container's variables and names to a command. Those of the command take precedence.
    fn with_defaults(&self, command: &Command) -> Command {
        let environment = [&self.environment[..], &command.environment].concat();
        let mut hosts = command.hosts.clone();
        if !hosts.is_empty() {
            let own = self.names.iter().filter(|own| !command.hosts.contains(own));
            hosts.extend(own.cloned());
        }
        Command { environment, hosts, ..command.clone() }
    }
}

/// Converts the command into one of the standard library.
fn prepare(command: &Command) -> std::process::Command {
    let (program, arguments) = program_and_arguments(command);
    let mut prepared = std::process::Command::new(&program);
    if program == TARE {
        prepared.arg0("tare");
    }
    prepared.args(arguments);
    for name in &command.withheld {
        prepared.env_remove(name);
    }
    prepared.envs(command.environment.iter().map(|(name, value)| (name, value)));
    match command.stdio {
        // A terminal's Ctrl-C reaches its foreground process group. Agents have their own, so that tare ends them in
        // order.
        Stdio::Piped => {
            prepared.stdin(Stream::piped()).stdout(Stream::piped()).process_group(0);
        }
        Stdio::Inherit => {}
    }
    prepared
}

/// Returns the program and its arguments. If names must resolve, the program runs through tare's role `exec`.
fn program_and_arguments(command: &Command) -> (OsString, Vec<OsString>) {
    let program = command.program.clone().map_or_else(|| TARE.into(), OsString::from);
    let arguments = command.arguments.iter().map(OsString::from);
    if command.hosts.is_empty() {
        return (program, arguments.collect());
    }
    let hosts: Vec<String> =
        command.hosts.iter().map(|(name, address)| format!("{name}={address}")).collect();
    let hosts: OsString = hosts.join(",").into();
    let role = [INTERNAL.into(), "exec".into(), "--hosts".into(), hosts, "--".into(), program];
    (TARE.into(), role.into_iter().chain(arguments).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv6Addr;

    #[test]
    fn names_are_resolved_by_going_inside() {
        let mut command = Command::tare(["agent"]);
        assert_eq!(program_and_arguments(&command), (TARE.into(), vec!["agent".into()]));
        command.program = Some("ping".into());
        command.hosts = vec![("server".to_owned(), Ipv6Addr::LOCALHOST.into())];
        let (program, arguments) = program_and_arguments(&command);
        assert_eq!(program, TARE);
        assert_eq!(arguments, [INTERNAL, "exec", "--hosts", "server=::1", "--", "ping", "agent"]);
    }
}
