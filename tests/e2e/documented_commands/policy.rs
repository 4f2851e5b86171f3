//! Programs that the documentation calls, and what a test does with each call.

/// Way in which a test executes a command of `tare`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Execution {
    /// The command as it is written.
    AsWritten,
    /// This subcommand, with a flag that keeps it from measuring.
    WithoutMeasuring(&'static str, &'static str),
    /// Only the parser of the command line, for this reason.
    ParserOnly(&'static str),
}

impl Execution {
    /// Returns the exit codes of a command that is right.
    pub(super) fn exit_codes(self, subcommand: &str) -> &'static [i32] {
        match (self, subcommand) {
            (Self::AsWritten, "compare") => &[0, 3, 4],
            // A network that a plan names may not run on this machine.
            (Self::WithoutMeasuring(..), "run" | "ask") => &[0, 1],
            _ => &[0],
        }
    }
}

/// Commands that the documentation has in scripts, each with its executions.
pub(super) const EXECUTIONS: [(&str, &[Execution]); 15] = [
    ("run", &[DRY_RUN]),
    ("ask", &[DRY_RUN, Execution::ParserOnly("answers.rs measures the answer to a question")]),
    ("doctor", &[Execution::WithoutMeasuring("doctor", "--settings")]),
    ("list", &[Execution::AsWritten]),
    ("explain", &[Execution::AsWritten]),
    ("show", &[Execution::AsWritten]),
    ("report", &[Execution::AsWritten]),
    ("compare", &[Execution::AsWritten]),
    ("bundle", &[Execution::AsWritten]),
    ("resume", &[Execution::ParserOnly("the stored run is complete; signals.rs resumes one")]),
    ("up", &[Execution::ParserOnly("it starts any program; up.rs starts its own")]),
    ("listen", &[Execution::ParserOnly("it serves until it is interrupted; probe.rs does that")]),
    ("probe", &[Execution::ParserOnly("it needs another machine; probe.rs has a namespace")]),
    ("image", &[Execution::ParserOnly("it is for engines; tests/engines has some")]),
    ("clean", &[Execution::ParserOnly("it is for engines; tests/engines has some")]),
];

/// Plan of a run. The study of a question is one.
const DRY_RUN: Execution = Execution::WithoutMeasuring("run", "--dry-run");

/// Other programs that the documentation calls in scripts, and the reason why no test here runs them.
pub(super) const NOT_RUN: [(&str, &str); 9] = [
    ("docker", "it needs an engine, and an image that is only an example"),
    ("helm", "it needs a cluster; tests/kubernetes installs the same chart"),
    ("jq", "it is the reader's own; docs/schema/run.json has the field that it reads"),
    ("kind", "it makes clusters in containers, which need images of a registry"),
    ("kubectl", "it needs a cluster; tests/kubernetes applies the same folders"),
    ("openssl", "it is the reader's own, and makes the content of a token"),
    ("sha256sum", "it checks packages, which tests/packages does"),
    ("ssh", "it needs another machine"),
    ("sudo", "it changes the machine; tests/packages installs in clean systems"),
];

/// Words in commands that stand for a name, and the name that a test takes. Words that stand for a file or a directory,
/// such as `DIR`, are names of files where the commands run.
pub(super) const PLACEHOLDERS: [(&str, &str); 3] =
    [("NAME", "bridge-or-host"), ("ROLE", "agent"), ("CODE", "E05")];

/// Returns the executions of a command in a script. An unknown one is left to the parser, which refuses it.
pub(super) fn executions(subcommand: &str) -> &'static [Execution] {
    let known = EXECUTIONS.iter().find(|(name, _)| *name == subcommand);
    known.map_or(&[Execution::ParserOnly("unknown")], |(_, executions)| *executions)
}
