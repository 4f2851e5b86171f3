//! `cargo xtask install PREFIX`: installs the built tare with its manual pages and completions below a prefix.

use crate::TaskResult;
use crate::process::{self, command_line};
use crate::repository::Repository;
use anyhow::{Context, Result, bail};
use rustix::fs::{Access, access};
use std::fs;
use std::io::{self, BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Shells, and the file of their completions below the prefix.
pub(crate) const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/tare"),
    ("zsh", "share/zsh/site-functions/_tare"),
    ("fish", "share/fish/vendor_completions.d/tare.fish"),
];

/// What `make release` says that the binary is made of.
const BILL: &str = "target/bin/tare.cdx.json";

/// Directory of the manual pages below the prefix.
pub(crate) const MANUAL: &str = "share/man/man1";

/// Installs below the prefix, with root's privileges if the user agrees.
pub(crate) fn run(repository: &Repository, arguments: &[String]) -> Result<TaskResult> {
    let [prefix] = arguments else { bail!("expected one argument, the prefix such as /usr/local") };
    let prefix = std::path::absolute(prefix)
        .with_context(|| format!("invalid prefix {prefix:?}: expected a path"))?;
    let stage = stage(repository)?;
    let mut commands = [make_directory(repository, &prefix), copy(repository, &stage, &prefix)];
    if is_writable(&prefix) {
        for command in &mut commands {
            process::run(command)?;
        }
    } else {
        run_as_root(repository, &prefix, &commands)?;
    }
    println!(
        "installed below {}; where AppArmor restricts user namespaces, see packaging/README.md",
        prefix.display()
    );
    Ok(TaskResult::Passed)
}

/// Lays out all files below `target/stage`, with the same paths as below the prefix.
fn stage(repository: &Repository) -> Result<PathBuf> {
    let stage = repository.path("target/stage");
    if stage.exists() {
        fs::remove_dir_all(&stage).with_context(|| format!("cannot remove {}", stage.display()))?;
    }
    let manual = stage.join(MANUAL);
    for directory in [stage.join("bin"), manual.clone()] {
        fs::create_dir_all(&directory)
            .with_context(|| format!("cannot make {}", directory.display()))?;
    }
    let tare = repository.tare();
    fs::copy(&tare, stage.join("bin/tare"))
        .with_context(|| format!("cannot copy {}: run `make build` first", tare.display()))?;
    process::output(repository.command(&tare).arg("manual").arg(&manual))?;
    let bill = repository.path(BILL);
    if bill.exists() {
        let copy = stage.join("share/doc/tare/tare.cdx.json");
        fs::create_dir_all(copy.parent().unwrap_or(&stage))?;
        fs::copy(&bill, &copy).with_context(|| format!("cannot copy {}", bill.display()))?;
    }
    for (shell, file) in COMPLETIONS {
        let text = process::output(repository.command(&tare).args(["completions", shell]))?;
        let file = stage.join(file);
        fs::create_dir_all(file.parent().unwrap_or(&stage))?;
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(stage)
}

/// Returns true if the prefix, or its nearest existing ancestor, is writable.
fn is_writable(prefix: &Path) -> bool {
    let existing = prefix.ancestors().find(|path| path.exists());
    existing.is_some_and(|path| access(path, Access::WRITE_OK).is_ok())
}

fn make_directory(repository: &Repository, prefix: &Path) -> Command {
    let mut command = repository.command("mkdir");
    command.args(["-p", "--"]).arg(prefix);
    command
}

fn copy(repository: &Repository, stage: &Path, prefix: &Path) -> Command {
    let mut command = repository.command("cp");
    command.args(["-R", "--"]).arg(stage.join(".")).arg(prefix);
    command
}

fn run_as_root(repository: &Repository, prefix: &Path, commands: &[Command]) -> Result<()> {
    let lines: Vec<String> =
        commands.iter().map(|command| format!("sudo {}", command_line(command))).collect();
    let line = lines.join(" && ");
    let why = format!("only root may write {}", prefix.display());
    if repository.find_program("sudo").is_none() || !is_confirmed(&format!("{why}. Run: {line}")) {
        bail!("{why}: run this yourself, or choose another PREFIX: {line}");
    }
    for command in commands {
        let mut sudo = repository.command("sudo");
        process::run(sudo.arg(command.get_program()).args(command.get_args()))?;
    }
    Ok(())
}

/// Asks a question on the terminal and returns true for a yes. Without a terminal the answer is no.
fn is_confirmed(question: &str) -> bool {
    if !io::stdin().is_terminal() {
        return false;
    }
    eprint!("{question}? [y/N] ");
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_one_word_of_the_commands() {
        let repository = Repository::find().unwrap();
        let prefix = Path::new("/a b/$c");
        assert_eq!(command_line(&make_directory(&repository, prefix)), "mkdir -p -- '/a b/$c'");
        assert_eq!(
            command_line(&copy(&repository, Path::new("/stage"), prefix)),
            "cp -R -- /stage/. '/a b/$c'"
        );
    }

    #[test]
    fn a_prefix_below_a_writable_directory_is_writable() {
        assert!(is_writable(&std::env::temp_dir().join("no/such/directory")));
        // Root may write everywhere.
        if !rustix::process::geteuid().is_root() {
            assert!(!is_writable(Path::new("/proc/no/such")));
        }
    }
}
