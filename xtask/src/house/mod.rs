//! Tests of the structure of the crates: no circle between the files of a crate, no import of a crate from a floor
//! above, and no folder of more than 25 files; and that the tests that docs/TRUST.md names exist.

#![cfg(test)]

mod floors;
mod graph;
mod imports;
mod promises;

use crate::repository::Repository;
use crate::sources;
use graph::circles;
use imports::module_graph;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Names of the crates below `crates/`.
fn crates(repository: &Repository) -> Vec<String> {
    let directories = sources::crates(repository).unwrap();
    let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    directories.iter().map(name).collect()
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

/// Most files of a folder. A reader can survey so many, and not many more.
const MOST_FILES: usize = 25;

#[test]
fn folders_can_be_surveyed() {
    let repository = Repository::find().unwrap();
    let mut modules: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for directory in sources::crates(&repository).unwrap() {
        for file in sources::rust_files(&directory).unwrap().iter().filter(|file| is_module(file)) {
            *modules.entry(file.parent().unwrap().to_owned()).or_default() += 1;
        }
    }
    modules.retain(|_, files| *files > MOST_FILES);
    assert!(modules.is_empty(), "folders of more than {MOST_FILES} files: {modules:?}");
}

/// Tells if a file is a module beside others, and not the head of its folder.
fn is_module(file: &Path) -> bool {
    file.file_stem().is_none_or(|stem| stem != "mod" && stem != "lib")
}
