//! An endpoint, and the programs that run in it.

use crate::Error;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{Read, Write};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// What a program's standard streams are connected to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stdio {
    /// Input and output are pipes to us; errors go to our own standard error.
    #[default]
    Piped,
    /// All three are ours: the user's terminal.
    Inherit,
}

/// A program to run in a container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// The program; nothing stands for tare itself (the same static binary).
    pub program: Option<PathBuf>,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Variables added to its environment.
    pub environment: Vec<(String, String)>,
    /// Names that resolve inside, in a private hosts file; nothing where none are asked for.
    pub hosts: Vec<(String, IpAddr)>,
    /// Its standard streams.
    pub stdio: Stdio,
}

impl Command {
    /// tare itself, with these arguments, on pipes.
    pub fn tare<S: Into<String>>(arguments: impl IntoIterator<Item = S>) -> Self {
        Self { arguments: arguments.into_iter().map(Into::into).collect(), ..Self::default() }
    }
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
        }
    }
}

/// A program that runs in a container. Dropping it ends the program.
pub trait Process: Send {
    /// Its standard input, once; nothing when it was not piped or was taken.
    fn take_input(&mut self) -> Option<Box<dyn Write + Send>>;
    /// Its standard output, once; nothing when it was not piped or was taken.
    fn take_output(&mut self) -> Option<Box<dyn Read + Send>>;
    /// Its number on this machine; nothing where it runs on another, or is not known.
    fn id(&self) -> Option<u32> {
        None
    }
    /// Waits for its end.
    ///
    /// # Errors
    /// When the place lost sight of it.
    fn wait(&mut self) -> Result<Exit, Error>;
    /// Ends it now; nothing when it has ended.
    fn kill(&mut self);
}

/// What a network runs beside its containers, so that packets pass: daemons.
pub trait Daemons: Send + Sync {
    /// Whether all of them still run.
    ///
    /// # Errors
    /// The first one that has ended, with its last words.
    fn check(&self) -> Result<(), Error>;
    /// What they last said, in one line; nothing where they have said nothing.
    fn words(&self) -> Option<String>;
    /// The CPU time that they have taken so far.
    fn cpu_time(&self) -> Duration;
    /// The same program by program, of those that can be told apart.
    fn cpu_times(&self) -> BTreeMap<String, Duration> {
        BTreeMap::new()
    }
}

/// An endpoint with its own network namespace, or its node's.
pub trait Container: Send + Sync {
    /// Its name, unique within a topology: `client-0`, `server-1`.
    fn name(&self) -> &str;
    /// Its own address.
    fn address(&self) -> IpAddr;
    /// Its network namespace as a file of this machine that setns(2) takes, good as long as the container is: so that
    /// one program may serve many containers. Nothing where it has none of its own, or is on another machine.
    fn namespace(&self) -> Option<PathBuf> {
        None
    }
    /// Starts a program inside.
    ///
    /// # Errors
    /// When it cannot be started.
    fn spawn(&self, command: &Command) -> Result<Box<dyn Process>, Error>;
    /// What its network runs beside the containers; nothing where the kernel does it all.
    fn daemons(&self) -> Option<&dyn Daemons> {
        None
    }
}
