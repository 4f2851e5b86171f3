//! Descriptions of the programs of a network.

use crate::plan::namespace_id::NamespaceId;

/// Condition on which a program is ready, and the next one of its namespace may start.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "daemons differ in how they show that they are ready")]
pub(crate) enum ReadyCondition {
    /// It has exited with success: it is a step, not a daemon.
    Exited,
    /// It accepts connections on this Unix socket.
    ListensOn(String),
    /// This file exists and is not empty.
    FileWritten(String),
    /// Its output contains all of these texts.
    OutputContains(Vec<String>),
    /// This command, run in the same namespace, exits with success.
    CommandSucceeds(Vec<String>),
}

/// Program of tare's own that runs in the place of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StandIn {
    /// Name by which users know the process.
    pub(crate) used: String,
    /// Program that it stands for.
    pub(crate) original: String,
    /// Reason why that program does not run here.
    pub(crate) reason: String,
}

/// Program of a network, with all that is needed to start it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// Network namespace in which it runs.
    pub(crate) space: NamespaceId,
    /// Name of the program in errors and of its log, unique in its namespace.
    pub(crate) name: String,
    /// Executable: a name on the PATH, or an absolute path.
    pub(crate) program: String,
    /// Executable that it executes in turn, if it is a script that does so: a name on the PATH, or an absolute path.
    pub(crate) executes: Option<String>,
    /// Arguments, without the program's own name.
    pub(crate) arguments: Vec<String>,
    /// Variables that are added to its environment.
    pub(crate) environment: Vec<(String, String)>,
    /// Files that it reads: path, below [`runtime_directory`](tare_sandbox::programs::runtime_directory), and text.
    /// They are written before it starts.
    pub(crate) files: Vec<(String, String)>,
    /// Condition on which the next program may start.
    pub(crate) ready: ReadyCondition,
    /// Number of times that it is started at most, if it ends by itself before it is ready.
    pub(crate) attempts: u32,
    /// True if it starts in [`runtime_directory`](tare_sandbox::programs::runtime_directory), because it writes to its
    /// working directory; otherwise it starts in the root.
    pub(crate) in_runtime_directory: bool,
    /// Program for which it stands, if it is a stand-in of tare's.
    pub(crate) stands_in: Option<StandIn>,
}

impl Program {
    /// Creates a step: a program that does its work and exits.
    pub(crate) fn step<S: Into<String>>(
        space: NamespaceId,
        program: &str,
        arguments: impl IntoIterator<Item = S>,
    ) -> Self {
        Self::daemon(space, program, arguments, ReadyCondition::Exited)
    }

    /// Creates a daemon: a program that runs as long as the network.
    pub(crate) fn daemon<S: Into<String>>(
        space: NamespaceId,
        program: &str,
        arguments: impl IntoIterator<Item = S>,
        ready: ReadyCondition,
    ) -> Self {
        Self {
            space,
            name: program.rsplit('/').next().unwrap_or(program).to_owned(),
            program: program.to_owned(),
            executes: None,
            arguments: arguments.into_iter().map(Into::into).collect(),
            environment: Vec::new(),
            files: Vec::new(),
            ready,
            attempts: 1,
            in_runtime_directory: false,
            stands_in: None,
        }
    }

    /// Sets the name of the program.
    pub(crate) fn with_name(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Declares the executable that the program, a script, executes in turn.
    pub(crate) fn executing(self, program: impl Into<String>) -> Self {
        Self { executes: Some(program.into()), ..self }
    }

    /// Has the program started again if it ends by itself before it is ready, up to this number of times in all.
    pub(crate) fn with_attempts(self, attempts: u32) -> Self {
        Self { attempts, ..self }
    }

    /// Declares the program a stand-in.
    pub(crate) fn standing_in(self, stand_in: StandIn) -> Self {
        Self { stands_in: Some(stand_in), ..self }
    }

    /// Has the program start in the private directory of its namespace.
    pub(crate) fn in_runtime_directory(self) -> Self {
        Self { in_runtime_directory: true, ..self }
    }

    /// Adds a variable to the program's environment.
    pub(crate) fn with_variable(mut self, name: &str, value: impl Into<String>) -> Self {
        self.environment.push((name.to_owned(), value.into()));
        self
    }

    /// Adds a file that the program reads.
    #[allow(dead_code, reason = "Open vSwitch reads none")]
    pub(crate) fn with_file(mut self, path: impl Into<String>, text: impl Into<String>) -> Self {
        self.files.push((path.into(), text.into()));
        self
    }
}

/// Program that prints packet counts. It is run once clients have connected, to prove that packets took the intended
/// path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PacketCounter {
    /// Description of the counted packets, for the error if there are none: `packets through ovs0`.
    pub(crate) description: String,
    /// Program whose output has the counts.
    pub(crate) program: Program,
    /// Text before each number of packets in the output: `n_packets=`.
    pub(crate) prefix: &'static str,
}

impl PacketCounter {
    /// Returns the sum of all packet counts in an output.
    pub(super) fn sum(&self, output: &str) -> u64 {
        let digits = |text: &str| {
            let end = text.find(|one: char| !one.is_ascii_digit()).unwrap_or(text.len());
            text[..end].parse::<u64>().ok()
        };
        output.split(self.prefix).skip(1).filter_map(digits).fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counter() -> PacketCounter {
        let asked = Program::step(NamespaceId(0), "ovs-ofctl", ["dump-flows"]);
        PacketCounter { description: "packets".to_owned(), program: asked, prefix: "n_packets=" }
    }

    #[test]
    fn numbers_are_read_off_an_output() {
        let flows = " cookie=0x0, n_packets=12, n_bytes=7\n n_packets=30, n_packets=x\n";
        assert_eq!(counter().sum(flows), 42);
        assert_eq!(counter().sum("nothing of the kind"), 0);
    }

    #[test]
    fn a_program_is_called_after_its_file() {
        let program = Program::step(NamespaceId(0), "/opt/x/bird", ["-c"]);
        assert_eq!((program.name.as_str(), program.ready), ("bird", ReadyCondition::Exited));
    }

    proptest! {
        #[test]
        fn no_output_breaks_the_reader(output in "(n_packets=|[0-9]{1,30}|.){0,20}") {
            let _ = counter().sum(&output);
        }
    }
}
