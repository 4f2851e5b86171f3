//! `cargo xtask cluster-programs`: builds the programs of the test cluster into `target/tools/cluster` with Go's own tools,
//! from Go's module proxy: etcd, the control plane, the agents of a node and kubectl in one binary, the first program of
//! every pod, and what a cluster may have or not. They are built again when a file that they are made from has changed.
//! Those that networks of the lab run have links in `target/tools/bin`.

use crate::TaskResult;
use crate::go_module;
use crate::process;
use crate::repository::Repository;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Go module of which programs are built: its `go.mod` and `go.sum` pin all dependencies.
#[derive(Debug)]
struct ProgramModule {
    /// Directory of the module in the checkout.
    directory: &'static str,
    /// Files that the programs are made from.
    sources: &'static [&'static str],
    /// Programs that are built.
    programs: &'static [&'static str],
    /// Name of the file with the hash of the sources that the programs were made from.
    stamp: &'static str,
}

/// Kubernetes itself.
static CLUSTER: ProgramModule = ProgramModule {
    directory: "xtask/cluster",
    sources: &["go.mod", "go.sum", "main.go", "pause/main.go"],
    programs: &["cluster-programs", "pause"],
    stamp: ".sources.sha256",
};

/// Programs that a cluster may have or not: another module, so that its dependencies do not change Kubernetes' own.
static ADDONS: ProgramModule = ProgramModule {
    directory: "xtask/cluster-addons",
    sources: &["go.mod", "go.sum", "main.go", "mesh.go", "policies.go", "resolver.go"],
    programs: &["cluster-addons"],
    stamp: ".addons.sha256",
};

/// The client of charts, of a version whose libraries are those of the cluster's.
static HELM: ProgramModule = ProgramModule {
    directory: "xtask/helm",
    sources: &["go.mod", "go.sum"],
    programs: &["helm"],
    stamp: ".helm.sha256",
};

/// Programs that networks of the lab run, which find them by their names.
const LAB_PROGRAMS: [&str; 2] = ["kube-apiserver", "kube-proxy"];

/// Packages whose variables hold the version that the programs state.
const VERSION_PACKAGES: [&str; 2] =
    ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"];

/// Builds the programs, if they are missing or made from other sources.
pub(crate) fn run(repository: &Repository) -> Result<TaskResult> {
    let programs = repository.path("target/tools/cluster");
    fs::create_dir_all(&programs).with_context(|| format!("cannot make {}", programs.display()))?;
    CLUSTER.build_if_stale(repository, &programs, |module| {
        let version = kubernetes_version(module)?;
        eprintln!("building the programs of Kubernetes {version}: ten minutes or more");
        let cluster = programs.join("cluster-programs");
        process::run(&mut kubernetes_build(repository, module, &version, &cluster))?;
        process::run(&mut plain_build(repository, module, "./pause", &programs.join("pause")))
    })?;
    ADDONS.build_if_stale(repository, &programs, |module| {
        eprintln!("building the programs that a cluster may have: a minute or two");
        process::run(&mut plain_build(repository, module, ".", &programs.join("cluster-addons")))
    })?;
    HELM.build_if_stale(repository, &programs, |module| {
        eprintln!("building helm: a minute or two");
        let package = "helm.sh/helm/v3/cmd/helm";
        process::run(&mut plain_build(repository, module, package, &programs.join("helm")))
    })?;
    link_lab_programs(&repository.path("target/tools/bin"))
}

impl ProgramModule {
    /// Builds the programs, if one is missing or was made from other sources.
    fn build_if_stale(
        &self,
        repository: &Repository,
        programs: &Path,
        build: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<()> {
        let module = repository.path(self.directory);
        let (stamp, hash) = (programs.join(self.stamp), self.hash_sources(&module)?);
        let is_built = fs::read_to_string(&stamp).is_ok_and(|built| built == hash);
        if is_built && self.programs.iter().all(|name| programs.join(name).is_file()) {
            return Ok(());
        }
        build(&module)?;
        fs::write(&stamp, hash).with_context(|| format!("cannot write {}", stamp.display()))
    }

    fn hash_sources(&self, module: &Path) -> Result<String> {
        let read = |name: &&str| {
            let file = module.join(name);
            fs::read(&file).with_context(|| format!("cannot read {}", file.display()))
        };
        let sources = self.sources.iter().map(read).collect::<Result<Vec<Vec<u8>>>>()?;
        Ok(go_module::hash_of(sources))
    }
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

fn plain_build(repository: &Repository, module: &Path, package: &str, output: &Path) -> Command {
    let mut go = go_command(repository, module);
    go.args(["-ldflags=-s -w", "-o"]).arg(output).arg(package);
    go
}

fn kubernetes_build(
    repository: &Repository,
    module: &Path,
    version: &str,
    output: &Path,
) -> Command {
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
    let Some(version) = pinned else {
        bail!("{}/go.mod pins no k8s.io/kubernetes", module.display())
    };
    Ok(version.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::command_line;

    #[test]
    fn the_programs_state_the_version_that_is_pinned() {
        let repository = Repository::find().unwrap();
        let module = repository.path(CLUSTER.directory);
        let version = kubernetes_version(&module).unwrap();
        assert!(version.starts_with("v1."), "{version}");
        let line = command_line(&kubernetes_build(&repository, &module, &version, Path::new("/p")));
        let stated = format!("k8s.io/component-base/version.gitVersion={version}");
        assert!(line.contains(&stated) && line.ends_with("-o /p ."), "{line}");
    }

    #[test]
    fn every_source_of_a_module_is_known() {
        let repository = Repository::find().unwrap();
        for module in [&CLUSTER, &ADDONS] {
            let directory = repository.path(module.directory);
            assert_eq!(module.hash_sources(&directory).unwrap().len(), 64);
            for file in fs::read_dir(&directory).unwrap() {
                let name = file.unwrap().file_name().into_string().unwrap();
                let is_known =
                    module.sources.iter().any(|one| one.split('/').next() == Some(&name));
                assert!(is_known, "{}/{name} changes nothing", module.directory);
            }
        }
    }
}
