//! Pod as a container of a network.

use crate::link::{PodMessage, ProgramRequest};
use crate::objects::PodRole;
use crate::pod_link::LinkState;
use crate::pod_program::PodProgram;
use crate::running_pod::RunningPod;
use std::io::{self, Read as _, Write as _};
use std::net::IpAddr;
use std::sync::Arc;
use tare_network::{Command, Container, Error, Process, Stdio};

/// Server or client of a network, in a pod.
pub(crate) struct PodContainer {
    /// Name within the network.
    pub(crate) name: String,
    /// Role of the container.
    pub(crate) role: PodRole,
    /// Pod in which it is.
    pub(crate) pod: Arc<RunningPod>,
    /// Its own address.
    pub(crate) address: IpAddr,
}

impl Container for PodContainer {
    fn name(&self) -> &str {
        &self.name
    }

    fn address(&self) -> IpAddr {
        self.address
    }

    fn spawn(&self, command: &Command) -> Result<Box<dyn Process>, Error> {
        let program = command.program.as_ref().map(|path| path.to_string_lossy().into_owned());
        let name = format!("{} in {}", program.as_deref().unwrap_or("tare"), self.name);
        if !command.hosts.is_empty() {
            let why = "names of other containers do not resolve in a pod";
            return Err(Error::new(format!("start {name}"), why)
                .with_remedy("use a workload that connects to addresses"));
        }
        let mut words = vec![program.unwrap_or_default()];
        words.extend_from_slice(&command.arguments);
        let request = ProgramRequest { command: words, environment: command.environment.clone() };
        let mut process = PodProgram::start(self.pod.link(), name, request)?;
        if command.stdio == Stdio::Inherit {
            forward_output(&mut process)?;
            if self.role == PodRole::Client {
                forward_input(self.pod.link(), process.number())?;
            }
        }
        Ok(Box::new(process))
    }
}

/// Copies a program's output to this process's own.
fn forward_output(process: &mut PodProgram) -> Result<(), Error> {
    let Some(mut output) = process.take_output() else { return Ok(()) };
    let copy = move || {
        // Whoever reads this process's output may be gone, which does not concern the program.
        let _ = io::copy(&mut output, &mut io::stdout());
        let _ = io::stdout().flush();
    };
    start_thread("forward output", copy)
}

/// Copies this process's own input to a program's. It ends with the process.
fn forward_input(link: &Arc<LinkState>, program: u32) -> Result<(), Error> {
    let link = Arc::clone(link);
    start_thread("forward input", move || {
        let mut bytes = vec![0; 8 << 10];
        while let Ok(length @ 1..) = io::stdin().read(&mut bytes) {
            link.send_input(program, &bytes[..length]);
        }
        link.send(program, &PodMessage::EndOfInput);
    })
}

fn start_thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Error> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .map(drop)
        .map_err(|error| Error::new("start a thread", error))
}
