//! Tests of the structure of the crates: no circle between the files of a crate, and no import of a crate from a floor
//! above.

#![cfg(test)]

mod floors;
mod graph;
mod imports;

use crate::repository::Repository;
use graph::circles;
use imports::module_graph;
use std::fs;

/// Names of the crates below `crates/`.
fn crates(repository: &Repository) -> Vec<String> {
    let entries = fs::read_dir(repository.path("crates")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn no_two_files_of_a_crate_import_each_other() {
    let repository = Repository::find().unwrap();
    let mut found = Vec::new();
    for name in crates(&repository) {
        let graph = module_graph(&repository.path(format!("crates/{name}/src")));
        for circle in circles(&graph) {
            found.push(format!("{name}: {}", circle.join(", ")));
        }
    }
    assert!(found.is_empty(), "circles: {found:#?}");
}
