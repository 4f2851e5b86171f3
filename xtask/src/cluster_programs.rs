//! `cargo xtask cluster-programs`: builds the programs of the test cluster into `target/tools/cluster` with Go's own tools,
//! from Go's module proxy: etcd, the control plane, the agents of a node and kubectl in one binary, and the first program
//! of every pod. They are built again when a file that they are made from has changed. Those that networks of the lab run
//! have links in `target/tools/bin`.

use crate::TaskResult;
use crate::go_module;
use crate::process;
use crate::repository::Repository;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Directory of the module, whose `go.mod` and `go.sum` pin all dependencies.
const MODULE: &str = "xtask/cluster";

/// Files that the programs are made from.
const SOURCES: [&str; 4] = ["go.mod", "go.sum", "main.go", "pause/main.go"];

/// Name of the file with the hash of the sources that the programs were made from.
const STAMP: &str = ".sources.sha256";

/// Programs that networks of the lab run, which find them by their names.
const LAB_PROGRAMS: [&str; 2] = ["kube-apiserver", "kube-proxy"];

/// Packages whose variables hold the version that the programs state.
const VERSION_PACKAGES: [&str; 2] =
    ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"];

/// Builds the programs, if they are missing or made from other sources.
pub(crate) fn run(repository: &Repository) -> Result<TaskResult> {
    let (module, programs) = (repository.path(MODULE), repository.path("target/tools/cluster"));
    fs::create_dir_all(&programs).with_context(|| format!("cannot make {}", programs.display()))?;
    let (stamp, hash) = (programs.join(STAMP), hash_sources(&module)?);
    let is_built = fs::read_to_string(&stamp).is_ok_and(|built| built == hash);
    if is_built && programs.join("cluster-programs").is_file() && programs.join("pause").is_file() {
        return link_lab_programs(&repository.path("target/tools/bin"));
    }
    let version = kubernetes_version(&module)?;
    eprintln!("building the programs of Kubernetes {version}: ten minutes or more");
    process::run(&mut go_build(repository, &module, &version, &programs.join("cluster-programs")))?;
    let mut pause = go_command(repository, &module);
    pause.args(["-ldflags=-s -w", "-o"]).arg(programs.join("pause")).arg("./pause");
    process::run(&mut pause)?;
    fs::write(stamp, hash)?;
    link_lab_programs(&repository.path("target/tools/bin"))
}

/// Gives the lab's programs their names in the directory of built programs.
fn link_lab_programs(directory: &Path) -> Result<TaskResult> {
    fs::create_dir_all(directory)
        .with_context(|| format!("cannot make {}", directory.display()))?;
    for name in LAB_PROGRAMS {
        let link = directory.join(name);
        if link.symlink_metadata().is_err() {
            let made = std::os::unix::fs::symlink("../cluster/cluster-programs", &link);
            made.with_context(|| format!("cannot make the link {}", link.display()))?;
        }
    }
    Ok(TaskResult::Passed)
}

fn go_command(repository: &Repository, module: &Path) -> Command {
    let mut go = repository.command("go");
    go.env("CGO_ENABLED", "0").args(["build", "-C"]).arg(module);
    go.args(["-trimpath", "-buildvcs=false", "-mod=readonly"]);
    go
}

fn go_build(repository: &Repository, module: &Path, version: &str, output: &Path) -> Command {
    let mut go = go_command(repository, module);
    let minor = version.split('.').nth(1).unwrap_or_default();
    let variables = VERSION_PACKAGES.map(|package| {
        format!(
            " -X {package}.gitVersion={version} -X {package}.gitMajor=1 -X {package}.gitMinor={minor} -X {package}.gitTreeState=clean"
        )
    });
    // Tracing of gRPC and cloud providers are a tenth of the binary.
    go.args(["-tags", "grpcnotrace,providerless"]);
    go.arg(format!("-ldflags=-s -w{}", variables.concat())).arg("-o").arg(output).arg(".");
    go
}

/// Returns the version of Kubernetes that the module pins.
fn kubernetes_version(module: &Path) -> Result<String> {
    let text = fs::read_to_string(module.join("go.mod"))?;
    let pinned = text.lines().find_map(|line| line.trim().strip_prefix("k8s.io/kubernetes "));
    let Some(version) = pinned else { bail!("{MODULE}/go.mod pins no k8s.io/kubernetes") };
    Ok(version.trim().to_owned())
}

fn hash_sources(module: &Path) -> Result<String> {
    let read = |name: &str| {
        let file = module.join(name);
        fs::read(&file).with_context(|| format!("cannot read {}", file.display()))
    };
    let sources = SOURCES.into_iter().map(read).collect::<Result<Vec<Vec<u8>>>>()?;
    Ok(go_module::hash_of(sources))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::command_line;

    #[test]
    fn the_programs_state_the_version_that_is_pinned() {
        let repository = Repository::find().unwrap();
        let module = repository.path(MODULE);
        let version = kubernetes_version(&module).unwrap();
        assert!(version.starts_with("v1."), "{version}");
        assert_eq!(hash_sources(&module).unwrap().len(), 64);
        let line = command_line(&go_build(&repository, &module, &version, Path::new("/p")));
        let stated = format!("k8s.io/component-base/version.gitVersion={version}");
        assert!(line.contains(&stated) && line.ends_with("-o /p ."), "{line}");
    }
}
