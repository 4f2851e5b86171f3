//! Containers, and the programs that run in them.

use crate::Error;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{Read, Write};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Connection of a program's standard streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stdio {
    /// Input and output are pipes to tare; standard error is tare's own.
    #[default]
    Piped,
    /// All three streams are tare's own: the user's terminal.
    Inherit,
}

/// Program to run in a container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// Path of the program. `None` stands for tare itself (the same static binary).
    pub program: Option<PathBuf>,
    /// Arguments, without the program's name.
    pub arguments: Vec<String>,
    /// Variables added to the program's environment.
    pub environment: Vec<(String, String)>,
    /// Variables of tare's own environment that the program does not get.
    pub withheld: Vec<String>,
    /// Names that resolve inside, through a private hosts file. If empty, the program has no private hosts file.
    pub hosts: Vec<(String, IpAddr)>,
    /// Connection of the standard streams.
    pub stdio: Stdio,
}

/// Subcommand of tare whose roles tare starts itself, as in `tare internal agent`.
pub const INTERNAL: &str = "internal";

impl Command {
    /// Returns the command that runs tare itself with these arguments, on pipes.
    pub fn tare<S: Into<String>>(arguments: impl IntoIterator<Item = S>) -> Self {
        Self { arguments: arguments.into_iter().map(Into::into).collect(), ..Self::default() }
    }
}

/// Status with which a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessExit {
    /// The program exited with this code.
    Code(i32),
    /// This signal ended the program.
    Signal(i32),
    /// The program was killed with the init process of its sandbox, which something else had killed.
    WithSandbox,
}

impl fmt::Display for ProcessExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
            Self::WithSandbox => write!(f, "with the lab's init process, which was killed"),
        }
    }
}

/// A program that runs in a container. Dropping it ends the program.
pub trait Process: Send {
    /// Takes the pipe to the program's standard input. Returns `None` if the input is not piped or was taken before.
    fn take_input(&mut self) -> Option<Box<dyn Write + Send>>;
    /// Takes the pipe from the program's standard output. Returns `None` if the output is not piped or was taken
    /// before.
    fn take_output(&mut self) -> Option<Box<dyn Read + Send>>;
    /// Returns the process id on this machine. Returns `None` if the program runs on another machine, or if its id is
    /// not known.
    fn id(&self) -> Option<u32> {
        None
    }
    /// Returns true while there is no way to the program, though it runs on: its replies come when there is one again.
    fn is_cut_off(&self) -> bool {
        false
    }
    /// Waits until the program ends.
    ///
    /// # Errors
    /// The place cannot observe the program any more.
    fn wait(&mut self) -> Result<ProcessExit, Error>;
    /// Ends the program now. Does nothing if the program has ended.
    fn kill(&mut self);
}

/// Daemons that a network runs in addition to its containers, so that packets pass.
pub trait NetworkDaemons: Send + Sync {
    /// Checks that all daemons still run.
    ///
    /// # Errors
    /// A daemon has ended. The error names the first one, with its last words.
    fn check(&self) -> Result<(), Error>;
    /// Returns the last messages of the daemons, in one line. Returns `None` if they have written nothing.
    fn last_messages(&self) -> Option<String>;
    /// Returns the CPU time that the daemons have used so far.
    fn cpu_time(&self) -> Duration;
    /// Returns the CPU time by program, for the programs that can be told apart.
    fn cpu_times(&self) -> BTreeMap<String, Duration> {
        BTreeMap::new()
    }
}

/// A container: an endpoint with a network namespace of its own, or with its node's.
pub trait Container: Send + Sync {
    /// Returns the name, unique within a topology: `client-0`, `server-1`.
    fn name(&self) -> &str;
    /// Returns the container's own address.
    fn address(&self) -> IpAddr;
    /// Returns the network namespace as a file of this machine that setns(2) takes, valid as long as the container
    /// exists, so that one program can serve many containers. Returns `None` if the container has no namespace of its
    /// own, or is on another machine.
    fn namespace(&self) -> Option<PathBuf> {
        None
    }
    /// Starts a program in the container.
    ///
    /// # Errors
    /// The program cannot be started.
    fn spawn(&self, command: &Command) -> Result<Box<dyn Process>, Error>;
    /// Returns the daemons of the container's network. Returns `None` if the kernel alone carries the packets.
    fn daemons(&self) -> Option<&dyn NetworkDaemons> {
        None
    }
}
