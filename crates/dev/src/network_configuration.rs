//! Network configuration that a run must leave as it was.

use crate::Namespace;
use std::process::Command;

/// Links, named namespaces and nftables rules, as `ip` and `nft` print them.
#[derive(Debug, PartialEq, Eq)]
pub struct NetworkConfiguration {
    links: String,
    namespaces: String,
    rules: String,
}

impl NetworkConfiguration {
    /// Configuration of the caller's network namespace. What an ordinary user may not see (the rules) is empty.
    #[must_use]
    pub fn here() -> Self {
        Self::read(|line| {
            let (program, arguments) = line.split_once(' ').expect("a program and arguments");
            let mut command = Command::new(program);
            command.args(arguments.split(' '));
            command
        })
    }

    /// Configuration of a network namespace of the test's own, with the named namespaces that are tare's.
    #[must_use]
    pub fn inside(namespace: &Namespace) -> Self {
        let all = Self::read(|line| namespace.command(line));
        let of_tare = all.namespaces.lines().filter(|name| name.contains("tare")).collect();
        Self { namespaces: of_tare, ..all }
    }

    /// Configuration by the output of command lines, split at blanks.
    fn read(command: impl Fn(&str) -> Command) -> Self {
        let output = |line: &str| output(&mut command(line));
        Self {
            links: output("ip -o link"),
            namespaces: output("ip netns"),
            rules: output("nft list ruleset"),
        }
    }
}

/// Output of a program. An ordinary user's PATH may lack the directories of administrators' programs.
fn output(command: &mut Command) -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    let output = command.env("PATH", format!("{path}:/usr/sbin:/sbin")).output();
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
