//! What is to run, as data.

use crate::wiring::SpaceId;

/// When a program is ready, and the next one of its namespace may start.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "daemons differ in how they show that they are ready")]
pub(crate) enum Ready {
    /// It has ended with success: a step, no daemon.
    Ended,
    /// It listens on this Unix socket.
    Listens(String),
    /// This file is there, and not empty.
    Wrote(String),
    /// Its output has all of these words.
    Says(Vec<String>),
    /// This command, run beside it, ends with success.
    Answers(Vec<String>),
}

/// A program of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// Where it runs.
    pub(crate) space: SpaceId,
    /// Its name for people, and its log's; no other of its namespace has it.
    pub(crate) name: String,
    /// The program: a name on the PATH, or an absolute path.
    pub(crate) program: String,
    /// Its arguments.
    pub(crate) arguments: Vec<String>,
    /// Variables added to its environment.
    pub(crate) environment: Vec<(String, String)>,
    /// Files that it reads, with their text; they are written before it starts. Their paths are below [`directory`].
    pub(crate) files: Vec<(String, String)>,
    /// When the next one may start.
    pub(crate) ready: Ready,
    /// Whether it starts in [`directory`], for it writes to wherever it is; else it starts in the root.
    pub(crate) at_home: bool,
}

impl Program {
    /// A program that does something and ends.
    pub(crate) fn step<S: Into<String>>(
        space: SpaceId,
        program: &str,
        arguments: impl IntoIterator<Item = S>,
    ) -> Self {
        Self::daemon(space, program, arguments, Ready::Ended)
    }

    /// A program that runs until the network goes.
    pub(crate) fn daemon<S: Into<String>>(
        space: SpaceId,
        program: &str,
        arguments: impl IntoIterator<Item = S>,
        ready: Ready,
    ) -> Self {
        Self {
            space,
            name: program.rsplit('/').next().unwrap_or(program).to_owned(),
            program: program.to_owned(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            environment: Vec::new(),
            files: Vec::new(),
            ready,
            at_home: false,
        }
    }

    /// The same program under another name.
    pub(crate) fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// The same program, started in the directory that its namespace has to itself.
    pub(crate) fn at_home(self) -> Self {
        Self { at_home: true, ..self }
    }

    /// The same program with a variable in its environment.
    pub(crate) fn with_variable(mut self, name: &str, value: impl Into<String>) -> Self {
        self.environment.push((name.to_owned(), value.into()));
        self
    }

    /// The same program with a file that it reads.
    #[allow(dead_code, reason = "Open vSwitch reads none")]
    pub(crate) fn with_file(mut self, path: impl Into<String>, text: impl Into<String>) -> Self {
        self.files.push((path.into(), text.into()));
        self
    }
}

/// A program that counts packets, asked once clients have connected: what shows that they passed where they should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Counter {
    /// What it counts, for the one who reads that nothing was: `packets through ovs0`.
    pub(crate) what: String,
    /// The program to ask.
    pub(crate) asked: Program,
    /// What stands before each number of packets in its output: `n_packets=`.
    pub(crate) before: &'static str,
}

impl Counter {
    /// All the numbers of packets in an output, added up.
    pub(super) fn read(&self, output: &str) -> u64 {
        let digits = |text: &str| {
            let end = text.find(|one: char| !one.is_ascii_digit()).unwrap_or(text.len());
            text[..end].parse::<u64>().ok()
        };
        output.split(self.before).skip(1).filter_map(digits).fold(0, u64::saturating_add)
    }
}

/// The directory that the programs of a namespace have to themselves.
pub(crate) fn directory(space: &str) -> String {
    format!("/run/{space}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counter() -> Counter {
        let asked = Program::step(SpaceId(0), "ovs-ofctl", ["dump-flows"]);
        Counter { what: "packets".to_owned(), asked, before: "n_packets=" }
    }

    #[test]
    fn numbers_are_read_off_an_output() {
        let flows = " cookie=0x0, n_packets=12, n_bytes=7\n n_packets=30, n_packets=x\n";
        assert_eq!(counter().read(flows), 42);
        assert_eq!(counter().read("nothing of the kind"), 0);
    }

    #[test]
    fn a_program_is_called_after_its_file() {
        let program = Program::step(SpaceId(0), "/opt/x/bird", ["-c"]);
        assert_eq!((program.name.as_str(), program.ready), ("bird", Ready::Ended));
    }

    proptest! {
        #[test]
        fn no_output_breaks_the_reader(output in "(n_packets=|[0-9]{1,30}|.){0,20}") {
            let _ = counter().read(&output);
        }
    }
}
