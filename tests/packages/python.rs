//! Wheel, in a virtual environment, used by an ordinary user.

use crate::files::{check_table, output, package};
use std::path::Path;
use std::process::Command;
use support::program::{User, tied_command};
use tare_dev::ScratchDirectory;

/// Names of all files of a directory.
fn files(directory: &Path) -> String {
    output(Command::new("find").arg(directory).args([
        "-not",
        "-name",
        "*.pyc",
        "-not",
        "-name",
        "__pycache__",
    ]))
}

#[test]
fn the_wheel_runs_by_both_names_and_goes_without_a_trace() {
    let scratch = ScratchDirectory::new();
    let environment = scratch.path("venv");
    output(Command::new("python3").args(["-m", "venv"]).arg(&environment));
    let pip = |words: &[&str]| {
        let mut command = Command::new(environment.join("bin/pip"));
        command.args(["--disable-pip-version-check", "--no-cache-dir"]).args(words);
        output(&mut command)
    };
    let before = files(&environment);
    let wheel = package("tare_bench-", &format!("_{}.whl", std::env::consts::ARCH));
    pip(&["install", "--no-index", "--no-deps", wheel.to_str().expect("an ASCII path")]);

    let home = scratch.create_directory("home", User::Ordinary.id());
    let run = |program: &Path, words: &[&str]| {
        output(tied_command(User::Ordinary, program).args(words).current_dir(&home))
    };
    let tare = environment.join("bin/tare");
    assert!(run(&tare, &["--version"]).starts_with("tare "));
    // A link to it, as pipx makes one.
    let link = scratch.path("tare-bench");
    std::os::unix::fs::symlink(environment.join("bin/tare-bench"), &link)
        .expect("a fresh directory");
    let words = "run -n host,bridge -w tcp-rr --blocks 3 --duration 200ms --out result";
    check_table(&run(&link, &words.split(' ').collect::<Vec<_>>()));

    pip(&["uninstall", "--yes", "tare-bench"]);
    assert_eq!(files(&environment), before);
}
