//! Floors of the house: a crate imports only crates of the floors below.

use crate::repository::Repository;
use std::fs;

/// Crates, floor by floor, from the ground up (docs/ARCHITECTURE.md).
const FLOORS: &[&[&str]] = &[
    &["stats", "record"],
    &["network"],
    &["analysis", "dev"],
    &["report", "lab", "docker", "traffic", "observe", "study"],
    &["runner"],
    &["tare"],
];

/// Returns the floor of a crate.
fn floor(name: &str) -> usize {
    let at = FLOORS.iter().position(|floor| floor.contains(&name));
    at.unwrap_or_else(|| panic!("the crate {name} has no floor: name its floor in FLOORS"))
}

/// Returns the crates of this workspace that a manifest names as its normal dependencies.
fn dependencies(manifest: &str) -> Vec<String> {
    let section = manifest.split("\n[").find_map(|section| section.strip_prefix("dependencies]"));
    let lines = section.unwrap_or_default().lines();
    lines
        .filter_map(|line| Some(line.strip_prefix("tare-")?.split(['.', ' ']).next()?.to_owned()))
        .collect()
}

#[test]
fn crates_import_only_what_is_below_them() {
    let repository = Repository::find().unwrap();
    for name in super::crates(&repository) {
        let manifest = repository.path(format!("crates/{name}/Cargo.toml"));
        for other in dependencies(&fs::read_to_string(manifest).unwrap()) {
            assert!(floor(&other) < floor(&name), "{name} imports {other}, which is not below it");
        }
    }
}

#[test]
fn every_floor_names_crates_that_exist() {
    let known = super::crates(&Repository::find().unwrap());
    for name in FLOORS.iter().copied().flatten() {
        assert!(known.iter().any(|one| one == name), "there is no crate {name}");
    }
}
