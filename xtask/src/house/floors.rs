//! Floors of the house: a crate imports only crates of the floors below.

use super::imports::module_graph;
use crate::repository::Repository;
use std::fs;

/// Crates, floor by floor, from the ground up (docs/ARCHITECTURE.md).
const FLOORS: &[&[&str]] = &[
    &["stats", "record", "secret", "confinement"],
    &["network"],
    &["analysis", "dev", "netns-probe", "sandbox"],
    &["report", "lab", "docker", "kubernetes", "traffic", "observe", "study"],
    &["agent", "probe", "swarm", "tools"],
    &["runner"],
    &["tare"],
];

/// Folders of a crate that stand in a row: each imports only folders that stand before it.
const ROWS: &[(&str, &[&str])] =
    &[("analysis", &["select", "estimate", "compare", "explain", "document"])];

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

#[test]
fn folders_in_a_row_import_only_what_stands_before_them() {
    let repository = Repository::find().unwrap();
    for (name, row) in ROWS {
        let graph = module_graph(&repository.path(format!("crates/{name}/src")));
        let place =
            |module: &str| row.iter().position(|one| module.split("::").next() == Some(one));
        for (module, uses) in &graph {
            for other in uses {
                let backward =
                    place(module).zip(place(other)).is_some_and(|(mine, its)| its > mine);
                assert!(!backward, "{name}: {module} imports {other}, which stands after it");
            }
        }
    }
}
