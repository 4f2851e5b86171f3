//! Programs of user-mode stacks: their commands, and whether they are installed and what their names say.

use super::stack::StackProgram;
use crate::programs::{mismatch, stated_version};
use rustix::fs::{Access, access};
use std::path::PathBuf;
use tare_network::{Requirement, UnmetRequirement};
use tare_sandbox::program;

/// Returns the requirements of a program, by its name or at a path that the network's name spells: that it is installed,
/// and is what its name says. A program at a path is not run for that: a study of others may have spelled the path.
pub(super) fn requirements(wanted: StackProgram, given: Option<&str>) -> Vec<Requirement> {
    let StackProgram { name, package } = wanted;
    let Some(given) = given else {
        let Some(path) = program::find(name) else {
            return vec![Requirement::Program { name, package }];
        };
        let why = mismatch(name, &stated_version(&path));
        let reason = why.map(|why| format!("{} is not {name}: {why}", path.display()));
        let remedy = format!("install {package}, and put its directory first on PATH");
        return reason.map(|reason| unmet(reason, remedy)).into_iter().collect();
    };
    let is_missing = access(given, Access::EXEC_OK).is_err();
    let remedy = format!("name an executable file, or use {name} alone");
    is_missing
        .then(|| unmet(format!("the program {given} cannot be run"), remedy))
        .into_iter()
        .collect()
}

fn unmet(reason: String, remedy: String) -> Requirement {
    Requirement::Unmet(UnmetRequirement { reason, remedy })
}

/// Returns the command by which a program is started: its name, or the absolute path that the user gave.
pub(super) fn command(wanted: StackProgram, given: Option<&str>) -> String {
    let absolute = |path: &str| std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path));
    given.map_or_else(|| wanted.name.to_owned(), |given| absolute(given).display().to_string())
}

/// Returns the name of a program's file.
pub(super) fn file_name(command: &str) -> &str {
    command.rsplit('/').next().unwrap_or(command)
}
