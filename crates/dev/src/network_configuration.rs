//! Network configuration that a run must leave as it was.

use crate::TestNamespace;
use std::process::Command;

/// Links, named namespaces and nftables rules, as `ip` and `nft` print them.
#[derive(Debug, PartialEq, Eq)]
pub struct NetworkConfiguration {
    links: String,
    namespaces: String,
    rules: String,
}

impl NetworkConfiguration {
    /// Returns the configuration of the caller's network namespace. The parts that an ordinary user may not read (the
    /// rules) are empty.
    #[must_use]
    pub fn current() -> Self {
        Self::read(|line| {
            let (program, arguments) = line.split_once(' ').expect("a program and arguments");
            let mut command = Command::new(program);
            command.args(arguments.split(' '));
            command
        })
    }

    /// Returns the configuration of a namespace that the test made, with the named namespaces that belong to tare.
    #[must_use]
    pub fn in_namespace(namespace: &TestNamespace) -> Self {
        let all = Self::read(|line| namespace.command(line));
        let of_tare = all.namespaces.lines().filter(|name| name.contains("tare")).collect();
        Self { namespaces: of_tare, ..all }
    }

    /// Reads the configuration from the output of command lines, split at spaces.
    fn read(command: impl Fn(&str) -> Command) -> Self {
        let output = |line: &str| output(&mut command(line));
        Self {
            links: output("ip -o link"),
            namespaces: output("ip netns"),
            rules: output("nft list ruleset"),
        }
    }
}

/// Returns the output of a program. An ordinary user's PATH may lack the directories of administrators' programs.
fn output(command: &mut Command) -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    let output = command.env("PATH", format!("{path}:/usr/sbin:/sbin")).output();
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
