//! Programs of the other machine, by an emulator: that they start and know their networks.

use crate::files::{output, package, unpack};
use std::process::Command;
use tare_dev::ScratchDirectory;

#[test]
fn programs_for_other_machines_start() {
    let other = if cfg!(target_arch = "aarch64") { "x86_64" } else { "aarch64" };
    let scratch = ScratchDirectory::new();
    let archive = package("tare-", &format!("-{other}-unknown-linux-musl.tar.gz"));
    let program = unpack(&archive, scratch.root()).join("tare");
    let run =
        |words: &[&str]| output(Command::new(format!("qemu-{other}")).arg(&program).args(words));
    assert!(run(&["--version"]).starts_with("tare "));
    let networks = run(&["list", "networks"]);
    for network in ["host", "bridge", "macvlan"] {
        assert!(networks.lines().any(|line| line.starts_with(network)), "{networks}");
    }
}

#[test]
fn a_plugin_of_kubectl_names_itself_as_it_is_typed() {
    let scratch = ScratchDirectory::new();
    let host = std::env::consts::ARCH;
    let archive = package("tare-", &format!("-{host}-unknown-linux-musl.tar.gz"));
    let plugin = unpack(&archive, scratch.root()).join("kubectl-tare");
    std::os::unix::fs::symlink("tare", &plugin).expect("a fresh directory");
    let help = output(Command::new(plugin).args(["run", "--help"]));
    assert!(help.contains("Usage: kubectl tare run"), "{help}");
}
