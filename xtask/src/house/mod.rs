//! Tests of the structure of the crates: no circle between the files of a crate, no import of a crate from a floor
//! above, and no folder of more than 25 files.

#![cfg(test)]

mod floors;
mod graph;
mod imports;

use crate::repository::Repository;
use graph::circles;
use imports::module_graph;
use std::fs;
use std::path::{Path, PathBuf};

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

/// Most files of a folder. A reader can survey so many, and not many more.
const MOST_FILES: usize = 25;

#[test]
fn folders_can_be_surveyed() {
    let repository = Repository::find().unwrap();
    let mut open: Vec<PathBuf> =
        crates(&repository).iter().map(|name| repository.path(format!("crates/{name}"))).collect();
    while let Some(folder) = open.pop() {
        let entries = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) =
            entries.partition(|path| path.is_dir());
        let modules = files.iter().filter(|file| is_module(file)).count();
        assert!(modules <= MOST_FILES, "{}: {modules} files", folder.display());
        open.extend(folders);
    }
}

/// Tells if a file is a module beside others, and not the head of its folder.
fn is_module(file: &Path) -> bool {
    let is_head = file.file_stem().is_some_and(|stem| stem == "mod" || stem == "lib");
    file.extension().is_some_and(|extension| extension == "rs") && !is_head
}
