//! Crates as a registry would get them: cargo installs tare from what they hold, and from nothing beside them.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;
use support::ScratchDirectory;
use support::schema::repository;

#[test]
fn cargo_installs_tare_from_packaged_crates() {
    // Compiled dependencies stay there for the next time.
    let target = repository().join("target/packaged");
    cargo(["pack-crates"].into_iter(), &target);
    let scratch = ScratchDirectory::new();
    let patches = unpack(&target.join("package"), scratch.root());
    let crate_directory = scratch.path(concat!("tare-", env!("CARGO_PKG_VERSION")));
    let manifest = crate_directory.join("Cargo.toml");
    let with_patches = |words: &[&OsStr]| {
        let patches = patches.iter().flat_map(|patch| ["--config", patch]).map(OsStr::new);
        cargo(words.iter().copied().chain(patches), &target);
    };
    // The lock file that is packaged has the other crates from the registry. It changes in nothing else.
    let lock = ["update", "--offline", "--workspace", "--manifest-path"].map(OsStr::new);
    with_patches(&[&lock[..], &[manifest.as_os_str()]].concat());
    let root = scratch.path("installed");
    let install = ["install", "--locked", "--offline", "--debug", "--path"].map(OsStr::new);
    let to = [crate_directory.as_os_str(), OsStr::new("--root"), root.as_os_str()];
    with_patches(&[&install[..], &to].concat());
    let listed = Command::new(root.join("bin/tare")).args(["list", "studies"]).output();
    let listed = listed.expect("tare is installed");
    assert!(listed.status.success(), "{listed:?}");
    assert!(String::from_utf8_lossy(&listed.stdout).contains("icc-2014"), "{listed:?}");
}

/// Runs cargo in the repository, with this directory for what it builds.
#[track_caller]
fn cargo<S: AsRef<OsStr>>(arguments: impl Iterator<Item = S>, target: &Path) {
    let mut command = Command::new("cargo");
    command.args(arguments).current_dir(repository()).env("CARGO_TARGET_DIR", target);
    let output = command.output().expect("cargo is there");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Unpacks all crates of a directory. Returns the settings of cargo that take them in the place of the registry's.
fn unpack(packages: &Path, to: &Path) -> Vec<String> {
    let version = concat!("-", env!("CARGO_PKG_VERSION"), ".crate");
    let archives = fs::read_dir(packages).expect("crates were packaged");
    let names = archives.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names
        .filter_map(|file| file.strip_suffix(version).map(str::to_owned))
        .map(|name| {
            let archive = packages.join(format!("{name}{version}"));
            let unpacked = Command::new("tar").arg("xzf").arg(archive).arg("-C").arg(to).status();
            assert!(unpacked.is_ok_and(|status| status.success()), "{name}");
            let directory = to.join(format!("{name}-{}", env!("CARGO_PKG_VERSION")));
            format!("patch.crates-io.{name}.path={directory:?}")
        })
        .collect()
}
